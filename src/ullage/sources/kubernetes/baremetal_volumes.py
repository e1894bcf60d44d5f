"""Volumes of csi-baremetal that exist, and what its reservations hold of drives and groups.

The hard thing is who they are for. A volume is called like its PersistentVolume, which names the claim, or is
made for one pod and names that alone. A reservation is called NAMESPACE-POD, and each of its requests names a
capacity on every node that may still be chosen.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from ullage.engine.storage.extents import group_bytes, volume_bytes
from ullage.engine.storage.local_class import stated_class
from ullage.model.cluster import Workload
from ullage.model.disk_plan import is_share
from ullage.model.drives import EXTENT_BYTES, Drive, PlacedVolume
from ullage.model.ledger import VOLUME_SPACE, WHOLE_DRIVE
from ullage.model.ledger_entry import EntryState, LedgerEntry
from ullage.model.resources import Resources
from ullage.model.storage import Claim, PersistentVolume
from ullage.sources.kubernetes.baremetal import SIZE_MAX, Place, Spec, is_possible
from ullage.sources.kubernetes.storage_objects import Described
from ullage.sources.kubernetes.wire import Wire

STATES: Final[Mapping[str, EntryState]] = {
    "": "REQUESTED",
    "REQUESTED": "REQUESTED",
    "RESERVED": "RESERVED",
    "REJECTED": "REJECTED",
}
CANCELLED: Final = "CANCELLED"
REFUSED: Final = "csi-baremetal found no capacity"


class VolumeSpec(Spec):
    """A volume as the driver describes it; `owners` are names of pods."""

    id: str = ""
    location: str = ""
    size: int = 0
    owners: list[str] | None = None
    ephemeral: bool = False


class VolumeWire(Wire):
    """A Volume."""

    metadata: Described
    spec: VolumeSpec


class CapacityRequest(Spec):
    """What one volume needs."""

    name: str = ""
    storage_class: str = ""
    size: int = 0


class ReservationRequest(Spec):
    """What one volume needs, and the names of the capacities that are kept for it."""

    capacity_request: CapacityRequest | None = None
    reservations: list[str] | None = None


class ReservationSpec(Spec):
    """What is kept for the volumes of one pod."""

    namespace: str = ""
    status: str = ""
    reservation_requests: list[ReservationRequest] | None = None


class Versioned(Described):
    """Metadata of an object that is deleted only as it was when that was decided."""

    uid: str = ""
    resource_version: str = ""


class ReservationWire(Wire):
    """An AvailableCapacityReservation."""

    metadata: Versioned
    spec: ReservationSpec


class Consumers:
    """Whose the volumes are: claims by the names of their volumes, and pods."""

    def __init__(
        self,
        claims: Iterable[Claim] = (),
        volumes: Iterable[PersistentVolume] = (),
        pods: Iterable[Workload] = (),
    ) -> None:
        listed = list(claims)
        self._claims = {claim.key for claim in listed}
        self._claim_of = {volume.name: volume.claim for volume in volumes if volume.claim}
        self._claim_of |= {claim.volume: claim.key for claim in listed if claim.volume}
        self._pods: set[str] = set()
        self._called: dict[str, list[str]] = {}
        self._reserving: dict[str, str] = {}
        self._comes_with: dict[str, str] = {}
        for pod in pods:
            self._pods.add(pod.key)
            self._called.setdefault(pod.name, []).append(pod.key)
            self._reserving[f"{pod.namespace}-{pod.name}"] = pod.key
            for volume in pod.volumes:
                if volume.inline and volume.claim:
                    self._comes_with[f"{pod.namespace}/{volume.claim}"] = pod.key

    def placed(self, wire: VolumeWire, place: Place) -> PlacedVolume:
        """Return a volume with its claim, or with the pod that it goes with."""
        spec, namespace = wire.spec, wire.metadata.namespace or ""
        name = spec.id or wire.metadata.name
        claim = "" if spec.ephemeral else self._claim_of.get(name, "")
        if not claim and not spec.ephemeral and f"{namespace}/{name}" in self._claims:
            claim = f"{namespace}/{name}"
        owner = self._comes_with.get(claim, "")
        if spec.ephemeral and spec.owners:
            owner = self._pod(namespace, spec.owners[0])
        return PlacedVolume(name, place.name, spec.size, claim, owner)

    def _pod(self, namespace: str, name: str) -> str:
        """Return the pod that is meant: the driver used to keep all volumes in one namespace."""
        key = f"{namespace}/{name}" if namespace else name
        called = self._called.get(name, ())
        return called[0] if key not in self._pods and len(called) == 1 else key

    def reserving(self, wire: ReservationWire) -> str:
        """Return the pod that a reservation is for; its own name where no namespace tells what that means."""
        name = wire.metadata.name
        return owner_of(name, wire.spec.namespace) or self._reserving.get(name, name)


def owner_of(name: str, namespace: str) -> str:
    """Return the pod that a reservation of a name is for; empty where its namespace does not tell."""
    prefix = f"{namespace}-"
    return f"{namespace}/{name.removeprefix(prefix)}" if namespace and name.startswith(prefix) else ""


class Found(NamedTuple):
    """Volumes by node and promises, and what could not be read of either."""

    volumes: dict[str, tuple[PlacedVolume, ...]]
    entries: tuple[LedgerEntry, ...]
    unplaced: tuple[str, ...]


class VolumeReader:
    """The volumes and reservations that have been read."""

    def __init__(self) -> None:
        self.volumes: dict[str, VolumeWire] = {}
        self.reservations: dict[str, ReservationWire] = {}

    def found(
        self,
        places: Mapping[str, Place],
        place_of_capacity: Callable[[str], Place | None],
        consumers: Consumers,
    ) -> Found:
        """Put everything where it belongs: `places` are known by the driver's own locations."""
        unplaced: list[str] = []
        volumes: dict[str, dict[str, PlacedVolume]] = {}
        for key, wire in sorted(self.volumes.items()):
            place = places.get(wire.spec.location)
            if place is None or not is_possible(wire.spec.id or wire.metadata.name, wire.spec.size):
                unplaced.append(f"volume {key}")
                continue
            volume = consumers.placed(wire, place)
            volumes.setdefault(place.node, {}).setdefault(volume.name, volume)
        entries: dict[str, LedgerEntry] = {}
        for name, reservation in sorted(self.reservations.items()):
            if reservation.spec.status == CANCELLED:
                continue
            if reservation.spec.status not in STATES:
                unplaced.append(f"reservation {name}")
                continue
            owner = consumers.reserving(reservation)
            for entry in _entries(reservation, owner, place_of_capacity, unplaced):
                entries.setdefault(entry.key, entry)
        by_node = {node: tuple(rows.values()) for node, rows in volumes.items()}
        return Found(by_node, tuple(entries.values()), tuple(unplaced))


def _entries(
    wire: ReservationWire,
    owner: str,
    place_of_capacity: Callable[[str], Place | None],
    unplaced: list[str],
) -> Iterator[LedgerEntry]:
    """Yield one entry for each request and capacity; a request without capacities holds nothing yet."""
    state = STATES[wire.spec.status]
    created = wire.metadata.creation_timestamp
    created_seconds = None if created is None else int(created.timestamp())
    for index, request in enumerate(wire.spec.reservation_requests or ()):
        asked = request.capacity_request or CapacityRequest()
        if not 0 <= asked.size <= SIZE_MAX:
            unplaced.append(f"reservation {wire.metadata.name} of {asked.name or index}")
            continue
        names = request.reservations or () if state == "RESERVED" else ()
        for name in names:
            place = place_of_capacity(name)
            if place is None:
                unplaced.append(f"reservation {wire.metadata.name} of capacity {name}")
                continue
            yield LedgerEntry(
                wire.metadata.name,
                asked.name or str(index),
                place.capacity,
                owner,
                _held(asked, place),
                state,
                created_seconds=created_seconds,
            )
        if not names:
            yield LedgerEntry(
                wire.metadata.name,
                asked.name or str(index),
                "",
                owner,
                _held(asked, None),
                "REQUESTED" if state == "RESERVED" else state,
                created_seconds=created_seconds,
                reason=REFUSED if state == "REJECTED" else "",
            )


def _held(asked: CapacityRequest, place: Place | None) -> Resources:
    """Return what a request takes of a capacity, or wants of any: a whole drive is taken with all it has."""
    disk = None if place is None else place.disk
    if is_share(stated_class(asked.storage_class)):
        extent_bytes = EXTENT_BYTES if disk is None or isinstance(disk, Drive) else disk.extent_bytes
        return Resources({VOLUME_SPACE: volume_bytes(asked.size, extent_bytes)})
    if disk is None:
        space_bytes = volume_bytes(asked.size)
    else:
        space_bytes = group_bytes(disk.size_bytes) if isinstance(disk, Drive) else disk.free_bytes
    return Resources({WHOLE_DRIVE: 1, VOLUME_SPACE: space_bytes})
