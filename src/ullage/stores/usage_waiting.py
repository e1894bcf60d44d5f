"""Points that wait in the file of a ledger to be added to the days of their streams.

Who reads sees them as if they had been: they are taken into the same book, or counted with the same days.
Those of one kind, day, resource and measure are a group, whichever readings they are of; who asks about one
subject looks at the groups of its kind alone.
"""

import sqlite3
from collections.abc import Collection, Iterator, Mapping, MutableMapping
from typing import Final, NamedTuple
from weakref import WeakKeyDictionary

import msgspec
import numpy as np

from ullage.engine.usage.book import Book, Samples, Stream
from ullage.engine.usage.summaries import spans
from ullage.model.usage import kind_of
from ullage.stores.usage_points import Points, in_order, to_points

_OF_GROUP: Final = "kind = ? AND day = ? AND resource = ? AND measure = ?"


class Group(NamedTuple):
    """Which points wait together, and how many they are, of how many readings."""

    kind: str
    day: int
    resource: str
    measure: str
    points: int
    readings: int


def groups(connection: sqlite3.Connection) -> list[Group]:
    """Return what waits."""
    found = connection.execute(
        "SELECT kind, day, resource, measure, sum(points), count(*) FROM usage_waiting "
        "GROUP BY kind, day, resource, measure"
    )
    return [*map(Group._make, found)]


def points_of(connection: sqlite3.Connection, group: Group) -> tuple[list[int], Points]:
    """Return the rows of a group by number, and their points together, in order of streams."""
    found = connection.execute(
        f"SELECT number, data FROM usage_waiting WHERE {_OF_GROUP} ORDER BY number",  # noqa: S608 - our own names
        group[:4],
    ).fetchall()
    return [number for number, _ in found], in_order([to_points(data) for _, data in found])


class Waiting:
    """What waits as one connection sees it, which is unpacked once."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._groups = groups(connection)
        self._points: dict[Group, Points] = {}

    def samples(self, subjects: Collection[str] | None = None) -> Iterator[Samples]:
        """Yield the points of everybody, or of some subjects."""
        if not self._groups:
            return
        names = self._names(subjects)
        for group in self._groups:
            of = names.get((group.kind, group.resource, group.measure))
            if not of:
                continue
            points = self.points(group)
            numbers = np.array(sorted(of), np.int64)
            begins, ends = (np.searchsorted(points.streams, numbers, side) for side in ("left", "right"))
            there = ends > begins
            sizes = (ends - begins)[there]
            if not len(sizes):
                continue
            places = spans(begins[there], sizes)
            yield Samples(
                group.resource,
                group.measure,
                [of[each] for each in numbers[there].tolist()],
                np.repeat(np.arange(len(sizes)), sizes),
                points.at_seconds[places],
                points.amounts[places],
            )

    def counts(self) -> Iterator[tuple[Stream, int, int, int, int]]:
        """Yield each stream, its number, its day, how many of its points are good, and how many are not."""
        names = self._names(None)
        for group in self._groups:
            of, points = names[group.kind, group.resource, group.measure], self.points(group)
            streams, starts = np.unique(points.streams, return_index=True)
            good = np.add.reduceat((points.amounts >= 0).astype(np.int64), starts)
            bad = np.add.reduceat((points.amounts < 0).astype(np.int64), starts)
            for number, kept, dropped in zip(streams.tolist(), good.tolist(), bad.tolist(), strict=True):
                yield Stream(of[number], group.resource, group.measure), number, group.day, kept, dropped

    def points(self, group: Group) -> Points:
        """Return the points of a group."""
        found = self._points.get(group)
        if found is None:
            found = self._points[group] = points_of(self._connection, group)[1]
        return found

    def _names(self, subjects: Collection[str] | None) -> Mapping[tuple[str, str, str], Mapping[int, str]]:
        """Return subjects by kind, resource and measure, and then by the numbers of their streams."""
        found: dict[tuple[str, str, str], dict[int, str]] = {}
        columns = "SELECT number, subject, resource, measure FROM"
        rows = (
            self._connection.execute(f"{columns} usage_streams")
            if subjects is None
            else self._connection.execute(
                f"{columns} json_each(?) CROSS JOIN usage_streams ON subject = value",
                (msgspec.json.encode([*subjects]).decode(),),
            )
        )
        for number, subject, resource, measure in rows:
            found.setdefault((kind_of(subject), resource, measure), {})[number] = subject
        return found


_WAITING: Final[MutableMapping[sqlite3.Connection, Waiting]] = WeakKeyDictionary()


def waiting_of(connection: sqlite3.Connection) -> Waiting:
    """Return what waits by a connection that sees the ledger at one moment."""
    found = _WAITING.get(connection)
    if found is None:
        found = _WAITING[connection] = Waiting(connection)
    return found


def waiting_book(connection: sqlite3.Connection, subjects: Collection[str] | None = None) -> Book:
    """Return what waits as a book, of everybody or of some subjects."""
    book = Book()
    for samples in waiting_of(connection).samples(subjects):
        book.add(samples)
    return book
