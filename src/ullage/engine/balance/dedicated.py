"""Hosts with disks of their own for each machine: the place that costs fewest future machines wins.

On such hosts evenness says little; what matters is which sizes still fit afterwards. For each size that the
policy names, the largest disk first, it is counted how many fewer fit; between equals less disk left wins.
"""

from collections import Counter
from typing import Final

from ullage.engine.balance.allocation import pairs_of
from ullage.engine.balance.allocation_size import size_failure
from ullage.engine.balance.facts import Host, Machine, machine_of
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.group_choice import PAIR, Best, Conditions, Rank, Solution, targets_of
from ullage.engine.balance.moves import Moved, Place
from ullage.engine.balance.state import (
    FAILURES,
    Failure,
    FailureKind,
    HostState,
    add_primary,
    add_standby,
)
from ullage.model.ganeti import MIB, Instance, InstancePolicy

COPIES_MAX: Final = 1 << 30
"""No more copies of a machine are counted, since one of no size fits any number of times."""


def is_dedicated(fleet: Fleet, group: str | None) -> bool:
    """Whether all hosts of a group, or of all groups that take machines, keep disks for one machine each."""
    groups = fleet.cluster.groups
    if group is None:
        chosen = {at for at, each in enumerate(groups) if each.allocation != "unallocable"}
    else:
        chosen = {at for at, each in enumerate(groups) if each.name == group}
    return all(host.exclusive for host in fleet.hosts if host.group in chosen)


def sizes_of(policy: InstancePolicy) -> list[Machine]:
    """Return the smallest machine of each range of sizes, the largest disk first."""
    smallest = sorted((low for low, _ in policy.bounds), key=lambda low: -low.disk_bytes)
    return [
        machine_of(
            Instance(
                "smallest",
                low.memory_bytes,
                (),
                low.cpus * 1000,
                template="plain",
                spindle_use=low.spindle_use,
                auto_balance=False,
                disk_bytes=low.disk_bytes,
            )
        )
        for low in smallest
    ]


def copies_of(host: Host, state: HostState, machine: Machine) -> int:
    """Return how many copies of a machine a host still takes.

    Every rule about a new machine is about sums, so k copies fit where one that is k times as large does.
    """
    fits, limit = 0, 1
    while limit <= COPIES_MAX and _fits(host, state, machine, limit):
        fits, limit = limit, limit * 2
    while limit - fits > 1 and fits < COPIES_MAX:
        middle = (fits + limit) // 2
        if _fits(host, state, machine, middle):
            fits = middle
        else:
            limit = middle
    return fits


def _fits(host: Host, state: HostState, machine: Machine, copies: int) -> bool:
    larger = machine._replace(
        memory=machine.memory * copies,
        disk=machine.disk * copies,
        cpu=machine.cpu * copies,
        spindle_use=machine.spindle_use * copies,
    )
    return not isinstance(add_primary(host, state, larger, 0), Failure)


def dedicated_solution(
    fleet: Fleet, machine: Machine, hosts: int, group: int, conditions: Conditions
) -> Solution | str:
    """Return the place in a group that costs fewest future machines; redundancy is not looked at."""
    targets = targets_of(fleet, hosts, group, conditions)
    if isinstance(targets, str):
        return targets
    trial = _Trial(fleet, machine, force=conditions.force)
    if hosts == PAIR:
        places = [
            Place(primary, standby) for primary, standbys in pairs_of(fleet, targets) for standby in standbys
        ]
    else:
        places = [Place(target) for target in targets]
    best: Best | None = None
    failures: Counter[FailureKind] = Counter()
    for place in places:
        found = trial.at(place)
        if isinstance(found, Failure):
            failures[found.kind] += 1
        elif best is None or not best.rank < found.rank:
            best = found
    counted = {kind: failures[kind] for kind in FAILURES if failures[kind]}
    return Solution(best, len(places) - failures.total(), counted)


class _Trial:
    """A machine that is tried on hosts: what each host takes before is counted once."""

    def __init__(self, fleet: Fleet, machine: Machine, *, force: bool) -> None:
        self._fleet, self._machine, self._force = fleet, machine, force
        self._before: dict[tuple[int, int], list[int]] = {}

    def at(self, place: Place) -> Best | Failure:
        """Return what a place costs, or why it is none."""
        at, standby = place
        fleet, machine = self._fleet, self._machine
        host = fleet.hosts[at]
        failure = size_failure(machine, host)
        if failure is not None:
            return failure
        running = add_primary(host, fleet.states[at], machine, 0, force=self._force)
        if isinstance(running, Failure):
            return running
        sizes = sizes_of(host.policy)
        lost = self._lost(at, running, sizes, host.group)
        if standby < 0:
            return Best(machine, Moved(place, {at: running}), _rank(lost, running))
        ready = add_standby(fleet.hosts[standby], fleet.states[standby], machine, at)
        if isinstance(ready, Failure):
            return ready
        lost = [
            one + other
            for one, other in zip(lost, self._lost(standby, ready, sizes, host.group), strict=True)
        ]
        return Best(machine, Moved(place, {at: running, standby: ready}), _rank(lost, running, ready))

    def _lost(self, at: int, after: HostState, sizes: list[Machine], group: int) -> list[int]:
        """Return how many fewer machines of each size of a group a host takes afterwards."""
        host = self._fleet.hosts[at]
        before = self._before.get((at, group))
        if before is None:
            before = [copies_of(host, self._fleet.states[at], size) for size in sizes]
            self._before[at, group] = before
        return [was - copies_of(host, after, size) for was, size in zip(before, sizes, strict=True)]


def _rank(lost: list[int], *states: HostState) -> Rank:
    left = sum(state.now.disk_free // MIB for state in states)
    return tuple(lost), (left,)
