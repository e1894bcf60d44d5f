"""A cluster of virtual machines in Ganeti's words: groups, nodes, instances and policies, in their order.

The order of nodes and instances is that of the source, because Ganeti's tools decide ties by it. Memory and
disk are bytes, processors thousandths. What follows from these facts (what is free, what is reserved for
failover, which tags matter) is derived in engine/balance.
"""

from fractions import Fraction
from typing import Final, Literal

from ullage.model.constraints import Record

MIB: Final = 1 << 20

AllocationPolicy = Literal["preferred", "last_resort", "unallocable"]

Status = Literal[
    "running", "ADMIN_down", "ADMIN_offline", "ERROR_down", "ERROR_up", "ERROR_nodedown",
    "ERROR_nodeoffline", "ERROR_wrongnode", "USER_down",
]  # fmt: skip

DiskTemplate = Literal["diskless", "file", "sharedfile", "plain", "blockdev", "drbd", "rbd", "ext", "gluster"]

USING_MEMORY: Final = frozenset(
    ("running", "ERROR_up", "ERROR_nodedown", "ERROR_nodeoffline", "ERROR_wrongnode")
)
OFFLINE: Final = "ADMIN_offline"
DRBD: Final = "drbd"
LOCAL_TEMPLATES: Final = frozenset((DRBD, "plain"))
"""Templates whose disks are on the node."""
EXTERNAL_TEMPLATES: Final = frozenset(("diskless", "sharedfile", "blockdev", "rbd", "ext", "gluster"))
"""Templates whose disks every node of a group can reach."""
MOVABLE_TEMPLATES: Final = frozenset((DRBD, "sharedfile", "blockdev", "rbd", "ext", "gluster"))


class Size(Record, frozen=True):
    """A size of instances that a policy names: as a bound, or as the usual one."""

    memory_bytes: int
    cpus: int
    disk_bytes: int
    disks: int = 1
    nics: int = 1
    spindle_use: int = 1


class InstancePolicy(Record, frozen=True):
    """What instances may be, and how far nodes are filled; no memory ratio means that none was stated.

    A size is allowed if it lies within one of the pairs of `bounds`.
    """

    standard: Size = Size(128 * MIB, 1, 1024 * MIB)
    bounds: tuple[tuple[Size, Size], ...] = (
        (Size(128 * MIB, 1, 1024 * MIB), Size(32768 * MIB, 8, 1048576 * MIB, 16, 8, 12)),
    )
    templates: tuple[DiskTemplate, ...] = (
        "diskless", "file", "sharedfile", "plain", "blockdev", "drbd", "rbd", "ext", "gluster",
    )  # fmt: skip
    cpu_ratio: Fraction = Fraction(4)
    spindle_ratio: Fraction = Fraction(32)
    memory_ratio: Fraction | None = None


class GanetiGroup(Record, frozen=True):
    """Nodes that take each other's instances."""

    name: str
    uuid: str
    allocation: AllocationPolicy = "preferred"
    tags: tuple[str, ...] = ()
    networks: tuple[str, ...] = ()
    policy: InstancePolicy | None = None


class GanetiNode(Record, frozen=True):
    """A node as it reports itself: `free` is what it measured, not what follows from its instances.

    `group` is the uuid. A node whose sizes are unknown is offline with nothing. Spindles are a resource
    where storage is exclusive, else a measure of how busy disks may get.
    """

    name: str
    group: str
    memory_bytes: int = 0
    memory_node_bytes: int = 0
    memory_free_bytes: int = 0
    disk_bytes: int = 0
    disk_free_bytes: int = 0
    cpu_milli: int = 0
    cpu_node_milli: int = 1000
    cpu_speed: Fraction = Fraction(1)
    offline: bool = False
    master: bool = False
    spindles: int = 1
    spindles_free: int = 0
    exclusive_storage: bool = False
    tags: tuple[str, ...] = ()
    hypervisor: str = ""


class Disk(Record, frozen=True):
    """One disk of an instance; spindles are known only where storage is exclusive."""

    size_bytes: int
    spindles: int | None = None


class Instance(Record, frozen=True):
    """A virtual machine; `secondary` is its standby node, empty where it has none."""

    name: str
    memory_bytes: int
    disks: tuple[Disk, ...]
    cpu_milli: int
    primary: str = ""
    secondary: str = ""
    status: Status = "running"
    auto_balance: bool = True
    template: DiskTemplate = DRBD
    tags: tuple[str, ...] = ()
    spindle_use: int = 1
    forthcoming: bool = False
    networks: tuple[str, ...] = ()
    disk_bytes: int | None = None

    @property
    def disk_total_bytes(self) -> int:
        """What it takes of a node's disk: what the source states, else the sum of its disks."""
        return sum(each.size_bytes for each in self.disks) if self.disk_bytes is None else self.disk_bytes

    @property
    def uses_memory(self) -> bool:
        """Whether it takes memory of its primary node now."""
        return self.status in USING_MEMORY and not self.forthcoming

    @property
    def reserves_memory(self) -> bool:
        """Whether its standby keeps memory for it: even while it is stopped, unless it is switched off."""
        return self.status != OFFLINE and self.auto_balance

    @property
    def spindles_total(self) -> int | None:
        """All spindles of its disks; None where one of them is not known."""
        known = [each.spindles for each in self.disks if each.spindles is not None]
        return sum(known) if len(known) == len(self.disks) else None


class GanetiCluster(Record, frozen=True):
    """All of it, in the order of the source."""

    groups: tuple[GanetiGroup, ...] = ()
    nodes: tuple[GanetiNode, ...] = ()
    instances: tuple[Instance, ...] = ()
    tags: tuple[str, ...] = ()
    policy: InstancePolicy = InstancePolicy()
