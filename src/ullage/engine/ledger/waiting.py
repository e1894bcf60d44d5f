"""Whose turn it is: who waits for volumes of a class, or for room, and when the wait is over.

Logical volumes of one class are decided one reservation after the other, if so wished: so csi-baremetal uses
few drives. Who comes while another's volumes of the class are promised but not made yet stands in line, first
come first served, and is told who is in the way. Who waits for room is held as soon as there is any, a small
one perhaps before a large one that came first: so who has the turn and finds no room lets the next one pass.
Whatever may let the line move decides the turns in the same step, so nobody waits for a poll.
"""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

import msgspec

from ullage.engine.ledger.apply import amend
from ullage.engine.ledger.entries import asked_entries, ended, latest
from ullage.engine.ledger.holding import hold_now, is_held_already
from ullage.engine.ledger.overlay import Overlay
from ullage.engine.ledger.room import Lack, refused
from ullage.engine.ledger.view import LedgerView
from ullage.engine.storage.capacities import holds_of
from ullage.model.ledger import Decision, Reserve, node_capacity, node_of
from ullage.model.ledger_entry import LedgerEntry

LINE_MAX: Final = 1000
"""So many reservations may wait: the whole line is written with every step that changes it."""
LOOKED_AT_MAX: Final = 100
"""On so many nodes it is looked for who is in the way of somebody who wants room."""
_FOR_ROOM: Final = frozenset(("room",))


class Standing(NamedTuple):
    """A place in line, counted among those of the same classes, and who is in the way."""

    position: int
    blocked_by: str


class Queues:
    """Who is in the way of whom: holders by class, and how many wait for each set of classes, who first.

    There are few sets of classes, so a place in line is found without looking at everybody ahead.
    """

    def __init__(self, holders: Mapping[str, str]) -> None:
        self.holders = holders
        self._first: dict[frozenset[str], str] = {}
        self._count: dict[frozenset[str], int] = {}

    def join(self, command: Reserve, *, passed: bool = False) -> None:
        """Put a reservation behind those who wait already; one that is `passed` is in nobody's way."""
        line = _line_of(command)
        if not passed:
            self._first.setdefault(line, command.reservation)
        self._count[line] = self._count.get(line, 0) + 1

    def place(self, command: Reserve) -> int:
        """Return the place that a reservation would have in its line."""
        line = _line_of(command)
        return 1 + sum(count for others, count in self._count.items() if line & others)

    def standing(self, command: Reserve) -> Standing | None:
        """Return where a reservation would stand, None if it is its turn."""
        classes = share_classes(command)
        in_the_way = [self.holders[each] for each in sorted(classes) if each in self.holders]
        in_the_way += (first for others, first in self._first.items() if classes & others)
        return Standing(self.place(command), in_the_way[0]) if in_the_way else None


def reserve(view: LedgerView, command: Reserve, at_seconds: int) -> Decision:
    """Decide a new reservation: at once, or when its turn has come."""
    name = command.reservation
    live = view.entries_of(name)
    if live:
        if command in view.waiting or is_held_already(view, command):
            return Decision(accepted=True, reason=f"reservation {name} stands already")
        return refused(
            Lack(f"reservation {name} is {live[0].state} for {live[0].owner}; release it or use another name")
        )
    if command.expires_seconds <= at_seconds:
        lack = Lack(
            f"reservation {name} would end at {command.expires_seconds}, now is {at_seconds}; "
            "give it a later end"
        )
        return refused(lack, asked_entries(command, "REJECTED", at_seconds, lack.reason))
    queues = _queues(view, command)
    standing = queues.standing(command) if share_classes(command) else None
    reason = ""
    if standing is None:
        decided = hold_now(view, command, at_seconds)
        if decided.accepted or not command.waits:
            return decided
        standing, reason = Standing(queues.place(command), _in_the_way(view, command)), decided.reason
    if len(view.waiting) >= LINE_MAX:
        lack = Lack(f"{LINE_MAX} reservations wait already; try again later or turn few_drives off")
        return refused(lack, asked_entries(command, "REJECTED", at_seconds, lack.reason))
    entries = asked_entries(command, "WAITING", at_seconds, reason)
    return Decision(
        accepted=True,
        changed=_placed(entries, standing, reason),
        waiting=(*view.waiting, command),
    )


def share_classes(command: Reserve) -> frozenset[str]:
    """Return the classes of logical volumes for which a reservation waits its turn."""
    if command.mode != "compat" or not command.few_drives:
        return frozenset()
    return frozenset(volume.storage_class for volume in command.volumes if volume.is_share)


def with_turns(view: LedgerView, decision: Decision, at_seconds: int, *, for_room: bool = True) -> Decision:
    """Return a decision together with the turns that come by it; perhaps not of those who wait for room."""
    line = view.waiting if decision.waiting is None else decision.waiting
    if not line or not decision.accepted:
        return decision
    after = Overlay(view)
    amend(after, decision)
    changed = list(decision.changed)
    still: list[Reserve] = []
    queues = Queues(_holders(after))
    moved = _Moved(decision)
    for command in line:
        standing = queues.standing(command)
        turn: tuple[LedgerEntry, ...] = ()
        reason: str | None = None
        if standing is None and (share_classes(command) or (for_room and moved.concerns(command))):
            turn, reason = _turn(after, command, at_seconds)
        if turn:
            amend(after, Decision(accepted=True, changed=turn))
            queues.holders = _holders(after)
        else:
            if standing is None:
                standing = Standing(queues.place(command), _in_the_way(after, command))
            still.append(command)
            queues.join(command, passed=command.lets_pass and reason is not None)
            turn = _moved_up(after, command, standing, reason)
        changed += turn
    waiting = tuple(still)
    return msgspec.structs.replace(
        decision, changed=latest(changed), waiting=None if waiting == view.waiting else waiting
    )


class _Moved:
    """What a decision changed of what can be had: only who waits for some of it need be looked at again."""

    def __init__(self, decision: Decision) -> None:
        self._names = {entry.capacity for entry in decision.changed}
        self._names |= {capacity.name for capacity in decision.capacities}
        self._nodes = {node_of(name) for name in self._names} - {""}

    def concerns(self, command: Reserve) -> bool:
        """Whether there may be more for a reservation than before."""
        return not self._nodes.isdisjoint(command.nodes) or any(
            hold.capacity in self._names or node_of(hold.capacity) in self._nodes for hold in command.holds
        )


def _holders(view: LedgerView) -> dict[str, str]:
    """Return who has volumes of each class promised and not made yet: the one that came first."""
    found: dict[str, tuple[int, str]] = {}
    for entry in view.reserved_shares():
        disks = view.disks_of(node_of(entry.capacity))
        for hold in holds_of((entry,), disks):
            came = (entry.created_seconds or 0, entry.reservation)
            found[hold.storage_class] = min(found.get(hold.storage_class, came), came)
    return {storage_class: reservation for storage_class, (_, reservation) in found.items()}


def _queues(view: LedgerView, command: Reserve) -> Queues:
    """Return who waits, and who is in the way where a class is waited for."""
    queues = Queues(_holders(view) if share_classes(command) else {})
    if share_classes(command) or command.waits:
        for other in view.waiting:
            # who waits for room was told what is missing, who waits for a turn only who is in the way
            passed = other.lets_pass and bool(view.entries_of(other.reservation)[0].reason)
            queues.join(other, passed=passed)
    return queues


def _line_of(command: Reserve) -> frozenset[str]:
    """Return the classes for which a reservation waits its turn, or the line of those who want room."""
    return share_classes(command) or _FOR_ROOM


def _in_the_way(view: LedgerView, command: Reserve) -> str:
    """Return who holds something of what a reservation could have, the one whose end is nearest."""
    names = [hold.capacity for hold in command.holds]
    for node in command.nodes[:LOOKED_AT_MAX]:
        names += (node_capacity(node), *view.disks_of(node))
    found = (
        (entry.state != "RESERVED", entry.expires_seconds or 0, entry.reservation)
        for name in names
        for entry in view.entries_on(name)
        if entry.holds and not entry.refers
    )
    return min(found, default=(False, 0, ""))[2]


def _turn(view: LedgerView, command: Reserve, at_seconds: int) -> tuple[tuple[LedgerEntry, ...], str]:
    """Decide a reservation whose turn has come: what waited ends, unless it waits for room that is not there.

    Then nothing changes, and the reason is what is missing.
    """
    waited = view.entries_of(command.reservation)
    if command.expires_seconds <= at_seconds:
        return tuple(ended(entry, "EXPIRED") for entry in waited), ""
    since = waited[0].created_seconds  # from the request on: so the wait is part of what it took
    decision = hold_now(view, command, at_seconds)
    if command.waits and not decision.accepted:
        return (), decision.reason
    decided = (
        msgspec.structs.replace(entry, created_seconds=since)
        if entry.reservation == command.reservation
        else entry
        for entry in decision.changed
    )
    return latest((*(ended(entry, "RELEASED", "its turn has come") for entry in waited), *decided)), ""


def _moved_up(
    view: LedgerView, command: Reserve, standing: Standing, reason: str | None
) -> tuple[LedgerEntry, ...]:
    """Return the entries of a reservation as it stands now, where that has changed; None keeps the reason."""
    waited = view.entries_of(command.reservation)
    if reason is None:
        reason = waited[0].reason if not share_classes(command) else ""
    if all((entry.queue_position, entry.blocked_by, entry.reason) == (*standing, reason) for entry in waited):
        return ()
    return _placed(waited, standing, reason)


def _placed(entries: Iterable[LedgerEntry], standing: Standing, reason: str) -> tuple[LedgerEntry, ...]:
    return tuple(
        msgspec.structs.replace(
            entry, queue_position=standing.position, blocked_by=standing.blocked_by, reason=reason
        )
        for entry in entries
    )
