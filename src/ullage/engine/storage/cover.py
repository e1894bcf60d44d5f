"""The cheapest way to serve sets of volumes, drive after drive, for many nodes at once.

What the first drives serve best is known for every set; the next drive takes any part of a set and leaves the
rest to them. The hard thing is to remember what was taken without a second search: a cost has what is taken
in its lowest bits, so that the least of many says both, and ties go to whoever takes the lowest number. So
later drives take as little as they can.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np

from ullage.engine.storage.components import Component
from ullage.engine.storage.lattice import IntArray, Lattice
from ullage.engine.storage.rooms import NOT_WHOLE, Kind

PAIRS_AT_ONCE_MAX: Final = 1 << 17
NEVER: Final = (1 << 62) - (1 << 20)
"""What cannot be; twice as much is still a number, and its lowest bits are free."""
TOO_MUCH: Final = 1 << 60
"""More extents or mebibytes than anybody has."""

Costs = np.ndarray[Any, np.dtype[Any]]
Key = tuple[tuple[int, int, int], ...]
"""The rooms of a node by their keys: (kind, extents, mebibytes)."""
AnyKey = TypeVar("AnyKey", bound=tuple[Any, ...])
EMPTY: Final = (0, NOT_WHOLE, NOT_WHOLE)


class Columns(NamedTuple):
    """Rooms of nodes side by side, one row for each drive; those with fewer drives begin later.

    `active` is how many of the nodes have a drive in each row: the first ones, for they have the most.
    """

    kinds: IntArray
    extents: IntArray
    mebibytes: IntArray
    active: tuple[int, ...]


class Cover(NamedTuple):
    """What every set costs at best, by block, low end and node, and what each drive takes for it."""

    least: Costs
    choices: tuple[Costs, ...]
    active: tuple[int, ...]

    def trace(self, numbers: IntArray) -> IntArray:
        """Return what each drive takes to serve the set of each node, by drive and node."""
        left, nodes = numbers.copy(), np.arange(len(numbers))
        taken = np.zeros((len(self.choices), len(left)), np.int64)
        for drive in range(len(self.choices) - 1, -1, -1):
            width = self.active[drive]
            places = left[:width] * width + nodes[:width]
            taken[drive, :width] = self.choices[drive].ravel().take(places)
            left -= taken[drive]
        return taken


def batches(keys: Iterable[AnyKey], tables: Lattice) -> Iterator[list[AnyKey]]:
    """Yield the rooms of nodes, most rooms first, as many nodes at once as the processor's cache likes."""
    ordered = sorted(keys, key=len, reverse=True)
    width = max(1, PAIRS_AT_ONCE_MAX // len(tables.rest))
    for start in range(0, len(ordered), width):
        yield ordered[start : start + width]


def columns_of(keys: Sequence[Key]) -> Columns:
    """Return nodes side by side; they come with the most drives first."""
    lengths = [len(key) for key in keys]
    height = max(lengths, default=0)
    rows = [number for key in keys for row in (EMPTY,) * (height - len(key)) + key for number in row]
    kinds, extents, mebibytes = np.array(rows, np.int64).reshape(len(keys), height, 3).T.copy()
    active = (np.array(lengths) + np.arange(height)[:, None] >= height).sum(axis=1)
    return Columns(kinds, extents, mebibytes, tuple(active.tolist()))


def cover(tables: Lattice, costs: Costs, active: Sequence[int], never: int = NEVER) -> Cover:
    """Return the least cost of every set, where `costs` has them by drive, block, option and node."""
    lowest = (1 << tables.taken_bits) - 1
    least = np.full((tables.blocks, tables.states, costs.shape[3]), never, costs.dtype)
    least[0, 0] = 0
    choices = []
    for drive, width in enumerate(active):
        joined = _joined(tables, least[..., :width], costs[drive, ..., :width], never)
        best = np.minimum.reduceat(joined, tables.starts, axis=1)
        choices.append(best & lowest)
        np.minimum(best & ~lowest, never, out=least[..., :width])
    return Cover(least, tuple(choices), tuple(active))


def _joined(tables: Lattice, least: Costs, costs: Costs, never: int) -> Costs:
    """Return the cost of every pair: of the rest so far, and of what is taken now."""
    before, now = least.take(tables.rest, axis=1), costs.take(tables.option, axis=1)
    if tables.blocks == 1:
        before += now
        return before
    possible = (costs.min(axis=(1, 2)) < never).tolist()
    reached = (least.min(axis=(1, 2)) < never).tolist()
    joined = np.full_like(before, never)
    other = np.empty_like(before[0])
    for block, parts in enumerate(tables.block_parts):
        for part, rest in parts:
            if possible[part] and reached[rest]:
                np.add(before[rest], now[part], out=other)
                np.minimum(joined[block], other, out=joined[block])
    return joined


class Needs(NamedTuple):
    """What options need on each kind of room: parts of the shares in extents, whole drives in mebibytes."""

    extents: IntArray
    mebibytes: IntArray

    def extents_by_drive(self, kinds: IntArray) -> IntArray:
        """Return the extents by drive, block, option and node."""
        return _by_drive(self.extents, kinds)

    def mebibytes_by_drive(self, kinds: IntArray) -> IntArray:
        """Return the mebibytes by drive, option and node."""
        return _by_drive(self.mebibytes, kinds)


def needs_of(asked: Component, tables: Lattice, kinds: Sequence[Kind]) -> Needs:
    """Return what the options of a component need on each kind of room."""
    shape = len(kinds), tables.blocks, len(tables.low_shares)
    extents = np.array([_share_extents(asked, tables, *kind) for kind in kinds], np.int64).reshape(shape)
    mebibytes = [
        [
            asked.wholes[sort].mebibytes(which - 1) if asked.wholes[sort].suits(drive_class) else TOO_MUCH
            for sort, which in tables.whole_options
        ]
        for drive_class, _ in kinds
    ]
    return Needs(extents, np.array(mebibytes, np.int64).reshape(len(kinds), len(tables.whole_options)))


def _share_extents(asked: Component, tables: Lattice, drive_class: int, extent_bytes: int) -> IntArray:
    """Return the extents of every part of the shares, by block and option."""
    low_count = tables.low_shares.shape[1]
    takes = np.array([sort.extents(extent_bytes) for sort in asked.shares], np.int64)
    foreign = np.array([not sort.suits(drive_class) for sort in asked.shares], np.int64)
    total, strangers = (
        (tables.high_shares @ each[low_count:])[:, None] + tables.low_shares @ each[:low_count]
        for each in (takes, foreign)
    )
    return np.where(strangers, TOO_MUCH, total)


def _by_drive(needs: IntArray, kinds: IntArray) -> IntArray:
    if len(needs) == 1:
        return needs[..., None]
    return np.moveaxis(needs[kinds], 1, -1)
