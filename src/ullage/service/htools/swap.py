"""Swap behind over-committed memory, for hcheck: what Ganeti's formats do not tell is in a policy.

Only the swap of nodes is taken from the policy; memory ratios are those of the cluster or of the option.
"""

from fractions import Fraction
from typing import Final

from ullage.engine.balance.facts import memory_ratio_of
from ullage.engine.balance.fleet import Fleet
from ullage.model.policy import effective_settings
from ullage.model.resources import ResourceTypes
from ullage.model.settings import rules_for
from ullage.service.check_swap import MEMORY, SwapNeed, swap_findings
from ullage.sources.policies import load_policy

NOT_STATED: Final = Fraction(1)
MEMORY_RATIO: Final = "memory-ratio"


def swap_warnings(fleet: Fleet, policy_file: str) -> list[str]:
    """Return where there is too little swap; nothing about hosts of which it is not known."""
    types = ResourceTypes()
    policy = load_policy(policy_file, types)
    needs = []
    unused: set[str] = set()
    for number in fleet.scope:
        host, state = fleet.hosts[number], fleet.states[number]
        place = (fleet.cluster.groups[host.group].name, host.name)
        rules = rules_for(policy, types, *place)
        written = effective_settings(policy, *place).get(MEMORY_RATIO)
        ratio = memory_ratio_of(fleet.cluster, host.group, fleet.view)
        stated = NOT_STATED if ratio is None else ratio
        if written is not None and not written.built_in and rules.ratio(MEMORY) != stated:
            unused.add(written.text)
        if host.offline or rules.swap_bytes is None:
            continue
        machines = (fleet.machines[each] for each in state.primaries)
        needs.append(
            SwapNeed(
                host.name,
                host.memory - host.memory_node,
                stated,
                rules.swap_bytes,
                sum(each.memory for each in machines if each.uses_memory),
                state.reserved,
            )
        )
    told = [f"Warning: {found.message}" for found in swap_findings(needs, types[MEMORY])]
    if unused:
        ratios = ", ".join(sorted(unused))
        told.append(f"Warning: memory-ratio {ratios} of the policy is not used; give it as --memory-ratio")
    return told
