"""The commands that commit an answer of `fit`: a reservation for every replica that has a place.

What was promised to a workload before is kept where the plan keeps it, resized where it changes, and given
back where it goes. A reservation whose volumes go to other disks is given back and made again in the same
step. Whoever is evicted gives back its promise, too. The hard thing is what the ledger is told that nodes
offer: the room of those that go, or that are promised anew, is part of it; that of others is not. A volume
that several share is held by each of them, see shared_volumes.py.
"""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple, cast

import msgspec

from ullage.engine.columns import Columns, RulesByPlace
from ullage.engine.ledger.made import made_of
from ullage.engine.ledger.matching import Promise, kept_promises, promises_on_nodes, workloads_of
from ullage.engine.ledger.naming import request_of, reservation_name
from ullage.engine.ledger.promises import with_promises
from ullage.engine.ledger.quota_holds import QuotaHolds
from ullage.engine.ledger.replica_disks import Numbers, ReplicaDisks
from ullage.engine.ledger.shape import REASON_LENGTH_MAX
from ullage.engine.ledger.shared_volumes import SharedVolumes, claim_of, held_by_claim
from ullage.engine.ledger.sharing import survivors
from ullage.engine.ledger.supply import gone_disks, supply_of
from ullage.engine.ledger.view import key_of
from ullage.engine.placement.fit import FitAnswer
from ullage.engine.placement.outcome import Outcome, Served
from ullage.engine.storage.capacities import capacities_of, class_of_place, disk_name, taken
from ullage.model.cluster import Batch, Node, Snapshot, Workload
from ullage.model.disk_plan import DiskCapacity, DiskRequest
from ullage.model.drives import LocalClass
from ullage.model.ledger import (
    COMPUTE,
    Bind,
    Expire,
    Hold,
    Pause,
    Refuse,
    Release,
    Reserve,
    Resize,
    Supply,
    Together,
    is_disk,
    node_capacity,
)
from ullage.model.ledger_entry import LedgerEntry
from ullage.model.resources import NOTHING

_Changes = Reserve | Release | Resize | Refuse | Bind | Pause
_ORDER: Final[dict[type, int]] = {Release: 0, Resize: 1, Reserve: 2, Bind: 3, Pause: 4, Refuse: 5}
"""What is given back comes first: others may be to have it."""


class Committed(NamedTuple):
    """What an answer is committed as; none where all of it is held already. `kept` are held as they were."""

    command: Together | None
    kept: tuple[str, ...]


def committed(
    snapshot: Snapshot,
    entries: Iterable[LedgerEntry],
    batches: Sequence[Batch],
    found: FitAnswer,
    expires_seconds: int,
    *,
    over: Iterable[LedgerEntry] = (),
    known: Iterable[str] = (),
) -> Committed:
    """Return the commands for an answer that was given about a cluster and the live entries of a ledger.

    The snapshot is the one of the question before promises were counted in it, the entries are those whose
    time had not come: the others are `over` and end in the same step. Of the disks that are `known` to the
    ledger, those are gone that the cluster does not have any more.
    """
    workloads = {batch.key: batch.workload for batch in batches}
    held = [entry for entry in entries if entry.holds]
    live = held_by_claim(held, workloads.values())
    plan = _Plan(snapshot, live, expires_seconds)
    for outcome in found.outcomes:
        plan.place(outcome, workloads[outcome.subject])
    for outcome in found.outcomes:
        plan.take(outcome, workloads[outcome.subject])
    if not plan.changes:
        return Committed(None, tuple(plan.kept))
    left = survivors(live, lambda each: each.reservation in plan.released)
    # what is reserved elsewhere for those who are promised something now is there for them
    served = {outcome.subject for outcome in found.outcomes if outcome.placed}
    for_others = [each.key for each in snapshot.reservations if each.owner in served]
    before = msgspec.structs.replace(
        snapshot,
        workloads=snapshot.workloads.changed(drop=plan.gone),
        reservations=snapshot.reservations.changed(drop=for_others),
    )
    unnamed = {key_of(each) for each in held if not each.claim}
    moved = plan.shared.where_they_are(plan.changes, left, unnamed)
    changes = sorted(moved, key=lambda each: _ORDER[type(each)])
    named = {hold.capacity for each in changes if isinstance(each, Reserve) for hold in each.holds}
    named |= {each.capacity for each in changes if isinstance(each, Resize)}
    # a volume may outlast its promise: whoever waits for these disks is told what is free of them
    given_back = [each for each in live if each.reservation in plan.released]
    named |= {each.capacity for each in (*given_back, *over) if each.holds and is_disk(each.capacity)}
    after = _after(left, changes)
    made = made_of(snapshot, after, {key_of(each) for each in after} - {key_of(each) for each in live})
    supplied = supply_of(Columns(with_promises(before, left)), left, named, made, after) if named else ()
    gone = tuple(gone_disks(snapshot, known))
    supply = (Supply(supplied, gone),) if supplied or gone else ()
    # what is held anew is given back first: its volumes are told with the disks, as those of its new promise
    releases = [each for each in changes if isinstance(each, Release)]
    rest = [each for each in changes if not isinstance(each, Release)]
    return Committed(Together((Expire(), *releases, *supply, *rest), line_last=True), tuple(plan.kept))


def _after(left: Iterable[LedgerEntry], changes: Iterable[_Changes]) -> list[LedgerEntry]:
    """Return the entries as they will be when all changes are made."""
    found = {key_of(entry): entry for entry in left}
    carriers = {each.claim: key for key, each in found.items() if each.claim and not each.refers}
    for each in changes:
        if isinstance(each, Resize):
            key = (each.reservation, each.request, each.capacity)
            key = carriers.get(found[key].claim, key)
            found[key] = msgspec.structs.replace(found[key], resources=each.resources)
        elif isinstance(each, Reserve):
            for hold in each.holds:
                key = (each.reservation, hold.request, hold.capacity)
                has = carriers.setdefault(hold.claim, key) if hold.claim else key
                resources = hold.resources if has == key else NOTHING
                found[key] = LedgerEntry(*key, each.owner, resources, "RESERVED", claim=hold.claim)
                if has != key:
                    total = found[has].resources.larger(hold.resources)
                    found[has] = msgspec.structs.replace(found[has], resources=total)
    return list(found.values())


class _Plan:
    """The changes that outcomes bring, and who gives up what for them."""

    def __init__(self, snapshot: Snapshot, live: Sequence[LedgerEntry], expires_seconds: int) -> None:
        self._snapshot = snapshot
        self._expires_seconds = expires_seconds
        self._holds = _Holds(snapshot)
        self._entries: dict[str, list[LedgerEntry]] = {}
        for entry in live:
            self._entries.setdefault(entry.reservation, []).append(entry)
        self._of_owner: dict[tuple[str, str], list[Promise]] = {}
        self._of_workload: dict[str, str] = {}
        for promise, workload in kept_promises(snapshot, promises_on_nodes(live)):
            self._of_owner.setdefault((promise.kind, promise.owner), []).append(promise)
            if workload is not None and workload.holds_capacity:
                self._of_workload[workload.key] = promise.reservation
        self._made = made_of(snapshot, live)
        self.shared = SharedVolumes(live)
        self.changes: list[_Changes] = []
        self.kept: list[str] = []
        self.released: set[str] = set()
        self.gone: set[str] = set()

    def place(self, outcome: Outcome, workload: Workload) -> None:
        """Note the disks that one outcome has for volumes which others may share."""
        for served in outcome.disks:
            if claim_of(workload, served.volume):
                self.shared.place(self._holds.of_disks(served.node, (served,), workload))

    def take(self, outcome: Outcome, workload: Workload) -> None:
        """Note what one outcome changes."""
        leaving = [each.workload for each in outcome.evicted] + [each.workload for each in outcome.waits_for]
        for key in leaving:
            self.gone.add(key)
            if key in self._of_workload:
                self._release(self._of_workload[key])
        kind, owner = outcome.kind, outcome.subject
        promised = [each for of in (kind, "") for each in self._of_owner.get((of, owner), ())]
        numbers = Numbers(each.number for each in promised)
        if outcome.action == "keep":
            for each in promised:
                self._keep(each, (), workload)
        elif outcome.placed or not outcome.refusal:
            self._replace(outcome, workload, promised, numbers)
        if outcome.refusal is not None:
            reason = " ".join(outcome.refusal.reason.split())[:REASON_LENGTH_MAX]
            name = reservation_name(kind, owner, numbers.next())
            self.changes.append(Refuse(name, owner, COMPUTE, reason))

    def _replace(
        self, outcome: Outcome, workload: Workload, promised: Sequence[Promise], numbers: Numbers
    ) -> None:
        """Keep what the plan keeps of promises, and reserve the rest of it."""
        running = workloads_of(self._snapshot, outcome.kind, outcome.subject)
        self.gone.update(each.key for each in running)
        nodes = [name for name, count in outcome.nodes for _ in range(count)]
        standing = []
        for promise in promised:
            if promise.node in nodes:
                nodes.remove(promise.node)
                standing.append(promise)
            else:
                self._release(promise.reservation)
        disks = ReplicaDisks(outcome, workload)
        for promise, others in disks.of_promises(standing, self._has_disks):
            holds = self._holds.of(outcome, workload, promise.node)
            if others is None:
                self._keep(promise, holds, workload)
            else:
                self._replan(promise, holds, self._on_disks(promise.node, others, workload))
        alone = [each for each in running if each.key not in self._of_workload]
        for name, number, served in disks.of_others(nodes, alone, numbers):
            holds = (*self._holds.of(outcome, workload, name), *self._on_disks(name, served, workload))
            reservation = reservation_name(outcome.kind, outcome.subject, number)
            self.changes.append(Reserve(reservation, outcome.subject, self._expires_seconds, holds=holds))

    def _has_disks(self, reservation: str) -> bool:
        return any(is_disk(entry.capacity) for entry in self._entries[reservation])

    def _on_disks(self, node: str, served: Iterable[Served], workload: Workload) -> tuple[Hold, ...]:
        """Return what is held of disks, also of those that others were given for the same claims."""
        holds = self._holds.of_disks(node, served, workload)
        return (*holds, *self.shared.of(workload, node, holds))

    def _keep(self, promise: Promise, holds: tuple[Hold, ...], workload: Workload) -> None:
        """Leave a promise on its disks; what it shares with others it is to hold, too."""
        had = tuple(map(self.shared.hold_of, self._entries[promise.reservation]))
        more = self.shared.of(workload, promise.node, had)
        if more:
            on_disks = tuple(each for each in had if is_disk(each.capacity))
            others = tuple(each for each in had if each not in on_disks)
            self._replan(promise, holds or others, (*on_disks, *more))
        else:
            self._resize(promise, holds)

    def _resize(self, promise: Promise, holds: Iterable[Hold]) -> None:
        """Change what a promise holds to what the plan has for it; what it has besides stays as it is."""
        known = {(each.request, each.capacity): each for each in self._entries[promise.reservation]}
        changes = [
            Resize(promise.reservation, hold.request, hold.capacity, hold.resources)
            for hold in holds
            if (hold.request, hold.capacity) in known
            and self.shared.hold_of(known[hold.request, hold.capacity]).resources != hold.resources
        ]
        self.changes += changes
        if not changes:
            self.kept.append(promise.reservation)

    def _replan(self, promise: Promise, holds: tuple[Hold, ...], on_disks: tuple[Hold, ...]) -> None:
        """Give a promise the disks of the plan; volumes of it that exist and do not change stay."""
        entries = self._entries[promise.reservation]
        had = [each for each in entries if is_disk(each.capacity)]
        names = {hold.request for hold in on_disks}
        stay = tuple(
            self.shared.hold_of(each)
            for each in had
            if each.request not in names and key_of(each) in self._made
        )
        wanted = (*on_disks, *stay)
        if {(each.request, each.capacity) for each in had} == {
            (each.request, each.capacity) for each in wanted
        }:
            self._resize(promise, (*holds, *wanted))
            return
        until = max(self._expires_seconds, *(each.expires_seconds or 0 for each in entries))
        self._release(promise.reservation)
        self.changes.append(Reserve(promise.reservation, promise.owner, until, holds=(*holds, *wanted)))
        if promise.bound:
            self.changes.append(Bind(promise.reservation))
            if promise.paused:
                self.changes.append(Pause(promise.reservation))

    def _release(self, reservation: str) -> None:
        if reservation not in self.released:
            self.released.add(reservation)
            self.changes.append(Release(reservation))


class _Holds:
    """What a replica takes of its node, of the quotas it is under, and of the disks that serve it."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._nodes = snapshot.nodes
        self._rules = RulesByPlace(snapshot)
        self._quotas = QuotaHolds(snapshot)

    def of(self, outcome: Outcome, workload: Workload, node: str) -> tuple[Hold, ...]:
        """Return what is held of a node and of quotas, a quota's parents too."""
        gigabytes = self._rules.of(self._nodes[node]).gpu_memory_gigabytes
        on_node = Hold(COMPUTE, node_capacity(node), outcome.requests)
        return (on_node, *self._quotas.of(workload, gigabytes))

    def of_disks(self, node: str, served: Iterable[Served], workload: Workload) -> tuple[Hold, ...]:
        """Return what is held of the disks that were chosen."""
        record: Node = self._nodes[node]
        rules = self._rules.of(record)
        mode = rules.storage_mode
        disks = {disk.name: disk for disk in capacities_of(record, shared=mode == "zos", rules=rules)}
        holds = []
        for each in served:
            request = DiskRequest(each.volume, cast("LocalClass", each.storage_class), each.size_bytes)
            disk = disks.get(each.place) or _still_taken(record, each)
            claim = claim_of(workload, each.volume)
            held = taken(request, disk, mode)
            holds.append(Hold(request_of(each.volume), disk_name(disk), held, claim))
        return tuple(holds)


def _still_taken(node: Node, served: Served) -> DiskCapacity:
    """Return a disk that offers nothing until somebody has gone: the ledger will say what is missing."""
    sizes = {drive.uuid: drive.size_bytes for drive in node.drives}
    sizes.update((group.name, group.size_bytes) for group in node.volume_groups)
    # A thin pool is named with its group: of both, the group is what has a class.
    known = served.place if served.place in sizes else served.place.partition("/")[0]
    return DiskCapacity(served.place, node.name, class_of_place(node, known), sizes[known])
