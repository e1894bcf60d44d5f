"""Usage in the file of a ledger: what was observed, by stream and day, and how far each source was recorded.

A batch is added in one transaction with the marks of its source, so that whatever interrupts it, it is there
or not, and nothing that is offered again counts twice. What is old is forgotten in the same transaction: the
file grows with the number of streams, and not with time.
"""

import contextlib
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from ullage.engine.usage.book import Book, DayRow, Stream, slots_of
from ullage.engine.usage.levels import DAY_SECONDS
from ullage.engine.usage.summaries import Figures
from ullage.model.usage import kind_of
from ullage.stores.database_file import failures
from ullage.stores.opening import check, open_to_read, open_to_write
from ullage.stores.protocol import StoreBusyError
from ullage.stores.usage_codec import to_histogram, to_peaks
from ullage.stores.usage_fold import has_waiting, settle
from ullage.stores.usage_forgetting import forget, newest_of
from ullage.stores.usage_known import batches_of
from ullage.stores.usage_reading import Recorder
from ullage.stores.usage_rows import COLUMNS, LOW_BITS, PUT, rows_of
from ullage.stores.usage_sources import counted
from ullage.stores.usage_sums import forget_sums, unkept_sums
from ullage.stores.usage_tables import StoredRow, put_rows
from ullage.stores.usage_waiting import waiting_book, waiting_of

TRIES_MAX: Final = 5


class Marks(NamedTuple):
    """How far a source was recorded: how many batches, and the last moment of each stream.

    Of streams that are forgotten, nothing up to `forgotten_seconds` is new.
    """

    batches: int
    last_seconds: Mapping[Stream, int]
    forgotten_seconds: int = -1


class Batch(NamedTuple):
    """What is recorded of a source: a book of all that it tells beyond the marks of before.

    `marks` are those after it, with the number of batches before it; `first_seconds` is when use was observed
    first in it.
    """

    source: str
    book: Book
    marks: Marks
    at_seconds: int
    first_seconds: int = 0


def read_marks(path: Path, source: str) -> Marks:
    """Return how far a source was recorded; of a ledger that is not there yet, nothing."""
    known = Recorder(path, source).known()
    return Marks(known.batches, dict(known.marks()), known.forgotten_seconds)


def append(path: Path, batch: Batch, *, create: bool = True) -> int:
    """Add a batch, and return how many days of streams it touched.

    If another process has recorded the same source since its marks were read, nothing is added. Everything
    is added up before the file is locked, so that promises do not wait for it; what others wrote meanwhile is
    added up again. Points that wait are added first.
    """
    with failures(path), contextlib.closing(open_to_write(path, create=create)) as connection:
        for _ in range(TRIES_MAX):
            settle(connection)
            connection.execute("BEGIN")
            written = batches_of(connection)
            waits = has_waiting(connection)
            streams = _numbers(connection)
            unkept, with_sums = unkept_sums(
                connection, batch.source, batch.book, batch.marks.last_seconds, batch.first_seconds
            )
            added = [*rows_of(batch.book, unkept, partial(_stored, connection, streams))]
            connection.execute("ROLLBACK")
            connection.execute("BEGIN IMMEDIATE")
            if not waits and batches_of(connection) == written:
                if not with_sums:
                    forget_sums(connection)
                _write(connection, batch, added, path)
                connection.execute("COMMIT")
                return len(added)
            connection.execute("ROLLBACK")
    raise StoreBusyError("others were recording all the time", where=str(path), remedy="try again")


def has_usage(path: Path) -> bool:
    """Whether a ledger has recorded anything."""
    with _reading(path) as connection:
        found = connection.execute("SELECT 1 FROM usage_days UNION ALL SELECT 1 FROM usage_waiting LIMIT 1")
        return found.fetchone() is not None


def read_book(path: Path) -> Book:
    """Return all that a ledger has recorded."""
    book = Book()
    with _reading(path) as connection:
        put_rows(book, day_rows(connection))
        for samples in waiting_of(connection).samples():
            book.add(samples)
    return book


def day_rows(connection: sqlite3.Connection) -> Iterator[StoredRow]:
    """Yield the days of streams as they are stored, without what waits: each with its columns."""
    found = connection.execute(
        f"SELECT subject, resource, measure, day, {COLUMNS} FROM usage_days "  # noqa: S608 - our own names
        "JOIN usage_streams ON usage_streams.number = stream ORDER BY stream, day"
    )
    for subject, resource, measure, day, *columns in found:
        yield Stream(subject, resource, measure), day, columns


def stored_rows(connection: sqlite3.Connection) -> Iterator[StoredRow]:
    """Yield all that is recorded, as rows; what waits comes in rows of its own, which are to be added."""
    yield from day_rows(connection)
    yield from rows_of(waiting_book(connection))


@contextlib.contextmanager
def _reading(path: Path) -> Iterator[sqlite3.Connection]:
    check(path)
    with failures(path), contextlib.closing(open_to_read(path)) as connection:
        yield connection


def _numbers(connection: sqlite3.Connection) -> dict[Stream, int]:
    return {Stream(*names): number for number, *names in connection.execute("SELECT * FROM usage_streams")}


def _stored(
    connection: sqlite3.Connection, numbers: Mapping[Stream, int], meant: Sequence[tuple[Stream, int]]
) -> Iterator[Sequence[Any]]:
    """Yield what is recorded of streams on days: the place of each that is, and its columns."""
    wanted = [(place, numbers[stream], day) for place, (stream, day) in enumerate(meant) if stream in numbers]
    yield from connection.execute(
        f"SELECT json_extract(value, '$[0]'), {COLUMNS} FROM json_each(?) "  # noqa: S608 - our own names
        "CROSS JOIN usage_days ON stream = json_extract(value, '$[1]') AND day = json_extract(value, '$[2]')",
        (msgspec.json.encode(wanted).decode(),),
    )


def _write(connection: sqlite3.Connection, batch: Batch, added: Sequence[StoredRow], path: Path) -> None:
    marks = batch.marks
    number = counted(connection, batch.source, marks.batches, batch.at_seconds, path)
    streams = _numbers(connection)
    new = {each for each, _, _ in added if each not in streams}
    new.update(each for each in marks.last_seconds if each not in streams)
    connection.executemany(
        "INSERT INTO usage_streams (subject, resource, measure) VALUES (?, ?, ?)", sorted(new)
    )
    if new:
        streams = _numbers(connection)
    connection.executemany(PUT, [(streams[stream], day, *columns) for stream, day, columns in added])
    connection.executemany(
        "INSERT OR REPLACE INTO usage_marks VALUES (?, ?, ?)",
        [(number, streams[stream], last) for stream, last in marks.last_seconds.items()],
    )
    days = ((kind_of(stream.subject), day) for stream, day, _ in added)
    forget(connection, newest_of(days, batch.at_seconds // DAY_SECONDS))


def row_of(stream: Stream, day: int, columns: Sequence[Any]) -> DayRow:
    """Return a row from its columns; a msgspec.DecodeError where they are not as we write them."""
    points, high, low, least, most, dropped, first, last, histogram, peaks = columns
    buckets, counts = to_histogram(histogram)
    total = (high << LOW_BITS) + low
    figures = Figures(points, total, least, most, dropped, first, last, buckets, counts)
    slots = None if peaks is None else to_peaks(peaks, slots_of(stream))
    return DayRow(stream, day, figures, slots)
