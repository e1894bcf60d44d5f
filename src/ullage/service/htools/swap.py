"""Swap behind over-committed memory, for hcheck: what Ganeti's formats do not tell is in a policy.

Only the swap of nodes is taken from the policy; memory ratios are those of the cluster or of the option.
"""

from fractions import Fraction
from typing import Final

from ullage.engine.balance.facts import memory_ratio_of
from ullage.engine.balance.fleet import Fleet
from ullage.model.resources import ResourceTypes
from ullage.model.settings import rules_for
from ullage.service.check_swap import MEMORY, SwapNeed, swap_findings
from ullage.sources.policies import load_policy

NOT_STATED: Final = Fraction(1)


def swap_warnings(fleet: Fleet, policy_file: str) -> list[str]:
    """Return where there is too little swap; nothing about hosts of which it is not known."""
    types = ResourceTypes()
    policy = load_policy(policy_file, types)
    needs = []
    for number in fleet.scope:
        host, state = fleet.hosts[number], fleet.states[number]
        rules = rules_for(policy, types, fleet.cluster.groups[host.group].name, host.name)
        if host.offline or rules.swap_bytes is None:
            continue
        ratio = memory_ratio_of(fleet.cluster, host.group, fleet.view)
        machines = (fleet.machines[each] for each in state.primaries)
        needs.append(
            SwapNeed(
                host.name,
                host.memory - host.memory_node,
                NOT_STATED if ratio is None else ratio,
                rules.swap_bytes,
                sum(each.memory for each in machines if each.uses_memory),
                state.reserved,
            )
        )
    return [f"Warning: {found.message}" for found in swap_findings(needs, types[MEMORY])]
