"""Exact scores of a few moves: the same numbers, added in the same order, as if all were scored anew."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.moves import Moved
from ullage.engine.balance.pairs import Pairs
from ullage.engine.balance.score import Term, weighted
from ullage.engine.balance.state import HostState

Floats = npt.NDArray[np.float64]
CELLS_MAX: Final = 1_000_000
"""How many values are looked at at a time, at most."""


class Exact:
    """The values of all terms by host, renewed where a step changed them.

    A running sum over an array adds from left to right, as the rule does; other sums of arrays do not. Terms
    that are the same for every host and every move are looked at once: `merged` has their names, with the
    same number for those that are. `pairs` goes along with the fleet by itself.
    """

    def __init__(
        self, fleet: Fleet, terms: Sequence[Term], merged: Mapping[str, int], pairs: Pairs | None = None
    ) -> None:
        self.fleet, self.terms, self.pairs = fleet, tuple(terms), pairs
        self.online = [number for number in fleet.scope if not fleet.hosts[number].offline]
        self.offline = [number for number in fleet.scope if fleet.hosts[number].offline]
        self.column = {number: at for at, number in enumerate(self.online)}
        rows: dict[object, int] = {}
        self.row = [rows.setdefault(merged.get(term.name, term.name), len(rows)) for term in terms]
        firsts = [self.row.index(row) for row in range(len(rows))]
        self.distinct = [self.terms[first] for first in firsts]
        self.deviates = np.array([term.kind == "deviation" for term in self.distinct])
        self.values: Floats = np.zeros((len(rows), len(self.online)))
        self.renew(self.online)

    def renew(self, numbers: Iterable[int]) -> None:
        """Take over from the fleet what some hosts hold."""
        for number in numbers:
            if number in self.column:
                self.values[:, self.column[number]] = self._values_of(number, self.fleet.states[number])

    def _values_of(self, number: int, state: HostState) -> list[float]:
        host = self.fleet.hosts[number]
        return [term.value(host, state) for term in self.distinct]

    def score(self) -> float:
        """Return the score of the fleet as it is."""
        return self.scores([{}])[0]

    def scores_after(self, moves: Sequence[Moved]) -> list[float]:
        """Return the score after each of some moves."""
        size = max(CELLS_MAX // max(self.values.size, 1), 1)
        return [
            score
            for start in range(0, len(moves), size)
            for score in self.scores([moved.changed for moved in moves[start : start + size]])
        ]

    def scores(self, changes: Sequence[Mapping[int, HostState]]) -> list[float]:
        """Return the score with some hosts changed, for each of several such changes."""
        values = np.repeat(self.values[None], len(changes), axis=0)
        for at, changed in enumerate(changes):
            for number, state in changed.items():
                if number in self.column:
                    values[at, :, self.column[number]] = self._values_of(number, state)
        totals = self._totals(values).tolist()
        return [self._score(found, changed) for found, changed in zip(totals, changes, strict=True)]

    def _totals(self, values: Floats) -> Floats:
        """Return the sums of values over hosts, deviations instead where a term is one."""
        count = len(self.online)
        if not count:
            return np.zeros(values.shape[:2])
        totals = np.add.accumulate(values, axis=2)[:, :, -1]
        apart = values[:, self.deviates] - (totals[:, self.deviates] / count)[:, :, None]
        np.multiply(apart, apart, out=apart)
        squares = np.add.accumulate(apart, axis=2)[:, :, -1]
        totals = totals.copy()
        totals[:, self.deviates] = np.sqrt(squares / count)
        return totals

    def _score(self, totals: list[float], changed: Mapping[int, HostState]) -> float:
        found = [totals[row] for row in self.row]
        for at, term in enumerate(self.terms):
            if term.kind == "pairs":
                found[at] = self.pairs.total(changed) if self.pairs is not None else 0.0
            elif term.kind == "sum offline":
                found[at] = 0.0
                for number in self.offline:
                    state = changed.get(number, self.fleet.states[number])
                    found[at] += term.value(self.fleet.hosts[number], state)
        return weighted(found, self.terms)
