"""The best pair of hosts for a new machine, without scoring every pair: hosts in one state score the same.

One primary and one standby stand for all of their kind. The hard thing is what a standby keeps for hosts that
fail, since that differs with the primary. The more it keeps, the worse: a sum over hosts counts it more than
their deviation can make up for, as long as hosts are many. So a pair whose standby keeps the least that it
can is as good as any of its kinds, and others are looked at only where there is none. The last of equals
wins.
"""

from math import gcd, sqrt
from typing import Final, NamedTuple

import numpy as np

from ullage.engine.balance.facts import Machine
from ullage.engine.balance.pair_scores import PairScores
from ullage.engine.balance.space_columns import Booleans, Columns, Floats, Integers
from ullage.engine.balance.space_scores import RESERVED, RESERVED_TOTAL, WEIGHTS

DIFFERENCE_MIN: Final = 1e-7
"""What one grain of memory must be worth in the score, for rounding not to hide it."""


class Pair(NamedTuple):
    """A primary and a standby by position, and the score of all hosts with a machine there."""

    primary: int
    standby: int
    score: float


def possible_pairs(columns: Columns, machine: Machine, rows: Integers, others: Integers) -> Booleans:
    """Return which pairs of hosts that fit by themselves fit together."""
    block = np.ix_(rows, others)
    possible: Booleans = columns.pairs[block] & (columns.room_for_pair[block] >= machine.memory)
    return possible


def tells_grains_apart(columns: Columns, grain: int) -> bool:
    """Whether a standby that keeps a grain of memory more always makes a score worse."""
    slope = WEIGHTS[RESERVED_TOTAL] - WEIGHTS[RESERVED] / sqrt(max(1, len(columns.numbers)))
    largest = float(columns.memory.amounts.max(initial=1.0))
    kept = max(1.0, float(columns.values[RESERVED].max(initial=0.0)))
    return slope * grain / largest >= DIFFERENCE_MIN * kept


def best_pair(scorer: PairScores, rows: Integers, others: Integers, grain: int) -> Pair | None:
    """Return the best of the pairs of some primaries and standbys, None where none is possible.

    The memory of every machine is a multiple of `grain`.
    """
    if not tells_grains_apart(scorer.columns, gcd(grain, scorer.machine.memory)):
        return _best_of_all(scorer, rows, others)
    return _Kinds(scorer, rows, others).best()


def _best_of_all(scorer: PairScores, rows: Integers, others: Integers) -> Pair | None:
    """Return the best pair by scoring every one."""
    possible = possible_pairs(scorer.columns, scorer.machine, rows, others)
    if not possible.any():
        return None
    scores = scorer.scores(rows, others, scorer.kept(rows, others))
    scores[~possible] = np.inf
    row, column = divmod(_last(scores.ravel() == scores.min()), others.size)
    return Pair(int(rows[row]), int(others[column]), float(scores[row, column]))


class _Kinds:
    """Kinds of primaries and of standbys, and the least score of every pair of kinds.

    A score is what a pair would have whose standby keeps the least that it can, until `settled` tells which
    pair of these kinds is the best; it is infinite where there is none.
    """

    def __init__(self, scorer: PairScores, rows: Integers, others: Integers) -> None:
        columns = scorer.columns
        self.scorer, self.columns, self.machine = scorer, columns, scorer.machine
        self.rows, self.others = rows, others
        self.least: Integers = np.maximum(columns.reserved, scorer.machine.memory)
        self.primaries = dict(zip(columns.primary_kind[rows].tolist(), rows.tolist(), strict=True))
        self.standbys = dict(zip(columns.standby_kind[others].tolist(), others.tolist(), strict=True))
        last_rows, last_others = list(self.primaries.values()), list(self.standbys.values())
        kinds = np.array(last_rows, dtype=np.int64), np.array(last_others, dtype=np.int64)
        self.scores: Floats = scorer.scores(*kinds, self.least[kinds[1]])
        if columns.has_groups:
            self.scores[columns.group[kinds[0]][:, None] != columns.group[kinds[1]]] = np.inf
        self.kinds = list(self.primaries), list(self.standbys)
        self.settled: dict[int, Pair] = {}

    def best(self) -> Pair | None:
        """Return the best pair, the last of equals."""
        scores = self.scores.ravel()
        while True:
            lowest = float(scores.min(initial=np.inf))
            if lowest == np.inf:
                return None
            ties = np.flatnonzero(scores == lowest).tolist()
            for at in ties:
                if at not in self.settled:
                    found = self._settled(at, lowest)
                    scores[at] = np.inf if found is None else found.score
                    if found is not None:
                        self.settled[at] = found
            equals = [self.settled[at] for at in ties if scores[at] == lowest]
            if equals:
                return max(equals)

    def _settled(self, at: int, score: float) -> Pair | None:
        """Return the best pair of two kinds, None where none is possible."""
        row, column = divmod(at, len(self.kinds[1]))
        kinds = self.kinds[0][row], self.kinds[1][column]
        primary, standby = self.primaries[kinds[0]], self.standbys[kinds[1]]
        if self._keep_least(primary, standby):
            return Pair(primary, standby, score)
        others = self.others[self.columns.standby_kind[self.others] == kinds[1]]
        found = others[self._keep_least(primary, others)]
        if found.size:
            return Pair(primary, int(found[-1]), score)
        rows = self.rows[self.columns.primary_kind[self.rows] == kinds[0]]
        least = self._keep_least(rows[:, None], others)
        if not least.any():
            return _best_of_all(self.scorer, rows, others)
        row, column = divmod(_last(least.ravel()), others.size)
        return Pair(int(rows[row]), int(others[column]), score)

    def _keep_least(self, primary: int | Integers, standby: int | Integers) -> Booleans:
        """Return which pairs are possible, and have a standby that keeps the least that it can."""
        columns, memory = self.columns, self.machine.memory
        found: Booleans = columns.pairs[primary, standby]
        found = found & (columns.room_for_pair[primary, standby] >= memory)
        found &= columns.peers[primary, standby] + memory <= self.least[standby]
        return found


def _last(flags: Booleans) -> int:
    """Return the last place that is true."""
    return flags.size - 1 - int(flags[::-1].argmax())
