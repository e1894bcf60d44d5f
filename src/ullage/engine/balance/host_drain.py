"""How hosts are emptied: machines that leave them alive, and standbys that are copied elsewhere.

A drain is not a loss: everything runs meanwhile, so every rule holds, soft ones too. First what runs there
leaves: a machine with a standby goes there, or where that has no room to a host that its disks are copied to;
one whose disks every host of its group reaches just moves. Then the standbys that are left there, those of
machines that went too, are copied to other hosts. What is neither mirrored nor shared stays, as when Ganeti
evacuates a node. Machines that are still to come leave last, in the same ways: a host that they are reserved
on is not empty, though it holds nothing of them.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from ullage.engine.balance.candidates import Step
from ullage.engine.balance.evacuation import Way, way_out
from ullage.engine.balance.evacuation_trial import leaving
from ullage.engine.balance.facts import NOWHERE
from ullage.engine.balance.failure_words import kept_off, lacks
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.moves import Move, Moved
from ullage.engine.balance.requests import EvacuationMode
from ullage.engine.balance.rescoring import Rescoring
from ullage.engine.balance.state import Failure
from ullage.engine.steps import Steps, counted
from ullage.model.plan import Refusal

MAKE_ROOM: Final = "free room on other nodes of its group, or add a node"


class HostDrain(NamedTuple):
    """Moves in order, why some machines or standbys stay, and the fleet afterwards."""

    steps: tuple[Step, ...]
    refusals: tuple[Refusal, ...]
    fleet: Fleet


def drain_hosts(fleet: Fleet, numbers: Collection[int], steps: Steps | None = None) -> HostDrain:
    """Return how these hosts, by number, are emptied together."""
    return _Draining(fleet, frozenset(numbers)).run(steps)


class _Draining:
    """One drain, on a fleet of its own."""

    def __init__(self, fleet: Fleet, drained: frozenset[int]) -> None:
        self._fleet = fleet.copy()
        self._drained = drained
        self._steps: list[Step] = []
        self._refusals: list[Refusal] = []

    def run(self, steps: Steps | None) -> HostDrain:
        """Return the moves, and who stays."""
        parts = [leaving(self._fleet, number) for number in sorted(self._drained)]
        first = [each for part in parts for each in (*part.mirrored, *part.relocated, *part.anew)]
        for number in counted(first, len(first), "instances moved", steps):
            self._take(number, self._leave(number))
        kept = {number for host in self._drained for number in self._fleet.states[host].standbys}
        self._take_standbys(counted(sorted(kept), len(kept), "standbys moved", steps))
        coming = [machine.number for machine in self._fleet.machines if machine.forthcoming]
        for number in coming:
            if self._fleet.places[number].primary in self._drained:
                self._take(number, self._leave(number))
        self._take_standbys(coming)
        return HostDrain(tuple(self._steps), tuple(self._refusals), self._fleet)

    def _take_standbys(self, numbers: Iterable[int]) -> None:
        """Bring standbys of these machines elsewhere that are where they may not stay."""
        for number in numbers:
            primary, standby = self._fleet.places[number]
            if standby in self._drained and primary not in self._drained:
                self._take(number, self._leave_standby(number))

    def _take(self, number: int, way: Way | Refusal) -> None:
        """Make the moves of a machine, one after the other, or note why there are none."""
        if isinstance(way, Refusal):
            self._refusals.append(way)
            return
        for move in way.moves:
            moved = self._fleet.try_move(number, move)
            if isinstance(moved, Failure):
                raise ValueError(f"{self._name(number)} cannot move: {moved.kind}")  # noqa: TRY004 - a value
            self._steps.append(Step(number, move, moved.place, 0.0, self._fleet.places[number]))
            self._fleet.accept(number, moved)

    def _leave(self, number: int) -> Way | Refusal:
        """Return how a machine leaves its host, or why it cannot."""
        fleet = self._fleet
        machine, (at, standby) = fleet.machines[number], fleet.places[number]
        here = fleet.hosts[at].name
        if machine.mirror == "none":
            if machine.forthcoming:
                why = f"it is reserved on {here} and its disks ({machine.template}) could be nowhere else"
                remedy = f"reserve it on another node (gnt-instance remove {machine.name}, then add it anew)"
                return Refusal(machine.name, 1, why, remedy=remedy)
            why = f"its disks ({machine.template}) are on {here} alone, so it cannot leave while it runs"
            remedy = f"stop it and copy its disks (gnt-instance move -n NODE {machine.name})"
            return Refusal(machine.name, 1, why, remedy=remedy)
        targets = self._targets(number)
        if machine.mirror == "external":
            return self._way(number, "primary-only", [Move("fa", target) for target in targets])
        if standby == NOWHERE:
            return Refusal(
                machine.name, 1, "it has no standby", remedy="give it one (gnt-instance modify -t drbd)"
            )
        if standby in self._drained:
            return self._way(number, "all", [Move("r", target) for target in targets])
        if not fleet.hosts[standby].offline:
            way = way_out(fleet, number, "primary-only", fleet.hosts[at].group, targets)
            if isinstance(way, Way):
                return way
        return self._copied(number, targets)

    def _leave_standby(self, number: int) -> Way | Refusal:
        """Return how the standby of a machine leaves its host, or why it cannot."""
        return self._way(number, "secondary-only", [Move("r", target) for target in self._targets(number)])

    def _way(self, number: int, mode: EvacuationMode, moves: Sequence[Move]) -> Way | Refusal:
        """Return the way that an evacuation would choose; `moves` are what it tries first."""
        fleet = self._fleet
        group = fleet.hosts[fleet.places[number].primary].group
        way = way_out(fleet, number, mode, group, [move.target for move in moves])
        if isinstance(way, Way):
            return way
        what = "its standby stays: " if mode == "secondary-only" else ""
        if mode == "all" and any(not isinstance(fleet.try_move(number, each), Failure) for each in moves):
            return Refusal(self._name(number), 1, "no two other nodes of its group take it", remedy=MAKE_ROOM)
        return Refusal(
            self._name(number), 1, what + kept_off(fleet, number, moves, force=False), remedy=MAKE_ROOM
        )

    def _copied(self, number: int, targets: Sequence[int]) -> Way | Refusal:
        """Return the way to a host that the disks are copied to first, where the standby does not take it."""
        fleet = self._fleet
        at, standby = fleet.places[number]
        best: tuple[float, Move, Moved] | None = None
        hosts = [host for host in fleet.hosts if host.group == fleet.hosts[at].group]
        group_after = Rescoring(hosts, [fleet.states[host.number] for host in hosts])
        for move, moved in self._copies(number, targets):
            score = group_after.score(moved.changed)
            if best is None or not best[0] < score:
                best = score, move, moved
        if best is not None:
            return Way((best[1],), fleet)
        failed = fleet.try_move(number, Move("f"))
        there = fleet.hosts[standby]
        why = lacks(there, failed) if isinstance(failed, Failure) else "offline"
        others = kept_off(fleet, number, [Move("rf", target) for target in targets], force=False)
        return Refusal(self._name(number), 1, f"its standby {there.name}: {why}; {others}", remedy=MAKE_ROOM)

    def _copies(self, number: int, targets: Sequence[int]) -> Iterator[tuple[Move, Moved]]:
        """Yield copies to other hosts that are possible; from a host that is offline nothing is copied."""
        if self._fleet.hosts[self._fleet.places[number].primary].offline:
            return
        for target in targets:
            moved = self._fleet.try_move(number, Move("rf", target))
            if not isinstance(moved, Failure):
                yield Move("rf", target), moved

    def _targets(self, number: int) -> list[int]:
        """Return the hosts that a machine may go to, or that may become its standby."""
        fleet = self._fleet
        at, standby = fleet.places[number]
        group = fleet.hosts[at].group
        return [
            host.number
            for host in fleet.hosts
            if host.group == group
            and not host.offline
            and host.number not in self._drained
            and host.number not in {at, standby}
        ]

    def _name(self, number: int) -> str:
        return self._fleet.machines[number].name
