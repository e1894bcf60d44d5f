"""Which streams of pods and containers a ledger has recorded, and what those come to that are needed.

Most of a record are the days of pods whose containers are known, too: who wants to know of containers chooses
by this list, and reads a tenth of it.
"""

import sqlite3
from collections.abc import Callable, Collection, Mapping
from functools import cached_property
from pathlib import Path

import msgspec

from ullage.engine.usage.book import Book, Stream
from ullage.model.usage import kind_of
from ullage.stores.usage_parts import looking
from ullage.stores.usage_rows import FIGURES
from ullage.stores.usage_tables import put_rows
from ullage.stores.usage_waiting import waiting_book, waiting_of


class Listing:
    """Streams of pods and containers, without what they come to."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._numbers: dict[tuple[str, str], dict[str, int]] = {}
        self.streams: dict[int, Stream] = {}
        for number, *names in connection.execute(
            "SELECT number, subject, resource, measure FROM usage_streams "
            "WHERE subject > 'pod/' AND subject < 'pod0' OR subject > 'container/' AND subject < 'container0'"
        ):
            stream = self.streams[number] = Stream(*names)
            self._numbers.setdefault(stream[1:], {})[stream.subject] = number

    def subjects(self) -> Collection[str]:
        """Return of whom anything was observed, in no certain order."""
        return {stream.subject for stream in self.streams.values()}

    def numbers(self, resource: str, measure: str) -> Mapping[str, int]:
        """Return the streams of a resource by a measure as numbers, by subject."""
        return self._numbers.get((resource, measure), {})

    def points_of(self, number: int) -> int:
        """Return how many points a stream has that is given by its number."""
        return self._points.get(number, 0)

    @cached_property
    def _points(self) -> dict[int, int]:
        found = dict(self._connection.execute("SELECT stream, sum(points) FROM usage_days GROUP BY stream"))
        for _, number, _, points, _ in waiting_of(self._connection).counts():
            found[number] = found.get(number, 0) + points
        return found


def read_needed(path: Path, needed: Callable[[Listing], Collection[int]]) -> Book:
    """Return what is recorded of the streams of pods and containers that are needed.

    The peaks of days are there, and no others: those of containers are few, and those of pods their highest.
    """
    book = Book()
    with looking(path) as connection:
        listing = Listing(connection)
        by_kind: dict[str, list[int]] = {}
        for number in sorted(needed(listing)):
            by_kind.setdefault(kind_of(listing.streams[number].subject), []).append(number)
        for kind, numbers in sorted(by_kind.items()):
            found = connection.execute(
                f"SELECT stream, day, {FIGURES}, {'NULL' if kind == 'pod' else 'peaks'} "  # noqa: S608 - our own names
                "FROM json_each(?) CROSS JOIN usage_days ON stream = value",
                (msgspec.json.encode(numbers).decode(),),
            )
            put_rows(book, ((listing.streams[stream], day, columns) for stream, day, *columns in found))
        streams = {listing.streams[number] for numbers in by_kind.values() for number in numbers}
        for row in waiting_book(connection, {each.subject for each in streams}).rows():
            if row.stream in streams:
                book.put(row._replace(slots=None) if kind_of(row.stream.subject) == "pod" else row)
    return book
