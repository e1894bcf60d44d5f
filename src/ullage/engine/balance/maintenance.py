"""Maintenance in turns: hosts that may be down together, and the moves that empty them of what runs there.

Which hosts share a turn is decided by rolling; here each turn is really made, move by move, because a standby
that could not take over would leave machines nowhere. A turn that fails is cut into single hosts. Machines
that are mirrored start on their standby, the others go where room is; after a turn everything returns.
"""

from collections.abc import Sequence
from typing import NamedTuple

from ullage.engine.balance.facts import NOWHERE
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.moves import Move, Place
from ullage.engine.balance.rolling import Batch, RollingOptions, Unrollable, rolling_groups
from ullage.engine.balance.state import Failure
from ullage.engine.steps import Steps, counted


class Shift(NamedTuple):
    """A machine, by number, that leaves a host for a while."""

    machine: int
    move: Move
    before: Place
    after: Place


class Turn(NamedTuple):
    """Hosts, by number, that may be down together, and the moves that empty them."""

    hosts: tuple[int, ...]
    shifts: tuple[Shift, ...]


class Unable(NamedTuple):
    """A host that cannot be emptied: the machine that finds no place, where one is known, and why."""

    host: int
    machine: int
    failure: Failure | None


class Maintenance(NamedTuple):
    """Turns in order, and the hosts that have none."""

    turns: list[Turn]
    unable: list[Unable]


def maintenance(fleet: Fleet, steps: Steps | None = None) -> Maintenance:
    """Return in which turns the hosts of a fleet can be maintained."""
    wanted = [number for number in fleet.scope if not fleet.hosts[number].offline]
    batches = _batches(fleet, wanted)
    unable: list[Unable] = []
    if batches is None:
        kept = []
        for number in counted(wanted, len(wanted), "nodes looked at", steps):
            if _batches(fleet, [number]) is None:
                unable.append(Unable(number, NOWHERE, None))
            else:
                kept.append(number)
        batches = _batches(fleet, kept) or [
            each for number in kept for each in _batches(fleet, [number]) or ()
        ]
    turns: list[Turn] = []
    for batch in counted(batches, len(batches), "turns made", steps):
        turn = _turn(fleet, batch)
        if isinstance(turn, Turn):
            turns.append(turn)
            continue
        for number in batch.hosts:
            for alone in _batches(fleet, [number]) or ():
                single = _turn(fleet, alone)
                if isinstance(single, Turn):
                    turns.append(single)
                else:
                    unable.append(single)
    return Maintenance(turns, unable)


def _batches(fleet: Fleet, hosts: Sequence[int]) -> list[Batch] | None:
    """Return hosts in sets that may be down together; None where one can never be cleared."""
    if not hosts:
        return []
    part = fleet.copy()
    part.scope = tuple(hosts)
    found = rolling_groups(part, RollingOptions())
    return None if isinstance(found, Unrollable) else found.batches


def _turn(fleet: Fleet, batch: Batch) -> Turn | Unable:
    """Return the moves that empty hosts together, or the first machine that finds no place."""
    after = fleet.copy()
    shifts: list[Shift] = []
    relocated = dict(batch.moved)
    leaving = [number for host in batch.hosts for number in fleet.states[host].primaries]
    for number in sorted(leaving, key=lambda each: each not in relocated):
        place = fleet.places[number]
        move = Move("fa", relocated[number].primary) if number in relocated else Move("f")
        moved = after.try_move(number, move, force=True)
        if isinstance(moved, Failure):
            return Unable(place.primary, number, moved)
        after.accept(number, moved)
        shifts.append(Shift(number, move, place, moved.place))
    return Turn(batch.hosts, tuple(shifts))
