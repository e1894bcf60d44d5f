"""All objects of csi-baremetal: which kinds are read, and how they end up on nodes and in the ledger."""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Final

import msgspec

from ullage.model.cluster import Workload
from ullage.model.drives import PlacedVolume, VolumeGroup
from ullage.model.ledger_entry import LedgerEntry
from ullage.model.storage import Claim, PersistentVolume
from ullage.sources.kubernetes import baremetal, baremetal_volumes
from ullage.sources.kubernetes.baremetal_volumes import Consumers, VolumeReader
from ullage.sources.kubernetes.items import Item, Kind
from ullage.sources.kubernetes.wire import NodeMetadata

DRIVE: Final = Kind(baremetal.GROUP, "Drive")
VOLUME_GROUP: Final = Kind(baremetal.GROUP, "LogicalVolumeGroup")
CAPACITY: Final = Kind(baremetal.GROUP, "AvailableCapacity")
VOLUME: Final = Kind(baremetal.GROUP, "Volume")
RESERVATION: Final = Kind(baremetal.GROUP, "AvailableCapacityReservation")
NODE: Final = Kind(baremetal.GROUP, "Node")
DECODERS: Final[Mapping[Kind, msgspec.json.Decoder[Any]]] = {
    DRIVE: msgspec.json.Decoder(baremetal.DriveWire),
    VOLUME_GROUP: msgspec.json.Decoder(baremetal.GroupWire),
    CAPACITY: msgspec.json.Decoder(baremetal.CapacityWire),
    VOLUME: msgspec.json.Decoder(baremetal_volumes.VolumeWire),
    RESERVATION: msgspec.json.Decoder(baremetal_volumes.ReservationWire),
    NODE: msgspec.json.Decoder(baremetal.BaremetalNodeWire),
}
"""The kinds that are read."""

Say = Callable[[str, list[str]], None]


class Baremetal:
    """The objects of the driver, read in any order; `resolve` puts them together."""

    def __init__(self) -> None:
        self._drives = baremetal.DriveReader()
        self._volumes = VolumeReader()
        self._unplaced: tuple[str, ...] = ()
        self._on_nodes: dict[str, dict[str, Any]] = {}
        self.reservations: tuple[LedgerEntry, ...] = ()
        self.offered: dict[tuple[str, str], baremetal.Offered] = {}

    def node(self, metadata: NodeMetadata) -> None:
        """Take note of a node of the cluster."""
        self._drives.node(metadata)

    def take(self, item: Item) -> None:
        """Read an object of one of the kinds; raises a Fault."""
        wire = item.decode(DECODERS[item.kind])
        name = wire.metadata.name
        if item.kind == NODE:
            self._drives.baremetal_node(wire)
        elif item.kind == DRIVE:
            self._drives.drives[name] = wire
        elif item.kind == VOLUME_GROUP:
            self._drives.groups[name] = wire
        elif item.kind == CAPACITY:
            self._drives.capacities[name] = wire
        elif item.kind == RESERVATION:
            self._volumes.reservations[name] = wire
        else:
            self._volumes.volumes[f"{wire.metadata.namespace or ''}/{name}"] = wire

    def resolve(
        self,
        nodes: Collection[str],
        claims: Iterable[Claim],
        volumes: Iterable[PersistentVolume],
        pods: Iterable[Workload],
    ) -> None:
        """Put everything on its node, when all of it has been read."""
        disks = self._drives.disks(set(nodes))
        has_consumers = self._volumes.volumes or self._volumes.reservations
        consumers = Consumers(claims, volumes, pods) if has_consumers else Consumers()
        found = self._volumes.found(self._drives.places, self._drives.place_of_capacity, consumers)
        self.reservations = found.entries
        self.offered = self._drives.offered()
        self._unplaced = (*self._drives.unplaced, *found.unplaced)
        for node, on_node in disks.items():
            placed: tuple[PlacedVolume, ...] = found.volumes.get(node, ())
            groups = tuple(_beside(group, placed) for group in on_node.volume_groups)
            self._on_nodes[node] = {
                "drives": on_node.drives,
                "volume_groups": groups,
                "placed_volumes": placed,
            }

    def of_node(self, name: str) -> dict[str, Any]:
        """The drives, groups and volumes of a node, as fields of it."""
        return self._on_nodes.get(name, {})

    def say(self, say: Say) -> None:
        """Tell what could not be read, and what is missing."""
        say("not read: disks of unknown nodes or classes", list(self._unplaced))
        known = (wire.metadata.name for wire in self._volumes.volumes.values())
        say("not found: volumes that volume groups name", self._drives.missing_volumes(known))


def _beside(group: VolumeGroup, placed: Iterable[PlacedVolume]) -> VolumeGroup:
    """Return a group with no more free than its volumes leave: the driver says so some time after them."""
    taken_bytes = sum(volume.size_bytes for volume in placed if volume.location == group.name)
    left_bytes = max(0, group.size_bytes - taken_bytes)
    if group.free_bytes <= left_bytes:
        return group
    return msgspec.structs.replace(group, free_bytes=left_bytes)
