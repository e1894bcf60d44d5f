"""The cheapest way to serve sets of volumes, drive after drive, for many nodes at once.

What the first drives serve best is known for every set; the next drive takes any part of a set and leaves the
rest to them. The hard thing is to remember what was taken without a second search: a cost has what is taken
in its lowest bits, so that the least of many says both, and ties go to whoever takes the lowest number. So
later drives take as little as they can.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from math import prod
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np

from ullage.engine.storage.components import Component
from ullage.engine.storage.lattice import IntArray, Lattice
from ullage.engine.storage.rooms import NOT_WHOLE, Kind

PAIRS_AT_ONCE_MAX: Final = 1 << 17
DRIVES_AT_ONCE_MIN: Final = 6
"""So many drives share a table of the pairs that are possible, for the smaller ones can take less."""
POSSIBLE_PAIRS_MIN: Final = 1 << 15
"""With fewer it takes longer to find them than to look at the others."""
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
    """What every set costs at best, by block, low end and node; and what it does with each next drive.

    The lowest bits of that are what the drive takes, as many as there are in `lowest`.
    """

    least: Costs
    choices: tuple[Costs, ...]
    active: tuple[int, ...]
    lowest: int

    def trace(self, numbers: Sequence[int]) -> list[list[int]]:
        """Return what each drive takes to serve the set of each node, by node and drive."""
        if len(numbers) == 1:
            return [self._trace(numbers[0])]
        left, nodes = np.array(numbers, np.int64), np.arange(len(numbers))
        taken = np.zeros((len(self.choices), len(left)), np.int64)
        for drive in range(len(self.choices) - 1, -1, -1):
            width = self.active[drive]
            places = left[:width] * width + nodes[:width]
            taken[drive, :width] = self.choices[drive].ravel().take(places) & self.lowest
            left -= taken[drive]
        found: list[list[int]] = taken.T.tolist()
        return found

    def _trace(self, left: int) -> list[int]:
        """Do the same for a single node, without arrays, which take longer for a number than for many."""
        taken = []
        for choices in reversed(self.choices):
            taken.append(choices.item(left) & self.lowest)
            left -= taken[-1]
        return taken[::-1]


def batches(keys: Iterable[AnyKey], tables: Lattice) -> Iterator[list[AnyKey]]:
    """Yield the rooms of nodes, most rooms first, as many nodes at once as the processor's cache likes."""
    ordered = sorted(keys, key=len, reverse=True)
    width = max(1, PAIRS_AT_ONCE_MAX // len(tables.rest))
    for start in range(0, len(ordered), width):
        yield ordered[start : start + width]


def columns_of(keys: Sequence[Key]) -> Columns:
    """Return nodes side by side; they come with the most drives first."""
    height = max(map(len, keys), default=0)
    active = []
    width = len(keys)
    for length in range(1, height + 1):
        while len(keys[width - 1]) < length:
            width -= 1
        active.append(width)
    padded = keys if width == len(keys) else [(EMPTY,) * (height - len(key)) + key for key in keys]
    numbers = chain.from_iterable(chain.from_iterable(padded))
    rows = np.fromiter(numbers, np.int64, 3 * height * len(keys)).reshape(len(keys), height, 3)
    kinds, extents, mebibytes = np.ascontiguousarray(rows.T)
    return Columns(kinds, extents, mebibytes, tuple(reversed(active)))


def cover(tables: Lattice, costs: Costs, active: Sequence[int], never: int = NEVER) -> Cover:
    """Return the least cost of every set, where `costs` has them by drive, block, option and node."""
    lowest = (1 << tables.taken_bits) - 1
    least = np.full((tables.blocks, tables.states, costs.shape[3]), never, costs.dtype)
    least[0, 0] = 0
    choices = []
    pairs_of_drive = tables.blocks * len(tables.rest) * costs.shape[3]
    at_once = max(DRIVES_AT_ONCE_MIN, PAIRS_AT_ONCE_MAX // pairs_of_drive)
    for start in range(0, len(active), at_once):
        some = costs[start : start + at_once]
        pairs = _Pairs(_possible(tables, some, never), costs.shape[3], costs.dtype, never)
        for offered, width in zip(some, active[start : start + at_once], strict=True):
            here = least[..., :width]
            best = pairs.best(here, offered[..., :width])
            choices.append(best)
            np.minimum(best & ~lowest, never, out=here)
    return Cover(least, tuple(choices), tuple(active), lowest)


def _possible(tables: Lattice, costs: Costs, never: int) -> Lattice:
    """Return tables without the pairs of options that none of some drives can take, if that pays."""
    if len(tables.rest) * (costs.size // costs.shape[2]) < POSSIBLE_PAIRS_MIN:
        return tables
    cheapest = costs.min(axis=0).min(axis=2).min(axis=0)
    kept = np.flatnonzero((cheapest < never).take(tables.option))
    if len(kept) > len(tables.rest) * 3 // 4:
        return tables
    starts = np.searchsorted(kept, tables.starts)  # to take nothing is always possible: no set is left out
    return tables._replace(rest=tables.rest[kept], option=tables.option[kept], starts=starts)


class _Pairs:
    """Costs of all pairs. Large arrays serve for one drive after the other: new ones would cost as much."""

    def __init__(self, tables: Lattice, width: int, number: np.dtype[Any], never: int) -> None:
        self._tables = tables
        self._never = never
        self._shape = tables.blocks, len(tables.rest), 0
        space = tables.blocks * len(tables.rest) * width if tables.blocks > 1 else 0
        self._space = [np.empty(space, number) for _ in range(2)]
        self._views: list[Costs] = []

    def _with_width(self, width: int) -> list[Costs]:
        """Return arrays for so many nodes."""
        if self._shape[2] != width:
            self._shape = *self._shape[:2], width
            self._views = [each[: prod(self._shape)].reshape(self._shape) for each in self._space]
        return self._views

    def best(self, least: Costs, costs: Costs) -> Costs:
        """Return the least cost of every set: of the rest so far, and of what is taken now."""
        tables, width = self._tables, least.shape[2]
        if tables.blocks == 1:
            joined = least[0].take(tables.rest, axis=0)
            joined += costs[0].take(tables.option, axis=0)
            return np.minimum.reduceat(joined, tables.starts, axis=0)[None]
        before, now = self._with_width(width)
        least.take(tables.rest, axis=1, out=before, mode="wrap")  # faster than a check; all are within
        costs.take(tables.option, axis=1, out=now, mode="wrap")
        joined, other = np.empty((2, *before[0].shape), before.dtype)
        possible = (costs.min(axis=(1, 2)) < self._never).tolist()
        reached = (least.min(axis=(1, 2)) < self._never).tolist()
        best = np.empty((tables.blocks, tables.states, width), least.dtype)
        for block, parts in enumerate(tables.block_parts):
            joined.fill(self._never)
            for part, rest in parts:
                if possible[part] and reached[rest]:
                    np.add(before[rest], now[part], out=other)
                    np.minimum(joined, other, out=joined)
            np.minimum.reduceat(joined, tables.starts, axis=0, out=best[block])
        return best


class Needs(NamedTuple):
    """What options need on each kind of room: parts of the shares in extents, whole drives in mebibytes.

    With fewer than the `least` of both a room is of no use.
    """

    extents: IntArray
    mebibytes: IntArray
    least: tuple[tuple[int, int], ...]

    def extents_by_drive(self, kinds: IntArray) -> IntArray:
        """Return the extents by drive, block, option and node."""
        return _by_drive(self.extents, kinds)

    def mebibytes_by_drive(self, kinds: IntArray) -> IntArray:
        """Return the mebibytes by drive, option and node."""
        return _by_drive(self.mebibytes, kinds)


def needs_of(asked: Component, tables: Lattice, kinds: Sequence[Kind]) -> Needs:
    """Return what the options of a component need on each kind of room."""
    extents = np.empty((len(kinds), tables.blocks, len(tables.low_shares)), np.int64)
    mebibytes = np.empty((len(kinds), len(tables.whole_options)), np.int64)
    least = []
    for place, (drive_class, extent_bytes) in enumerate(kinds):
        shares = [sort.extents(extent_bytes) for sort in asked.shares]
        foreign = [not sort.suits(drive_class) for sort in asked.shares]
        wholes = [
            asked.wholes[sort].mebibytes(which - 1) if asked.wholes[sort].suits(drive_class) else TOO_MUCH
            for sort, which in tables.whole_options
        ]
        extents[place] = _share_sums(tables, shares)
        if any(foreign):
            extents[place, _share_sums(tables, foreign) > 0] = TOO_MUCH
        mebibytes[place] = wholes
        suited = [each for each, other in zip(shares, foreign, strict=True) if not other]
        least.append((min(suited, default=TOO_MUCH), min(wholes, default=TOO_MUCH)))
    return Needs(extents, mebibytes, tuple(least))


def _share_sums(tables: Lattice, each: Sequence[int]) -> IntArray:
    """Return the sum over the shares that are in each part, by block and option."""
    low_count = tables.low_shares.shape[1]
    numbers = np.array(each, np.int64)
    low: IntArray = tables.low_shares @ numbers[:low_count]
    return low[None] if tables.blocks == 1 else (tables.high_shares @ numbers[low_count:])[:, None] + low


def _by_drive(needs: IntArray, kinds: IntArray) -> IntArray:
    if len(needs) == 1:
        return needs[..., None]
    return np.moveaxis(needs[kinds], 1, -1)
