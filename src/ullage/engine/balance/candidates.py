"""The moves that are looked at in one step of balancing, in the order that decides ties, one after another.

This is the rule. It takes every move in turn and scores all hosts anew, which is too slow for a large
cluster; the quick search must find the same step, and is judged by this one.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from ullage.engine.balance.facts import NOWHERE
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.moves import Move, MoveKind, Place
from ullage.engine.balance.score import TERMS, Term, score_of
from ullage.engine.balance.state import Failure, HostState


class Balancing(NamedTuple):
    """What balancing may do, and when it ends.

    `force` ignores soft rules. Without `disk_moves` no disk is copied, without `instance_moves` no primary
    changes; `restricted_migration` replaces standbys only, unless a primary is offline. `evac_mode` moves
    only machines that touch a host which is offline. It ends after `moves_max` moves (-1: no end), at a score
    of `min_score` above the best possible one, or with a gain below `min_gain` once the score is at most
    `min_gain_limit`.
    """

    force: bool = False
    disk_moves: bool = True
    instance_moves: bool = True
    restricted_migration: bool = False
    evac_mode: bool = False
    min_score: float = 1e-9
    min_gain: float = 0.01
    min_gain_limit: float = 0.1
    moves_max: int = -1


class Step(NamedTuple):
    """One move of a machine by number: where it was, where it is then, and the score that follows."""

    machine: int
    move: Move
    place: Place
    score: float
    before: Place


class Barring(Protocol):
    """What says which moves are not to be made though the hosts would take them (bars.py)."""

    def allows(self, machine: int, move: Move) -> bool:
        """Whether a move of a machine, by number, may be made."""


def targets_of(fleet: Fleet) -> list[int]:
    """Return the hosts that machines may move to: those that count and are online."""
    return [number for number in fleet.scope if not fleet.hosts[number].offline]


def movers_of(fleet: Fleet, options: Balancing) -> list[int]:
    """Return the machines that may move, in their order."""
    found = [number for number in fleet.subjects if fleet.machines[number].movable]
    if not options.evac_mode:
        return found
    bad = {number for number in fleet.scope if fleet.hosts[number].offline}
    return [number for number in found if not bad.isdisjoint(fleet.places[number])]


def kinds_of(fleet: Fleet, number: int, options: Balancing, *, standby_usable: bool) -> tuple[MoveKind, ...]:
    """Return the kinds of moves of a machine to a new host, in the order in which they are looked at."""
    machine = fleet.machines[number]
    if machine.mirror == "external":
        return ("fa",) if options.instance_moves else ()
    if machine.mirror == "none" or not options.disk_moves:
        return ()
    if not options.instance_moves:
        return ("r",)
    leaves_offline = fleet.hosts[fleet.places[number].primary].offline
    if options.restricted_migration and not leaves_offline:
        return ("r",)
    if not standby_usable:
        return ("r", "rf")
    return ("r", "rf", "fr") if options.restricted_migration else ("r", "rf", "frf", "fr")


def moves_of(fleet: Fleet, number: int, options: Balancing, targets: Sequence[int]) -> Iterator[Move]:
    """Yield the moves of a machine, in the order in which they are looked at."""
    place = fleet.places[number]
    standby_usable = options.instance_moves and place.standby != NOWHERE and place.standby in targets
    if fleet.machines[number].mirror == "internal" and standby_usable:
        yield Move("f")
    kinds = kinds_of(fleet, number, options, standby_usable=standby_usable)
    for target in targets:
        if target not in place:
            for kind in kinds:
                yield Move(kind, target)


def score_after(fleet: Fleet, changed: Mapping[int, HostState], terms: Sequence[Term] = TERMS) -> float:
    """Return the score of the hosts that count, some of them changed."""
    states = [changed.get(number, fleet.states[number]) for number in fleet.scope]
    return score_of([fleet.hosts[number] for number in fleet.scope], states, terms)


def plain_step(
    fleet: Fleet, options: Balancing, terms: Sequence[Term] = TERMS, bars: Barring | None = None
) -> Step | None:
    """Return the move with the lowest score, the first of equals; None where no move lowers it."""
    best: Step | None = None
    lowest = score_after(fleet, {}, terms)
    targets = targets_of(fleet)
    for number in movers_of(fleet, options):
        before = fleet.places[number]
        for move in moves_of(fleet, number, options, targets):
            if bars is not None and not bars.allows(number, move):
                continue
            moved = fleet.try_move(number, move, force=options.force)
            if isinstance(moved, Failure):
                continue
            score = score_after(fleet, moved.changed, terms)
            if score < lowest:
                best, lowest = Step(number, move, moved.place, score, before), score
    return best
