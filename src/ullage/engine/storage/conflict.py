"""The smallest sets of volumes that cannot stand together on a node."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ullage.engine.storage.components import Component, stable_order
from ullage.engine.storage.cover import NEVER, Columns, Costs, Key, batches, columns_of, cover, needs_of
from ullage.engine.storage.lattice import Lattice, lattice
from ullage.engine.storage.rooms import Kind, Rooms
from ullage.model.disk_plan import DiskRequest

Flags = np.ndarray[Any, np.dtype[np.bool_]]


class Sets:
    """The sets of a component: how many volumes each has, and which; with `spare`, only every other one."""

    def __init__(self, asked: Component, *, spare: bool = False) -> None:
        self.asked = asked
        self.tables: Lattice = lattice(asked.share_counts, asked.whole_counts, spare=spare)
        self._known: dict[int, tuple[DiskRequest, ...]] = {}
        self._orders: dict[int, list[tuple[bool, int, str]]] = {}
        self._step = 1 + spare
        counts = np.zeros(1, np.int64)
        for radix in self.tables.radices[int(spare) :]:
            counts = np.add.outer(np.arange(radix), counts).ravel()
        self._counts = counts

    def requests(self, number: int) -> tuple[DiskRequest, ...]:
        """Return what is in a set, in the stable order: of each sort the first."""
        if number in self._known:
            return self._known[number]
        wholes, shares = self.tables.digits(number)
        pairs = zip((*self.asked.wholes, *self.asked.shares), wholes + shares, strict=True)
        found = [request for sort, count in pairs for item in sort.items[:count] for request in item]
        self._known[number] = tuple(sorted(found, key=stable_order))
        return self._known[number]

    def first_never(self, never: Flags) -> list[int]:
        """Return for each node the set with fewest volumes that cannot be served; of several the first.

        `never` says of every set and node whether it cannot; there is no node that can serve all sets.
        """
        counts = np.where(never[:: self._step], self._counts[:, None], self._counts[-1] + 1)
        nodes, numbers = np.nonzero((counts == counts.min(axis=0)).T)
        ends = np.searchsorted(nodes, np.arange(1, counts.shape[1] + 1)).tolist()
        fewest = (self._step * numbers).tolist()
        return [self._first(fewest[start:end]) for start, end in pairwise([0, *ends])]

    def _first(self, numbers: Sequence[int]) -> int:
        """Return the first of some sets, in the stable order of what they have."""
        if len(numbers) == 1:
            return numbers[0]
        return min(numbers, key=self._order)

    def _order(self, number: int) -> list[tuple[bool, int, str]]:
        if number not in self._orders:
            self._orders[number] = list(map(stable_order, self.requests(number)))
        return self._orders[number]


def smallest_conflicts(
    rooms: Rooms, asked: Component, nodes: Sequence[str]
) -> dict[tuple[DiskRequest, ...], list[str]]:
    """Return the fewest requests that cannot stand together, with the nodes of which that is so.

    None of the nodes can serve all requests. Whole drives of different sizes must be different sorts.
    """
    sets = Sets(asked)
    alike: dict[Key, list[str]] = {}
    for node in nodes:
        alike.setdefault(tuple([row[2:5] for row in rooms.by_node[node]]), []).append(node)
    found: dict[tuple[DiskRequest, ...], list[str]] = {}
    for batch in batches(alike, sets.tables):
        columns = columns_of(batch)
        costs = _costs(asked, rooms.kinds, sets.tables, columns)
        least = cover(sets.tables, costs, columns.active).least.reshape(-1, len(batch))
        for key, number in zip(batch, sets.first_never(least >= NEVER), strict=True):
            found.setdefault(sets.requests(number), []).extend(alike[key])
    return found


def _costs(asked: Component, kinds: Sequence[Kind], tables: Lattice, columns: Columns) -> Costs:
    """Return nothing for what fits."""
    needs = needs_of(asked, tables, kinds)
    drives, width = columns.extents.shape
    shares = len(tables.low_shares)
    fits = np.zeros((drives, tables.blocks, tables.taken.shape[1], width), bool)
    fits[:, :, :shares] = needs.extents_by_drive(columns.kinds) <= columns.extents[:, None, None]
    fits[:, 0, 0] = True
    fits[:, 0, shares:] = needs.mebibytes_by_drive(columns.kinds) <= columns.mebibytes[:, None]
    return np.where(fits, tables.taken[:, :, None], NEVER)
