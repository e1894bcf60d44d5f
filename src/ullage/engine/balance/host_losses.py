"""What happens when hosts are lost: which machines start elsewhere, and which nobody can start again.

A machine with a standby starts there and nowhere else, because no other host has a copy of its disks. One
whose disks every host of its group reaches starts where the group stays most even. One whose disks were on
the lost host alone is lost. As in an evacuation, mirrored machines come first and soft rules are ignored: the
memory that hosts hold for failover is there for this. Losing a host therefore leaves nobody out exactly where
it can be evacuated, unless disks are lost with it.
"""

from collections.abc import Collection, Iterator, Sequence
from itertools import combinations
from math import comb
from typing import Final, NamedTuple

from ullage.engine.balance.evacuation import way_out
from ullage.engine.balance.evacuation_trial import leaving
from ullage.engine.balance.facts import NOWHERE
from ullage.engine.balance.failure_words import kept_off, lacks
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.global_n1 import evacuable
from ullage.engine.balance.health import room_of
from ullage.engine.balance.moves import Move
from ullage.engine.balance.state import Failure
from ullage.engine.redundancy.losses import REPORTED_MAX, Loser, LossReport, Survey
from ullage.engine.redundancy.losses import Move as Moved
from ullage.engine.redundancy.side_by_side import TRIED
from ullage.engine.steps import Steps, counted
from ullage.model.errors import InputError
from ullage.model.quantity import readable_bytes

TRIES_MAX: Final = 150_000
"""Machines times hosts that are tried over all losses of a survey, after which no more are played through."""
BALANCE: Final = "ullage balance proposes moves"
APART: Final = f"keep its standby on a node that does not fail with its own ({BALANCE})"
BACKUP: Final = "restore it from a backup; on drbd or shared storage it would start again"


class Why(NamedTuple):
    """Why nobody can start a machine again, and what would help."""

    reason: str
    remedy: str


class _Left(NamedTuple):
    """What a loss leaves: where machines start again, by number, and why others do not.

    It is certain that not all have a place where one of them has a single place, or none.
    """

    fleet: Fleet
    placed: list[int]
    stranded: dict[int, Why]
    is_certain: bool


class HostLosses:
    """A fleet whose losses are asked about."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._numbers = {host.name: host.number for host in fleet.hosts}

    def of(self, names: Collection[str], steps: Steps | None = None) -> LossReport:
        """Return what the loss of these hosts together means."""
        unknown = sorted(set(names) - set(self._numbers))
        if unknown:
            raise InputError(f"node {unknown[0]} is unknown", remedy="name a node of the cluster")
        return self._report(sorted(self._numbers[name] for name in set(names)), steps)

    def every(
        self, nodes_lost: int, names: Collection[str] | None = None, steps: Steps | None = None
    ) -> Survey:
        """Return what every loss of so many hosts means; of these alone where some are named.

        Every loss is a kind of its own; the hosts with most machines come first.
        """
        fleet = self._fleet
        inside = fleet.scope if names is None else [self._numbers[name] for name in names]
        ordered = sorted(inside, key=lambda each: (-len(fleet.states[each].primaries), each))
        nodes_lost = min(nodes_lost, len(ordered))
        losses = comb(len(ordered), nodes_lost)
        tried = 0
        failing: list[tuple[int, tuple[int, ...]]] = []
        for lost, losers in counted(self._played(ordered, nodes_lost), losses, TRIED, steps):
            tried += 1
            if losers:
                failing.append((-losers, lost))
        failing.sort()
        worst = tuple(self._report(lost) for _, lost in failing[:REPORTED_MAX])
        return Survey(nodes_lost, losses, losses, tried, len(failing), len(failing), worst)

    def _played(self, ordered: Sequence[int], nodes_lost: int) -> Iterator[tuple[tuple[int, ...], int]]:
        """Yield losses with how many machines they leave out; losses of one host are all looked at."""
        sure = self._surely_sound(ordered) if nodes_lost == 1 else frozenset()
        left = TRIES_MAX
        for chosen in combinations(ordered, nodes_lost):
            lost = tuple(sorted(chosen))
            if sure.issuperset(lost):
                yield lost, 0
                continue
            if nodes_lost > 1 and left <= 0:
                return
            left -= self._tries(lost)
            yield lost, len(_lose(self._fleet, lost).stranded)

    def _surely_sound(self, numbers: Sequence[int]) -> frozenset[int]:
        """Return hosts that can be evacuated and keep no disks of their own: losing one leaves nobody out."""
        fleet = self._fleet
        return frozenset(number for number in evacuable(fleet, numbers) if not leaving(fleet, number).anew)

    def _tries(self, lost: Sequence[int]) -> int:
        machines = (
            self._fleet.machines[each] for host in lost for each in self._fleet.states[host].primaries
        )
        return sum(len(self._fleet.hosts) if each.mirror == "external" else 1 for each in machines)

    def _report(self, lost: Sequence[int], steps: Steps | None = None) -> LossReport:
        fleet = self._fleet
        names = [host.name for host in fleet.hosts]
        left = _lose(fleet, lost, steps)

        def was_on(number: int) -> str:
            return names[fleet.places[number].primary]

        moves = tuple(
            Moved(fleet.machines[number].name, was_on(number), names[left.fleet.places[number].primary])
            for number in left.placed
        )
        losers = tuple(
            Loser(fleet.machines[number].name, was_on(number), *why) for number, why in left.stranded.items()
        )
        report = LossReport(tuple(names[number] for number in lost), 1, moves, losers, (), 0)
        if not losers:
            return report
        return report._replace(certificate="impossible" if left.is_certain else "unknown")


def _lose(fleet: Fleet, lost: Sequence[int], steps: Steps | None = None) -> _Left:
    """Start the machines of lost hosts elsewhere, one after the other."""
    parts = [leaving(fleet, number) for number in lost]
    others = [each for part in parts for each in (*part.relocated, *part.anew)]
    state = fleet.copy()
    placed: list[int] = []
    stranded: dict[int, Why] = {}
    mirrored = [each for part in parts for each in part.mirrored]
    for number in counted(mirrored, len(mirrored), "instances failed over", steps):
        why = _fail_over(state, number, lost)
        if why is None:
            placed.append(number)
        else:
            stranded[number] = why
    for number in counted(others, len(others), "instances started elsewhere", steps):
        after = _start_elsewhere(state, number, lost)
        if isinstance(after, Fleet):
            state = after
            placed.append(number)
        else:
            stranded[number] = after
    is_certain = any(fleet.machines[number].mirror != "external" for number in stranded)
    return _Left(state, placed, stranded, is_certain)


def _start_elsewhere(state: Fleet, number: int, lost: Collection[int]) -> Fleet | Why:
    """Return the fleet with a machine on another host that reaches its disks, or why there is none."""
    machine, at = state.machines[number], state.hosts[state.places[number].primary]
    if machine.mirror != "external":
        return Why(f"its disks ({machine.template}) are on {at.name} alone, and lost with it", BACKUP)
    targets = [
        host.number
        for host in state.hosts
        if host.group == at.group and not host.offline and host.number not in lost
    ]
    way = way_out(state, number, "primary-only", at.group, targets, force=True)
    if isinstance(way, str):
        reason = kept_off(state, number, [Move("fa", target) for target in targets], force=True)
        return Why(reason, "free room on other nodes of its group, add a node, or raise memory-ratio")
    return way.fleet


def _fail_over(state: Fleet, number: int, lost: Collection[int]) -> Why | None:
    """Start a machine on its standby; return why that is not possible, and what would help."""
    primary, at = state.places[number]
    if at == NOWHERE:
        return Why("it has no standby, and its disks are lost", BACKUP)
    host = state.hosts[at]
    if at in lost:
        nodes = f"{state.hosts[primary].name} and {host.name}"
        return Why(f"both its nodes, {nodes}, are lost", APART)
    if host.offline:
        remedy = f"bring {host.name} back, or give it another standby ({BALANCE})"
        return Why(f"its standby {host.name} is offline", remedy)
    moved = state.try_move(number, Move("f"), force=True)
    if not isinstance(moved, Failure):
        state.accept(number, moved)
        return None
    room = readable_bytes(max(0, room_of(host, state.states[at])))
    needs = f" (needs {readable_bytes(state.machines[number].memory)}, free {room})"
    told = lacks(host, moved) + (needs if moved.resource == "memory" else "")
    remedy = f"free room on {host.name}, give it another standby ({BALANCE}), or raise memory-ratio"
    return Why(f"it can start on its standby {host.name} alone: {told}", remedy)
