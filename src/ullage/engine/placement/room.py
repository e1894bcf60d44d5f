"""What each node can still promise, as arrays [resource, node], and which nodes have changed since when.

A share is what would be left of a limit, in 2^20ths: `(free - amount) * inverse >> 36`, with inverse = 2^56 /
limit. No division is needed, equal nodes have equal shares, and a share below 0 means that it does not fit.
`weighted` holds free * inverse, so that the shares of a few nodes cost two lookups and a difference for each
resource.
"""

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from ullage.engine.columns import Columns
from ullage.engine.placement.node_columns import Flags
from ullage.engine.placement.rules import EVERY, Rows
from ullage.engine.placement.shapes import Integers, Needs, Shape

RowArray = npt.NDArray[np.intp]

STEPS_BITS: Final = 20
STEPS: Final = 1 << STEPS_BITS
"""The share of an empty node."""
INVERSE_BITS: Final = 56
SHIFT: Final = INVERSE_BITS - STEPS_BITS
_SHIFT: Final = np.array(SHIFT)
UNBOUNDED: Final = 1 << INVERSE_BITS
"""Room of a resource that the policy does not bound."""
TIMES_MAX: Final = 60
"""A request or an over-commitment of more limits than this could not be told in 64 bits."""
FAR_BELOW: Final = -TIMES_MAX << INVERSE_BITS
"""What counts as the weighted room of a node that is over-committed beyond counting."""
TOUCHED_MAX: Final = 1 << 20
"""Changes noted before all scores are made anew, so that memory stays bounded."""
WINDOWS: Final = (8, 32, 128, 256, 512)
"""How many of the last changes are looked at together: few sizes, so that arrays can be used again."""
_WINDOW_OF: Final = [next(size for size in WINDOWS if behind <= size) for behind in range(WINDOWS[-1] + 1)]


class Desk(NamedTuple):
    """Space to work out what is left of so many resources on so many nodes, used again and again."""

    left: Integers
    taken: Integers
    parts: list[Integers]


class Room:
    """The room of every node; rows are nodes in the order in which ties are decided."""

    def __init__(self, columns: Columns, order: RowArray) -> None:
        self.bounded: Flags = np.ascontiguousarray(columns.bounded[order].T)
        self.capacity: Integers = np.ascontiguousarray(columns.capacity[order].T)
        self.limit: Integers = np.where(self.bounded, columns.limit[order].T, UNBOUNDED)
        self.standby: Integers = np.where(self.bounded, columns.standby[order].T, 0)
        self._bound: Integers = self.limit - np.where(self.bounded, columns.strict[order].T, 0) - self.standby
        self._promised: Integers = np.ascontiguousarray(columns.promised[order].T)
        self._actual = _actual_above_reserve(columns, order, self.bounded)
        self.free: Integers = self._bound - self._committed(EVERY)
        self.inverse: Integers = np.where(self.limit > 0, UNBOUNDED // np.maximum(self.limit, 1), 1)
        self._lowest: Integers = self.limit * -TIMES_MAX
        self._weighted: Integers = self._weigh((EVERY, EVERY))
        self._free_items = self.free.reshape(-1).data
        self._inverse_items = self.inverse.reshape(-1).data
        self._weighted_items = self._weighted.reshape(-1).data
        self._count = len(order)
        self._smallest: dict[int, int] = {}
        self._largest: list[int] | None = None
        self._tight: Flags = np.zeros(len(order), np.bool_)
        self._any_tight = False
        self.changes = 0
        self._note_changes(TOUCHED_MAX)
        self._desks: dict[tuple[int, int], Desk] = {}
        self._even: list[bool] = [bool((each == each[:1]).all()) for each in self.inverse]

    def _committed(self, rows: Rows | int) -> Integers:
        promised = self._promised[:, rows]
        if self._actual is not None:
            promised = np.maximum(promised, self._actual[:, rows])
        return np.where(self.bounded[:, rows], promised, 0)

    def _weigh(self, where: tuple[Any, Any]) -> Integers:
        """Return free * inverse, which stays countable however far a node is over-committed."""
        weighted: Integers = np.maximum(self.free[where], self._lowest[where]) * self.inverse[where]
        return weighted

    def promised(self, row: int) -> list[int]:
        """Return what is promised of each resource on a node, with everything that was placed there."""
        promised = self._promised[:, row]
        if self._actual is None:
            promised = promised + self._bound[:, row] - self._committed(row) - self.free[:, row]
        amounts: list[int] = promised.tolist()
        return amounts

    def slack(self, where: tuple[RowArray, RowArray]) -> Integers:
        """Return what is not promised of resources on nodes, whatever is really in use there."""
        if self._actual is None:
            return self.free[where]
        return self._bound[where] - np.where(self.bounded[where], self._promised[where], 0)

    def left_of_limit(self, row: int) -> Integers:
        """Return what is not committed of each resource on a node, with what is held there for failover."""
        left: Integers = self.free[:, row] + self.limit[:, row] - self._bound[:, row]
        return left

    def shares(self, shape: Shape, rows: Rows) -> Integers:
        """Return what one more workload would leave of each resource it takes, [resource, node], in steps."""
        columns = shape.columns
        left = self.free[columns][:, rows] - shape.amounts[:, None]
        shares: Integers = (left * self.inverse[columns][:, rows]) >> SHIFT
        return shares

    def least(self, shape: Shape, rows: Rows) -> Integers:
        """Return the least of these shares on each node; all of the node where a shape takes nothing."""
        if not shape.takings:
            return np.full(self._count if isinstance(rows, slice) else len(rows), STEPS, np.int64)
        weighted, needed, is_even, places = shape.needs or self._needs_of(shape)
        if isinstance(rows, slice):
            parts = list(weighted - needed)
        else:
            key = len(weighted), len(rows)
            left, taken, parts = self._desks.get(key) or self._desk(*key)
            weighted.take(rows, 1, left, "clip")
            if is_even:
                taken[...] = needed
            else:
                needed.take(rows, 1, taken, "clip")
            np.subtract(left, taken, left)
        least = parts[places[0]]
        for place in places[1:]:
            np.minimum(least, parts[place], out=least)
        shares: Integers = np.right_shift(least, _SHIFT)
        return shares

    def _desk(self, resources: int, nodes: int) -> Desk:
        left, taken = np.empty((2, resources, nodes), np.int64)
        desk = Desk(left, taken, list(left))
        if nodes in WINDOWS:
            self._desks[resources, nodes] = desk
        return desk

    def watch_tight_nodes(self) -> None:
        """From now on, know the nodes that lack room for the largest request of some shape."""
        self._largest = [0] * len(self.free)

    def expect(self, shape: Shape) -> None:
        """Take a shape into account that will be placed."""
        if self._largest is not None:
            for column, amount in shape.takings:
                self._largest[column] = max(self._largest[column], amount)
            self._look_at(EVERY)

    def _look_at(self, rows: Rows | int) -> None:
        largest = np.array(self._largest, np.int64)
        tight = self._tight[rows] = (largest > self.free[:, rows].T).any(axis=-1)
        self._any_tight = bool(tight.any() if isinstance(rows, slice) else self._any_tight or tight.any())

    def has_room(self, shape: Shape, rows: Rows) -> Flags | None:
        """Return which nodes have room for one more; None where all have, as is known without comparing."""
        if self._largest is not None and (not self._any_tight or not self._tight[rows].any()):
            return None
        fits: Flags = self.least(shape, rows) >= 0
        return fits

    def _needs_of(self, shape: Shape) -> Needs:
        """Return what a shape takes of each node beside the weighted room; the shape keeps it."""
        first, last = shape.takings[0][0], shape.takings[-1][0]
        span = slice(first, last + 1)
        is_even = all(self._even[span])
        needed = self.inverse[span, : 1 if is_even else None] * shape.vector[span, None]
        shape.needs = Needs(
            self._weighted[span], needed, is_even, tuple(column - first for column, _ in shape.takings)
        )
        return shape.needs

    def is_small(self, amount: int, column: int) -> bool:
        """Whether an amount is too large for no node, as is known without looking at each."""
        least = self._smallest.get(column)
        if least is None:
            limit, free = self.limit[column], self.free[column]
            beyond = bool(((limit > 0) & (free < -limit * TIMES_MAX)).any())
            small = min(int(self.capacity[column].min()), int(limit.min()) * TIMES_MAX) if self._count else 0
            least = self._smallest[column] = 0 if beyond else int(small)
        return amount <= least

    def too_large(self, amount: int, column: int, *, capped: bool) -> Flags:
        """Return the nodes that could never take an amount, or whose figures are beyond counting.

        `capped` says that one workload never gets more than a node has, however far it is over-committed.
        """
        limit = self.limit[column]
        beyond = (amount > limit * TIMES_MAX) | ((limit > 0) & (self.free[column] < -limit * TIMES_MAX))
        small = self.capacity[column] < amount
        never: Flags = beyond | (small if capped else small & ~self.bounded[column])
        return never

    # What changes

    def take(self, shape: Shape, row: int, count: int) -> None:
        """Promise what workloads of a shape take on a node; a negative count gives it back."""
        if self._actual is None:
            free, weighted, inverse = self._free_items, self._weighted_items, self._inverse_items
            nodes = self._count
            for column, amount in shape.takings:
                place = column * nodes + row
                left = free[place] = free[place] - amount * count
                room = left * inverse[place]
                weighted[place] = room if room > FAR_BELOW else FAR_BELOW  # noqa: FURB136 - a call costs more
            if self._largest is not None:
                if count > 0:
                    self._look_after(shape, row, self._largest)
                elif self._any_tight and self._tight[row]:
                    self._look_at(row)
        else:
            self._promised[:, row] += shape.vector * count
            self.free[:, row] = self._bound[:, row] - self._committed(row)
            self._weighted[:, row] = self._weigh((EVERY, row))
            if self._largest is not None:
                self._look_at(row)
        self._changed_items[self.changes] = row
        self.changes += 1

    def _look_after(self, shape: Shape, row: int, largest: list[int]) -> None:
        """Judge a node again of which a shape has taken more: that can only have made it tight."""
        free, nodes = self._free_items, self._count
        for column, _ in shape.takings:
            if free[column * nodes + row] < largest[column]:
                self._tight[row] = self._any_tight = True

    def note(self, row: int) -> None:
        """Take note that something about a node has changed."""
        self._changed[self.changes] = row
        self.changes += 1

    def take_many(self, shape: Shape, rows: RowArray, counts: Integers) -> None:
        """Promise what so many workloads of a shape take on each of these nodes, no node twice."""
        if self._actual is None:
            where = shape.columns[:, None], rows
            self.free[where] -= shape.amounts[:, None] * counts
            self._weighted[where] = self._weigh(where)
        else:
            self._promised[:, rows] += shape.vector[:, None] * counts
            self.free[:, rows] = self._bound[:, rows] - self._committed(rows)
            self._weighted[:, rows] = self._weigh((EVERY, rows))
        if self._largest is not None:
            self._look_at(rows)
        after = self.changes + len(rows)
        self._changed[self.changes : after] = rows
        self.changes = after

    def changed_since(self, seen: int) -> RowArray:
        """Return the nodes that have changed since a number of changes."""
        return self._changed[seen : self.changes]

    def last_changed(self, count: int) -> RowArray:
        """Return the nodes of so many last changes at least: mostly of some more, see WINDOWS."""
        end = self.changes + WINDOWS[-1]
        return self._noted[end - (_WINDOW_OF[count] if count <= WINDOWS[-1] else count) : end]

    def _note_changes(self, most: int) -> None:
        """Make space for so many changes; before the first there is a window full of the first node."""
        self._noted: RowArray = np.zeros(WINDOWS[-1] + most, np.intp)
        self._changed: RowArray = self._noted[WINDOWS[-1] :]
        self._changed_items = self._changed.data
        self.changes_max = most

    def forget_changes(self, coming: int) -> None:
        """Start counting changes anew, with space for at least so many."""
        self.changes = 0
        if coming > self.changes_max:
            self._note_changes(coming)


def _actual_above_reserve(columns: Columns, order: RowArray, bounded: Flags) -> Integers | None:
    """Return what is really in use beyond the reserve where that counts; None where it counts nowhere."""
    counted = columns.counts_actual[order].T & bounded
    if not counted.any():
        return None
    return np.where(counted, columns.actual[order].T - columns.reserve[order].T, 0)
