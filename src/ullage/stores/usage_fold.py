"""Points that waited are added to the days of their streams, group by group, each in one transaction.

What a day and a stream costs to be read, added to and written again is the same for one point and for sixty:
so it is done once for as many readings. Everything is added up before the file is locked, so that promises do
not wait for it. Nobody sees a difference, whenever it is done.
"""

import contextlib
import sqlite3
from pathlib import Path

import msgspec
import numpy as np

from ullage.engine.usage.book import Stream
from ullage.stores.database_file import failures
from ullage.stores.opening import open_to_write
from ullage.stores.usage_points import Points, to_points
from ullage.stores.usage_rows import AT_ONCE, COLUMNS, PUT, Rows
from ullage.stores.usage_waiting import Group, groups, points_of

_Row = tuple[object, ...]


def fold(path: Path) -> None:
    """Add everything that waits in a ledger to the days of its streams."""
    with failures(path), contextlib.closing(open_to_write(path, create=False)) as connection:
        _fold_all(connection)


def settle(connection: sqlite3.Connection) -> None:
    """Do the same by a connection, and put all marks where each can be asked for."""
    if has_waiting(connection):
        _fold_all(connection)
        connection.execute("BEGIN IMMEDIATE")
        settle_marks(connection)
        connection.execute("COMMIT")


def _fold_all(connection: sqlite3.Connection) -> None:
    for group in groups(connection):
        _fold(connection, group)


def has_waiting(connection: sqlite3.Connection) -> bool:
    """Whether anything waits, points or marks."""
    found = connection.execute("SELECT 1 FROM usage_waiting UNION ALL SELECT 1 FROM usage_latest LIMIT 1")
    return found.fetchone() is not None


def _fold(connection: sqlite3.Connection, group: Group) -> None:
    """Add a group to its days, unless another process was quicker."""
    connection.execute("BEGIN")
    numbers, points = points_of(connection, group)
    rows = _rows(connection, group, points)
    connection.execute("ROLLBACK")
    connection.execute("BEGIN IMMEDIATE")
    try:
        chosen = msgspec.json.encode(numbers).decode()
        done = connection.execute(
            "DELETE FROM usage_waiting WHERE number IN (SELECT value FROM json_each(?))", (chosen,)
        )
        if done.rowcount == len(numbers):
            connection.executemany(PUT, rows)
            connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def settle_marks(connection: sqlite3.Connection) -> None:
    """Put all marks where each can be asked for, in a transaction."""
    for source, data in connection.execute("SELECT source, data FROM usage_latest").fetchall():
        latest = to_points(data)
        connection.executemany(
            "INSERT OR REPLACE INTO usage_marks VALUES (?, ?, ?)",
            zip(
                [source] * len(latest.streams),
                latest.streams.tolist(),
                latest.at_seconds.tolist(),
                strict=True,
            ),
        )
    connection.execute("DELETE FROM usage_latest")


def _rows(connection: sqlite3.Connection, group: Group, points: Points) -> list[_Row]:
    """Return the rows of all streams of a group, with what is recorded of their day already."""
    streams, starts = np.unique(points.streams, return_index=True)
    ends = np.append(starts, len(points.streams))
    rows: list[_Row] = []
    for first in range(0, len(streams), AT_ONCE):
        last = min(first + AT_ONCE, len(streams))
        part = slice(int(ends[first]), int(ends[last]))
        rows += _part(
            connection, group, streams[first:last].tolist(), Points(*(each[part] for each in points))
        )
    return rows


def _part(connection: sqlite3.Connection, group: Group, streams: list[int], points: Points) -> list[_Row]:
    """Return the rows of some streams."""
    rows = Rows(Stream(f"{group.kind}/", group.resource, group.measure), len(streams))
    owners = np.searchsorted(streams, points.streams)
    rows.summaries.add(owners, points.at_seconds, points.amounts)
    good = points.amounts >= 0
    rows.levels.raise_to(owners[good], points.at_seconds[good], points.amounts[good])
    found = connection.execute(
        f"SELECT key, {COLUMNS} FROM json_each(?) CROSS JOIN usage_days ON stream = value AND day = ?",  # noqa: S608 - our own names
        (msgspec.json.encode(streams).decode(), group.day),
    )
    rows.put_stored(found)
    return [*zip(streams, [group.day] * len(streams), *rows.columns(), strict=True)]
