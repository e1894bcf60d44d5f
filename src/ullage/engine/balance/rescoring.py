"""The score of hosts of which a few have changed: what the others come to is remembered.

Scores are those of score.py to the last bit, so sums run over all hosts in their order here too.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from operator import add
from typing import NamedTuple

from ullage.engine.balance.facts import Host
from ullage.engine.balance.score import TERMS, Statistic, Term, statistics, value_of, weighted
from ullage.engine.balance.state import HostState


class _Column(NamedTuple):
    """A term of the hosts that it is about: their values in their order, and what these come to."""

    term: Term
    offline: bool
    values: list[float]
    value: float


class Rescoring:
    """Hosts in a state that changes are tried on."""

    def __init__(self, hosts: Sequence[Host], states: Sequence[HostState]) -> None:
        self._hosts, self._states = hosts, states
        self._at = {host.number: at for at, host in enumerate(hosts)}
        # where a host stands among those that are online, or among those that are not
        self._row: dict[int, int] = {}
        for offline in (False, True):
            self._row |= {
                host.number: at for at, host in enumerate(each for each in hosts if each.offline == offline)
            }
        self._columns = [self._column(term) for term in TERMS]

    def _column(self, term: Term) -> _Column:
        offline = term.kind == "sum offline"
        pairs = zip(self._hosts, self._states, strict=True)
        values = [term.value(host, state) for host, state in pairs if host.offline == offline]
        return _Column(term, offline, values, _value(term, values))

    def score(self, changed: Mapping[int, HostState]) -> float:
        """Return the score after some hosts, by number, have changed; hosts that do not count are ignored."""
        new = [(self._at[number], state) for number, state in changed.items() if number in self._at]
        return weighted([self._after(column, new) for column in self._columns])

    def _after(self, column: _Column, new: Sequence[tuple[int, HostState]]) -> float:
        """Return what a term comes to then."""
        term, offline, known, value = column
        if term.kind == "pairs":
            return self._pairs(new)
        values = known
        for at, state in new:
            host = self._hosts[at]
            if host.offline != offline:
                continue
            row = self._row[host.number]
            changed = term.value(host, state)
            if changed != values[row]:
                values = known.copy() if values is known else values
                values[row] = changed
        return value if values is known else _value(term, values)

    def _pairs(self, new: Iterable[tuple[int, HostState]]) -> float:
        """Return the pairs of failure domains and tags, which are counted over all hosts together."""
        states = list(self._states)
        for at, state in new:
            states[at] = state
        if not any(state.location_tags for state in states):
            return 0.0
        terms = [term for term in TERMS if term.kind == "pairs"]
        return value_of(terms[0], statistics(self._hosts, states, terms)[0])


def _value(term: Term, values: list[float]) -> float:
    """Return a term of some values, added one after the other."""
    total = reduce(add, values, 0.0)
    if term.kind != "deviation" or not values:
        return value_of(term, Statistic(len(values), total, 0.0))
    mean = total / len(values)
    squares = reduce(add, [(value - mean) * (value - mean) for value in values], 0.0)
    return value_of(term, Statistic(len(values), total, squares / len(values)))
