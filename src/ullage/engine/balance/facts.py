"""Hosts and machines: what balancing needs to know of nodes and instances, and what never changes meanwhile.

The hard thing is which free memory counts. Our own rule (exact) goes by the records alone. htools counts what
the records say, less what is missing of it in what the node reports; and with a stated ratio only what the
node reports.
"""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from math import floor
from typing import Final, Literal, NamedTuple

from ullage.model.ganeti import (
    DRBD,
    EXTERNAL_TEMPLATES,
    LOCAL_TEMPLATES,
    MIB,
    MOVABLE_TEMPLATES,
    OFFLINE,
    DiskTemplate,
    GanetiCluster,
    GanetiNode,
    Instance,
    InstancePolicy,
)

NOWHERE: Final = -1
"""The standby of a machine that has none."""
UNBOUNDED: Final = 1 << 62
"""More than any host has."""
Mirror = Literal["none", "internal", "external"]
EXCLUSION_TAG: Final = "htools:iextags:"
MIGRATION_TAG: Final = "htools:migration:"
ALLOW_MIGRATION_TAG: Final = "htools:allowmigration:"
LOCATION_TAG: Final = "htools:nlocation:"
DESIRED_LOCATION_TAG: Final = "htools:desiredlocation:"
_FLOATS_EXACT: Final = 1 << 53


class Load(NamedTuple):
    """What a machine or all machines of a host use, in a unit of the user's choice."""

    cpu: float
    memory: float
    disk: float
    net: float


EVEN_LOAD: Final = Load(1.0, 1.0, 1.0, 1.0)
NO_LOAD: Final = Load(0.0, 0.0, 0.0, 0.0)


class View(NamedTuple):
    """How a cluster is looked at: the rule for memory, and what a user says about machines and hosts.

    `exact` lets memory and disk be filled to the last byte; `memory_ratio` overrides what policies state, and
    `memory_ratios` do so for nodes by name. `memory_beyond` is what is used there by none of the machines.
    """

    exact: bool = False
    memory_ratio: Fraction | None = None
    memory_ratios: Mapping[str, Fraction] = {}
    exclusion_tags: tuple[str, ...] = ()
    loads: Mapping[str, Load] = {}
    memory_beyond: Mapping[str, int] = {}
    ignores_load: bool = False
    offline: frozenset[str] = frozenset()
    disk_min: float | None = None
    cpu_ratio: float | None = None
    selected: frozenset[str] = frozenset()
    excluded: frozenset[str] = frozenset()


class Machine(NamedTuple):
    """An instance: what it takes where it runs, and where it may go."""

    number: int
    name: str
    memory: int
    disk: int
    cpu: int
    spindle_use: int
    spindles: int | None
    template: DiskTemplate
    mirror: Mirror
    local: bool
    movable: bool
    uses_memory: bool
    reserves_memory: bool
    counts_cpu: bool
    forthcoming: bool
    exclusion_tags: tuple[str, ...]
    desired_locations: frozenset[str]
    load: Load
    instance: Instance

    @property
    def has_standby(self) -> bool:
        """Whether it is kept ready on a second host."""
        return self.template == DRBD


class Host(NamedTuple):
    """A node: what never changes of it.

    Memory is refused where what would be free is at or below `memory_floor` (below it, where filling is
    `exact`): the floor is 0, or negative by as much as may be over-committed. `memory_whole` is what shares
    of memory are of. Verdicts about processors and busy disks go by `cpu_most` and `spindles_most`, scores by
    the ratio and by `spindles_high`.
    """

    number: int
    name: str
    group: int
    offline: bool
    memory: int
    memory_node: int
    memory_missing: int
    memory_whole: int
    memory_floor: int
    memory_reported: int
    disk: int
    disk_low: int
    cpu: int
    cpu_node: int
    cpu_speed: float
    cpu_ratio: float
    cpu_most: int
    spindles: int
    spindles_high: float
    spindles_most: int
    exclusive: bool
    exact: bool
    sends: frozenset[str]
    receives: frozenset[str]
    locations: frozenset[str]
    policy: InstancePolicy
    node: GanetiNode
    memory_beyond: int = 0

    @property
    def memory_available(self) -> int:
        """What there is for machines, whatever may be promised of it."""
        return self.memory - self.memory_node

    def refuses_memory(self, free: int) -> bool:
        """Whether so much free memory is too little."""
        return free < self.memory_floor if self.exact else free <= self.memory_floor

    def refuses_disk(self, free: int) -> bool:
        """Whether so much free disk is too little."""
        return free < 0 if self.exact else free <= 0


def machines_of(cluster: GanetiCluster, view: View) -> list[Machine]:
    """Return the instances of a cluster in their order."""
    group_of = {node.name: node.group for node in cluster.nodes}
    exclusion = (*view.exclusion_tags, *_suffixes(EXCLUSION_TAG, cluster.tags))
    desired = tuple(_suffixes(DESIRED_LOCATION_TAG, cluster.tags))
    return [
        machine_of(
            instance,
            number,
            load=_load_of(instance, view),
            exclusion=exclusion,
            desired=desired,
            stays=_stays(instance, view, group_of),
        )
        for number, instance in enumerate(cluster.instances)
    ]


def machine_of(
    instance: Instance,
    number: int = NOWHERE,
    *,
    load: Load = EVEN_LOAD,
    exclusion: Sequence[str] = (),
    desired: Sequence[str] = (),
    stays: bool = False,
) -> Machine:
    """Return an instance as a machine; tags with these beginnings keep it from its like, or draw it."""
    template = instance.template
    external: Mirror = "external" if template in EXTERNAL_TEMPLATES else "none"
    is_on = instance.status != OFFLINE
    return Machine(
        number,
        instance.name,
        instance.memory_bytes,
        instance.disk_total_bytes,
        instance.cpu_milli,
        instance.spindle_use,
        instance.spindles_total,
        template,
        "internal" if template == DRBD else external,
        template in LOCAL_TEMPLATES,
        template in MOVABLE_TEMPLATES and instance.auto_balance and not stays,
        instance.uses_memory,
        instance.reserves_memory,
        is_on,
        instance.forthcoming,
        tuple(tag for tag in instance.tags if tag.startswith(tuple(exclusion))),
        frozenset(tag for tag in instance.tags if tag.startswith(tuple(desired))),
        load,
        instance,
    )


def _load_of(instance: Instance, view: View) -> Load:
    return NO_LOAD if view.ignores_load else view.loads.get(instance.name, EVEN_LOAD)


def _stays(instance: Instance, view: View, group_of: Mapping[str, str]) -> bool:
    """Whether a user or a split over two groups keeps an instance where it is."""
    if instance.name in view.excluded or (view.selected and instance.name not in view.selected):
        return True
    return bool(instance.secondary) and group_of[instance.primary] != group_of[instance.secondary]


def hosts_of(cluster: GanetiCluster, view: View) -> list[Host]:
    """Return the nodes of a cluster in their order."""
    used: dict[str, int] = {}
    for instance in cluster.instances:
        if instance.uses_memory:
            used[instance.primary] = used.get(instance.primary, 0) + instance.memory_bytes
    group_numbers = {group.uuid: number for number, group in enumerate(cluster.groups)}
    return [
        _host(cluster, view, number, group_numbers[node.group], used.get(node.name, 0))
        for number, node in enumerate(cluster.nodes)
    ]


def _host(cluster: GanetiCluster, view: View, number: int, group: int, used: int) -> Host:
    node = cluster.nodes[number]
    policy = cluster.groups[group].policy or InstancePolicy()
    ratio = view.memory_ratios.get(node.name)
    if ratio is None:
        ratio = memory_ratio_of(cluster, group, view)
    available = node.memory_bytes - node.memory_node_bytes
    recorded = available - used
    missing = recorded - node.memory_free_bytes
    disk_min = 0.0 if view.disk_min is None else view.disk_min
    cpu_ratio = policy.cpu_ratio if view.cpu_ratio is None else view.cpu_ratio
    migration = _tags_of(MIGRATION_TAG, cluster.tags, node.tags)
    return Host(
        number=number,
        name=node.name,
        group=group,
        offline=node.offline or node.name in view.offline,
        memory=node.memory_bytes,
        memory_node=node.memory_node_bytes,
        memory_missing=missing if ratio is not None and not view.exact else max(0, missing),
        memory_whole=available if view.exact or ratio is not None else node.memory_bytes,
        memory_floor=0 if ratio is None else floor_of(ratio, available, exact=view.exact),
        memory_reported=node.memory_free_bytes,
        disk=node.disk_bytes,
        disk_low=int(disk_min * (node.disk_bytes / MIB)) * MIB,
        cpu=node.cpu_milli,
        cpu_node=node.cpu_node_milli,
        cpu_speed=float(node.cpu_speed),
        cpu_ratio=float(cpu_ratio),
        cpu_most=cpu_most_of(cpu_ratio, node.cpu_milli, exact=view.exact),
        spindles=node.spindles,
        spindles_high=float(policy.spindle_ratio) * node.spindles,
        spindles_most=spindles_most_of(policy.spindle_ratio, node.spindles, exact=view.exact),
        exclusive=node.exclusive_storage,
        exact=view.exact,
        sends=migration,
        receives=_receives(migration, cluster.tags),
        locations=_tags_of(LOCATION_TAG, cluster.tags, node.tags),
        policy=policy,
        node=node,
        memory_beyond=view.memory_beyond.get(node.name, 0),
    )


def memory_ratio_of(cluster: GanetiCluster, group: int, view: View) -> Fraction | None:
    """Return the memory ratio of a group: what is asked for, its own, the cluster's; None for none stated."""
    own = cluster.groups[group].policy
    for ratio in (view.memory_ratio, own.memory_ratio if own else None, cluster.policy.memory_ratio):
        if ratio is not None:
            return ratio
    return None


def floor_of(ratio: Fraction, available: int, *, exact: bool) -> int:
    """Return the lowest free memory: minus what may be promised beyond what is there.

    By htools' rule that is whole MiB towards 0; by the exact one no byte more than the ratio is promised.
    """
    unit = 1 if exact else MIB
    beyond = (ratio - 1) * available / unit
    return -(floor(beyond) if exact else int(beyond)) * unit


def cpu_most_of(ratio: Fraction | float, cpu: int, *, exact: bool) -> int:
    """Return the most processors that machines on a host may have; a ratio below 0 sets no bound.

    A host without processors has none to give, whatever the ratio. By htools' rule a share is a float, and
    so may be more than the ratio by less than a float can tell.
    """
    if ratio < 0:
        return UNBOUNDED
    if not cpu:
        return 0
    if exact:
        return min(floor(Fraction(ratio) * cpu), UNBOUNDED)
    allowed = float(ratio)
    most = int(allowed * cpu)
    if most >= _FLOATS_EXACT:
        return UNBOUNDED
    while allowed < most / cpu:
        most -= 1
    while allowed >= (most + 1) / cpu:
        most += 1
    return most


def spindles_most_of(ratio: Fraction, spindles: int, *, exact: bool) -> int:
    """Return how busy machines may keep the disks of a host."""
    return min(floor(ratio * spindles if exact else float(ratio) * spindles), UNBOUNDED)


def _suffixes(prefix: str, tags: Iterable[str]) -> list[str]:
    return [tag.removeprefix(prefix) for tag in tags if tag.startswith(prefix) and tag != prefix]


def _tags_of(prefix: str, cluster_tags: Iterable[str], node_tags: Iterable[str]) -> frozenset[str]:
    """Return the tags of a node that belong to a family which the cluster names."""
    families = tuple(f"{tag.removeprefix(prefix)}:" for tag in cluster_tags if tag.startswith(prefix))
    return frozenset(tag for tag in node_tags if tag.startswith(families))


def _receives(own: frozenset[str], cluster_tags: Iterable[str]) -> frozenset[str]:
    """Return the tags of nodes from which a node with some tags takes machines."""
    found = set(own)
    for tag in cluster_tags:
        if tag.startswith(ALLOW_MIGRATION_TAG):
            parts = tag.removeprefix(ALLOW_MIGRATION_TAG).split("::")
            if len(parts) == 2 and parts[1] in own:
                found.add(parts[0])
    return frozenset(found)
