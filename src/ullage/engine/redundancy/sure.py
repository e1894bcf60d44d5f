"""Losses that surely leave nobody without a place, told by counting alone, without placing anything.

What is placed anew before a workload touches at most as many nodes as there are workloads before it. So a
workload that has more open nodes than that, and than the nodes that are lost, finds one of them as it was.
Most losses of two nodes in a large cluster are judged by this; the others are played through.

Only of shapes whose rules look at one node at a time: what happens elsewhere does not close a node to them.
"""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Final

import numpy as np

from ullage.engine.placement.shapes import Shape
from ullage.engine.trial import Trial

CHUNK_CELLS_MAX: Final = 2_000_000
"""Losses are looked at in chunks so that losses x workloads stays below this."""
NOBODY: Final = np.iinfo(np.int64).max
"""Open nodes of the places that stand for nobody."""


def open_nodes(trial: Trial, shapes: Sequence[Shape]) -> list[int]:
    """Return for each shape how many nodes are open to it, each by its own state; 0 where more decides."""
    counts = []
    for shape in shapes:
        scores = trial.scores(shape)
        by_node = not shape.wide_rules and trial.devices.are_all_it_takes(shape)
        counts.append(int(np.count_nonzero(scores >= 0)) if by_node else 0)
    return counts


class Sure:
    """What runs on every node, as places in the order in which workloads are placed anew."""

    def __init__(self, places_by_node: Sequence[Sequence[int]], open_by_place: Sequence[int]) -> None:
        """Take the places of what runs on each node, and for each place how many nodes are open."""
        lengths = np.array([len(places) for places in places_by_node], np.intp)
        self._places = np.full((len(lengths), lengths.max(initial=0)), len(open_by_place), np.int32)
        held = np.arange(self._places.shape[1]) < lengths[:, None]
        self._places[held] = np.fromiter(chain.from_iterable(places_by_node), np.int32)
        self._open = np.array([*open_by_place, NOBODY], np.int64)

    def of(self, losses: Sequence[tuple[int, ...]]) -> Iterator[bool]:
        """Yield for each loss, all of equally many nodes, whether it surely leaves nobody out."""
        if not losses:
            return
        lost = len(losses[0])
        size = max(1, CHUNK_CELLS_MAX // max(1, lost * self._places.shape[1]))
        for start in range(0, len(losses), size):
            chunk = losses[start : start + size]
            rows = np.array(chunk, np.intp).reshape(len(chunk), lost)
            waiting = np.sort(self._places[rows].reshape(len(rows), -1), axis=1)
            before = np.arange(waiting.shape[1])
            yield from (self._open[waiting] > before + lost).all(axis=1).tolist()
