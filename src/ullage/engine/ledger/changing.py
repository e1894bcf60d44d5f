"""What becomes of promises that stand: they are bound, released, extended, paused, resized, or expire.

Saying something twice is no error: what is so already is accepted and changes nothing. Nothing is changed of
a reservation that is not there.
"""

from collections.abc import Iterator

import msgspec

from ullage.engine.ledger.entries import ended
from ullage.engine.ledger.room import Lack, lacking, refused
from ullage.engine.ledger.sharing import carrier, left_behind
from ullage.engine.ledger.view import LedgerView
from ullage.model.ledger import (
    Bind,
    Decision,
    Expire,
    Extend,
    Pause,
    Refuse,
    Release,
    Reserve,
    Resize,
    Supply,
    node_of,
)
from ullage.model.ledger_entry import HOLDING, LedgerEntry


def supply(view: LedgerView, command: Supply, _at_seconds: int) -> Decision:
    """Note what has changed in what can be promised; a drive that is plain again is in no group any more."""
    gone = dict.fromkeys((*command.gone, *_groups_that_went(view, command)))
    return Decision(
        accepted=True,
        capacities=tuple(each for each in command.capacities if view.capacity(each.name) != each),
        gone=tuple(name for name in gone if view.capacity(name) is not None),
    )


def _groups_that_went(view: LedgerView, command: Supply) -> Iterator[str]:
    named = {each.name for each in command.capacities}
    for each in command.capacities:
        if each.disk is not None and not each.drives:
            for name in view.disks_of(each.disk.node):
                known = view.capacity(name)
                if name not in named and known is not None and each.name in known.drives:
                    yield name


def bind(view: LedgerView, command: Bind, _at_seconds: int) -> Decision:
    """Mark what is held as in use, on one node if it is held on several, and give back the others."""
    entries = view.entries_of(command.reservation)
    lack = _unknown(command.reservation, entries) or _unbindable(command, entries)
    if lack is not None:
        return refused(lack)
    if all(entry.state == "BOUND" for entry in entries):
        return Decision(accepted=True, reason=f"reservation {command.reservation} is bound already")
    going = [entry for entry in entries if command.node and node_of(entry.capacity) not in {"", command.node}]
    changed = tuple(
        ended(entry, "RELEASED", f"bound on node {command.node}")
        if entry in going
        else msgspec.structs.replace(entry, state="BOUND", expires_seconds=None)
        for entry in entries
    )
    left = left_behind(view, going)
    return Decision(accepted=True, changed=(*changed, *left.heirs), capacities=left.capacities)


def release(view: LedgerView, command: Release, _at_seconds: int) -> Decision:
    """Give back a reservation, or some of its requests; one that waits has no parts yet."""
    entries = view.entries_of(command.reservation)
    lack = _unknown(command.reservation, entries)
    if lack is not None:
        return refused(lack)
    asked = set(command.requests)
    missing = asked - {entry.request for entry in entries}
    if missing:
        return refused(
            Lack(
                f"reservation {command.reservation} has no request {min(missing)}; "
                f"it has {', '.join(sorted({entry.request for entry in entries}))}"
            )
        )
    waits = entries[0].state == "WAITING"
    if waits and asked:
        return refused(
            Lack(f"reservation {command.reservation} waits as a whole; release all of it and reserve less")
        )
    going = [entry for entry in entries if not asked or entry.request in asked]
    left = left_behind(view, going, volumes_stay=command.volumes_stay)
    return Decision(
        accepted=True,
        changed=(*(ended(entry, "RELEASED") for entry in going), *left.heirs),
        capacities=left.capacities,
        waiting=_line_without(view, {command.reservation}) if waits else None,
    )


def extend(view: LedgerView, command: Extend, at_seconds: int) -> Decision:
    """Give a reservation another end, if that is still to come."""
    name, expires = command.reservation, command.expires_seconds
    entries = view.entries_of(name)
    lack = _unknown(name, entries)
    if lack is not None:
        return refused(lack)
    if all(entry.expires_seconds is None for entry in entries):
        return refused(Lack(f"reservation {name} is in use and does not expire; release it when it ends"))
    if expires <= at_seconds:
        return refused(
            Lack(f"reservation {name} cannot end at {expires}, now is {at_seconds}; give it a later end")
        )
    changed = tuple(
        msgspec.structs.replace(entry, expires_seconds=expires)
        for entry in entries
        if entry.expires_seconds not in {None, expires}
    )
    if not changed:
        return Decision(accepted=True, reason=f"reservation {name} ends at {expires} already")
    line = tuple(_extended(each, name, expires) for each in view.waiting)
    return Decision(accepted=True, changed=changed, waiting=None if line == view.waiting else line)


def expire(view: LedgerView, _command: Expire, at_seconds: int) -> Decision:
    """Give back everything whose time has come, also the place in line."""
    due = view.due(at_seconds)
    waited = {entry.reservation for entry in due if entry.state == "WAITING"}
    left = left_behind(view, due)
    return Decision(
        accepted=True,
        changed=(*(ended(entry, "EXPIRED") for entry in due), *left.heirs),
        capacities=left.capacities,
        waiting=_line_without(view, waited) if waited else None,
    )


def pause(view: LedgerView, command: Pause, _at_seconds: int) -> Decision:
    """Mark what is in use as paused, or as running again."""
    name = command.reservation
    entries = view.entries_of(name)
    lack = _unknown(name, entries)
    if lack is not None:
        return refused(lack)
    if any(entry.state != "BOUND" for entry in entries):
        return refused(Lack(f"reservation {name} is {entries[0].state}, not in use; bind it first"))
    changed = tuple(
        msgspec.structs.replace(entry, paused=command.paused)
        for entry in entries
        if entry.paused != command.paused
    )
    return Decision(accepted=True, changed=changed)


def resize(view: LedgerView, command: Resize, _at_seconds: int) -> Decision:
    """Change what is held, if what is more of it can be had; to have less is always possible."""
    entry = view.entry((command.reservation, command.request, command.capacity))
    if entry is None or entry.state not in HOLDING:
        return refused(
            Lack(
                f"reservation {command.reservation} holds nothing of {command.capacity} for request "
                f"{command.request}; reserve it first"
            )
        )
    entry = carrier(view, entry.claim) or entry
    if entry.claim and not any(command.resources.values()):
        return refused(Lack(f"claim {entry.claim} cannot be of no size; release request {command.request}"))
    more = {
        resource: amount - entry.resources.of(resource)
        for resource, amount in command.resources.items()
        if amount > entry.resources.of(resource)
    }
    lack = lacking(view, {command.capacity: more}) if more else None
    if lack is not None:
        return refused(lack)
    if command.resources == entry.resources:
        return Decision(accepted=True)
    return Decision(accepted=True, changed=(msgspec.structs.replace(entry, resources=command.resources),))


def refuse(view: LedgerView, command: Refuse, at_seconds: int) -> Decision:
    """Keep the reason why a request failed elsewhere."""
    entries = view.entries_of(command.reservation)
    if entries:
        return refused(
            Lack(f"reservation {command.reservation} is {entries[0].state}; release it before it is refused")
        )
    rejected = LedgerEntry(
        command.reservation,
        command.request,
        "",
        command.owner,
        state="REJECTED",
        created_seconds=at_seconds,
        reason=command.reason,
    )
    return Decision(accepted=True, changed=(rejected,))


def _unknown(reservation: str, entries: list[LedgerEntry]) -> Lack | None:
    if entries:
        return None
    return Lack(f"reservation {reservation} is not known or has ended; reserve it first")


def _unbindable(command: Bind, entries: list[LedgerEntry]) -> Lack | None:
    """Return why a reservation cannot be bound there: it waits, is elsewhere, or is on several nodes."""
    name = command.reservation
    if entries[0].state == "WAITING":
        return Lack(f"reservation {name} waits for {entries[0].blocked_by}; bind it when its turn has come")
    nodes = {node_of(entry.capacity) for entry in entries} - {""}
    listed = ", ".join(sorted(nodes))
    if command.node and nodes and command.node not in nodes:
        return Lack(f"reservation {name} has nothing on node {command.node}; bind it on {listed}")
    places = {(entry.request, node_of(entry.capacity)) for entry in entries}
    on_nodes = [request for request, node in places if node]
    if not command.node and len(set(on_nodes)) < len(on_nodes):
        return Lack(f"reservation {name} is held on nodes {listed}; say on which one it is bound")
    return None


def _line_without(view: LedgerView, names: set[str]) -> tuple[Reserve, ...]:
    return tuple(each for each in view.waiting if each.reservation not in names)


def _extended(command: Reserve, name: str, expires_seconds: int) -> Reserve:
    if command.reservation != name:
        return command
    return msgspec.structs.replace(command, expires_seconds=expires_seconds)
