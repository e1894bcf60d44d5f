"""All pairs of hosts for a new machine: scores to the last bit, with what pairs have in common taken once.

What is known of all hosts is corrected for the primary, then for the standby. The first is the same for all
standbys. The second is the same for all primaries but for the memory that the standby keeps for each already,
so only terms that the standby changes are taken anew for each pair.
"""

from collections import Counter
from collections.abc import Sequence
from functools import reduce
from math import sqrt
from operator import add
from typing import NamedTuple

from ullage.engine.balance.allocation_size import size_failure
from ullage.engine.balance.facts import Host, Machine
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.held import location_pairs
from ullage.engine.balance.moves import Place
from ullage.engine.balance.score import TERMS, Statistic, value_of
from ullage.engine.balance.state import Failure, FailureKind, HostState, add_primary, add_standby


class Change(NamedTuple):
    """What a host does to a term, by place: the sum's change, and for deviations what follows for squares."""

    term: int
    more: float
    squares: float
    more_squared: float


class Primary(NamedTuple):
    """All hosts with a machine on its primary alone: what is known of terms, and these weighted."""

    known: list[Statistic]
    weighted: list[float]


def corrected(known: Sequence[Statistic], host: Host, before: HostState, after: HostState) -> list[Statistic]:
    """Return what is known of all hosts after one of them has changed.

    Pairs of failure domains and tags are left as they are: they are of all hosts together.
    """
    found = list(known)
    for at, more, squares, more_squared in changes_of(known, host, before, after):
        count, total, variance = known[at]
        if TERMS[at].kind == "deviation":
            apart = (squares - 2 * total * more) - more_squared
            variance = max(0.0, variance + apart / (count * count))
        found[at] = Statistic(count, total + more, variance)
    return found


def changes_of(known: Sequence[Statistic], host: Host, before: HostState, after: HostState) -> list[Change]:
    """Return which terms one host changes, and how."""
    found = []
    for at, term in enumerate(TERMS):
        if term.kind == "pairs" or (term.kind == "sum offline") != host.offline:
            continue
        old, new = term.value(host, before), term.value(host, after)
        if new != old:
            more = new - old
            found.append(Change(at, more, known[at].hosts * (new * new - old * old), more * more))
    return found


def with_conflicts(fleet: Fleet, known: list[Statistic], machine: Machine, at: int) -> list[Statistic]:
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


class PairTrial:
    """A new machine that is tried on pairs; `known` is of all hosts without it.

    Soft rules bind the standby even where `force` lifts them for the primary.
    """

    def __init__(self, fleet: Fleet, known: Sequence[Statistic], machine: Machine, *, force: bool) -> None:
        self._fleet, self._known, self._machine, self._force = fleet, known, machine, force
        self._standbys: dict[tuple[int, int], list[Change] | Failure] = {}

    def scores(
        self, at: int, standbys: Sequence[int]
    ) -> tuple[list[tuple[float, int]], Counter[FailureKind]]:
        """Return the scores with a machine on a primary and each standby, and why other standbys are none."""
        failures: Counter[FailureKind] = Counter()
        host = self._fleet.hosts[at]
        failure = size_failure(self._machine, host)
        primaries: dict[int, Primary | Failure] = {}
        found = []
        for standby in standbys:
            shared = self._fleet.here.shared(Place(at, standby)) if host.locations else 0
            primary = failure or primaries.get(shared)
            if primary is None:
                primary = primaries[shared] = self._primary(at, shared)
            if isinstance(primary, Failure):
                failures[primary.kind] += 1
                continue
            changes = self._changes(at, standby)
            if isinstance(changes, Failure):
                failures[changes.kind] += 1
            else:
                found.append((_score(primary, changes), standby))
        return found, failures

    def _primary(self, at: int, shared: int) -> Primary | Failure:
        host, state = self._fleet.hosts[at], self._fleet.states[at]
        running = add_primary(host, state, self._machine, shared, force=self._force)
        if isinstance(running, Failure):
            return running
        known = corrected(self._known, host, state, running)
        known = with_conflicts(self._fleet, known, self._machine, at)
        values = (value_of(term, each) for term, each in zip(TERMS, known, strict=True))
        return Primary(known, [term.weight * value for term, value in zip(TERMS, values, strict=True)])

    def _changes(self, at: int, standby: int) -> list[Change] | Failure:
        """Return what a standby changes: the same for all primaries that it keeps as much memory for."""
        host, state = self._fleet.hosts[standby], self._fleet.states[standby]
        key = standby, state.peers.get(at, 0)
        found = self._standbys.get(key)
        if found is None:
            ready = add_standby(host, state, self._machine, at)
            found = ready if isinstance(ready, Failure) else changes_of(self._known, host, state, ready)
            self._standbys[key] = found
        return found


def _score(primary: Primary, changes: Sequence[Change]) -> float:
    """Return the score of all hosts after a standby has changed some terms; they are added in their order."""
    weighted = primary.weighted.copy()
    for at, more, squares, more_squared in changes:
        term = TERMS[at]
        count, total, variance = primary.known[at]
        if term.kind == "deviation":
            apart = (squares - 2 * total * more) - more_squared
            weighted[at] = term.weight * sqrt(max(0.0, variance + apart / (count * count)))
        else:
            weighted[at] = term.weight * (total + more)
    return reduce(add, weighted, 0.0)
