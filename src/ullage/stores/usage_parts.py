"""Parts of the usage in the file of a ledger, for those who look often and at little of it.

    with looking(path) as connection:
        book = read_subjects(connection, ["node/n1"])

All of it is seen as it is at one moment. The file is not proved first, as it is for promises: that would read
all of it to tell of one subject.
"""

import contextlib
import sqlite3
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from ullage.engine.usage.book import Book, Stream
from ullage.engine.usage.summaries import NO_FIGURES, Figures
from ullage.model.usage import COMMITTED, MAX_USAGE, USAGE
from ullage.stores.database_file import failures
from ullage.stores.opening import open_to_read
from ullage.stores.usage import row_of
from ullage.stores.usage_fold import has_waiting
from ullage.stores.usage_known import batches_of
from ullage.stores.usage_meters import version_of_meters
from ullage.stores.usage_rows import COLUMNS, LOW_BITS, SUMS
from ullage.stores.usage_tables import put_peaks, put_sums
from ullage.stores.usage_waiting import waiting_book


class Extent(NamedTuple):
    """What a stream comes to over all days, without its histogram."""

    points: int
    total: int
    low: int
    high: int
    last_seconds: int


@contextlib.contextmanager
def looking(path: Path) -> Iterator[sqlite3.Connection]:
    """Give what is recorded in a ledger as it is now."""
    with failures(path), contextlib.closing(open_to_read(path)) as connection:
        yield connection


def read_subjects(connection: sqlite3.Connection, subjects: Iterable[str], first_day: int = 0) -> Book:
    """Return what is recorded of some subjects from a day on."""
    book = Book()
    wanted = [*subjects]
    for subject in wanted:
        found = connection.execute(
            f"SELECT resource, measure, day, {COLUMNS} FROM usage_streams "  # noqa: S608 - our own names
            "JOIN usage_days ON stream = number WHERE subject = ? AND day >= ?",
            (subject, first_day),
        )
        for resource, measure, day, *columns in found:
            book.put(row_of(Stream(subject, resource, measure), day, columns))
    for row in waiting_book(connection, wanted).rows():
        if row.day >= first_day:
            book.put(row)
    return book


def read_sums(connection: sqlite3.Connection, subjects: Collection[str]) -> Book:
    """Return the use of some subjects without its histograms, for sums over them."""
    book = Book()
    found = connection.execute(
        f"SELECT subject, resource, day, {SUMS} FROM json_each(?) "  # noqa: S608 - our own names
        "CROSS JOIN usage_streams ON subject = value "
        "JOIN usage_days ON stream = number WHERE measure = ?",
        (msgspec.json.encode(subjects).decode(), USAGE),
    )
    put_sums(book, ((Stream(subject, resource), day, columns) for subject, resource, day, *columns in found))
    for row in waiting_book(connection, subjects).rows():
        if row.stream.measure == USAGE:
            book.put(row._replace(figures=row.figures.without_histogram()))
    return book


def read_peaks_of_kinds(connection: sqlite3.Connection, resource: str, kinds: Iterable[str]) -> Book:
    """Return the same of one resource, of all subjects of some kinds, with the peaks that sources noted.

    Days without peaks are there, too.
    """
    book = Book()
    for kind in kinds:
        found = connection.execute(
            "SELECT subject, measure, day, peaks FROM usage_streams CROSS JOIN usage_days ON stream = number "
            "WHERE subject > ? AND subject < ? AND resource = ? AND measure IN (?, ?)",
            (*_range(kind), resource, USAGE, MAX_USAGE),
        )
        rows = ((Stream(subject, resource, measure), day, peaks) for subject, measure, day, peaks in found)
        put_peaks(book, rows)
        subjects = recorded_subjects(connection, kind) if has_waiting(connection) else ()
        for row in waiting_book(connection, subjects).rows():
            if row.stream.resource == resource and row.stream.measure in {USAGE, MAX_USAGE}:
                book.put(row._replace(figures=NO_FIGURES))
    return book


def recorded_streams(connection: sqlite3.Connection, subjects: Iterable[str]) -> dict[str, list[Stream]]:
    """Return the streams of those of some subjects of which anything is recorded."""
    found: dict[str, list[Stream]] = {}
    for subject in subjects:
        names = connection.execute(
            "SELECT resource, measure FROM usage_streams WHERE subject = ?", (subject,)
        ).fetchall()
        if names:
            found[subject] = [Stream(subject, *each) for each in names]
    return found


def recorded_subjects(connection: sqlite3.Connection, within: str = "", subjects_max: int = -1) -> list[str]:
    """Return of whose use anything is recorded, in order: everybody, or some of those below a name."""
    found = connection.execute(
        "SELECT DISTINCT subject FROM usage_streams WHERE measure <> ? AND subject > ? AND subject < ? "
        "ORDER BY subject LIMIT ?",
        (COMMITTED, *_range(within), subjects_max),
    )
    return [subject for (subject,) in found]


def used_streams(connection: sqlite3.Connection, within: str, but: Collection[str] = ()) -> list[Stream]:
    """Return the streams of use below a name, such as a kind of subjects, but for some resources."""
    unwanted = ", ".join("?" * len(but))
    found = connection.execute(
        f"SELECT subject, resource FROM usage_streams WHERE resource NOT IN ({unwanted}) "  # noqa: S608 - question marks
        "AND subject > ? AND subject < ? AND measure = ?",
        (*but, *_range(within), USAGE),
    )
    return [Stream(*each) for each in found]


def _range(within: str) -> tuple[str, str]:
    """Return between which names those below one lie, in the order of bytes."""
    return (f"{within}/", f"{within}0") if within else ("", "\U0010ffff")


def extents_of(connection: sqlite3.Connection, subject: str) -> dict[str, Extent]:
    """Return what the use of a subject comes to, by resource; what has no points is left out."""
    found = connection.execute(
        "SELECT resource, sum(points), sum(total_high), sum(total_low), min(low), max(high), "
        "max(last_seconds) FROM usage_streams JOIN usage_days ON stream = number "
        "WHERE subject = ? AND measure = ? AND points > 0 GROUP BY number",
        (subject, USAGE),
    )
    extents = {
        resource: Extent(points, (total_high << LOW_BITS) + total_low, *rest)
        for resource, points, total_high, total_low, *rest in found
    }
    for row in waiting_book(connection, [subject]).rows():
        if row.stream.measure == USAGE and row.figures.points:
            extents[row.stream.resource] = _joined(extents.get(row.stream.resource), row.figures)
    return extents


def _joined(extent: Extent | None, figures: Figures) -> Extent:
    """Return what a stream comes to with more of it."""
    if extent is None:
        return Extent(figures.points, figures.total, figures.low, figures.high, figures.last_seconds)
    return Extent(
        extent.points + figures.points,
        extent.total + figures.total,
        min(extent.low, figures.low),
        max(extent.high, figures.high),
        max(extent.last_seconds, figures.last_seconds),
    )


def last_day(connection: sqlite3.Connection, measure: str = "") -> int | None:
    """Return the last day of which anything is recorded, perhaps by a measure; None without any."""
    found = connection.execute(  # CROSS: days come first, the last one of them by its index
        "SELECT day FROM usage_days CROSS JOIN usage_streams ON number = stream "
        "WHERE ? IN ('', measure) ORDER BY day DESC LIMIT 1",
        (measure,),
    ).fetchone()
    (waiting,) = connection.execute(
        "SELECT max(day) FROM usage_waiting WHERE ? IN ('', measure)", (measure,)
    ).fetchone()
    return max((int(day) for day in (*(found or ()), waiting) if day is not None), default=None)


def stamp(path: Path) -> tuple[int, int, str]:
    """Return what differs whenever more was recorded in a ledger, or another file is in its place."""
    with looking(path) as connection:
        return path.stat().st_ino, batches_of(connection), version_of_meters(connection)


def batches(path: Path) -> int:
    """Return how often anything was recorded in a ledger."""
    with looking(path) as connection:
        return batches_of(connection)
