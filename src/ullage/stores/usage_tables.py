"""Many stored rows of usage at once: what costs most in reading them one by one is that they are so many."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Final

import msgspec
import numpy as np

from ullage.engine.usage.book import Book, Peaks, Stream, slots_of
from ullage.engine.usage.summaries import Table, empty_table
from ullage.stores.usage_codec import to_histograms, to_many_peaks

AT_ONCE: Final = 1 << 13
"""Rows that are unpacked together: more of them take memory, and no less time."""
StoredRow = tuple[Stream, int, Sequence[Any]]
"""A stream, a day, and the columns as they are stored; the last are the histogram and perhaps peaks."""


def put_rows(book: Book, rows: Iterable[StoredRow]) -> None:
    """Add stored rows to a book; a msgspec.DecodeError where they are not as we write them."""
    for streams, days, columns in _parts(rows):
        *numbers, histograms, peaks = zip(*columns, strict=True)
        book.put_table(streams, days, table_of(numbers, histograms), _peaks(streams, peaks))


def put_sums(book: Book, rows: Iterable[StoredRow]) -> None:
    """Add stored rows without their histograms, for sums over their streams."""
    for streams, days, columns in _parts(rows):
        *numbers, peaks = zip(*columns, strict=True)
        figures = [np.array(each, np.int64) for each in numbers]
        table = Table(*figures, *empty_table(0)[len(figures) :])
        book.put_table(streams, days, table, _peaks(streams, peaks))


def put_peaks(book: Book, rows: Iterable[tuple[Stream, int, bytes | None]]) -> None:
    """Add the peaks of streams on days to a book, and nothing else of them."""
    for streams, days, peaks in _parts(rows):
        book.put_table(streams, days, empty_table(len(days)), _peaks(streams, peaks))


def _parts(
    rows: Iterable[tuple[Stream, int, Any]],
) -> Iterator[tuple[Sequence[Stream], Sequence[int], Sequence[Any]]]:
    left = iter(rows)
    while part := [*islice(left, AT_ONCE)]:
        yield tuple(zip(*part, strict=True))  # type: ignore[misc]


def table_of(numbers: Sequence[Sequence[int]], histograms: Sequence[bytes]) -> Table:
    """Return figures from the columns that are stored of them; a msgspec.DecodeError as above."""
    points, high, low, least, most, dropped, first, last = (np.array(each, np.int64) for each in numbers)
    owners, buckets, counts = to_histograms(histograms)
    counted = np.zeros(len(points), np.int64)
    np.add.at(counted, owners, counts)
    if (counted != points).any():
        raise msgspec.DecodeError("a histogram of usage has not as many points as it should")
    return Table(points, high, low, least, most, dropped, first, last, owners, buckets, counts)


def _peaks(streams: Sequence[Stream], peaks: Sequence[bytes | None]) -> list[Peaks]:
    """Return peaks by how many of them a row of their streams has."""
    by_slots: dict[int, list[int]] = {}
    for place, data in enumerate(peaks):
        if data is not None:
            by_slots.setdefault(slots_of(streams[place]), []).append(place)
    return [
        Peaks(np.array(places, np.int64), to_many_peaks([peaks[each] or b"" for each in places], slots))
        for slots, places in by_slots.items()
    ]
