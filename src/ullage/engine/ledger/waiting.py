"""Whose turn it is: logical volumes of one class are decided one reservation after the other, if so wished.

That is csi-baremetal's way to use few drives. Who comes while another's volumes of the class are promised but
not made yet stands in line, first come first served, and is told who is in the way. Whatever may let the line
move decides the turns in the same step, so nobody waits for a poll.
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
from ullage.model.ledger import Decision, Reserve, node_of
from ullage.model.ledger_entry import LedgerEntry

LINE_MAX: Final = 1000
"""So many reservations may wait: the whole line is written with every step that changes it."""


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

    def join(self, command: Reserve) -> None:
        """Put a reservation behind those who wait already."""
        classes = share_classes(command)
        self._first.setdefault(classes, command.reservation)
        self._count[classes] = self._count.get(classes, 0) + 1

    def standing(self, command: Reserve) -> Standing | None:
        """Return where a reservation would stand, None if it is its turn."""
        classes = share_classes(command)
        in_the_way = [self.holders[each] for each in sorted(classes) if each in self.holders]
        ahead = 0
        for others, count in self._count.items():
            if classes & others:
                ahead += count
                in_the_way.append(self._first[others])
        return Standing(ahead + 1, in_the_way[0]) if in_the_way else None


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
    standing = _standing_of_new(view, command) if share_classes(command) else None
    if standing is None:
        return hold_now(view, command, at_seconds)
    if len(view.waiting) >= LINE_MAX:
        lack = Lack(f"{LINE_MAX} reservations wait already; try again later or turn few_drives off")
        return refused(lack, asked_entries(command, "REJECTED", at_seconds, lack.reason))
    entries = asked_entries(command, "WAITING", at_seconds)
    return Decision(
        accepted=True,
        changed=_placed(entries, standing),
        waiting=(*view.waiting, command),
    )


def share_classes(command: Reserve) -> frozenset[str]:
    """Return the classes of logical volumes for which a reservation waits its turn."""
    if command.mode != "compat" or not command.few_drives:
        return frozenset()
    return frozenset(volume.storage_class for volume in command.volumes if volume.is_share)


def with_turns(view: LedgerView, decision: Decision, at_seconds: int) -> Decision:
    """Return a decision together with the turns that come by it."""
    line = view.waiting if decision.waiting is None else decision.waiting
    if not line or not decision.accepted:
        return decision
    after = Overlay(view)
    amend(after, decision)
    changed = list(decision.changed)
    still: list[Reserve] = []
    queues = Queues(_holders(after))
    for command in line:
        standing = queues.standing(command)
        if standing is None:
            turn = _turn(after, command, at_seconds)
            amend(after, Decision(accepted=True, changed=turn))
            queues.holders = _holders(after)
        else:
            still.append(command)
            queues.join(command)
            turn = _moved_up(after, command, standing)
        changed += turn
    waiting = tuple(still)
    return msgspec.structs.replace(
        decision, changed=latest(changed), waiting=None if waiting == view.waiting else waiting
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


def _standing_of_new(view: LedgerView, command: Reserve) -> Standing | None:
    queues = Queues(_holders(view))
    for other in view.waiting:
        queues.join(other)
    return queues.standing(command)


def _turn(view: LedgerView, command: Reserve, at_seconds: int) -> tuple[LedgerEntry, ...]:
    """Decide a reservation whose turn has come: what waited ends, unless something is held in its place."""
    waited = view.entries_of(command.reservation)
    if command.expires_seconds <= at_seconds:
        return tuple(ended(entry, "EXPIRED") for entry in waited)
    since = waited[0].created_seconds  # from the request on: so the wait is part of what it took
    decided = hold_now(view, command, at_seconds).changed
    return latest(
        (
            *(ended(entry, "RELEASED", "its turn has come") for entry in waited),
            *(msgspec.structs.replace(entry, created_seconds=since) for entry in decided),
        )
    )


def _moved_up(view: LedgerView, command: Reserve, standing: Standing) -> tuple[LedgerEntry, ...]:
    """Return the entries of a reservation as it stands now, where that has changed."""
    waited = view.entries_of(command.reservation)
    if all((entry.queue_position, entry.blocked_by) == standing for entry in waited):
        return ()
    return _placed(waited, standing)


def _placed(entries: Iterable[LedgerEntry], standing: Standing) -> tuple[LedgerEntry, ...]:
    return tuple(
        msgspec.structs.replace(entry, queue_position=standing.position, blocked_by=standing.blocked_by)
        for entry in entries
    )
