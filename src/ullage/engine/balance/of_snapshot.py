"""Any cluster in Ganeti's words, so that what balances Ganeti balances every cluster.

What Ganeti said of a node or an instance is kept, and what the snapshot knows better (place, state, size,
reserve, ratios of the policy) laid over it. The hard thing is other workloads: they move to any node like
instances with disks that all nodes reach, but for those that belong to their node or have a volume there. One
that has a standby moves as an instance with mirrored disks does, though nothing is said of its disks.
Where else a workload may not go (taints, affinity, cordoned nodes) Ganeti has no words for: whoever proposes
moves asks the placement rules too.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Final

import msgspec

from ullage.engine.capacity.bounds import Bounds, bounds_of
from ullage.engine.columns import RulesByPlace
from ullage.engine.placement.node_rules import matches_term
from ullage.engine.redundancy.daemons import is_daemon
from ullage.model.cluster import Group, Node, Snapshot, Workload
from ullage.model.ganeti import (
    DRBD,
    DiskTemplate,
    GanetiCluster,
    GanetiGroup,
    GanetiNode,
    Instance,
    InstancePolicy,
)
from ullage.model.settings import RATIO_MAX, Rules, rules_for

CPU: Final = "cpu"
MEMORY: Final = "memory"
MOVABLE: Final[DiskTemplate] = "ext"
PINNED: Final[DiskTemplate] = "plain"
UNSTATED_DISK_BYTES: Final = 1
"""The disk of a node of which none is stated: workloads without disks fit, where filling is not exact too."""
DOMAIN_TAG: Final = "domain"
LOCATION_TAG: Final = f"htools:nlocation:{DOMAIN_TAG}"
_ONE: Final = Fraction(1)


def cluster_of(snapshot: Snapshot) -> GanetiCluster:
    """Return a snapshot of any source as a Ganeti cluster, in order of names.

    A group that states no policy has that of its cluster; workloads that wait are left out.
    """
    own = snapshot.instance_policy or InstancePolicy()
    groups = {group.name: _group(snapshot, group, own) for group in snapshot.groups}
    used = dict.fromkeys(snapshot.nodes.keys(), 0)
    instances = []
    for workload in snapshot.workloads:
        instance = _instance(snapshot, workload)
        if instance is not None:
            instances.append(instance)
            used[instance.primary] += instance.memory_bytes if instance.uses_memory else 0
    rules = RulesByPlace(snapshot)
    nodes = tuple(
        _node(node, groups[node.group].uuid, bounds_of(node, rules.of(node)), used[node.name])
        for node in snapshot.nodes
    )
    has_domains = any(node.domain and node.host is None for node in snapshot.nodes)
    return GanetiCluster(
        groups=tuple(groups.values()),
        nodes=nodes,
        instances=tuple(instances),
        tags=(*snapshot.tags, LOCATION_TAG) if has_domains else snapshot.tags,
        policy=_with_ratios(own, None, rules_for(snapshot.policy, snapshot.resource_types)),
    )


def is_of_machines(snapshot: Snapshot) -> bool:
    """Whether a cluster is Ganeti's: where its machines may go is decided by their disks and standbys."""
    return any(node.host is not None for node in snapshot.nodes) and all(
        workload.instance is not None for workload in snapshot.workloads
    )


def _group(snapshot: Snapshot, group: Group, cluster: InstancePolicy) -> GanetiGroup:
    said = group.ganeti or GanetiGroup(group.name, group.name)
    rules = rules_for(snapshot.policy, snapshot.resource_types, group.name)
    policy = _with_ratios(said.policy or cluster, cluster.memory_ratio, rules)
    return msgspec.structs.replace(said, name=group.name, policy=policy)


def _with_ratios(policy: InstancePolicy, inherited: Fraction | None, rules: Rules) -> InstancePolicy:
    """Return a policy with the ratios that apply; one that is only 1 need not be stated."""
    cpu, memory = _ratio(rules, CPU), _ratio(rules, MEMORY)
    stated = inherited if policy.memory_ratio is None else policy.memory_ratio
    if memory != (_ONE if stated is None else stated):
        policy = msgspec.structs.replace(policy, memory_ratio=memory)
    return policy if cpu == policy.cpu_ratio else msgspec.structs.replace(policy, cpu_ratio=cpu)


def _ratio(rules: Rules, resource: str) -> Fraction:
    ratio = rules.ratio(resource)
    return Fraction(RATIO_MAX) if ratio is None else ratio


def _node(node: Node, group: str, bounds: Mapping[str, Bounds], used: int) -> GanetiNode:
    capacity = {name: bounds[name].capacity if name in bounds else 0 for name in (CPU, MEMORY)}
    reserve = {name: bounds[name].reserve if name in bounds else 0 for name in (CPU, MEMORY)}
    said = node.host
    if said is None:
        said = GanetiNode(
            node.name,
            group,
            memory_free_bytes=capacity[MEMORY] - reserve[MEMORY] - used,
            disk_bytes=UNSTATED_DISK_BYTES,
            disk_free_bytes=UNSTATED_DISK_BYTES,
            cpu_speed=node.cpu_conversion_factor,
            tags=(f"{DOMAIN_TAG}:{node.domain}",) if node.domain else (),
        )
    return msgspec.structs.replace(
        said,
        name=node.name,
        group=group,
        memory_bytes=capacity[MEMORY],
        memory_node_bytes=reserve[MEMORY],
        cpu_milli=capacity[CPU],
        cpu_node_milli=reserve[CPU],
        offline=node.state == "offline",
    )


def _instance(snapshot: Snapshot, workload: Workload) -> Instance | None:
    """Return a workload as an instance; None where it waits or is gone."""
    said = workload.instance
    if not workload.holds_capacity:
        return None
    if said is not None:
        return _placed(snapshot, said, workload.node, workload.standby)
    stays = is_daemon(workload) or workload.terminating or _has_local_volume(snapshot, workload)
    standby = "" if workload.standby == workload.node else workload.standby
    found = Instance(
        workload.key,
        workload.requests.of(MEMORY),
        (),
        workload.requests.of(CPU),
        template=PINNED if stays else DRBD if standby else MOVABLE,
        spindle_use=0 if standby else 1,
    )
    return _placed(snapshot, found, workload.node, standby)


def _placed(snapshot: Snapshot, instance: Instance, primary: str, secondary: str) -> Instance | None:
    """Return an instance on its nodes; without its second node it stays where it is."""
    if primary not in snapshot.nodes:
        return None
    if secondary and secondary not in snapshot.nodes:
        template = PINNED if instance.template == DRBD else instance.template
        return msgspec.structs.replace(instance, primary=primary, secondary="", template=template)
    return msgspec.structs.replace(instance, primary=primary, secondary=secondary)


def _has_local_volume(snapshot: Snapshot, workload: Workload) -> bool:
    """Whether a volume of a workload is reached from no other node than its own."""
    prefix = f"{workload.namespace}/" if workload.namespace else ""
    for volume in workload.volumes:
        claim = snapshot.claims.get(f"{prefix}{volume.claim}") if volume.claim else None
        bound = snapshot.volumes.get(claim.volume) if claim is not None and claim.volume else None
        if bound is None or bound.node_affinity is None:
            continue
        terms = bound.node_affinity.node_selector_terms
        reached = (node.name for node in snapshot.nodes if any(matches_term(node, term) for term in terms))
        if all(name == workload.node for name in reached):
            return True
    return False
