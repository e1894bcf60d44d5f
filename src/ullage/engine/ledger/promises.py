"""The cluster as if promises were kept: what questions are asked of, so that nothing is promised twice.

What is held of a node stands there like a workload, under the namespace of its owner, and is not evicted or
moved. The hard thing is to count it once: a promise whose workload runs is that workload, which then counts
with what it was promised if that is more than it has; one whose workload waits puts that on its node.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from ullage.engine.ledger.made import as_it_is, made_of
from ullage.engine.ledger.matching import Kept, Promise, kept_promises, promises_on_nodes
from ullage.engine.ledger.naming import STATEFUL_SET, place_of_owner
from ullage.engine.ledger.sharing import with_claims
from ullage.engine.ledger.view import key_of
from ullage.engine.quota.book import NO_QUOTA, QUEUE_LABEL, Book
from ullage.engine.redundancy.daemons import RESERVATION
from ullage.model.cluster import Snapshot, Workload
from ullage.model.ledger import node_of
from ullage.model.ledger_entry import LedgerEntry

_NO_LABELS: Final[dict[str, str]] = {}
_DISKS: Final = ("drive/", "group/")
_QUOTA: Final = "quota/"
_NODES_TOLD: Final = 3


def with_promises(snapshot: Snapshot, entries: Iterable[LedgerEntry] = ()) -> Snapshot:
    """Return a snapshot in which the live entries of a ledger, and its own, are counted."""
    given = {key_of(entry): entry for entry in entries if entry.holds}
    live = [*given.values(), *(each for each in snapshot.reservations if key_of(each) not in given)]
    promises = [each for each in promises_on_nodes(live) if each.resources.without_zeros()]
    known = [each for each in promises if each.node in snapshot.nodes]
    if not known and not given:
        return _noting(snapshot, promises, 0)
    kept = kept_promises(snapshot, known)
    counted = _Counted(snapshot, live)
    put = [workload for each in kept for workload in counted.workloads_of(each)]
    disks = _disk_holds(snapshot, given.values())
    unclear = sum(each.workload is None for each in kept)
    return _noting(
        msgspec.structs.replace(
            snapshot,
            workloads=snapshot.workloads.changed(put),
            reservations=snapshot.reservations.changed(disks),
        ),
        promises,
        unclear,
    )


class _Counted:
    """The workloads as which promises are counted; each has a key of its own."""

    def __init__(self, snapshot: Snapshot, entries: Sequence[LedgerEntry]) -> None:
        self._snapshot = snapshot
        self._book = Book(snapshot.quotas)
        self._quota_of: dict[str, set[str]] = {}
        for entry in entries:
            if entry.holds and entry.capacity.startswith(_QUOTA):
                name = entry.capacity.removeprefix(_QUOTA)
                self._quota_of.setdefault(entry.reservation, set()).add(name)
        self._taken: set[str] = set()
        self._labels: dict[tuple[str, str], dict[str, str]] = {}

    def workloads_of(self, kept: Kept) -> list[Workload]:
        """Return what is to be counted anew: none where the workload has all that it was promised."""
        promise, workload = kept
        if workload is None:
            return [self._stand_in(promise)]
        requests = workload.requests.larger(promise.resources)
        if workload.holds_capacity:
            grows = workload.node == promise.node and requests != workload.requests
            return [msgspec.structs.replace(workload, requests=requests)] if grows else []
        return [
            msgspec.structs.replace(workload, node=promise.node, state="ok", requests=requests, promised=True)
        ]

    def _stand_in(self, promise: Promise) -> Workload:
        namespace, name = place_of_owner(promise.owner)
        return Workload(
            self._free_name(promise, namespace, name),
            namespace,
            RESERVATION,
            promise.node,
            state="paused" if promise.paused else "ok",
            requests=promise.resources,
            limits=promise.resources,
            owner=f"{promise.kind}/{name}" if promise.kind else "",
            created_seconds=promise.created_seconds,
            labels=self._labels_of(promise, namespace),
            promised=True,
        )

    def _free_name(self, promise: Promise, namespace: str, name: str) -> str:
        """Return the owner's name for its first replica, else one with a number that nobody has.

        The replicas of a StatefulSet have the names that they will have, by which their claims are known.
        """
        if promise.kind == STATEFUL_SET and promise.number:
            numbered = [f"{name}-{promise.number - 1}"]
        else:
            numbered = [f"{name}-{promise.number}"] if promise.number > 1 else [name]
        for candidate in (*numbered, f"{promise.reservation}@{promise.node}"):
            key = f"{namespace}/{candidate}" if namespace else candidate
            if key not in self._snapshot.workloads and key not in self._taken:
                break
        self._taken.add(key)
        return candidate

    def _labels_of(self, promise: Promise, namespace: str) -> dict[str, str]:
        """Return labels by which a promise counts in the quota that it holds, where that has queues."""
        for name in sorted(self._quota_of.get(promise.reservation, ())):
            place = self._book.index.get(name, NO_QUOTA)
            if place == NO_QUOTA or place == self._book.place_of(namespace, _NO_LABELS):
                continue
            for queue in self._book.quotas[place].queues:
                of, _, short = queue.partition("/")
                if of == namespace:
                    return self._labels.setdefault((namespace, short), {QUEUE_LABEL: short})
        return _NO_LABELS


def _disk_holds(snapshot: Snapshot, entries: Iterable[LedgerEntry]) -> list[LedgerEntry]:
    """Return what entries still take of disks beside the volumes that exist.

    A volume that is there takes its room itself: its entry is bound, whatever the ledger says, and all others
    are reserved. Of one that has grown the rest is reserved.
    """
    on_disks = with_claims(
        each
        for each in entries
        if each.capacity.startswith(_DISKS) and node_of(each.capacity) in snapshot.nodes
    )
    made = made_of(snapshot, on_disks)
    return [as_it_is(each, made)[-1] for each in on_disks]


def _noting(snapshot: Snapshot, promises: Sequence[Promise], unclear: int) -> Snapshot:
    """Return a snapshot that says what of promises cannot be counted."""
    notes = []
    lost = sorted({each.node for each in promises if each.node not in snapshot.nodes})
    if lost:
        shown = ", ".join(lost[:_NODES_TOLD]) + (" and others" if len(lost) > _NODES_TOLD else "")
        notes.append(f"promises on nodes that the cluster does not have: {shown}")
    if unclear:
        what = f"{unclear} reservation{'s' if unclear > 1 else ''} whose workloads are not there yet"
        notes.append(f"rules between pods (affinity, spread, ports) for {what}")
    return msgspec.structs.replace(snapshot, unknowns=(*snapshot.unknowns, *notes)) if notes else snapshot
