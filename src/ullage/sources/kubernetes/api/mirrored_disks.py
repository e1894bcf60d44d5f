"""The objects of csi-baremetal as they come and go, and what they make of nodes and of the ledger.

What a drive, a group, a capacity, a volume and a reservation say depends on each other, so all of it is put
together again when one of them changes, or when pods and claims do that they may be for.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from operator import itemgetter
from typing import Any, Final, NamedTuple

from ullage.model.cluster import Workload
from ullage.model.ledger_entry import LedgerEntry
from ullage.model.storage import Claim, PersistentVolume
from ullage.sources.documents import JsonDocument
from ullage.sources.input_files import InputFile
from ullage.sources.kubernetes.baremetal import Offered
from ullage.sources.kubernetes.baremetal_objects import DECODERS, RESERVATION, VOLUME, Baremetal
from ullage.sources.kubernetes.baremetal_volumes import ReservationWire, owner_of
from ullage.sources.kubernetes.faults import decoded
from ullage.sources.kubernetes.items import Item, Kind
from ullage.sources.kubernetes.wire import NodeMetadata
from ullage.sources.limits import DEFAULT_LIMITS

NOWHERE: Final = JsonDocument(InputFile("the API server", bytearray()), 0, 0, 0, DEFAULT_LIMITS)
"""Where an object stands that came by itself."""


class ReservationFacts(NamedTuple):
    """A reservation as an object: what it is called, the pod it is for, its requests, and which version."""

    name: str
    owner: str
    requests: tuple[str, ...]
    uid: str
    revision: str


class MirroredDisks:
    """All objects of the driver."""

    def __init__(self) -> None:
        self._wires: dict[Kind, dict[str, Any]] = {kind: {} for kind in DECODERS}
        self._nodes: dict[str, NodeMetadata] = {}
        self._reserved: set[str] = set()
        self._owned: set[tuple[str, str]] = set()
        self._owners: set[str] = set()
        self._stale = False
        self.on_node: dict[str, dict[str, Any]] = {}
        self.reservations: dict[str, LedgerEntry] = {}
        self.offered: dict[tuple[str, str], Offered] = {}

    @property
    def has_any(self) -> bool:
        """Whether there is any object of the driver."""
        return any(self._wires.values())

    def put(self, kind: Kind, key: str, content: Any) -> None:
        """Take an object; raises a Fault or a msgspec error."""
        self._wires[kind][key] = decoded(DECODERS[kind], content)
        self._stale = True

    def drop(self, kind: Kind, key: str) -> None:
        """Forget an object."""
        self._stale |= self._wires[kind].pop(key, None) is not None

    def keys(self, kind: Kind) -> list[str]:
        """Return the keys of all objects of a kind."""
        return list(self._wires[kind])

    def node(self, name: str, metadata: NodeMetadata | None) -> None:
        """Take note of what a node is called; None for one that is gone."""
        before = self._nodes.get(name)
        if metadata is None:
            self._nodes.pop(name, None)
        else:
            self._nodes[name] = metadata
        self._stale |= self.has_any and (
            before is None
            or metadata is None
            or before.uid != metadata.uid
            or (before.labels, before.annotations) != (metadata.labels, metadata.annotations)
        )

    def node_uid(self, name: str) -> str:
        """Return the identifier of a node; empty where it is not there."""
        found = self._nodes.get(name)
        return found.uid if found is not None else ""

    def concern(self, workload: Workload) -> bool:
        """Whether volumes or reservations may be for a pod, as all of them were put together last."""
        return self.has_any and (
            workload.name in self._owners
            or f"{workload.namespace}-{workload.name}" in self._reserved
            or any(volume.inline and volume.claim for volume in workload.volumes)
        )

    def others_changed(self) -> None:
        """Look again at whose volumes and reservations these are."""
        self._stale |= self.has_any

    def refresh(
        self,
        nodes: Collection[str],
        claims: Mapping[str, Claim],
        volumes: Mapping[str, PersistentVolume],
        consumers: Callable[[Iterable[str], Iterable[tuple[str, str]]], Iterable[Workload]],
    ) -> tuple[set[str], Mapping[str, LedgerEntry | None]]:
        """Put everything together again; return the nodes and the reservations that have changed."""
        if not self._stale:
            return set(), {}
        self._stale = False
        self._note_consumers()
        # in the order in which an API server lists: where two say the same, it matters which is the later
        together = Baremetal()
        for _, metadata in sorted(self._nodes.items(), key=itemgetter(0)):
            together.node(metadata)
        for kind, wires in self._wires.items():
            for _, wire in sorted(wires.items(), key=itemgetter(0)):
                together.take(Item(kind, "", wire, NOWHERE, ()))
        together.resolve(
            nodes,
            [claim for _, claim in sorted(claims.items(), key=itemgetter(0))],
            [volume for _, volume in sorted(volumes.items(), key=itemgetter(0))],
            consumers(self._reserved, self._owned),
        )
        on_node = {name: found for name in nodes if (found := together.of_node(name))}
        changed = {name for name in {*on_node, *self.on_node} if on_node.get(name) != self.on_node.get(name)}
        entries = {entry.key: entry for entry in together.reservations}
        moved: dict[str, LedgerEntry | None] = {
            key: entry for key, entry in entries.items() if self.reservations.get(key) != entry
        }
        moved |= dict.fromkeys(key for key in self.reservations if key not in entries)
        self.on_node, self.reservations = on_node, entries
        self.offered = together.offered
        return changed, moved

    def reservation_objects(self) -> list[ReservationFacts]:
        """Return all reservations that are there, for pods as they were put together last."""
        owners = {entry.reservation: entry.owner for entry in self.reservations.values()}
        return [self._facts(wire, owners) for wire in self._wires[RESERVATION].values()]

    def reservation_object(self, name: str) -> ReservationFacts | None:
        """Return the reservation of a name."""
        wire = self._wires[RESERVATION].get(name)
        return None if wire is None else self._facts(wire, {})

    def _facts(self, wire: ReservationWire, owners: Mapping[str, str]) -> ReservationFacts:
        metadata, spec = wire.metadata, wire.spec
        asked = (each.capacity_request for each in spec.reservation_requests or ())
        return ReservationFacts(
            metadata.name,
            owner_of(metadata.name, spec.namespace) or owners.get(metadata.name, metadata.name),
            tuple(each.name for each in asked if each is not None),
            metadata.uid,
            metadata.resource_version,
        )

    def _note_consumers(self) -> None:
        """Take note of what the pods are called that volumes and reservations may be for."""
        self._reserved = set(self._wires[RESERVATION])
        self._owned = {
            (wire.metadata.namespace or "", owner)
            for wire in self._wires[VOLUME].values()
            for owner in wire.spec.owners or ()
            if wire.spec.ephemeral
        }
        self._owners = {name for _, name in self._owned}
