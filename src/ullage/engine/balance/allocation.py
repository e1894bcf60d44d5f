"""Where a new machine goes: every host or pair of hosts is tried, the one that leaves all most even wins.

The hard thing is which of two equals wins, since scores are compared to the last bit. Single hosts are scored
anew; pairs by correcting what is known of all hosts for the primary, then for the standby. The last of equals
wins: the last standby of a primary, then the last primary. Where the cluster must stay redundant, the best
candidate that keeps it so is taken, and better ones that do not are counted as failures.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from ullage.engine.balance.allocation_size import size_failure
from ullage.engine.balance.facts import Machine
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.moves import Moved, Place
from ullage.engine.balance.pair_trial import PairTrial, corrected, with_conflicts
from ullage.engine.balance.rescoring import Scoring
from ullage.engine.balance.score import TERMS, Statistic, statistics, value_of, weighted
from ullage.engine.balance.state import FAILURES, Failure, FailureKind, add_primary, add_standby

if TYPE_CHECKING:
    from ullage.engine.balance.global_n1 import Redundancy


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


def on_single(
    fleet: Fleet, machine: Machine, at: int, *, force: bool = False, scoring: Scoring | None = None
) -> Allocation | Failure:
    """Return a machine on one host, or why it does not go there; `scoring` is of the hosts that count."""
    host = fleet.hosts[at]
    failure = size_failure(machine, host)
    if failure is not None:
        return failure
    held = add_primary(host, fleet.states[at], machine, 0, force=force)
    if isinstance(held, Failure):
        return held
    changed = {at: held}
    return Allocation(machine, Moved(Place(at), changed), (scoring or _scoring(fleet)).score(changed))


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
    changed = with_conflicts(fleet, changed, machine, at)
    score = weighted([value_of(term, found) for term, found in zip(TERMS, changed, strict=True)])
    return Allocation(machine, Moved(place, {at: running, standby: ready}), score)


def allocate_single(
    fleet: Fleet,
    machine: Machine,
    targets: Iterable[int],
    *,
    redundancy: "Redundancy | None" = None,
    force: bool = False,
) -> Found:
    """Return the best host for a new machine; `redundancy` must hold then."""
    scoring = _scoring(fleet)
    tried = [on_single(fleet, machine, at, force=force, scoring=scoring) for at in targets]
    possible = [each for each in tried if isinstance(each, Allocation)]
    failures = Counter(each.kind for each in tried if isinstance(each, Failure))
    scores = [(each.score, at) for at, each in enumerate(possible)]
    return _best(scores, failures, possible.__getitem__, _keeping(fleet, redundancy))


def allocate_pair(
    fleet: Fleet,
    machine: Machine,
    targets: Pairs,
    *,
    redundancy: "Redundancy | None" = None,
    force: bool = False,
) -> Found:
    """Return the best primary and standby for a new machine; `redundancy` must hold then."""
    known = statistics(
        [fleet.hosts[number] for number in fleet.scope], [fleet.states[number] for number in fleet.scope]
    )
    trial = PairTrial(fleet, known, machine, force=force)
    keeps = _keeping(fleet, redundancy)
    found = Found(None, 0, {})
    for at, standbys in targets:

        def made(standby: int, at: int = at) -> Allocation:
            allocation = on_pair(fleet, known, machine, Place(at, standby), force=force)
            if isinstance(allocation, Failure):
                raise AssertionError(f"scored but refused: {at} {standby} {allocation}")  # noqa: TRY004 - a bug of ours
            return allocation

        found = _sum(found, _best(*trial.scores(at, standbys), made, keeps))
    return found


def after(fleet: Fleet, allocation: Allocation) -> Fleet:
    """Return a copy of a fleet with a new machine."""
    changed = fleet.copy()
    changed.add(allocation.machine, allocation.placed)
    return changed


Keeping = Callable[[Allocation], bool]


def _keeping(fleet: Fleet, redundancy: "Redundancy | None") -> Keeping | None:
    """Return what says whether a place keeps a fleet as redundant as is asked for, if anything is."""
    if redundancy is None:
        return None
    from ullage.engine.balance.redundancy_watch import Watch

    watch = Watch(fleet, redundancy)
    return lambda allocation: watch.keeps(after(fleet, allocation), allocation.placed)


def _best(
    scores: Sequence[tuple[float, int]],
    failures: Counter[FailureKind],
    made: Callable[[int], Allocation],
    keeps: Keeping | None,
) -> Found:
    """Return the most even candidate that keeps the cluster redundant, the last of equals.

    Candidates are scores, each with the number that it is `made` from.
    """
    if keeps is None:
        least = min(reversed(scores), key=itemgetter(0), default=None)
        return Found(made(least[1]) if least else None, len(scores), _in_order(failures))
    dropped = 0
    best = None
    in_order = list(reversed(scores))
    in_order.sort(key=itemgetter(0))
    for _, number in in_order:
        candidate = made(number)
        if keeps(candidate):
            best = candidate
            break
        dropped += 1
    if dropped:
        failures["FailN1"] += dropped
    return Found(best, len(scores) - dropped, _in_order(failures))


def _sum(one: Found, other: Found) -> Found:
    """Return two findings as one; the latter wins between equals."""
    best = other.best
    if best is None or (one.best is not None and one.best.score < best.score):
        best = one.best
    failures = Counter(one.failures) + Counter(other.failures)
    return Found(best, one.successes + other.successes, _in_order(failures))


def _scoring(fleet: Fleet) -> Scoring:
    """Return the hosts that count, to see how even they are with one more machine."""
    return Scoring(
        [fleet.hosts[number] for number in fleet.scope], [fleet.states[number] for number in fleet.scope]
    )


def _in_order(failures: Counter[FailureKind]) -> dict[FailureKind, int]:
    return {kind: failures[kind] for kind in FAILURES if failures[kind]}
