"""Many equal replicas at once: the same nodes that placing them one by one would choose, in a few steps.

Where a replica only ever makes its node less attractive (spread), the choice is the n best of all slots, and
a slot's score follows from its number on its node: the threshold is found by halving, on the n nodes whose
first slots are best. Where it makes its node more attractive (pack), nodes are filled one after the other.
Everything else goes one by one.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from ullage.engine.placement.room import SHIFT, STEPS
from ullage.engine.placement.shapes import Integers, Shape
from ullage.engine.trial import Trial

Rows = npt.NDArray[np.intp]
ROW_BITS: Final = 24
"""Rows are part of the key by which slots are ordered: at most 2^24 nodes."""
SLOTS_MAX: Final = 1 << 40
"""Slots of a node for workloads that take nothing."""


def place_replicas(trial: Trial, shape: Shape, replicas: int) -> dict[int, int]:
    """Place up to so many replicas of a shape; return how many went to each row."""
    one_by_one = not shape.by_room_alone or trial.devices.goes_one_by_one(shape)
    if replicas <= 1 or one_by_one or trial.policy not in BY_SLOTS:
        return _one_by_one(trial, shape, replicas)
    rows, counts = BY_SLOTS[trial.policy](trial, shape, replicas)
    some = counts > 0
    rows, counts = rows[some], counts[some]
    if len(rows):
        trial.place_many(shape, rows, counts)
    placed = dict(zip(rows.tolist(), counts.tolist(), strict=True))
    if trial.devices.aside is not None:
        placed |= _one_by_one(trial, shape, replicas - int(counts.sum()))
    return placed


def all_fit(trial: Trial, shape: Shape, replicas: int) -> bool:
    """Whether so many replicas of a shape fit; nothing is left placed."""
    if shape.by_room_alone and not trial.devices.goes_one_by_one(shape):
        return int(slots_of(trial, shape, np.flatnonzero(trial.scores(shape) >= 0)).sum()) >= replicas
    mark = trial.mark()
    placed = sum(place_replicas(trial, shape, replicas).values())
    trial.undo(mark)
    return placed == replicas


def slots_of(trial: Trial, shape: Shape, rows: Rows) -> Integers:
    """Return how many replicas each of these nodes, all of which take one, takes by its room alone."""
    if not len(shape.columns):
        return np.full(len(rows), 1 if shape.once_for_each_node else SLOTS_MAX, np.int64)
    return _slots_above(trial, shape, rows, 0)


def _one_by_one(trial: Trial, shape: Shape, replicas: int) -> dict[int, int]:
    placed: dict[int, int] = {}
    for _ in range(replicas):
        row = trial.pick(shape)
        if row < 0:
            break
        trial.place(shape, row)
        placed[row] = placed.get(row, 0) + 1
    return placed


def _slots_above(trial: Trial, shape: Shape, rows: Rows, threshold: int) -> Integers:
    """Return how many slots of each node have at least a score, where scores are shares left."""
    where = shape.columns[:, None], rows
    amounts = shape.amounts[:, None]
    needed = -((-threshold << SHIFT) // trial.room.inverse[where])
    slots = np.where(
        trial.room.free[where] - amounts >= needed, (trial.room.slack(where) - needed) // amounts, 0
    )
    fewest: Integers = trial.devices.slots(shape, rows, slots.min(axis=0))
    return np.minimum(fewest, 1) if shape.once_for_each_node else fewest


def _best_first(trial: Trial, shape: Shape, replicas: int) -> Rows:
    """Return the nodes that take one, as many of the best as there are replicas, in no order."""
    scores = trial.scores(shape)
    rows = np.flatnonzero(scores >= 0)
    if len(rows) <= replicas:
        return rows
    return rows[np.argpartition(_keys(scores, rows), -replicas)[-replicas:]]


def _keys(scores: Integers, rows: Rows) -> Integers:
    """Return scores with the row as the last word, so that no two are equal and the first row wins."""
    keys: Integers = (scores[rows] << ROW_BITS) - rows
    return keys


def _spread(trial: Trial, shape: Shape, replicas: int) -> tuple[Rows, Integers]:
    rows = np.sort(_best_first(trial, shape, replicas))
    slots = slots_of(trial, shape, rows)
    if int(slots.sum()) <= replicas or not len(shape.columns):
        return rows, _first(slots, replicas)
    low, high = 0, STEPS + 1
    while high - low > 1:
        middle = (low + high) // 2
        if int(_slots_above(trial, shape, rows, middle).sum()) >= replicas:
            low = middle
        else:
            high = middle
    above = _slots_above(trial, shape, rows, low + 1)
    level = _slots_above(trial, shape, rows, low) - above
    return rows, above + _first(level, replicas - int(above.sum()))


def _pack(trial: Trial, shape: Shape, replicas: int) -> tuple[Rows, Integers]:
    rows = trial.devices.by_score(shape, _best_first(trial, shape, replicas))
    rows = rows[np.argsort(-_keys(trial.scores(shape), rows))]
    return rows, _first(slots_of(trial, shape, rows), replicas)


def _first(slots: Integers, wanted: int) -> Integers:
    """Return how many slots of each are taken when they are taken in order until enough are."""
    before = np.cumsum(slots) - slots
    taken: Integers = np.clip(wanted - before, 0, slots)
    return taken


BY_SLOTS: Final = {"spread": _spread, "pack": _pack}
