"""The score of hosts of which a few have changed: what the others come to is remembered.

Scores are those of score.py to the last bit, so sums run over all hosts in their order here too. Terms that
are the same for all hosts are added up once, as long as a change is the same for them. Where only the least
score is looked for, a bound from sums of squares says which changes need no exact one.
"""

from collections.abc import Mapping, Sequence
from functools import reduce
from math import inf, sqrt
from operator import add, mul
from typing import Final, NamedTuple

from ullage.engine.balance.facts import Host
from ullage.engine.balance.score import TERMS, Term, statistics, value_of, weighted
from ullage.engine.balance.state import HostState

ROUNDING: Final = 1e-12
"""More than what rounding changes of a sum of squares over thousands of hosts, for each unit of it."""

Patch = tuple[tuple[int, float], ...]
"""New values of some hosts in one term, by their row."""
Changes = list[tuple[int, int, float]]
"""New values of one host: the place of the term, the row of the host, and the value."""


class _Column(NamedTuple):
    """A term of the hosts that it is about: their values in their order, and what these come to.

    Columns with the same values have the same number. `squares` are of the distances from the mean.
    """

    term: Term
    number: int
    values: list[float]
    value: float
    mean: float
    squares: float


class Scoring:
    """Hosts in a state that changes are tried on."""

    def __init__(self, hosts: Sequence[Host], states: Sequence[HostState]) -> None:
        self._hosts, self._states = hosts, states
        self._has_pairs = any(state.location_tags for state in states)
        self._all_offline = all(host.offline for host in hosts)
        # each host with where it stands among those that are online, or among those that are not
        self._rows: dict[int, tuple[int, Host]] = {}
        for offline in (False, True):
            chosen = [host for host in hosts if host.offline == offline]
            self._rows |= {host.number: (row, host) for row, host in enumerate(chosen)}
        self._columns: list[_Column] = []
        for term in TERMS:
            self._columns.append(self._column(term))
        self._last: dict[int, tuple[HostState, Changes]] = {}

    def _column(self, term: Term) -> _Column:
        offline = term.kind == "sum offline"
        # where no host is online, nothing counts: score.py says the same
        pairs = () if self._all_offline else zip(self._hosts, self._states, strict=True)
        values = [term.value(host, state) for host, state in pairs if host.offline == offline]
        for other in self._columns:
            if other.term.kind == term.kind and other.values == values:
                return other._replace(term=term)
        total, squares = _sums(values)
        count = max(len(values), 1)
        value = sqrt(squares / count) if term.kind == "deviation" else total
        return _Column(term, len(self._columns), values, value, total / count, squares)

    def score(self, changed: Mapping[int, HostState]) -> float:
        """Return the score after some hosts, by number, have changed; hosts that do not count are ignored."""
        return self._exact(self._patches(changed), self._pairs(changed))

    def _patches(self, changed: Mapping[int, HostState]) -> dict[int, Patch]:
        """Return what changes of terms, by their place."""
        found: dict[int, Patch] = {}
        for number, state in changed.items():
            if number in self._rows:
                for at, row, value in self._changes(number, state):
                    found[at] = (*found.get(at, ()), (row, value))
        return found

    def _changes(self, number: int, state: HostState) -> Changes:
        """Return what changes with one host; often it is in the same state as the last time."""
        last = self._last.get(number)
        if last is not None and last[0] == state:
            return last[1]
        row, host = self._rows[number]
        found = [
            (at, row, value)
            for at, (term, _, values, *_) in enumerate(self._columns)
            if not self._all_offline
            and host.offline == (term.kind == "sum offline")
            and (value := term.value(host, state)) != values[row]
        ]
        self._last[number] = state, found
        return found

    def _exact(self, patches: Mapping[int, Patch], pairs: float) -> float:
        known: dict[tuple[int, Patch], float] = {}
        found = [pairs if column.term.kind == "pairs" else column.value for column in self._columns]
        for at, patch in patches.items():
            column = self._columns[at]
            if column.term.kind != "pairs":
                key = column.number, patch
                if key not in known:
                    known[key] = _patched(column, patch)
                found[at] = known[key]
        return weighted(found)

    def _pairs(self, changed: Mapping[int, HostState]) -> float:
        """Return the pairs of failure domains and tags, which are counted over all hosts together."""
        if not self._has_pairs and not any(state.location_tags for state in changed.values()):
            return 0.0
        states = [
            changed.get(host.number, state) for host, state in zip(self._hosts, self._states, strict=True)
        ]
        terms = [term for term in TERMS if term.kind == "pairs"]
        return value_of(terms[0], statistics(self._hosts, states, terms)[0])


class Rescoring(Scoring):
    """Hosts in a state that changes are tried on, to find the one with the least score."""

    def __init__(self, hosts: Sequence[Host], states: Sequence[HostState]) -> None:
        super().__init__(hosts, states)
        self._least = inf

    def score(self, changed: Mapping[int, HostState]) -> float:
        """Return the score after some hosts have changed; just a bound if that is above an earlier score."""
        patches, pairs = self._patches(changed), self._pairs(changed)
        bound = self._bound(patches, pairs)
        if bound > self._least:
            return bound
        score = self._exact(patches, pairs)
        self._least = min(self._least, score)
        return score

    def _bound(self, patches: Mapping[int, Patch], pairs: float) -> float:
        """Return what a score is at least."""
        found = [pairs if column.term.kind == "pairs" else column.value for column in self._columns]
        for at, patch in patches.items():
            term, _, values, value, mean, squares = self._columns[at]
            if term.kind == "deviation":
                found[at] = _deviation_least(values, patch, mean, squares)
            elif term.kind != "pairs":
                more = sum([new - values[row] for row, new in patch])
                found[at] = value + more - ROUNDING * (1 + abs(value) + abs(more))
        return weighted(found) * (1 - ROUNDING)


def _deviation_least(values: Sequence[float], patch: Patch, mean: float, squares: float) -> float:
    """Return what a deviation is at least after some values have changed."""
    more = gone = come = 0.0
    for row, new in patch:
        old = values[row]
        more += new - old
        gone += (old - mean) * (old - mean)
        come += (new - mean) * (new - mean)
    count = len(values)
    least = squares - gone + come - more * more / count - ROUNDING * (squares + gone + come + mean * mean)
    return sqrt(max(0.0, least / count))


def _patched(column: _Column, patch: Patch) -> float:
    """Return what a term comes to with some values changed."""
    values = column.values.copy()
    for row, value in patch:
        values[row] = value
    if column.term.kind != "deviation":
        return reduce(add, values, 0.0)
    return sqrt(_sums(values)[1] / len(values))


def _sums(values: Sequence[float]) -> tuple[float, float]:
    """Return the sum of values and of the squares of their distances from the mean, one after the other."""
    total = reduce(add, values, 0.0)
    mean = total / max(len(values), 1)
    apart = [value - mean for value in values]
    return total, reduce(add, map(mul, apart, apart), 0.0)
