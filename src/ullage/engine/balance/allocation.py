"""Where a new machine goes: every host or pair of hosts is tried, the one that leaves all most even wins.

The hard thing is which of two equals wins, since scores are compared to the last bit. Single hosts are scored
anew; pairs by correcting what is known of all hosts for the primary, then for the standby. The last of equals
wins: the last standby of a primary, then the last primary. Where the cluster must stay redundant, the best
candidate that keeps it so is taken, and better ones that do not are counted as failures.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from ullage.engine.balance.allocation_size import size_failure
from ullage.engine.balance.facts import Host, Machine
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.global_n1 import Redundancy, is_redundant
from ullage.engine.balance.held import location_pairs
from ullage.engine.balance.moves import Moved, Place
from ullage.engine.balance.score import TERMS, Statistic, score_of, statistics, value_of, weighted
from ullage.engine.balance.state import (
    FAILURES,
    Failure,
    FailureKind,
    HostState,
    add_primary,
    add_standby,
)


class Allocation(NamedTuple):
    """A place for a new machine: what follows from it, and how even the hosts are then."""

    machine: Machine
    placed: Moved
    score: float


class Found(NamedTuple):
    """What all candidates come to: the best, how many are possible, and why the others are not."""

    best: Allocation | None
    successes: int
    failures: dict[FailureKind, int]

    @property
    def failed(self) -> int:
        """How many candidates are not possible."""
        return sum(self.failures.values())


Pairs = Sequence[tuple[int, Sequence[int]]]
"""Primaries, each with the standbys it may have."""


def allocable(fleet: Fleet, groups: Collection[int], names: Collection[str] | None = None) -> list[int]:
    """Return the hosts of some groups that are online, by number; `names` restricts them further."""
    return [
        number
        for number in fleet.scope
        if not fleet.hosts[number].offline
        and fleet.hosts[number].group in groups
        and (names is None or fleet.hosts[number].name in names)
    ]


def pairs_of(fleet: Fleet, numbers: Sequence[int]) -> list[tuple[int, list[int]]]:
    """Return every pair of different hosts of one group, by primary; primaries without any are left out."""
    groups = {number: fleet.hosts[number].group for number in numbers}
    found = [
        (at, [other for other in numbers if other != at and groups[other] == groups[at]]) for at in numbers
    ]
    return [(at, standbys) for at, standbys in found if standbys]


def on_single(fleet: Fleet, machine: Machine, at: int, *, force: bool = False) -> Allocation | Failure:
    """Return a machine on one host, or why it does not go there."""
    host = fleet.hosts[at]
    failure = size_failure(machine, host)
    if failure is not None:
        return failure
    held = add_primary(host, fleet.states[at], machine, 0, force=force)
    if isinstance(held, Failure):
        return held
    states = [held if number == at else fleet.states[number] for number in fleet.scope]
    score = score_of([fleet.hosts[number] for number in fleet.scope], states)
    return Allocation(machine, Moved(Place(at), {at: held}), score)


def on_pair(
    fleet: Fleet, known: Sequence[Statistic], machine: Machine, place: Place, *, force: bool = False
) -> Allocation | Failure:
    """Return a machine on a primary and a standby, or why it does not go there; `known` is of all hosts.

    Soft rules bind the standby even where `force` lifts them for the primary.
    """
    at, standby = place
    hosts, states = fleet.hosts, fleet.states
    failure = size_failure(machine, hosts[at])
    if failure is not None:
        return failure
    running = add_primary(hosts[at], states[at], machine, fleet.here.shared(place), force=force)
    if isinstance(running, Failure):
        return running
    ready = add_standby(hosts[standby], states[standby], machine, at)
    if isinstance(ready, Failure):
        return ready
    changed = corrected(known, hosts[at], states[at], running)
    changed = corrected(changed, hosts[standby], states[standby], ready)
    changed = _with_conflicts(fleet, changed, machine, at)
    score = weighted([value_of(term, found) for term, found in zip(TERMS, changed, strict=True)])
    return Allocation(machine, Moved(place, {at: running, standby: ready}), score)


def corrected(known: Sequence[Statistic], host: Host, before: HostState, after: HostState) -> list[Statistic]:
    """Return what is known of all hosts after one of them has changed.

    Pairs of failure domains and tags are left as they are: they are of all hosts together.
    """
    found = []
    for term, one in zip(TERMS, known, strict=True):
        if term.kind == "pairs" or (term.kind == "sum offline") != host.offline:
            found.append(one)
            continue
        count, total, variance = one
        old, new = term.value(host, before), term.value(host, after)
        more = new - old
        if term.kind == "deviation":
            squares = new * new - old * old
            apart = (count * squares - 2 * total * more) - more * more
            variance = max(0.0, variance + apart / (count * count))
        found.append(Statistic(count, total + more, variance))
    return found


def _with_conflicts(fleet: Fleet, known: list[Statistic], machine: Machine, at: int) -> list[Statistic]:
    """Count the failure domains in which a machine would meet another one of its exclusion tag."""
    pairs = location_pairs(fleet.hosts[at], machine)
    if not pairs:
        return known
    met = {
        pair
        for number in fleet.scope
        if not fleet.hosts[number].offline
        for pair in fleet.states[number].location_tags
    }
    conflicts = 0
    for pair in pairs:
        conflicts += pair in met
        met.add(pair)
    return [
        found._replace(total=found.total + conflicts) if term.kind == "pairs" else found
        for term, found in zip(TERMS, known, strict=True)
    ]


def allocate_single(
    fleet: Fleet,
    machine: Machine,
    targets: Iterable[int],
    *,
    redundancy: Redundancy | None = None,
    force: bool = False,
) -> Found:
    """Return the best host for a new machine; `redundancy` must hold then."""
    return _best(fleet, [on_single(fleet, machine, at, force=force) for at in targets], redundancy)


def allocate_pair(
    fleet: Fleet,
    machine: Machine,
    targets: Pairs,
    *,
    redundancy: Redundancy | None = None,
    force: bool = False,
) -> Found:
    """Return the best primary and standby for a new machine; `redundancy` must hold then."""
    known = statistics(
        [fleet.hosts[number] for number in fleet.scope], [fleet.states[number] for number in fleet.scope]
    )
    found = Found(None, 0, {})
    for at, standbys in targets:
        tried = [on_pair(fleet, known, machine, Place(at, each), force=force) for each in standbys]
        found = _sum(found, _best(fleet, tried, redundancy))
    return found


def after(fleet: Fleet, allocation: Allocation) -> Fleet:
    """Return a copy of a fleet with a new machine."""
    changed = fleet.copy()
    changed.add(allocation.machine, allocation.placed)
    return changed


def _best(fleet: Fleet, tried: Sequence[Allocation | Failure], redundancy: Redundancy | None) -> Found:
    """Return the most even candidate that keeps the cluster redundant, the last of equals."""
    failures: Counter[FailureKind] = Counter(each.kind for each in tried if isinstance(each, Failure))
    possible = [each for each in reversed(tried) if isinstance(each, Allocation)]
    possible.sort(key=lambda each: each.score)
    dropped = 0
    best = None
    for candidate in possible:
        if redundancy is None or is_redundant(after(fleet, candidate), **redundancy._asdict()):
            best = candidate
            break
        dropped += 1
    if dropped:
        failures["FailN1"] += dropped
    return Found(best, len(possible) - dropped, _in_order(failures))


def _sum(one: Found, other: Found) -> Found:
    """Return two findings as one; the latter wins between equals."""
    best = other.best
    if best is None or (one.best is not None and one.best.score < best.score):
        best = one.best
    failures = Counter(one.failures) + Counter(other.failures)
    return Found(best, one.successes + other.successes, _in_order(failures))


def _in_order(failures: Counter[FailureKind]) -> dict[FailureKind, int]:
    return {kind: failures[kind] for kind in FAILURES if failures[kind]}
