"""Many losses at once: the same answers as placing anew loss by loss, as operations over all of them.

Each loss starts from the same cluster, so for each shape the best nodes of that cluster are the same for all:
a list of the top few is made once. A loss then differs from the cluster only on the nodes that it has put
something on (`touched`), at most one for each workload. So the best node for the next workload is either the
first of the list that is neither touched nor lost, or one of the touched, whose room is kept beside.

Only for shapes without rules between workloads, scored by spread: their scores follow from room alone.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from ullage.engine.placement.room import SHIFT, STEPS
from ullage.engine.placement.rules import Fixed
from ullage.engine.placement.shapes import Integers, Shape
from ullage.engine.placement.volume_places import OnNodes
from ullage.engine.steps import Steps, tell
from ullage.engine.trial import Trial

CHUNK_CELLS_MAX: Final = 4_000_000
"""Losses are taken in chunks so that losses x nodes stays below this."""
SHAPE_CELLS_MAX: Final = 200_000_000
"""Shapes x nodes beyond which what is kept for all shapes at once would not fit into memory."""
ROW_BITS: Final = 24
TRIED: Final = "losses tried"
"""What is counted while losses are played through."""


class Loss(NamedTuple):
    """Nodes that are lost together, and the shapes of what is to be placed anew, in order, as indices."""

    rows: tuple[int, ...]
    shapes: Sequence[int]


def can_do(trial: Trial, shapes: Sequence[Shape]) -> bool:
    """Whether these shapes are placed by room alone, and what is promised is all that counts."""
    columns = trial.columns
    if trial.policy != "spread" or bool((columns.counts_actual & columns.bounded).any()):
        return False
    if len(shapes) * len(trial.nodes) > SHAPE_CELLS_MAX:
        return False
    for shape in shapes:
        trial.scores(shape)
    return not any(shape.wide_rules or shape.takes or _depends_on_others(shape) for shape in shapes)


def _depends_on_others(shape: Shape) -> bool:
    """Whether what is placed on a node may close it to a shape by more than its room."""
    return not all(isinstance(rule, Fixed | OnNodes) for rule in shape.local_rules)


def place_side_by_side(
    trial: Trial, shapes: Sequence[Shape], losses: Sequence[Loss], steps: Steps | None = None
) -> list[npt.NDArray[np.intp]]:
    """Return for each loss the row that each of its workloads goes to, -1 for those without a place."""
    size = max(1, CHUNK_CELLS_MAX // max(1, len(trial.nodes)))
    start_state = _Start(trial, shapes, losses)
    found: list[npt.NDArray[np.intp]] = []
    for start in range(0, len(losses), size):
        tell(steps, TRIED, start, len(losses))
        found += _Chunk(start_state, losses[start : start + size]).place()
    tell(steps, TRIED, len(losses), len(losses))
    return found


class _Start:
    """The cluster as every loss finds it: room, and the best nodes of each shape."""

    def __init__(self, trial: Trial, shapes: Sequence[Shape], losses: Sequence[Loss]) -> None:
        self.nodes = len(trial.nodes)
        named = [shape.columns for shape in shapes] or [np.zeros(0, np.intp)]
        columns = np.unique(np.concatenate(named))
        self.free = np.ascontiguousarray(trial.room.free[columns].T)
        self.inverse = np.ascontiguousarray(trial.room.inverse[columns].T)
        self.amounts = np.array([shape.vector[columns] for shape in shapes], np.int64)
        most = max((len(loss.rows) + len(loss.shapes) for loss in losses), default=0)
        count = min(most + 1, self.nodes)
        every = np.arange(self.nodes)
        self.closed = np.zeros((len(shapes), self.nodes), np.bool_)
        self.best = np.zeros((len(shapes), count), np.intp)
        self.best_keys = np.full((len(shapes), count), -1, np.int64)
        for position, shape in enumerate(shapes):
            scores = trial.scores(shape)
            self.closed[position] = scores < 0
            keys = np.where(scores >= 0, _keys(scores, every), -1)
            top = np.argpartition(keys, len(keys) - count)[-count:] if 0 < count < len(keys) else every
            top = top[np.argsort(-keys[top])]
            self.best[position], self.best_keys[position] = top, keys[top]


class _Chunk:
    """Some losses placed side by side."""

    def __init__(self, start: _Start, losses: Sequence[Loss]) -> None:
        self._start = start
        self._losses = losses
        self._most = max((len(loss.shapes) for loss in losses), default=0)
        count = len(losses)
        self._wanted = np.full((count, self._most), -1, np.intp)
        self._used = np.zeros((count, start.nodes), np.bool_)
        for position, loss in enumerate(losses):
            self._wanted[position, : len(loss.shapes)] = loss.shapes
            self._used[position, list(loss.rows)] = True
        self._touched = np.zeros((count, self._most), np.intp)
        self._left = np.zeros((count, self._most, start.free.shape[1]), np.int64)
        self._touched_count = np.zeros(count, np.intp)

    def place(self) -> list[npt.NDArray[np.intp]]:
        """Place the first workload of every loss, then the second of every loss, and so on."""
        chosen = np.full(self._wanted.shape, -1, np.intp)
        for step in range(self._most):
            active = np.flatnonzero(self._wanted[:, step] >= 0)
            if len(active):
                chosen[active, step] = self._step(active, self._wanted[active, step])
        return [row[: len(loss.shapes)] for row, loss in zip(chosen, self._losses, strict=True)]

    def _step(self, active: npt.NDArray[np.intp], wanted: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
        """Place one workload of each active loss; return the rows."""
        fresh, fresh_keys = self._fresh(active, wanted)
        slots, touched_keys = self._touched_best(active, wanted)
        again = touched_keys > fresh_keys
        rows = np.where(again, self._touched[active, slots], fresh)
        none = np.maximum(touched_keys, fresh_keys) < 0
        rows[none] = -1
        new = ~again & ~none
        slots = np.where(new, self._touched_count[active], slots)
        at = active[new]
        self._touched[at, slots[new]] = rows[new]
        self._left[at, slots[new]] = self._start.free[rows[new]]
        self._used[at, rows[new]] = True
        self._touched_count[at] += 1
        put = ~none
        self._left[active[put], slots[put]] -= self._start.amounts[wanted[put]]
        return rows

    def _fresh(
        self, active: npt.NDArray[np.intp], wanted: npt.NDArray[np.intp]
    ) -> tuple[npt.NDArray[np.intp], Integers]:
        """Return the best node of each loss that it has not touched, and its key; a key of -1 for none."""
        listed, listed_keys = self._start.best[wanted], self._start.best_keys[wanted]
        free = ~self._used[active[:, None], listed] & (listed_keys >= 0)
        first = free.argmax(axis=1)
        every = np.arange(len(active))
        keys = np.where(free[every, first], listed_keys[every, first], -1)
        return listed[every, first], keys

    def _touched_best(
        self, active: npt.NDArray[np.intp], wanted: npt.NDArray[np.intp]
    ) -> tuple[npt.NDArray[np.intp], Integers]:
        """Return the best node of each loss among those it has put something on, and its key."""
        depth = int(self._touched_count[active].max(initial=0))
        if not depth:
            return np.zeros(len(active), np.intp), np.full(len(active), -1, np.int64)
        start = self._start
        rows = self._touched[active, :depth]
        amounts = start.amounts[wanted][:, None, :]
        shares = ((self._left[active, :depth] - amounts) * start.inverse[rows]) >> SHIFT
        least = np.where(amounts > 0, shares, STEPS).min(axis=2, initial=STEPS)
        known = np.arange(depth) < self._touched_count[active][:, None]
        possible = known & (least >= 0) & ~start.closed[wanted[:, None], rows]
        keys = np.where(possible, _keys(least, rows), -1)
        best = keys.argmax(axis=1)
        return best, keys[np.arange(len(active)), best]


def _keys(scores: Integers, rows: npt.NDArray[np.intp]) -> Integers:
    """Return scores with the row as the last word: the first row wins, and no key of a score is negative."""
    keys: Integers = (scores << ROW_BITS) + ((1 << ROW_BITS) - 1 - rows)
    return keys
