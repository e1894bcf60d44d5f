"""The quick search: the same step as the plain one, without scoring most of the moves.

A lower bound of the score of each machine's moves of each kind says which are worth a look, the most
promising first; these are scored to all hosts at once, and what comes out best within rounding is scored
exactly, in the order that decides ties.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from ullage.engine.balance.bars import Bars
from ullage.engine.balance.bounds import Bounds
from ullage.engine.balance.candidates import Balancing, Step
from ullage.engine.balance.columns import KINDS, Columns, Floats, Integers
from ullage.engine.balance.exact import Exact
from ullage.engine.balance.facts import NOWHERE
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.moves import Move, Moved
from ullage.engine.balance.rows import Spread, failover_scores, spread_of, target_scores
from ullage.engine.balance.score import TERMS, Term
from ullage.engine.balance.state import Failure

FIRST_ROWS: Final = 8
CELLS_MAX: Final = 400_000
"""How many scores are taken at a time, at most."""


class Close(NamedTuple):
    """Moves that may be the best: machine, host and kind in columns, and their scores."""

    scores: Floats
    order: Integers


class Quick:
    """A search that keeps columns of a fleet, and goes along with the steps that it finds."""

    def __init__(
        self,
        fleet: Fleet,
        options: Balancing | None = None,
        terms: Sequence[Term] = TERMS,
        bars: Bars | None = None,
    ) -> None:
        self.fleet, self.options, self.bars = fleet, options or Balancing(), bars
        self.columns = Columns(fleet, self.options, terms)
        self.bounds = Bounds(self.columns)
        self.exact = Exact(fleet, terms, self.columns.linear.merged, self.columns.pairs)
        self.score = self.exact.score()
        self.first_rows = FIRST_ROWS
        self._known: tuple[Spread, Floats, Floats] | None = None
        self.rows_scored = 0
        self.moves_settled = 0

    def best(self) -> Step | None:
        """Return the move with the lowest score, the first of equals; None where no move lowers it."""
        if not self.columns.movers:
            return None
        spread, failovers, lowest = self._estimates()
        if self.bars is not None and self.bars.failovers:
            barred = self.bars.failovers.intersection(self.columns.index)
            failovers = failovers.copy()
            failovers[[self.columns.index[number] for number in barred]] = np.inf
        self.limit = min(self.score, float(failovers.min())) + spread.doubt
        found = [Close(failovers, np.arange(len(failovers)) * self._stride)]
        order = np.flatnonzero(lowest <= self.limit)
        if len(order) > self.first_rows:
            first = order[np.argpartition(lowest[order], self.first_rows)[: self.first_rows]]
            found += self._scored(spread, first)
            done = np.zeros(len(lowest), np.bool_)
            done[first] = True
            order = np.flatnonzero((lowest <= self.limit) & ~done)
            order = order[np.argsort(lowest[order])]
        size = max(CELLS_MAX // (self.columns.size + 1), self.first_rows)
        for start in range(0, len(order), size):
            block = order[start : start + size]
            found += self._scored(spread, block[lowest[block] <= self.limit])
        return self._settled(found)

    def _estimates(self) -> tuple[Spread, Floats, Floats]:
        """Return how even hosts are, the scores of failovers, and bounds of all others: once in a state."""
        if self._known is None:
            spread = spread_of(self.columns, self.score)
            failovers = failover_scores(self.columns, spread, self.bounds.failovers)
            self._known = spread, failovers, self.bounds.lower(spread)
        return self._known

    @property
    def _stride(self) -> int:
        """How many places in the order of moves a machine takes: its failover, then kinds by host."""
        return 1 + self.columns.size * len(KINDS)

    def _scored(self, spread: Spread, rows: Integers) -> list[Close]:
        """Return the moves of rows (kinds by machines) that may be the best, and lower the limit."""
        found = []
        columns = self.columns
        self.rows_scored += len(rows)
        for kind in range(len(KINDS)):
            m = rows[rows // len(columns.movers) == kind] % len(columns.movers)
            if not len(m):
                continue
            scores = target_scores(columns, spread, kind, m, self.bounds.sides_for(kind, m))
            if self.bars is not None:
                numbers = [columns.movers[each] for each in m.tolist()]
                closed = self.bars.closed(numbers, np.array(columns.scope), KINDS[kind])
                scores[:, : columns.size][closed] = np.inf
            self.limit = min(self.limit, float(scores.min()) + spread.doubt)
            at, host = np.nonzero(scores <= self.limit)
            found.append(Close(scores[at, host], m[at] * self._stride + 1 + host * len(KINDS) + kind))
        return found

    def _settled(self, found: list[Close]) -> Step | None:
        """Return the first of the moves with the lowest exact score."""
        scores = np.concatenate([close.scores for close in found])
        order = np.concatenate([close.order for close in found])
        moves = [self._move(place) for place in np.sort(order[scores <= self.limit]).tolist()]
        self.moves_settled += len(moves)
        moved = [self._moved(number, move) for number, move in moves]
        best: Step | None = None
        lowest = self.score
        for (number, move), after, score in zip(moves, moved, self.exact.scores_after(moved), strict=True):
            if score < lowest:
                best, lowest = Step(number, move, after.place, score, self.fleet.places[number]), score
        return best

    def _move(self, place: int) -> tuple[int, Move]:
        """Return the machine and the move at a place in the order of all moves."""
        at, rest = divmod(place, self._stride)
        if not rest:
            return self.columns.movers[at], Move("f")
        host, kind = divmod(rest - 1, len(KINDS))
        return self.columns.movers[at], Move(KINDS[kind], self.columns.scope[host])

    def _moved(self, number: int, move: Move) -> Moved:
        moved = self.fleet.try_move(number, move, force=self.options.force)
        if isinstance(moved, Failure):
            raise AssertionError(f"scored but refused: {number} {move} {moved}")  # noqa: TRY004 - a bug of ours
        return moved

    def follow(self, step: Step) -> None:
        """Go along with a step that the fleet took."""
        touched = {*step.before, *step.place} - {NOWHERE}
        at = [self.columns.local[number] for number in touched if number in self.columns.local]
        self.columns.renew(at, [self.columns.index[step.machine]])
        self.bounds.renew(at)
        self.exact.renew(touched)
        self.score = step.score
        self._known = None
