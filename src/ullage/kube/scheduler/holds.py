"""What pods that are being bound hold of disks and volumes, from the decision until the watch shows it.

The hard thing is what happens between: a reservation is written, seen, and gone again when its volume is
made, and each of these events comes by a watch of its own, in any order. So what was decided stands until
the volume itself is seen; where that never comes, for a while after nothing else holds it any more, because
the driver may still be at work.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Final

import msgspec

from ullage.engine.placement.outcome import Served
from ullage.engine.placement.scheduling import Bound
from ullage.engine.storage.extents import group_bytes, volume_bytes
from ullage.kube.scheduler.overlay import Overlay
from ullage.kube.scheduler.storage_room import StorageRoom
from ullage.model.cluster import Node, Snapshot, Workload
from ullage.model.delta import Delta
from ullage.model.disk_plan import is_share
from ullage.model.drives import EXTENT_BYTES
from ullage.model.ledger import VOLUME_SPACE, WHOLE_DRIVE
from ullage.model.ledger_entry import LedgerEntry
from ullage.model.resources import Resources
from ullage.model.storage import Claim, PersistentVolume

LINGER_SECONDS: Final = 10.0
"""How long something stays held after nothing shows it any more: a driver may have begun to use it."""

UidOf = Callable[[str], str]
"""The identifier of a claim, empty where there is none."""


def reservation_name(namespace: str, pod: str) -> str:
    """Return what csi-baremetal calls the reservation of a pod."""
    return f"{namespace or 'default'}-{pod}"


def claim_names(workload: Workload) -> frozenset[str]:
    """Return the claims that a pod names."""
    return frozenset(volume.claim for volume in workload.volumes if volume.claim)


class _Held:
    """What one pod holds; `ends` is when that ends unless it is seen again, None while the pod is bound."""

    def __init__(self, workload: Workload, node: str, entries: dict[str, LedgerEntry]) -> None:
        self.reservation = reservation_name(workload.namespace, workload.name)
        self.owner = workload.key
        self.node = node
        self.entries = entries
        self.made: set[str] = set()
        self.older: frozenset[str] = frozenset()
        self.ends: float | None = None
        claims = claim_names(workload)
        self.claims = {request: f"{workload.namespace}/{request}" for request in entries if request in claims}
        self.inline = [request for request in entries if request not in claims]

    def note_made(self, owner: str, node: Node, uid_of: UidOf) -> None:
        """Take note of the volumes that are there; the driver calls one after the identifier of its claim."""
        names = {volume.name for volume in node.placed_volumes}
        claims = {volume.claim for volume in node.placed_volumes}
        for request, key in self.claims.items():
            if key in claims or f"pvc-{uid_of(key)}" in names:
                self.made.add(request)
        inline = sum(volume.owner == owner and not volume.claim for volume in node.placed_volumes)
        self.made.update(self.inline[:inline])


class Holds:
    """The disks, claims and volumes of pods that are being bound."""

    def __init__(self, uid_of: UidOf, now: Callable[[], float] = time.monotonic) -> None:
        self._uid_of = uid_of
        self._now = now
        self._held: dict[str, _Held] = {}
        self._shown: dict[str, dict[str, LedgerEntry]] = {}
        self._reservation_of: dict[str, str] = {}
        self._put: dict[str, LedgerEntry] = {}
        self._hidden: frozenset[str] = frozenset()
        self._claims: Overlay[Claim] = Overlay(lambda row: row.bound or bool(row.volume or row.selected_node))
        self._volumes: Overlay[PersistentVolume] = Overlay(lambda row: bool(row.claim))
        self._storage = StorageRoom(now)

    def __len__(self) -> int:
        return len(self._held)

    def take_room(self, workload: Workload, bound: Bound, snapshot: Snapshot) -> bool:
        """Have what a pod needs of published capacities, if it is still there; return whether it was."""
        claims = list(_made_there(workload, bound, snapshot))
        has_room = self._storage.has_room(claims, bound.node, snapshot)
        if has_room:
            self._storage.hold(workload.key, claims, bound.node, snapshot)
        return has_room

    def give_room_back(self, key: str) -> None:
        """Let others have what a pod was to have of published capacities: it is not bound now."""
        self._storage.let_go(key)

    def hold(self, workload: Workload, bound: Bound, snapshot: Snapshot) -> Delta:
        """Take what was decided for granted; return what that changes."""
        node = snapshot.nodes.get(bound.node)
        if node is None:
            return Delta()
        key = workload.key
        claims_of = {name: f"{workload.namespace}/{name}" for name in claim_names(workload)}
        has = {name for name, each in claims_of.items() if _is_bound(snapshot, each)}
        served = [each for each in bound.disks if each.volume not in has]
        entries = self._hold_disks(workload, node, served) if served else {}
        chosen = {each.claim: each.volume for each in bound.chosen}
        claims, volumes = [], []
        for name in sorted(claims_of.keys() - has):
            if name in chosen:
                free = snapshot.volumes.get(chosen[name])
                volumes.append(self._volumes.put(key, chosen[name], free, claim=claims_of[name]))
            else:
                row = snapshot.claims.get(claims_of[name])
                claims.append(self._claims.put(key, claims_of[name], row, selected_node=bound.node))
        self._storage.hold(key, _made_there(workload, bound, snapshot), node.name, snapshot)
        held = Delta(
            reservations=tuple(entries.values()),
            claims=tuple(row for row in claims if row is not None),
            volumes=tuple(row for row in volumes if row is not None),
        )
        return self._storage.applied(held)

    def _hold_disks(self, workload: Workload, node: Node, served: Iterable[Served]) -> dict[str, LedgerEntry]:
        reservation = reservation_name(workload.namespace, workload.name)
        entries = {each.volume: _entry(reservation, workload.key, each, node) for each in served}
        held = self._held[workload.key] = _Held(workload, node.name, entries)
        held.older = frozenset(self._shown.get(reservation, ()))
        self._put.update((entry.key, entry) for entry in entries.values())
        return entries

    def let_go(self, key: str) -> None:
        """Take note that a pod is not bound after all."""
        self._claims.let_go(key)
        self._volumes.let_go(key)
        self._storage.let_go(key)
        self.settle(key)

    def settle(self, key: str) -> None:
        """Take note that a pod is bound, or gone: what it holds is for the watch to show from now on."""
        held = self._held.get(key)
        if held is not None and held.ends is None:
            held.ends = self._now() + LINGER_SECONDS

    def applied(self, delta: Delta) -> Delta:
        """Return what was seen with what is taken for granted."""
        self._note_shown(delta)
        if not (self._held or self._put or self._hidden or len(self._claims) or len(self._volumes)):
            return self._storage.applied(delta)
        dropped = delta.dropped
        for key in dropped.get("workloads", ()):
            self.let_go(key)
        if self._held and delta.nodes:
            self._note_made({node.name: node for node in delta.nodes})
        self._end()
        put, gone = self._reservations(delta)
        others = {table: keys for table, keys in dropped.items() if table != "reservations"}
        held = msgspec.structs.replace(
            delta,
            reservations=tuple(put.values()),
            claims=self._claims.applied(delta.claims, dropped.get("claims", ())),
            volumes=self._volumes.applied(delta.volumes, dropped.get("volumes", ())),
            dropped={**others, "reservations": tuple(gone)} if gone else others,
        )
        return self._storage.applied(held)

    def _note_shown(self, delta: Delta) -> None:
        """Take note of the reservations that are there."""
        for key in delta.dropped.get("reservations", ()):
            reservation = self._reservation_of.pop(key, "")
            rows = self._shown.get(reservation, {})
            rows.pop(key, None)
            if not rows:
                self._shown.pop(reservation, None)
        for entry in delta.reservations:
            self._shown.setdefault(entry.reservation, {})[entry.key] = entry
            self._reservation_of[entry.key] = entry.reservation

    def _note_made(self, nodes: dict[str, Node]) -> None:
        for owner, held in self._held.items():
            node = nodes.get(held.node)
            if node is not None:
                held.note_made(owner, node, self._uid_of)

    def _end(self) -> None:
        """Forget what has its volumes, and what nobody has needed for a while."""
        now = self._now()
        for key, held in list(self._held.items()):
            if held.ends is not None and any(self._seen_of(held)):
                held.ends = max(held.ends, now + LINGER_SECONDS)
            is_over = held.ends is not None and now >= held.ends
            is_made = held.made.issuperset(held.entries) and not self._shown_of(held)
            if is_over or is_made:
                del self._held[key]

    def _shown_of(self, held: _Held) -> dict[str, LedgerEntry]:
        """Return what the watch shows of a pod's own; that of another pod may be called the same."""
        shown = self._shown.get(held.reservation, {})
        return {key: entry for key, entry in shown.items() if entry.owner == held.owner}

    def _seen_of(self, held: _Held) -> Iterator[str]:
        """Yield the requests that the watch shows as held, leaving aside what was there before."""
        for key, entry in self._shown_of(held).items():
            if entry.holds and key not in held.older:
                yield entry.request

    def _row(self, key: str) -> LedgerEntry:
        return self._shown[self._reservation_of[key]][key]

    def _reservations(self, delta: Delta) -> tuple[dict[str, LedgerEntry], list[str]]:
        """Return the rows to put, and the keys to drop.

        What is held for a volume that is there is not shown: the volume takes that room by now.
        """
        wanted: dict[str, LedgerEntry] = {}
        hidden: set[str] = set()
        for held in self._held.values():
            shown = self._shown_of(held).items()
            hidden.update(key for key, entry in shown if entry.request in held.made)
            seen = {*self._seen_of(held), *held.made}
            for request, entry in held.entries.items():
                if request not in seen and entry.key not in self._reservation_of:
                    wanted[entry.key] = entry
        dropped = set(delta.dropped.get("reservations", ()))
        again = [self._row(key) for key in self._hidden if key in self._reservation_of]
        put = {entry.key: entry for entry in (*again, *delta.reservations) if entry.key not in hidden}
        put |= {key: row for key, row in wanted.items() if key in dropped or self._put.get(key) != row}
        visible = wanted.keys() | (self._reservation_of.keys() - hidden)
        gone = (dropped | self._put.keys() | (hidden - self._hidden)) - visible
        self._put, self._hidden = wanted, frozenset(hidden)
        return put, sorted(gone)


def _made_there(workload: Workload, bound: Bound, snapshot: Snapshot) -> Iterator[Claim]:
    """Yield the claims of a pod for which a driver makes volumes on its node."""
    others = {each.claim for each in bound.chosen} | {each.volume for each in bound.disks}
    for name in sorted(claim_names(workload) - others):
        row = snapshot.claims.get(f"{workload.namespace}/{name}")
        if row is not None and not row.bound:
            yield row


def _is_bound(snapshot: Snapshot, claim: str) -> bool:
    row = snapshot.claims.get(claim)
    return row is not None and row.bound


def _entry(reservation: str, owner: str, served: Served, node: Node) -> LedgerEntry:
    """Return a disk that was chosen as the promise that it will be when its reservation is seen."""
    group = next((each for each in node.volume_groups if each.name == served.place), None)
    kind = "drive" if group is None else "group"
    if is_share(served.storage_class):
        extent_bytes = EXTENT_BYTES if group is None else group.extent_bytes
        held = Resources({VOLUME_SPACE: volume_bytes(served.size_bytes, extent_bytes)})
    else:
        size_bytes = next((each.size_bytes for each in node.drives if each.uuid == served.place), 0)
        held = Resources({WHOLE_DRIVE: 1, VOLUME_SPACE: group_bytes(size_bytes)})
    capacity = f"{kind}/{node.name}/{served.place}"
    return LedgerEntry(reservation, served.volume, capacity, owner, held, "RESERVED")
