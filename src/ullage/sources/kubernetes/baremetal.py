"""Drives and volume groups of csi-baremetal (csi-baremetal.dell.com/v1), put on their nodes.

The hard thing: a drive names its node by an identifier of the driver's own. It is the value of a label or
annotation of the node, or is tied to the node's host name by the driver's own Node object, or is the node's
UID. Fields that are false or empty are left out by the driver: a drive without IsClean is not clean.
"""

from typing import Final, NamedTuple, get_args

import msgspec

from ullage.model.cluster import Drive, DriveClass, VolumeGroup
from ullage.sources.kubernetes.wire import Named, NodeMetadata, Wire

GROUP: Final = "csi-baremetal.dell.com"
NODE_IDENTIFIERS: Final = ("nodes.csi-baremetal.dell.com/uuid", "csibmnodes.csi-baremetal.dell.com/uuid")
_CLASSES: Final[frozenset[str]] = frozenset(get_args(DriveClass))


class _Spec(msgspec.Struct, rename="pascal", gc=False):
    """A spec whose fields begin with a capital, as the driver's do."""


class DriveSpec(_Spec):
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

    metadata: Named
    spec: DriveSpec


class GroupSpec(_Spec):
    """A volume group as the driver describes it."""

    name: str = ""
    node: str = ""
    locations: list[str] | None = None
    size: int = 0


class GroupWire(Wire):
    """A LogicalVolumeGroup."""

    metadata: Named
    spec: GroupSpec


class CapacitySpec(_Spec):
    """What a drive or volume group still offers."""

    location: str = ""
    size: int = 0


class CapacityWire(Wire):
    """An AvailableCapacity."""

    metadata: Named
    spec: CapacitySpec


class BaremetalNodeSpec(_Spec):
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


class DriveReader:
    """What has been read of the driver's objects; `disks` puts it on nodes when everything is known."""

    def __init__(self) -> None:
        self.drives: dict[str, DriveWire] = {}
        self.groups: dict[str, GroupWire] = {}
        self.free_bytes: dict[str, int] = {}
        self._node_names: dict[str, str] = {}
        self.unplaced: list[str] = []

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

    def available(self, wire: CapacityWire) -> None:
        """Take note of what a location still offers."""
        self.free_bytes[wire.spec.location] = max(0, wire.spec.size)

    def disks(self, node_names: set[str]) -> dict[str, Disks]:
        """Drives and volume groups by node; those of unknown nodes or classes are named in `unplaced`."""
        drives: dict[str, list[Drive]] = {}
        for name, wire in sorted(self.drives.items()):
            node = self._node_names.get(wire.spec.node_id, "")
            if node not in node_names or wire.spec.type not in _CLASSES or wire.spec.size < 0:
                self.unplaced.append(f"drive {name}")
                continue
            drives.setdefault(node, []).append(_drive(name, wire.spec))
        groups: dict[str, list[VolumeGroup]] = {}
        for name, group in sorted(self.groups.items()):
            node = self._node_names.get(group.spec.node, "")
            made = self._volume_group(name, group.spec, drives.get(node, []))
            if node not in node_names or made is None:
                self.unplaced.append(f"volume group {name}")
                continue
            groups.setdefault(node, []).append(made)
        return {
            node: Disks(tuple(drives.get(node, ())), tuple(groups.get(node, ())))
            for node in sorted({*drives, *groups})
        }

    def _volume_group(self, name: str, spec: GroupSpec, drives: list[Drive]) -> VolumeGroup | None:
        """A volume group on drives that are known; without an AvailableCapacity it has nothing free."""
        locations = tuple(spec.locations or ())
        below = [drive for drive in drives if drive.uuid in locations]
        if not below or spec.size < 0:
            return None
        return VolumeGroup(
            name=spec.name or name,
            drive_class=below[0].drive_class,
            size_bytes=spec.size,
            free_bytes=min(spec.size, self.free_bytes.get(name, 0)),
            drives=locations,
            system=any(drive.system for drive in below),
        )


def _drive(name: str, spec: DriveSpec) -> Drive:
    return Drive(
        uuid=spec.uuid or name,
        drive_class=msgspec.convert(spec.type, DriveClass),
        size_bytes=spec.size,
        health=spec.health,
        status=spec.status,
        usage=spec.usage,
        system=spec.is_system,
        clean=spec.is_clean,
        path=spec.path,
        model=f"{spec.vendor} {spec.product}".strip(),
    )
