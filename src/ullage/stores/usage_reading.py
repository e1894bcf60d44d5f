"""A reading of everybody, which is written as it came: a few rows of points that wait, and their marks.

It is there as a whole or not at all, and counts as if it had been added to the days of its streams at once;
with the first reading of a day, what is too old is forgotten. Only where sums end, and where there is much of
few at the beginning of a day, points are added to the days themselves.
"""

import contextlib
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from ullage.engine.usage.book import Samples, Stream, kept_day
from ullage.engine.usage.buckets import Integers
from ullage.engine.usage.levels import DAY_SECONDS
from ullage.model.usage import KINDS
from ullage.stores.database_file import connect, failures
from ullage.stores.opening import open_to_read, open_to_write
from ullage.stores.schema import VERSION, migrate, version_of
from ullage.stores.usage_fold import fold
from ullage.stores.usage_forgetting import forget, newest_of
from ullage.stores.usage_known import NONE, Known, batches_of
from ullage.stores.usage_points import Points, in_order, points_bytes
from ullage.stores.usage_sources import counted
from ullage.stores.usage_sums import SUMMED, do_sums_hold
from ullage.stores.usage_waiting import groups

READINGS_MAX: Final = 60
"""So many readings wait at most: the days of streams are written once for all of them."""
POINTS_MAX: Final = 1 << 24
POINTS_OF_EACH_MAX: Final = 4
"""A reading with which days begin waits with so many points of a stream at most: a table has more."""
BYTES_MAX: Final = 64 << 20
"""What waits takes no more than this, and one reading."""


class Told(NamedTuple):
    """How far a source told streams with a reading: the last moment of each, NONE where it told nothing."""

    resource: str
    measure: str
    subjects: Sequence[str]
    last_seconds: Integers


class Reading(NamedTuple):
    """What a source tells beyond its marks, and what crowds used of it; `told` says how far it goes."""

    source: str
    parts: Sequence[Samples]
    told: Sequence[Told]
    at_seconds: int
    first_seconds: int


class _Part(NamedTuple):
    kind: str
    day: int
    resource: str
    measure: str
    points: int
    data: bytes


class _Packed(NamedTuple):
    """A reading as it is written, the marks after it, and the days of kinds that begin with it."""

    parts: list[_Part]
    told: Integers
    last_seconds: Integers
    streams: int
    begins: Mapping[str, int]


class Recorder:
    """Where a source is recorded; what the ledger knows of it is kept until others have written to it."""

    def __init__(self, path: Path, source: str) -> None:
        self.path = path
        self.source = source
        self._inode = 0
        self._known: Known | None = None

    def known(self) -> Known:
        """Return what the ledger knows now; of one that is not there yet, nothing."""
        if not self.path.exists():
            with contextlib.closing(sqlite3.connect(":memory:")) as nothing:
                migrate(nothing)
                return Known(nothing, self.source)
        _bring_up_to_date(self.path)
        with failures(self.path), contextlib.closing(open_to_read(self.path)) as connection:
            inode = self.path.stat().st_ino
            known = self._known
            if known is None or inode != self._inode or known.written != batches_of(connection):
                known = Known(connection, self.source)
            self._known, self._inode = None, inode
            return known

    def wait(self, known: Known, reading: Reading) -> int | None:
        """Write a reading, and return how many streams it is of; None where it must be added at once.

        What is known is of no use after that, unless the reading was written.
        """
        if not reading.parts:
            return None
        with (
            failures(self.path),
            contextlib.closing(open_to_write(self.path, proved=False)) as connection,
        ):
            begun = dict(connection.execute("SELECT kind, day FROM usage_begun"))
            packed = _packed(known, reading, begun)
            if packed is None:
                return None
            is_forgotten = _written(connection, known, reading, packed, self.path)
            if is_forgotten is None:
                return None
            is_full = _is_full(connection)
        self._known, self._inode = None if is_forgotten else known, self.path.stat().st_ino
        if is_full:
            fold(self.path)
        return packed.streams


def _bring_up_to_date(path: Path) -> None:
    """Upgrade a ledger of an older version, so that it can be read."""
    with failures(path), contextlib.closing(connect(path, read_only=True)) as connection:
        version = version_of(connection)
    if version < VERSION:
        open_to_write(path, create=False).close()


def _packed(known: Known, reading: Reading, begun: Mapping[str, int]) -> _Packed | None:
    """Return a reading as it is written; None where sums end with it, or it is too much."""
    had_sums, members_seconds = known.has_sums, known.members_seconds
    told, last = _told(known, reading)
    is_now = np.zeros(len(known.kinds) + 1, np.bool_)  # the last is that of nobody
    is_now[told] = True
    numbered = [(each, known.numbers(*_names(each))) for each in reading.parts]
    sums = [
        np.array(each.measure in SUMMED) & ~is_now[numbers] & _is_used(each) for each, numbers in numbered
    ]
    holds = not known.has_members(told) or do_sums_hold(
        others=known.others_have_members,
        last_seconds=members_seconds,
        first_seconds=reading.first_seconds,
        has_sums=any(each.any() for each in sums),
        had_sums=had_sums,
    )
    if not holds and had_sums:
        return None
    by_measure: dict[tuple[str, str], list[Points]] = {}
    for (each, numbers), is_sum in zip(numbered, sums, strict=True):
        wanted = ~is_sum | (holds & ((numbers < 0) | ~known.is_told[numbers]))
        meant = wanted[each.numbers]
        owners = each.numbers[meant]
        streams = known.with_new(*_names(each), owners)[owners]
        found = Points(streams, each.at_seconds[meant], each.amounts[meant])
        by_measure.setdefault((each.resource, each.measure), []).append(found)
    parts: list[_Part] = []
    streams_count = 0
    for (resource, measure), several in by_measure.items():
        for kind, day, points in _by_day(known, in_order(several)):
            parts.append(_Part(kind, day, resource, measure, len(points.streams), points_bytes(points)))
            streams_count += int(np.count_nonzero(np.diff(points.streams, prepend=NONE)))
    newest = newest_of(((each.kind, each.day) for each in parts), reading.at_seconds // DAY_SECONDS)
    begins = {kind: day for kind, day in newest.items() if begun.get(kind) != day}
    if begins and sum(each.points for each in parts) > POINTS_OF_EACH_MAX * streams_count:
        return None
    return _Packed(parts, told, last, streams_count, begins)


def _names(samples: Samples) -> tuple[Sequence[str], str, str]:
    return samples.subjects, samples.resource, samples.measure


def _is_used(samples: Samples) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
    """Say which subjects have points."""
    found = np.zeros(len(samples.subjects), np.bool_)
    found[samples.numbers] = True
    return found


def _told(known: Known, reading: Reading) -> tuple[Integers, Integers]:
    """Return the streams that were told, in order, and the last moment of each."""
    streams, seconds = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for resource, measure, subjects, last in reading.told:
        used = np.flatnonzero(last >= 0)
        streams.append(known.with_new(subjects, resource, measure, used)[used])
        seconds.append(last[used])
    found, owners = np.unique(np.concatenate(streams), return_inverse=True)
    most = np.full(len(found), NONE, np.int64)
    np.maximum.at(most, owners, np.concatenate(seconds))
    return found, most


def _by_day(known: Known, points: Points) -> Iterator[tuple[str, int, Points]]:
    """Yield points by kind and by the day under which they are kept."""
    kinds = known.kinds[points.streams]
    days = points.at_seconds // DAY_SECONDS
    for number in np.unique(kinds).tolist():
        kind = KINDS[number]
        kept = {
            day: kept_day(Stream(f"{kind}/", ""), day) for day in np.unique(days[kinds == number]).tolist()
        }
        for day in sorted(set(kept.values())):
            meant = (kinds == number) & np.isin(days, [each for each, under in kept.items() if under == day])
            yield kind, day, Points(*(each[meant] for each in points))


def _written(
    connection: sqlite3.Connection, known: Known, reading: Reading, packed: _Packed, path: Path
) -> bool | None:
    """Write a reading in one transaction, unless the ledger is not as it was known.

    Returns whether anything was forgotten by the days that begin with it, after which nothing is known.
    """
    connection.execute("BEGIN IMMEDIATE")
    try:
        if batches_of(connection) != known.written:
            return None
        number = counted(connection, reading.source, known.batches, reading.at_seconds, path)
        connection.executemany("INSERT INTO usage_streams VALUES (?, ?, ?, ?)", known.added)
        new = known.last_seconds[packed.told] < 0
        connection.executemany(
            "INSERT INTO usage_marks VALUES (?, ?, ?)",
            zip(
                [number] * int(np.count_nonzero(new)),
                packed.told[new].tolist(),
                packed.last_seconds[new].tolist(),
                strict=True,
            ),
        )
        known.last_seconds[packed.told] = packed.last_seconds
        own = np.flatnonzero(known.last_seconds >= 0)
        latest = points_bytes(Points(own, known.last_seconds[own], np.zeros(len(own), np.int64)))
        connection.execute("INSERT OR REPLACE INTO usage_latest VALUES (?, ?)", (number, latest))
        connection.executemany(
            "INSERT INTO usage_waiting VALUES (NULL, ?, ?, ?, ?, ?, ?)",
            packed.parts,
        )
        is_forgotten = bool(packed.begins) and forget(connection, packed.begins)
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
    known.note_written(number, packed.told)
    return is_forgotten


def _is_full(connection: sqlite3.Connection) -> bool:
    """Whether it is time to add what waits to the days; another process may just have done it.

    Sizes are asked for without groups, for which all of the data would be copied.
    """
    points, size_bytes = connection.execute(
        "SELECT coalesce(sum(points), 0), coalesce(sum(length(data)), 0) FROM usage_waiting"
    ).fetchone()
    readings = max((each.readings for each in groups(connection)), default=0)
    return bool(readings >= READINGS_MAX or points >= POINTS_MAX or size_bytes >= BYTES_MAX)
