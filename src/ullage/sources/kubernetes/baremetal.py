"""Drives and volume groups of csi-baremetal (csi-baremetal.dell.com/v1), put on their nodes.

The hard thing: a drive names its node by an identifier of the driver's own. It is the value of a label or
annotation of the node, or is tied to the node's host name by the driver's own Node object, or is the node's
UID. Fields that are false or empty are left out by the driver: a drive without IsClean is not clean.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple, get_args

import msgspec

from ullage.model.drives import EXTENT_BYTES, SYSTEM_GROUP, Drive, DriveClass, VolumeGroup
from ullage.model.quantity import INT64_MAX
from ullage.model.row_checks import NAME
from ullage.sources.kubernetes.storage_objects import Described
from ullage.sources.kubernetes.wire import Named, NodeMetadata, Wire

GROUP: Final = "csi-baremetal.dell.com"
NODE_IDENTIFIERS: Final = ("nodes.csi-baremetal.dell.com/uuid", "csibmnodes.csi-baremetal.dell.com/uuid")
STORAGE_GROUP: Final = "drive.csi-baremetal.dell.com/storage-group"
TAINT: Final = "drive.csi-baremetal.dell.com/taint"
NO_SCHEDULE: Final = "NoSchedule"
GOOD: Final = "GOOD"
FAILED: Final = "FAILED"
SIZE_MAX: Final = INT64_MAX - EXTENT_BYTES
"""The largest size that still fits 64 bits when it is rounded up to extents."""
_CLASSES: Final[frozenset[str]] = frozenset(get_args(DriveClass))


class Spec(msgspec.Struct, rename="pascal", gc=False):
    """A spec whose fields begin with a capital, as the driver's do."""


class DriveSpec(Spec):
    """A drive as the driver describes it."""

    type: str = ""
    size: int = 0
    health: str = "UNKNOWN"
    status: str = "OFFLINE"
    usage: str = ""
    node_id: str = ""
    path: str = ""
    is_system: bool = False
    is_clean: bool = False
    uuid: str = msgspec.field(default="", name="UUID")
    vendor: str = msgspec.field(default="", name="VID")
    product: str = msgspec.field(default="", name="PID")


class DriveWire(Wire):
    """A Drive."""

    metadata: Described
    spec: DriveSpec


class GroupSpec(Spec):
    """A volume group as the driver describes it."""

    name: str = ""
    node: str = ""
    locations: list[str] | None = None
    size: int = 0
    health: str = GOOD
    status: str = ""
    volume_refs: list[str] | None = None

    @property
    def takes_volumes(self) -> bool:
        """Whether the driver offers anything of it."""
        return self.health in {"", GOOD} and self.status != FAILED


class GroupWire(Wire):
    """A LogicalVolumeGroup."""

    metadata: Described
    spec: GroupSpec


class CapacitySpec(Spec):
    """What a drive or volume group still offers."""

    location: str = ""
    size: int = 0
    storage_class: str = msgspec.field(default="", name="storageClass")


class CapacityWire(Wire):
    """An AvailableCapacity."""

    metadata: Described
    spec: CapacitySpec


class BaremetalNodeSpec(Spec):
    """The driver's identifier of a node, and the node's addresses."""

    addresses: dict[str, str] | None = None
    uuid: str = msgspec.field(default="", name="UUID")


class BaremetalNodeWire(Wire):
    """The driver's own Node object."""

    metadata: Named
    spec: BaremetalNodeSpec


class Disks(NamedTuple):
    """What a node has to store things on."""

    drives: tuple[Drive, ...] = ()
    volume_groups: tuple[VolumeGroup, ...] = ()


class Place(NamedTuple):
    """A drive or a volume group, and the node that has it."""

    node: str
    disk: Drive | VolumeGroup

    @property
    def name(self) -> str:
        """What the model calls it."""
        return self.disk.uuid if isinstance(self.disk, Drive) else self.disk.name

    @property
    def capacity(self) -> str:
        """What the ledger calls it."""
        kind = "drive" if isinstance(self.disk, Drive) else "group"
        return f"{kind}/{self.node}/{self.name}"


class Offered(NamedTuple):
    """What the driver calls the capacity of a drive or group, and its node."""

    capacity: str
    node_id: str


class DriveReader:
    """What has been read of the driver's objects; `disks` puts it on nodes when everything is known.

    From then on `places` tells what the driver's locations and the names of its capacities mean.
    """

    def __init__(self) -> None:
        self.drives: dict[str, DriveWire] = {}
        self.groups: dict[str, GroupWire] = {}
        self.capacities: dict[str, CapacityWire] = {}
        self.places: dict[str, Place] = {}
        self.unplaced: list[str] = []
        self._node_names: dict[str, str] = {}

    def node(self, metadata: NodeMetadata) -> None:
        """Take note of every identifier under which drives may name a node."""
        given = {**(metadata.labels or {}), **(metadata.annotations or {})}
        identifiers = (*(given.get(name, "") for name in NODE_IDENTIFIERS), metadata.uid, metadata.name)
        for identifier in filter(None, identifiers):
            self._node_names.setdefault(identifier, metadata.name)

    def baremetal_node(self, wire: BaremetalNodeWire) -> None:
        """Take note of the host name behind an identifier."""
        hostname = (wire.spec.addresses or {}).get("Hostname", "")
        if hostname and wire.spec.uuid:
            self._node_names.setdefault(wire.spec.uuid, hostname)

    def disks(self, node_names: set[str]) -> dict[str, Disks]:
        """Drives and volume groups by node; those of unknown nodes or classes are named in `unplaced`."""
        offered = {wire.spec.location: wire for wire in self.capacities.values()}
        drives: dict[str, list[Drive]] = {}
        for name, wire in sorted(self.drives.items()):
            node = self._node_names.get(wire.spec.node_id, "")
            uuid = wire.spec.uuid or name
            is_new = is_possible(uuid, wire.spec.size) and uuid not in self.places
            if node not in node_names or wire.spec.type not in _CLASSES or not is_new:
                self.unplaced.append(f"drive {name}")
                continue
            drive = _drive(uuid, wire, offered.get(uuid), knows_offers=bool(offered))
            drives.setdefault(node, []).append(drive)
            self.places[name] = self.places[uuid] = Place(node, drive)
        groups: dict[str, list[VolumeGroup]] = {}
        for name, group in sorted(self.groups.items()):
            node = self._node_names.get(group.spec.node, "")
            made = _volume_group(name, group, drives.get(node, []), offered.get(name))
            others = groups.get(node, ())
            if node not in node_names or made is None or any(each.name == made.name for each in others):
                self.unplaced.append(f"volume group {name}")
                continue
            groups[node] = [*others, made]
            self.places[name] = Place(node, made)
        lost = (name for name, wire in self.capacities.items() if wire.spec.location not in self.places)
        self.unplaced += [f"capacity {name}" for name in sorted(lost)]
        return {
            node: Disks(_marked(drives.get(node, ()), groups.get(node, ())), tuple(groups.get(node, ())))
            for node in sorted({*drives, *groups})
        }

    def place_of_capacity(self, name: str) -> Place | None:
        """Return what an AvailableCapacity of that name is a part of."""
        wire = self.capacities.get(name)
        return None if wire is None else self.places.get(wire.spec.location)

    def offered(self) -> dict[tuple[str, str], Offered]:
        """Return the AvailableCapacities by node and by what the model calls their drives and groups."""
        node_ids = {wire.spec.uuid or name: wire.spec.node_id for name, wire in self.drives.items()}
        node_ids |= {name: wire.spec.node for name, wire in self.groups.items()}
        found: dict[tuple[str, str], Offered] = {}
        for name, wire in sorted(self.capacities.items()):
            place = self.places.get(wire.spec.location)
            if place is not None:
                node_id = node_ids.get(wire.spec.location, "")
                found.setdefault((place.node, place.name), Offered(name, node_id))
        return found

    def missing_volumes(self, known: Iterable[str]) -> list[str]:
        """Return the volumes that groups name and nobody has described."""
        named = {each for group in self.groups.values() for each in group.spec.volume_refs or ()}
        return sorted(named.difference(known))


def is_possible(name: str, size_bytes: int) -> bool:
    """Whether a snapshot can hold something of that name and size."""
    return NAME.fullmatch(name) is not None and 0 <= size_bytes <= SIZE_MAX


def _drive(uuid: str, wire: DriveWire, offered: CapacityWire | None, *, knows_offers: bool) -> Drive:
    """A drive; one of which the driver offers nothing though it could is about to be used.

    Where nothing that the driver offers is known at all, a drive offers what it is.
    """
    spec = wire.spec
    drive = Drive(
        uuid=uuid,
        drive_class=msgspec.convert(spec.type, DriveClass),
        size_bytes=spec.size,
        health=spec.health,
        status=spec.status,
        usage=spec.usage,
        system=spec.is_system,
        clean=spec.is_clean,
        path=spec.path,
        model=f"{spec.vendor} {spec.product}".strip(),
        storage_group=_said(STORAGE_GROUP, wire.metadata, offered),
        tainted=_said(TAINT, wire.metadata, offered) == NO_SCHEDULE,
    )
    offers = offered is not None and offered.spec.size > 0
    if drive.offers_space and knows_offers and not offers:
        return msgspec.structs.replace(drive, clean=False)
    return drive


def _volume_group(
    name: str, wire: GroupWire, drives: list[Drive], offered: CapacityWire | None
) -> VolumeGroup | None:
    """A volume group on drives that are known; without an AvailableCapacity it has nothing free."""
    spec = wire.spec
    locations = tuple(spec.locations or ())
    below = [drive for drive in drives if drive.uuid in locations]
    if not below or not is_possible(spec.name or name, spec.size):
        return None
    free_bytes = max(0, offered.spec.size) if offered is not None and spec.takes_volumes else 0
    return VolumeGroup(
        name=spec.name or name,
        drive_class=below[0].drive_class,
        size_bytes=spec.size,
        free_bytes=min(spec.size, free_bytes),
        drives=locations,
        system=any(drive.system for drive in below)
        or (offered is not None and offered.spec.storage_class == SYSTEM_GROUP),
        storage_group=_said(STORAGE_GROUP, wire.metadata, offered),
        tainted=_said(TAINT, wire.metadata, offered) == NO_SCHEDULE,
    )


def _said(key: str, metadata: Described, offered: CapacityWire | None) -> str:
    """Return what a label or annotation says of a disk, or of what is offered of it: the driver copies it."""
    for each in (metadata, offered.metadata if offered is not None else None):
        for texts in (each.labels, each.annotations) if each is not None else ():
            if texts and texts.get(key):
                return texts[key]
    return ""


def _marked(drives: Iterable[Drive], groups: Iterable[VolumeGroup]) -> tuple[Drive, ...]:
    """Return drives of which none is clean that is in a group: the driver notices it some time later."""
    taken = {uuid for group in groups for uuid in group.drives}
    return tuple(
        msgspec.structs.replace(drive, clean=False) if drive.uuid in taken else drive for drive in drives
    )
