"""Machines that leave hosts: for each the steps that bring it elsewhere, and the state after these.

A machine with a standby leaves its primary by failing over, its standby by a new copy of its disks, and both
by a copy on the new primary, a failover and a copy on the new standby. One whose disks every host can reach
just moves. Of all places the one that leaves its group most even wins, the last of equals.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Final, NamedTuple

from ullage.engine.balance.facts import NOWHERE
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.group_choice import PAIR, Choice, Conditions, choose_group
from ullage.engine.balance.moves import Move, Moved
from ullage.engine.balance.requests import EvacuationMode
from ullage.engine.balance.rescoring import Rescoring
from ullage.engine.balance.state import Failure

NO_NODE: Final = "Can't find any good node"
NO_NODES: Final = "Can't find any good nodes for relocation"


class Left(NamedTuple):
    """A machine that left, by number: its steps, its new group and its new hosts."""

    machine: int
    moves: tuple[Move, ...]
    group: int
    hosts: tuple[int, ...]


class Stayed(NamedTuple):
    """A machine that could not leave, by number, and why: in words, or by what other groups offer."""

    machine: int
    why: str | Choice


class Evacuated(NamedTuple):
    """What became of all machines in their order, and the state afterwards."""

    fleet: Fleet
    outcomes: tuple[Left | Stayed, ...]

    @property
    def left(self) -> list[Left]:
        """The machines that left."""
        return [each for each in self.outcomes if isinstance(each, Left)]

    @property
    def stayed(self) -> list[Stayed]:
        """The machines that could not."""
        return [each for each in self.outcomes if isinstance(each, Stayed)]


class Way(NamedTuple):
    """Steps of one machine, and the state after them."""

    moves: tuple[Move, ...]
    fleet: Fleet


def evacuate(fleet: Fleet, numbers: Sequence[int], mode: EvacuationMode, *, force: bool = False) -> Evacuated:
    """Move machines away from the hosts that they leave, within their group, one after the other."""
    state = fleet.copy()
    avoided = _left_hosts(fleet, numbers, mode) | {host.number for host in fleet.hosts if host.offline}
    outcomes: list[Left | Stayed] = []
    for number in numbers:
        at = fleet.places[number].primary
        group = fleet.hosts[at].group
        targets = [host.number for host in fleet.hosts if host.group == group]
        allowed = [each for each in targets if each not in avoided and each != at]
        way = way_out(state, number, mode, group, allowed, force=force)
        state = _taken(state, number, way, outcomes)
    return Evacuated(state, tuple(outcomes))


def change_group(
    fleet: Fleet, numbers: Sequence[int], groups: Collection[int], conditions: Conditions
) -> Evacuated:
    """Move machines to other groups: to these, or where none is given to any that none of them is in."""
    state = fleet.copy()
    former = {fleet.hosts[fleet.places[number].primary].group for number in numbers}
    allowed = [group for group in (groups or range(len(fleet.cluster.groups))) if group not in former]
    outcomes: list[Left | Stayed] = []
    for number in numbers:
        machine = state.machines[number]
        choice = choose_group(state, machine, PAIR if machine.has_standby else 1, conditions, allowed=allowed)
        if choice.chosen is None:
            outcomes.append(Stayed(number, choice))
            continue
        group = choice.chosen.group
        targets = [host.number for host in fleet.hosts if host.group == group and not host.offline]
        state = _taken(state, number, way_out(state, number, "all", group, targets), outcomes)
    return Evacuated(state, tuple(outcomes))


def _left_hosts(fleet: Fleet, numbers: Iterable[int], mode: EvacuationMode) -> set[int]:
    """Return the hosts that machines are to leave."""
    found = set()
    for number in numbers:
        place = fleet.places[number]
        if mode != "secondary-only":
            found.add(place.primary)
        if mode != "primary-only" and fleet.machines[number].has_standby:
            found.add(place.standby)
    return found


def _taken(state: Fleet, number: int, way: Way | str, outcomes: list[Left | Stayed]) -> Fleet:
    """Note what became of a machine, and return the state after it."""
    if isinstance(way, str):
        outcomes.append(Stayed(number, way))
        return state
    primary, standby = way.fleet.places[number]
    hosts = (primary, standby) if way.fleet.machines[number].has_standby else (primary,)
    outcomes.append(Left(number, way.moves, way.fleet.hosts[primary].group, hosts))
    return way.fleet


def way_out(
    fleet: Fleet,
    number: int,
    mode: EvacuationMode,
    group: int,
    targets: Sequence[int],
    *,
    force: bool = False,
) -> Way | str:
    """Return the best way of a machine to some hosts of a group, or why there is none."""
    machine = fleet.machines[number]
    if machine.mirror == "none":
        return f"Instances of type {machine.template} cannot be relocated"
    if machine.mirror == "external":
        if mode == "secondary-only":
            return f"Instances with disk template '{machine.template}' can't execute change secondary"
        return _one_host(fleet, number, [Move("fa", target) for target in targets], group, force=force)
    if fleet.places[number].standby == NOWHERE:
        return "The instance has no secondary node"
    if mode == "secondary-only":
        return _one_host(fleet, number, [Move("r", target) for target in targets], group, force=force)
    if mode == "primary-only":
        moved = fleet.try_move(number, Move("f"), force=force)
        if isinstance(moved, Failure):
            return moved.kind
        return Way((Move("f"),), _after(fleet, number, moved))
    return _both_hosts(fleet, number, group, targets, force=force)


def _one_host(fleet: Fleet, number: int, moves: Sequence[Move], group: int, *, force: bool) -> Way | str:
    """Return the best of some moves."""
    failures = []
    group_after = _rescoring(fleet, group)
    best: tuple[float, Move, Moved] | None = None
    for move in moves:
        moved = fleet.try_move(number, move, force=force)
        if isinstance(moved, Failure):
            failures.append(f" Node {fleet.hosts[move.target].name} failed: {moved.kind};")
            continue
        score = group_after.score(moved.changed)
        if best is None or not best[0] < score:
            best = score, move, moved
    if best is None:
        return f"{NO_NODE}: {''.join(failures)}"
    _, move, moved = best
    return Way((move,), _after(fleet, number, moved))


def _both_hosts(fleet: Fleet, number: int, group: int, targets: Sequence[int], *, force: bool) -> Way | str:
    """Return the best way to a new primary and a new standby."""
    why = "no nodes available"
    best: tuple[float, Way, Move, Moved] | None = None
    for primary in targets:
        others = [target for target in targets if target != primary]
        way = _to_primary(fleet, number, primary, force=force) if others else ""
        if isinstance(way, str):
            why = f"Allocation failed: {way}" if way else why
            continue
        group_after = _rescoring(way.fleet, group)
        for standby in others:
            move = Move("r", standby)
            moved = way.fleet.try_move(number, move, force=force)
            if isinstance(moved, Failure):
                why = f"Allocation failed: Changing secondary to final secondary: {moved.kind}"
                continue
            score = group_after.score(moved.changed)
            if best is None or not best[0] < score:
                best = score, way, move, moved
    if best is None:
        return f"{NO_NODES}: {why}"
    _, way, move, moved = best
    return Way((*way.moves, move), _after(way.fleet, number, moved))


def _to_primary(fleet: Fleet, number: int, target: int, *, force: bool) -> Way | str:
    """Return the way of a machine to a new primary; from a host that is offline it fails over first."""
    steps = [
        (Move("r", target), "Changing secondary to new primary"),
        (Move("f"), "Failing over to new primary"),
    ]
    if fleet.hosts[fleet.places[number].primary].offline:
        steps.insert(0, (Move("f"), "Failing over to the secondary"))
    state = fleet
    for move, what in steps:
        moved = state.try_move(number, move, force=force)
        if isinstance(moved, Failure):
            return f"{what}: {moved.kind}"
        state = _after(state, number, moved)
    return Way(tuple(move for move, _ in steps), state)


def _after(fleet: Fleet, number: int, moved: Moved) -> Fleet:
    changed = fleet.copy()
    changed.accept(number, moved)
    return changed


def _rescoring(fleet: Fleet, group: int) -> Rescoring:
    """Return the hosts of a group, to see how even they are after a move."""
    hosts = [host for host in fleet.hosts if host.group == group]
    return Rescoring(hosts, [fleet.states[host.number] for host in hosts])
