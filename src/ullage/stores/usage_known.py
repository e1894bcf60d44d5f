"""What a ledger knows of streams before a reading is recorded: their numbers, and how far each was told.

A reading tells of everybody, so all of it is needed each time. Whoever records every minute keeps it: it is
still true as long as the ledger has as many batches as then. Names are looked up once for all resources, and
the rest is columns: by the place of a subject, and by the number of a stream.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from ullage.engine.usage.book import Stream
from ullage.engine.usage.buckets import Integers
from ullage.model.errors import InputError
from ullage.model.usage import COMMITTED, KINDS, USAGE
from ullage.stores.usage_points import to_points

MEMBERS: Final = ("node", "pod")
"""Whose use is added up."""
_NUMBER: Final = {kind: number for number, kind in enumerate(KINDS)}
_SPARE: Final = 1024
NONE: Final = -1


class StreamName(NamedTuple):
    """A stream that the ledger does not have yet, with the number it gets."""

    number: int
    subject: str
    resource: str
    measure: str


class Known:
    """All streams of a ledger, and the marks of one source."""

    def __init__(self, connection: sqlite3.Connection, source: str) -> None:
        self.written = batches_of(connection)
        found = connection.execute(
            "SELECT number, batches, forgotten_seconds FROM usage_sources WHERE name = ?", (source,)
        ).fetchone()
        self.source: int | None
        self.batches: int
        self.forgotten_seconds: int
        self.source, self.batches, self.forgotten_seconds = found or (None, 0, NONE)
        self.added: list[StreamName] = []
        self._places: dict[str, int] = {}
        self._columns: dict[tuple[str, str], Integers] = {}
        self._looked_up: dict[int, tuple[Sequence[str], Integers]] = {}
        self._read_streams(connection)
        self._read_marks(connection)

    def _read_streams(self, connection: sqlite3.Connection) -> None:
        (most,) = connection.execute("SELECT coalesce(max(number), 0) FROM usage_streams").fetchone()
        self._next = most + 1
        self.kinds = np.full(self._next + _SPARE, NONE, np.int64)
        """The kind of the subject of each stream, by its number."""
        self.is_use = np.zeros(len(self.kinds), np.bool_)
        self.is_told = np.zeros(len(self.kinds), np.bool_)
        """Whether any source has told a stream."""
        self.last_seconds = np.full(len(self.kinds), NONE, np.int64)
        """The last moment that the source told of each stream."""
        by_measure: dict[tuple[str, str], tuple[list[int], list[int]]] = {}
        places = self._places
        for number, subject, resource, measure in connection.execute("SELECT * FROM usage_streams"):
            in_places, numbers = by_measure.setdefault((resource, measure), ([], []))
            in_places.append(places.setdefault(subject, len(places)))
            numbers.append(number)
        of_places = np.array([_NUMBER[each.partition("/")[0]] for each in places], np.int64)
        for key, (in_places, numbers) in by_measure.items():
            column = self._column(key)
            column[in_places] = numbers
            self.kinds[numbers] = of_places[in_places]
            self.is_use[numbers] = key[1] == USAGE

    def _read_marks(self, connection: sqlite3.Connection) -> None:
        found = np.array(connection.execute("SELECT * FROM usage_marks").fetchall(), np.int64).reshape(-1, 3)
        sources, streams, seconds = found.T
        own = sources == (NONE if self.source is None else self.source)
        self.is_told[streams] = True
        self.others_have_members = bool(self._is_member(streams[~own]).any())
        self.last_seconds[streams[own]] = seconds[own]
        for (data,) in connection.execute("SELECT data FROM usage_latest WHERE source = ?", (self.source,)):
            latest = to_points(data)
            self.last_seconds[latest.streams] = latest.at_seconds

    def _is_member(self, streams: Integers) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
        found: np.ndarray[tuple[int], np.dtype[np.bool_]] = self.is_use[streams]
        found &= np.isin(self.kinds[streams], [_NUMBER[each] for each in MEMBERS])
        return found

    @property
    def has_sums(self) -> bool:
        """Whether there is use that no source has told."""
        return bool((self.is_use & ~self.is_told).any())

    def has_members(self, streams: Integers) -> bool:
        """Whether streams are of the use of those who are added up."""
        return bool(self._is_member(streams).any())

    @property
    def members_seconds(self) -> int | None:
        """The last moment that the source told of the use of those who are added up."""
        own = np.flatnonzero(self.last_seconds >= 0)
        last = int(self.last_seconds[own[self._is_member(own)]].max(initial=NONE))
        return None if last < 0 else last

    @property
    def told_until_seconds(self) -> int | None:
        """The last moment of which the source told what is no promise."""
        told = [
            int(self.last_seconds[column[column >= 0]].max(initial=NONE))
            for (_, measure), column in self._columns.items()
            if measure != COMMITTED
        ]
        last = max(told, default=NONE)
        return None if last < 0 else last

    def numbers(self, subjects: Sequence[str], resource: str, measure: str) -> Integers:
        """Return the numbers of streams; NONE where they are not known."""
        places = self._places_of(subjects)
        if (resource, measure) not in self._columns:
            return np.full(len(places), NONE, np.int64)
        return self._column((resource, measure))[places]

    def before(self, subjects: Sequence[str], resource: str, measure: str) -> Integers:
        """Return up to when nothing that the source tells of streams is new."""
        numbers = self.numbers(subjects, resource, measure)
        last = np.where(numbers < 0, NONE, self.last_seconds[numbers])
        return np.where(last < 0, self.forgotten_seconds, last)

    def marks(self) -> Iterator[tuple[Stream, int]]:
        """Yield the streams that the source has told, each with the last moment."""
        names = [*self._places]
        for (resource, measure), column in self._columns.items():
            for place in np.flatnonzero(column >= 0).tolist():
                last = int(self.last_seconds[column[place]])
                if last >= 0:
                    yield Stream(names[place], resource, measure), last

    def with_new(self, subjects: Sequence[str], resource: str, measure: str, used: Integers) -> Integers:
        """Return the numbers of streams; those that are used and not known get one."""
        numbers = self.numbers(subjects, resource, measure)
        wanted = np.zeros(len(numbers), np.bool_)
        wanted[used] = True
        missing = np.flatnonzero(wanted & (numbers < 0))
        if not len(missing):
            return numbers
        for place in missing.tolist():
            self._add(subjects[place], resource, measure)
        self._looked_up.clear()
        return self.numbers(subjects, resource, measure)

    def _add(self, subject: str, resource: str, measure: str) -> None:
        kind = _NUMBER.get(subject.partition("/")[0])
        if kind is None:
            raise InputError(
                f"nothing can be observed of {subject!r}", remedy=f"use one of {', '.join(KINDS)}"
            )
        place = self._places.setdefault(subject, len(self._places))
        column = self._column((resource, measure))
        if column[place] >= 0:
            return
        number, self._next = self._next, self._next + 1
        if number >= len(self.kinds):
            more = len(self.kinds)
            self.kinds = np.concatenate((self.kinds, np.full(more, NONE, np.int64)))
            self.last_seconds = np.concatenate((self.last_seconds, np.full(more, NONE, np.int64)))
            self.is_use = np.concatenate((self.is_use, np.zeros(more, np.bool_)))
            self.is_told = np.concatenate((self.is_told, np.zeros(more, np.bool_)))
        column[place] = number
        self.kinds[number], self.is_use[number] = kind, measure == USAGE
        self.added.append(StreamName(number, subject, resource, measure))

    def _column(self, key: tuple[str, str]) -> Integers:
        """Return the numbers of the streams of a resource by a measure; the last is that of nobody."""
        column = self._columns.get(key, np.empty(0, np.int64))
        if len(column) <= len(self._places):
            more = np.full(len(self._places) + _SPARE, NONE, np.int64)
            column = self._columns[key] = np.concatenate((column, more))
        return column

    def _places_of(self, subjects: Sequence[str]) -> Integers:
        """Return the places of subjects; what is asked about again is remembered for a while."""
        known = self._looked_up.get(id(subjects))
        if known is not None and known[0] is subjects:
            return known[1]
        found = np.array([self._places.get(each, NONE) for each in subjects], np.int64)
        self._looked_up[id(subjects)] = subjects, found
        return found

    def note_written(self, source: int, told: Integers) -> None:
        """Note that a reading was written in which a source told some streams."""
        self.source, self.batches, self.written = source, self.batches + 1, self.written + 1
        self.is_told[told] = True
        self.added.clear()
        self._looked_up.clear()


def batches_of(connection: sqlite3.Connection) -> int:
    """Return how many batches were recorded of all sources."""
    (found,) = connection.execute("SELECT coalesce(sum(batches), 0) FROM usage_sources").fetchone()
    return int(found)
