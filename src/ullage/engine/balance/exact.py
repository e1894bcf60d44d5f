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
CELLS_MAX: Final = 1 << 16
"""How many values are added up at a time, at most: what stays near the processor."""


class Exact:
    """The values of all terms by host, renewed where a step changed them.

    A running sum over an array adds from left to right, as the rule does; other sums of arrays do not. Terms
    that are the same for every host and every move are looked at once: `merged` has their names, with the
    same number for those that are. `pairs` goes along with the fleet by itself.
    """

    def __init__(
        self, fleet: Fleet, terms: Sequence[Term], merged: Mapping[str, int], pairs: Pairs | None = None
    ) -> None:
        self.fleet, self.terms = fleet, tuple(terms)
        self.pairs = pairs if pairs is not None and pairs.may_be else None
        self.online = [number for number in fleet.scope if not fleet.hosts[number].offline]
        self.offline = [number for number in fleet.scope if fleet.hosts[number].offline]
        self.column = {number: at for at, number in enumerate(self.online)}
        rows: dict[object, int] = {}
        self.row = [rows.setdefault(merged.get(term.name, term.value), len(rows)) for term in terms]
        self.distinct = [self.terms[self.row.index(row)] for row in range(len(rows))]
        self.values: Floats = np.zeros((len(rows), len(self.online)))
        self.renew(self.online)

    def renew(self, numbers: Iterable[int]) -> None:
        """Take over from the fleet what some hosts hold."""
        for number in numbers:
            if number in self.column:
                self.values[:, self.column[number]] = self._values_of(number, self.fleet.states[number])
        self._sums, self._deviations = self._added_up(self.values)

    def _values_of(self, number: int, state: HostState) -> list[float]:
        host = self.fleet.hosts[number]
        return [term.value(host, state) for term in self.distinct]

    def score(self) -> float:
        """Return the score of the fleet as it is."""
        return self._score(self._sums.tolist(), self._deviations.tolist(), {})

    def scores_after(self, moves: Sequence[Moved]) -> list[float]:
        """Return the score after each of some moves."""
        sums, deviations = (
            np.repeat(each[None], len(moves), axis=0) for each in (self._sums, self._deviations)
        )
        patches = [patch for at, moved in enumerate(moves) for patch in self._patches(at, moved)]
        size = max(CELLS_MAX // max(len(self.online), 1), 1)
        lines = sorted({(at, row) for at, row, _, _ in patches})
        line_of = {line: number for number, line in enumerate(lines)}
        of_line: list[list[tuple[int, float]]] = [[] for _ in lines]
        for at, row, column, value in patches:
            of_line[line_of[at, row]].append((column, value))
        for start in range(0, len(lines), size):
            at, row = np.array(lines[start : start + size]).T
            changed = self.values[row]
            for line, values in enumerate(of_line[start : start + size]):
                for column, value in values:
                    changed[line, column] = value
            sums[at, row], deviations[at, row] = self._added_up(changed)
        return [
            self._score(summed, deviating, moved.changed)
            for summed, deviating, moved in zip(sums.tolist(), deviations.tolist(), moves, strict=True)
        ]

    def _patches(self, at: int, moved: Moved) -> list[tuple[int, int, int, float]]:
        """Return what a move changes, as move, row, column and value."""
        found = []
        for number, state in moved.changed.items():
            if number in self.column:
                column = self.column[number]
                before = self.values[:, column].tolist()
                after = self._values_of(number, state)
                found += [(at, row, column, value) for row, value in enumerate(after) if value != before[row]]
        return found

    def _added_up(self, values: Floats) -> tuple[Floats, Floats]:
        """Return the sum and the deviation of each row."""
        count = len(self.online)
        if not count:
            return np.zeros(len(values)), np.zeros(len(values))
        sums = np.add.accumulate(values, axis=1)[:, -1]
        apart = values - (sums / count)[:, None]
        np.multiply(apart, apart, out=apart)
        squares = np.add.accumulate(apart, axis=1, out=apart)[:, -1]
        return sums, np.sqrt(squares / count)

    def _score(self, sums: list[float], deviations: list[float], changed: Mapping[int, HostState]) -> float:
        found = [
            deviations[row] if term.kind == "deviation" else sums[row]
            for term, row in zip(self.terms, self.row, strict=True)
        ]
        for at, term in enumerate(self.terms):
            if term.kind == "pairs":
                found[at] = self.pairs.total(changed) if self.pairs is not None else 0.0
            elif term.kind == "sum offline":
                found[at] = 0.0
                for number in self.offline:
                    state = changed.get(number, self.fleet.states[number])
                    found[at] += term.value(self.fleet.hosts[number], state)
        return weighted(found, self.terms)
