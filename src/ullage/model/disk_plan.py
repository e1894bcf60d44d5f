"""Volumes that are asked for, what drives and groups offer, and which of them would serve which volume."""

from collections.abc import Mapping

from ullage.model.constraints import Record
from ullage.model.drives import ANY, EXTENT_BYTES, GROUP_SUFFIX, LocalClass


class DiskRequest(Record, frozen=True):
    """A volume on a local disk: a whole drive, or a share of a volume group.

    `claim` is the key of the claim that it is for, where others may name the same one.
    """

    name: str
    storage_class: LocalClass
    size_bytes: int
    storage_group: str = ""
    virtual_disk: bool = False
    claim: str = ""

    @property
    def is_share(self) -> bool:
        """Whether it is a logical volume, which takes a share of a group and not a whole drive."""
        return is_share(self.storage_class)


class DiskCapacity(Record, frozen=True):
    """What one drive (class HDD, SSD, NVME) or one volume group (the LVG classes) of a node offers.

    `size_bytes` is the size of the drive as it is, or what the group has free apart from what is promised. A
    `cold` drive would have to be spun up; one with `virtual_disks` has a file system that holds some. Where
    volumes share drives without groups, `used_bytes` is what those that exist take of this one.
    """

    name: str
    node: str
    storage_class: LocalClass
    size_bytes: int
    storage_group: str = ""
    tainted: bool = False
    cold: bool = False
    virtual_disks: bool = False
    used_bytes: int = 0
    extent_bytes: int = EXTENT_BYTES

    @property
    def is_group(self) -> bool:
        """Whether it is a volume group already."""
        return is_share(self.storage_class)


class DiskHold(Record, frozen=True):
    """What a reservation holds of a capacity; its class says how it is held.

    One that is `bound` has its volume already: it takes room where the capacity is described as if that
    volume were not there, and nobody waits for it to end.
    """

    reservation: str
    request: str
    node: str
    capacity: str
    storage_class: LocalClass
    size_bytes: int
    bound: bool = False


class NodeDisks(Record, frozen=True):
    """How a node would serve every volume that is asked for.

    `chosen` maps requests to capacities, `opened` are drives that nobody held and that would become groups,
    `stranded_bytes` is what is left of whole drives beyond the requests, and of the opened drives. `spun_up`
    are the cold drives that have to be looked at, in order. `proven` says that no other way opens fewer;
    where it is not, no way opens fewer than `opened_bound`.
    """

    node: str
    chosen: Mapping[str, str]
    opened: tuple[str, ...] = ()
    stranded_bytes: int = 0
    spun_up: tuple[str, ...] = ()
    proven: bool = True
    opened_bound: int = 0


class DiskWitness(Record, frozen=True):
    """Why a node cannot serve: these requests cannot stand together there, though fewer of them could.

    `missing_bytes` is the least that would have to be added to one drive, or taken off one of the requests,
    and `remedy` says so in words. None where no size would help.
    """

    node: str
    requests: tuple[str, ...]
    reason: str
    missing_bytes: int | None = None
    remedy: str = ""


class DiskPlan(Record, frozen=True):
    """The nodes that can serve all volumes, the best first, and why the others cannot.

    `waits_for` are reservations that have to be bound or to end first: till then nothing is decided.
    """

    nodes: tuple[NodeDisks, ...] = ()
    witnesses: tuple[DiskWitness, ...] = ()
    waits_for: tuple[str, ...] = ()


def is_share(storage_class: str) -> bool:
    """Whether a class is one of volume groups."""
    return storage_class.endswith(GROUP_SUFFIX)


def drive_class_of(storage_class: LocalClass) -> str:
    """Return the class of drives behind a class: HDD for HDD and HDDLVG; none for ANY and SYSLVG."""
    base = storage_class.removesuffix(GROUP_SUFFIX)
    return "" if base in {ANY, "SYS"} else base
