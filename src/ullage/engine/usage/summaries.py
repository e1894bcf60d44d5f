"""Very many streams of amounts, each summarised: points, exact sum, least, largest, span, and a histogram.

A histogram object for each stream would cost gigabytes. Here all of them lie one behind the other in a few
arrays: buckets, and how often each was met, by row. New amounts wait in a buffer, each as a row and a bucket
in one number, until there are enough of them to be sorted in at once. Everything is a sum, a minimum or a
maximum of integers, so merging is exact, and the order of merging does not matter.
"""

from bisect import bisect_right
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from ullage.engine.usage.buckets import BUCKETS, Integers, bucket_of, middle_of

BUCKET_BITS: Final = 12
assert 1 << BUCKET_BITS >= BUCKETS  # noqa: S101 - a key has room for every bucket
_BUCKET_MASK: Final = (1 << BUCKET_BITS) - 1
_PENDING_MAX: Final = 1 << 20
_CHUNK_MAX: Final = 1 << 20
"""Entries of a chunk: what is sorted in copies one chunk at a time, never all of them."""
_LOW_BITS: Final = 32
_LOW_MASK: Final = (1 << _LOW_BITS) - 1
AMOUNT_MAX: Final = (1 << 62) - 1
_EMPTY: Final = {
    "points": 0, "sum_high": 0, "sum_low": 0, "low": AMOUNT_MAX, "high": 0, "dropped": 0,
    "first_seconds": AMOUNT_MAX, "last_seconds": 0,
}  # fmt: skip
"""The columns of figures, and what they are in a row of which nothing is known."""
_NONE: Final[Integers] = np.empty(0, np.int64)


class Figures(NamedTuple):
    """What rows come to; `buckets` with `counts` are their histogram, in order.

    `first_seconds` and `last_seconds` are the moments of the first point and the last.
    """

    points: int
    total: int
    low: int
    high: int
    dropped: int
    first_seconds: int
    last_seconds: int
    buckets: Integers
    counts: Integers

    @property
    def is_spread_known(self) -> bool:
        """Whether the histogram has all points; of a crowd only sums may be known."""
        return int(self.counts.sum()) == self.points

    def without_histogram(self) -> "Figures":
        """Return the sums and extremes alone."""
        return self._replace(buckets=_NONE, counts=_NONE)


class Table(NamedTuple):
    """Figures of many rows as columns; `owners` says of which of them an entry of the histograms is."""

    points: Integers
    sum_high: Integers
    sum_low: Integers
    low: Integers
    high: Integers
    dropped: Integers
    first_seconds: Integers
    last_seconds: Integers
    owners: Integers
    buckets: Integers
    counts: Integers


def empty_table(rows: int) -> Table:
    """Return figures of so many rows of which nothing is known."""
    nothing = np.zeros(rows, np.int64)
    return Table(*[nothing] * len(_EMPTY), *[_NONE] * (len(Table._fields) - len(_EMPTY)))


NO_FIGURES: Final = Figures(0, 0, 0, 0, 0, 0, 0, np.empty(0, np.int64), np.empty(0, np.int64))


class Summaries:
    """Rows of figures; whoever uses them says which row stands for what."""

    __slots__ = ("_chunks", "_pending", "_pending_count", *_EMPTY)

    points: Integers
    sum_high: Integers
    sum_low: Integers
    low: Integers
    high: Integers
    dropped: Integers
    first_seconds: Integers
    last_seconds: Integers

    def __init__(self) -> None:
        self._chunks: list[_Chunk] = []
        self._pending: list[tuple[Integers, Integers]] = []
        self._pending_count = 0
        for name in _EMPTY:
            setattr(self, name, np.zeros(0, np.int64))

    def __len__(self) -> int:
        return len(self.points)

    def grow(self, rows: int) -> None:
        """Have at least so many rows; new ones are empty."""
        more = rows - len(self)
        if more > 0:
            more = max(more, len(self) // 4)
            for name, empty in _EMPTY.items():
                setattr(self, name, np.concatenate((getattr(self, name), np.full(more, empty, np.int64))))

    def add(self, rows: Integers, at_seconds: Integers, amounts: Integers) -> int:
        """Count amounts, each in its row, and return how many were dropped because they are no amounts."""
        good = (amounts >= 0) & (amounts <= AMOUNT_MAX)
        dropped = len(amounts) - int(np.count_nonzero(good))
        if dropped:
            np.add.at(self.dropped, rows[~good], 1)
            rows, at_seconds, amounts = rows[good], at_seconds[good], amounts[good]
        if len(rows):
            self._count(rows, at_seconds, amounts)
            self._wait((rows << BUCKET_BITS) + bucket_of(amounts), np.ones(len(rows), np.int64))
        return dropped

    def put(self, row: int, figures: Figures) -> None:
        """Add what another summary has of one stream to a row."""
        self.dropped[row] += figures.dropped
        if not figures.points:
            return
        self.points[row] += figures.points
        self.sum_high[row] += figures.total >> _LOW_BITS
        self.sum_low[row] += figures.total & _LOW_MASK
        self.low[row] = min(int(self.low[row]), figures.low)
        self.high[row] = max(int(self.high[row]), figures.high)
        self.first_seconds[row] = min(int(self.first_seconds[row]), figures.first_seconds)
        self.last_seconds[row] = max(int(self.last_seconds[row]), figures.last_seconds)
        self._wait((row << BUCKET_BITS) + figures.buckets, figures.counts)

    def put_table(self, rows: Integers, table: Table) -> None:
        """Add what another summary has of many streams, each to its row."""
        np.add.at(self.dropped, rows, table.dropped)
        known = table.points > 0
        meant = rows[known]
        for name in ("points", "sum_high", "sum_low"):
            np.add.at(getattr(self, name), meant, getattr(table, name)[known])
        for name in ("low", "first_seconds"):
            np.minimum.at(getattr(self, name), meant, getattr(table, name)[known])
        for name in ("high", "last_seconds"):
            np.maximum.at(getattr(self, name), meant, getattr(table, name)[known])
        own = known[table.owners]
        self._wait((rows[table.owners[own]] << BUCKET_BITS) + table.buckets[own], table.counts[own])

    def table(self, rows: Integers, *, histograms: bool = True) -> Table:
        """Return what rows have, each for itself, perhaps without their histograms."""
        self._settle()
        columns = (getattr(self, name)[rows] for name in _EMPTY)
        found = [(_NONE, _NONE, _NONE), *(self._entries(rows) if histograms else ())]
        return Table(*columns, *(np.concatenate(each) for each in zip(*found, strict=True)))

    def _entries(self, rows: Integers) -> Iterator[tuple[Integers, Integers, Integers]]:
        """Yield the entries of the histograms of rows, chunk by chunk, with the places of their rows."""
        known = np.flatnonzero(self.points[rows] > 0) if self._chunks else _NONE
        firsts = np.array([_first_row(chunk) for chunk in self._chunks[1:]], np.int64)
        chunks = np.searchsorted(firsts, rows[known], side="right")
        for number in np.unique(chunks).tolist():
            chunk = self._chunks[number]
            meant = known[chunks == number]
            meant = meant[np.isin(rows[meant], chunk.rows)]
            places = np.searchsorted(chunk.rows, rows[meant])
            begins, sizes = chunk.starts[places], np.diff(chunk.starts)[places]
            entries = spans(begins, sizes)
            yield (
                np.repeat(meant, sizes),
                chunk.buckets[entries].astype(np.int64),
                chunk.counts[entries].astype(np.int64),
            )

    def of(self, rows: Integers) -> Figures:
        """Return what some rows come to together."""
        self._settle()
        dropped = int(self.dropped[rows].sum())
        rows = rows[self.points[rows] > 0]
        if not len(rows):
            return NO_FIGURES._replace(dropped=dropped)
        found = [self._histogram(int(row)) for row in rows]
        buckets, counts = found[0] if len(found) == 1 else summed(found)
        high = sum(int(each) for each in self.sum_high[rows])
        low = sum(int(each) for each in self.sum_low[rows])
        return Figures(
            int(self.points[rows].sum()),
            (high << _LOW_BITS) + low,
            int(self.low[rows].min()),
            int(self.high[rows].max()),
            dropped,
            int(self.first_seconds[rows].min()),
            int(self.last_seconds[rows].max()),
            buckets,
            counts,
        )

    def _histogram(self, row: int) -> tuple[Integers, Integers]:
        if not self._chunks:
            return _NONE, _NONE
        chunk = self._chunks[max(bisect_right(self._chunks, row, key=_first_row) - 1, 0)]
        place = int(np.searchsorted(chunk.rows, row))
        if place == len(chunk.rows) or chunk.rows[place] != row:
            return _NONE, _NONE  # only its sums are known
        begin, end = chunk.starts[place], chunk.starts[place + 1]
        return chunk.buckets[begin:end].astype(np.int64), chunk.counts[begin:end].astype(np.int64)

    def _count(self, rows: Integers, at_seconds: Integers, amounts: Integers) -> None:
        np.add.at(self.points, rows, 1)
        np.add.at(self.sum_high, rows, amounts >> _LOW_BITS)
        np.add.at(self.sum_low, rows, amounts & _LOW_MASK)
        np.minimum.at(self.low, rows, amounts)
        np.maximum.at(self.high, rows, amounts)
        np.minimum.at(self.first_seconds, rows, at_seconds)
        np.maximum.at(self.last_seconds, rows, at_seconds)

    def _wait(self, keys: Integers, counts: Integers) -> None:
        self._pending.append((keys, counts))
        self._pending_count += len(keys)
        if self._pending_count >= _PENDING_MAX:
            self._settle()

    def _settle(self) -> None:
        """Sort in what waits, chunk by chunk."""
        if not self._pending_count:
            return
        new_keys, new_counts = summed(self._pending)
        self._pending, self._pending_count = [], 0
        starts = np.array([_first_row(chunk) << BUCKET_BITS for chunk in self._chunks[1:]], np.int64)
        cuts = [0, *np.searchsorted(new_keys, starts).tolist(), len(new_keys)]
        chunks: list[_Chunk] = []
        for place, (begin, end) in enumerate(pairwise(cuts)):
            old = self._chunks[place : place + 1]
            if begin == end:
                chunks += old
                continue
            new = (new_keys[begin:end], new_counts[begin:end])
            chunks += _packed(*summed([*map(_unpacked, old), new]))
        self._chunks = chunks


class _Chunk(NamedTuple):
    """The histograms of some rows, one behind the other: an entry takes four bytes as a rule, not sixteen."""

    rows: Integers
    starts: Integers
    buckets: npt.NDArray[np.uint16]
    counts: npt.NDArray[np.unsignedinteger[Any]]


def _first_row(chunk: _Chunk) -> int:
    return int(chunk.rows[0])


def _packed(keys: Integers, counts: Integers) -> Iterator[_Chunk]:
    """Yield keys in order with their counts as chunks; the histogram of a row is in one of them."""
    rows = keys >> BUCKET_BITS
    starts = np.append(np.flatnonzero(np.concatenate(([True], rows[1:] != rows[:-1]))), len(keys))
    rows = rows[starts[:-1]]
    parts = -(-len(keys) // _CHUNK_MAX)
    wanted = np.arange(1, parts) * (len(keys) // parts)
    for first, last in pairwise(np.unique([0, *np.searchsorted(starts, wanted), len(rows)]).tolist()):
        begin, end = int(starts[first]), int(starts[last])
        own = counts[begin:end]
        width = np.min_scalar_type(int(own.max()))
        yield _Chunk(
            rows[first:last].copy(),
            starts[first : last + 1] - begin,
            (keys[begin:end] & _BUCKET_MASK).astype(np.uint16),
            own.astype(width),
        )


def _unpacked(chunk: _Chunk) -> tuple[Integers, Integers]:
    rows = np.repeat(chunk.rows, np.diff(chunk.starts))
    return (rows << BUCKET_BITS) + chunk.buckets, chunk.counts.astype(np.int64)


def summed(found: list[tuple[Integers, Integers]]) -> tuple[Integers, Integers]:
    """Return the keys of all in order, each once, with the sum of its counts."""
    if not found:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    keys, counts = (np.concatenate(each) for each in zip(*found, strict=True))
    if (keys[1:] > keys[:-1]).all():
        return keys, counts  # as it is where rows are read in their order
    order = np.argsort(keys, kind="stable")
    keys, counts = keys[order], counts[order]
    starts = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1])))
    return keys[starts], np.add.reduceat(counts, starts)


def spans(begins: Integers, sizes: Integers) -> Integers:
    """Return the numbers of several spans one behind the other: so many of each, from where it begins."""
    before = np.cumsum(sizes) - sizes
    return np.repeat(begins - before, sizes) + np.arange(int(sizes.sum()))


def amount_at(figures: Figures, rank: int) -> int:
    """Return the amount that stands at a rank from 1 on, within 1/128 of the true one."""
    if rank <= 1:
        return figures.low
    if rank >= figures.points:
        return figures.high
    place = int(np.searchsorted(np.cumsum(figures.counts), rank))
    middle = int(middle_of(figures.buckets[place : place + 1])[0])
    return min(max(middle, figures.low), figures.high)
