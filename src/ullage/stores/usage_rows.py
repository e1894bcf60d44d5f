"""Days of streams as they are kept, many at a time: what costs most one by one is that they are so many."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, Final

import numpy as np

from ullage.engine.usage.book import Book, Stream, slot_seconds_of, slots_of
from ullage.engine.usage.buckets import Integers
from ullage.engine.usage.levels import MISSING, Levels
from ullage.engine.usage.summaries import Summaries
from ullage.stores.usage_codec import histograms_bytes, many_peaks_bytes, to_many_peaks
from ullage.stores.usage_tables import StoredRow, table_of

LOW_BITS: Final = 32
LOW_MASK: Final = (1 << LOW_BITS) - 1
FIGURES: Final = "points, total_high, total_low, low, high, dropped, first_seconds, last_seconds, histogram"
COLUMNS: Final = f"{FIGURES}, peaks"
SUMS: Final = COLUMNS.replace("histogram, ", "")
_RENEWED: Final = ", ".join(f"{each} = excluded.{each}" for each in COLUMNS.split(", "))
PUT: Final = (
    "INSERT INTO usage_days VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "  # noqa: S608 - our own names
    f"ON CONFLICT (stream, day) DO UPDATE SET {_RENEWED}"
)
AT_ONCE: Final = 1 << 13
"""Rows that are added up together, about."""
_DAY_BITS: Final = 32
Stored = Callable[[Sequence[tuple[Stream, int]]], Iterable[Sequence[Any]]]
"""Says what is recorded of streams on days: the place of each that is, and its columns."""


class Rows:
    """Days of streams that have slots of one length, as they are added up before they are written."""

    def __init__(self, stream: Stream, count: int) -> None:
        self._count = count
        self.summaries, self.levels = Summaries(), Levels(slot_seconds_of(stream.subject), slots_of(stream))
        self.summaries.grow(count)
        self.levels.grow(count)

    def put_stored(self, rows: Iterable[Sequence[Any]]) -> None:
        """Add rows as they are stored, behind the place of each; a msgspec.DecodeError where they are not."""
        found = [*rows]
        if not found:
            return
        numbers, *columns, histograms, peaks = zip(*found, strict=True)
        places = np.array(numbers, np.int64)
        self.summaries.put_table(places, table_of(columns, histograms))
        known = [place for place, data in enumerate(peaks) if data is not None]
        if known:
            self.raise_to(places[known], to_many_peaks([peaks[each] for each in known], self.levels.slots))

    def raise_to(self, places: Integers, slots: Integers) -> None:
        """Add peaks, a row of them at each place."""
        np.maximum.at(self.levels.table, places, slots)

    def columns(self) -> tuple[Sequence[object], ...]:
        """Return the columns as they are kept."""
        table = self.summaries.table(np.arange(self._count))
        known = table.points > 0
        of_points = table.low, table.high, table.first_seconds, table.last_seconds
        low, high, first, last = (np.where(known, each, 0).tolist() for each in of_points)
        sizes = np.bincount(table.owners, minlength=self._count)
        levels = self.levels.table[: self._count]
        has_peaks = (levels != MISSING).any(axis=1)
        peaks = iter(many_peaks_bytes(levels[has_peaks]))
        return (
            table.points.tolist(),
            (table.sum_high + (table.sum_low >> LOW_BITS)).tolist(),
            (table.sum_low & LOW_MASK).tolist(),
            low,
            high,
            table.dropped.tolist(),
            first,
            last,
            histograms_bytes(sizes, table.buckets, table.counts),
            [next(peaks) if has else None for has in has_peaks.tolist()],
        )


def rows_of(book: Book, but: Collection[Stream] = (), stored: Stored | None = None) -> Iterator[StoredRow]:
    """Yield all rows of a book but those of some streams, perhaps with what is recorded already."""
    by_slots: dict[int, list[Stream]] = {}
    for stream in book.streams():
        if stream not in but:
            by_slots.setdefault(slots_of(stream), []).append(stream)
    for several in by_slots.values():
        for streams in _parts(book, several):
            yield from _rows(book, streams, stored)


def _parts(book: Book, streams: Sequence[Stream]) -> Iterator[Sequence[Stream]]:
    part: list[Stream] = []
    rows = 0
    for stream in streams:
        part.append(stream)
        rows += len(book.days(stream))
        if rows >= AT_ONCE:
            yield part
            part, rows = [], 0
    if rows:
        yield part


def _rows(book: Book, streams: Sequence[Stream], stored: Stored | None) -> Iterator[StoredRow]:
    """Yield the rows of some streams that have slots of one length."""
    numbers = [book.numbers(each.resource, each.measure)[each.subject] for each in streams]
    owners, days, table = book.of_streams(np.array(numbers, np.int64))
    rows = Rows(streams[0], len(days))
    rows.summaries.put_table(np.arange(len(days)), table)
    peaks = book.peaks_of(streams)
    keys, with_peaks = owners << _DAY_BITS | days, peaks.owners << _DAY_BITS | peaks.days
    rows.raise_to(np.flatnonzero(np.isin(keys, with_peaks)), peaks.slots)  # both are in the same order
    meant = [(streams[owner], day) for owner, day in zip(owners.tolist(), days.tolist(), strict=True)]
    if stored is not None:
        rows.put_stored(stored(meant))
    for (stream, day), *columns in zip(meant, *rows.columns(), strict=True):
        yield stream, day, columns
