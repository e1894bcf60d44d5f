"""Local disks of a node: drives, volume groups, and the volumes that exist on them.

The words are those of csi-baremetal. A plain volume has a whole drive; a share of a volume group is a logical
volume. What a drive or a group can still give follows from these facts and from what is promised.
"""

from typing import Final, Literal

from ullage.model.constraints import Record

DriveClass = Literal["HDD", "SSD", "NVME"]
LocalClass = Literal["ANY", "HDD", "SSD", "NVME", "HDDLVG", "SSDLVG", "NVMELVG", "SYSLVG"]
"""What a volume on a local disk may ask for: a whole drive, or a share of a volume group (LVG)."""

DRIVE_CLASSES: Final[tuple[DriveClass, ...]] = ("HDD", "SSD", "NVME")
"""The classes of drives, in the order in which ANY takes them."""
ANY: Final = "ANY"
SYSTEM_GROUP: Final = "SYSLVG"
GROUP_SUFFIX: Final = "LVG"
EXTENT_BYTES: Final = 4 << 20
FAILING: Final = frozenset(("SUSPECT", "BAD"))


class Drive(Record, frozen=True):
    """One disk of a node; `cold` says that it is spun down, `tainted` that it takes no new volumes.

    Only requests of its own `storage_group` may have a drive; most drives and requests have none. Volumes
    that share a drive need not be full: `available_bytes` is what it really has free, None if nobody says.
    """

    uuid: str
    drive_class: DriveClass
    size_bytes: int
    health: str = "GOOD"
    status: str = "ONLINE"
    usage: str = "IN_USE"
    system: bool = False
    clean: bool = True
    path: str = ""
    model: str = ""
    storage_group: str = ""
    tainted: bool = False
    cold: bool = False
    available_bytes: int | None = None

    @property
    def is_healthy(self) -> bool:
        """Whether it can be relied upon."""
        return self.health not in FAILING and self.status == "ONLINE"

    @property
    def offers_space(self) -> bool:
        """Whether new volumes may be put on it, if nothing is there yet."""
        return self.is_healthy and self.usage == "IN_USE" and self.clean and not self.system


class ThinPool(Record, frozen=True):
    """A logical volume that thin volumes share; `virtual_bytes` is what these have in all, written or not."""

    name: str
    size_bytes: int
    virtual_bytes: int = 0


class VolumeGroup(Record, frozen=True):
    """A group of extents on one or more drives, from which logical volumes are cut.

    The extents of its thin pools are not free any more; the volumes of a pool are not volumes of the group.
    """

    name: str
    drive_class: DriveClass
    size_bytes: int
    free_bytes: int
    extent_bytes: int = EXTENT_BYTES
    drives: tuple[str, ...] = ()
    system: bool = False
    storage_group: str = ""
    tainted: bool = False
    thin_pools: tuple[ThinPool, ...] = ()


class PlacedVolume(Record, frozen=True):
    """A volume that exists on a node: on the drive or in the volume group that `location` names.

    `claim` is the key of the claim that it serves, `owner` that of a workload it goes with. A virtual disk is
    a file on a file system of the drive, which others may share.
    """

    name: str
    location: str
    size_bytes: int
    claim: str = ""
    owner: str = ""
    virtual_disk: bool = False
