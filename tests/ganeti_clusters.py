"""Random Ganeti clusters by seed, such that Ganeti's own tools and ours should answer the same.

Where the two differ on purpose a cluster is kept away from the difference: no node reports more free memory
than its records leave, nor exactly what it keeps for failover, and no policy states a memory ratio.
"""

from random import Random
from typing import NamedTuple

from msgspec.structs import replace

from ullage.model.ganeti import (
    MIB,
    Disk,
    DiskTemplate,
    GanetiCluster,
    GanetiGroup,
    GanetiNode,
    Instance,
    InstancePolicy,
    Status,
)

GIB = 1024 * MIB
STATUSES: tuple[Status, ...] = ("ADMIN_down", "ADMIN_offline", "ERROR_down", "ERROR_up", "USER_down")
SHARED_STORAGE: tuple[DiskTemplate, ...] = ("ext", "rbd", "sharedfile", "gluster", "blockdev")


class Kind(NamedTuple):
    """What a random cluster is like.

    `storage` is "drbd", "ext", "plain" or "mixed". Shares are of nodes or instances. `is_tight` leaves little
    memory, `has_distinct_sizes` makes every instance of its own size.
    """

    nodes: int
    instances: int
    storage: str = "drbd"
    groups: int = 1
    offline_share: float = 0.0
    down_share: float = 0.0
    tagged_share: float = 0.0
    has_migration_tags: bool = False
    has_locations: bool = False
    has_distinct_sizes: bool = False
    has_equal_nodes: bool = True
    is_tight: bool = False
    memory_missing_share: float = 0.0
    forthcoming_share: float = 0.0
    exclusive_share: float = 0.0


def random_kind(seed: int, nodes_max: int = 8, instances_max: int = 24) -> Kind:
    """Return what the cluster of a seed is like: one of everything that a generator may be asked for."""
    random = Random(f"kind {seed}")  # noqa: S311 - chance by seed, to repeat it
    groups = random.choice((1, 1, 1, 2))
    return Kind(
        nodes=random.randint(2 * groups, max(nodes_max, 2 * groups)),
        instances=random.randint(1, instances_max),
        storage=random.choice(("drbd", "drbd", "ext", "mixed", "plain")),
        groups=groups,
        offline_share=random.choice((0.0, 0.0, 0.2)),
        down_share=random.choice((0.0, 0.3)),
        tagged_share=random.choice((0.0, 0.0, 0.5)),
        has_migration_tags=random.random() < 0.2,
        has_locations=random.random() < 0.2,
        has_distinct_sizes=random.random() < 0.5,
        has_equal_nodes=random.random() < 0.5,
        is_tight=random.random() < 0.4,
        memory_missing_share=random.choice((0.0, 0.0, 0.3)),
        forthcoming_share=random.choice((0.0, 0.0, 0.0, 0.2)),
        exclusive_share=random.choice((0.0, 0.0, 0.0, 0.5)),
    )


def random_cluster(seed: int, kind: Kind) -> GanetiCluster:
    """Return the cluster of a seed."""
    random = Random(f"cluster {seed}")  # noqa: S311 - chance by seed, to repeat it
    groups = tuple(
        GanetiGroup(f"group-{number}", f"uuid-{number}", policy=InstancePolicy())
        for number in range(kind.groups)
    )
    names = [f"node-{number:04}" for number in range(kind.nodes)]
    group_of = {name: groups[number % kind.groups].uuid for number, name in enumerate(names)}
    instances = [_instance(random, kind, number, names, group_of) for number in range(kind.instances)]
    scale = _memory_scale(random, kind, instances)
    nodes = [_node(random, kind, (name, group_of[name]), instances, scale) for name in names]
    master = random.randrange(len(nodes))
    nodes[master] = replace(nodes[master], master=True, offline=False)
    tags = []
    if kind.tagged_share:
        tags.append("htools:iextags:service")
    if kind.has_migration_tags:
        tags += ["htools:migration:version", "htools:allowmigration:version:1::version:2"]
    if kind.has_locations:
        tags += ["htools:nlocation:rack", "htools:desiredlocation:rack"]
    return GanetiCluster(groups, tuple(nodes), tuple(instances), tuple(tags), InstancePolicy())


def _instance(
    random: Random, kind: Kind, number: int, names: list[str], group_of: dict[str, str]
) -> Instance:
    template: DiskTemplate = "drbd"
    if kind.storage == "ext":
        template = random.choice(SHARED_STORAGE)
    elif kind.storage == "plain":
        template = "plain"
    elif kind.storage == "mixed":
        template = random.choice(("drbd", "drbd", "plain", "ext", "rbd", "file", "diskless"))
    primary = random.choice(names)
    others = [name for name in names if name != primary and group_of[name] == group_of[primary]]
    memory = random.choice((512, 1024, 1024, 2048, 4096)) * MIB
    disk = random.choice((10, 20, 40)) * GIB
    if kind.has_distinct_sizes:
        memory = random.randint(400, 5000) * MIB
        disk = random.randint(5000, 60000) * MIB
    tags = ()
    if random.random() < kind.tagged_share:
        tags = (f"service:{random.randrange(1 + kind.instances // 4)}",)
    if kind.has_locations and random.random() < 0.3:
        tags += (f"rack:{random.randrange(3)}",)
    return Instance(
        name=f"instance-{number:05}",
        memory_bytes=memory,
        disks=() if template == "diskless" else (Disk(disk, 1 if kind.exclusive_share else None),),
        cpu_milli=1000 * random.choice((1, 1, 2, 4)),
        primary=primary,
        secondary=random.choice(others) if template == "drbd" else "",
        status=random.choice(STATUSES) if random.random() < kind.down_share else "running",
        auto_balance=random.random() > 0.05,
        template=template,
        tags=tags,
        forthcoming=random.random() < kind.forthcoming_share,
    )


def _memory_scale(random: Random, kind: Kind, instances: list[Instance]) -> int:
    """Return the memory of a node: enough for the fullest one, or for little more than an even share."""
    used: dict[str, int] = {}
    for each in instances:
        used[each.primary] = used.get(each.primary, 0) + each.memory_bytes
    most = max(used.values(), default=0)
    return most + (random.randint(1, 4) if kind.is_tight else random.randint(8, 32)) * GIB + 1024 * MIB


def _node(
    random: Random, kind: Kind, names: tuple[str, str], instances: list[Instance], memory_scale: int
) -> GanetiNode:
    name, group = names
    memory = memory_scale
    disk = (2 + kind.instances // kind.nodes * 4) * 100 * GIB
    cpu = max(4, kind.instances // kind.nodes * 2)
    if not kind.has_equal_nodes:
        memory += random.choice((0, 4, 16)) * GIB
        disk *= random.choice((1, 2))
        cpu *= random.choice((1, 2))
    here = [each for each in instances if each.primary == name]
    beside = [each for each in instances if each.secondary == name]
    used = sum(each.memory_bytes for each in here if each.uses_memory)
    peers: dict[str, int] = {}
    for each in beside:
        if each.status != "ADMIN_offline" and each.auto_balance and not each.forthcoming:
            peers[each.primary] = peers.get(each.primary, 0) + each.memory_bytes
    free = memory - 1024 * MIB - used
    if random.random() < kind.memory_missing_share:
        free -= random.randint(0, 2048) * MIB
    if free == max(peers.values(), default=0):
        free -= MIB
    local = [each for each in (*here, *beside) if each.template in {"drbd", "plain"} and not each.forthcoming]
    spindles = random.choice((1, 2)) if not kind.has_equal_nodes else 1
    is_exclusive = random.random() < kind.exclusive_share
    if is_exclusive:
        spindles = len(local) + random.randint(1, 9)
    tags = ()
    if kind.has_migration_tags:
        tags += (f"version:{random.choice((1, 2, 2))}",)
    if kind.has_locations:
        tags += (f"rack:{random.randrange(3)}",)
    return GanetiNode(
        name=name,
        group=group,
        memory_bytes=memory,
        memory_node_bytes=1024 * MIB,
        memory_free_bytes=max(MIB, free),
        disk_bytes=disk,
        disk_free_bytes=disk - sum(each.disk_total_bytes for each in local),
        cpu_milli=1000 * cpu,
        offline=random.random() < kind.offline_share,
        spindles=spindles,
        spindles_free=spindles - len(local) if is_exclusive else 0,
        exclusive_storage=is_exclusive,
        tags=tags,
    )
