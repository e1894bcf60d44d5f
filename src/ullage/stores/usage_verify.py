"""Proof that what a ledger recorded of usage can be read, and that each row and all meters add up."""

import sqlite3
from collections.abc import Iterator
from typing import Final

import msgspec
import numpy as np

from ullage.engine.usage.book import DayRow, Stream, kept_day
from ullage.engine.usage.buckets import edges_of
from ullage.engine.usage.levels import DAY_SECONDS, MISSING
from ullage.engine.usage.metering_check import problems_of
from ullage.model.verdict import Finding
from ullage.stores.usage import day_rows, row_of
from ullage.stores.usage_meters import VERSION, stored_meters
from ullage.stores.usage_waiting import Group, groups, points_of

_REMEDY: Final = "restore a backup from before; promises are not touched by it"


def usage_findings(connection: sqlite3.Connection) -> Iterator[Finding]:
    """Yield every row and every meter that is not as it was written."""
    yield from _row_findings(connection)
    yield from _waiting_findings(connection)
    yield from _meter_findings(connection)


def _row_findings(connection: sqlite3.Connection) -> Iterator[Finding]:
    for stream, day, columns in day_rows(connection):
        where = f"{stream.subject} on day {day}"
        try:
            wrong = problem_of(row_of(stream, day, columns))
        except (msgspec.DecodeError, ValueError, OverflowError) as error:
            wrong = str(error)
        if wrong:
            message = f"{stream.measure} of {stream.resource} of {where}: {wrong}"
            yield Finding("usage-row-wrong", "error", stream.subject, message, _REMEDY)


def _waiting_findings(connection: sqlite3.Connection) -> Iterator[Finding]:
    """Yield readings that cannot be read, or are of other days or of streams that nobody knows."""
    for group in groups(connection):
        try:
            wrong = _waiting_problem(connection, group)
        except msgspec.DecodeError as error:
            wrong = str(error)
        if wrong:
            message = f"{group.measure} of {group.resource} of each {group.kind} on day {group.day}: {wrong}"
            yield Finding("usage-row-wrong", "error", group.kind, message, _REMEDY)


def _waiting_problem(connection: sqlite3.Connection, group: Group) -> str:
    points = points_of(connection, group)[1]
    if len(points.streams) != group.points:
        return f"{len(points.streams)} points wait, not {group.points}"
    days = np.unique(points.at_seconds // DAY_SECONDS).tolist()
    kept = {kept_day(Stream(f"{group.kind}/", ""), each) for each in days}
    if kept != {group.day}:
        return "its moments are not of its day"
    found = connection.execute(
        "SELECT number FROM usage_streams WHERE resource = ? AND measure = ?", (group.resource, group.measure)
    )
    known = {number for (number,) in found}
    return "" if known.issuperset(points.streams.tolist()) else "some are of no stream"


def _meter_findings(connection: sqlite3.Connection) -> Iterator[Finding]:
    rows = stored_meters(connection)
    version = rows.pop(VERSION, "0")
    if rows and not (version.isascii() and version.isdecimal() and version.strip("0")):
        yield _meter_wrong("version", f"after {version!r} writings there can be no meters")
    for subject, what in problems_of(rows):
        yield _meter_wrong(subject, what)


def _meter_wrong(subject: str, what: str) -> Finding:
    return Finding("usage-meter-wrong", "error", subject, f"meter {subject}: {what}", _REMEDY)


def problem_of(row: DayRow) -> str:
    """Return what does not add up in a row; empty where everything does."""
    figures = row.figures
    if int(figures.counts.sum()) != figures.points:
        return f"its histogram has {int(figures.counts.sum())} points, not {figures.points}"
    if not figures.points:
        return ""
    low, high = edges_of(figures.buckets)
    if not (int(low[0]) <= figures.low <= int(high[0]) and int(low[-1]) <= figures.high <= int(high[-1])):
        return "its least or largest amount is not in its histogram"
    if not figures.low * figures.points <= figures.total <= figures.high * figures.points:
        return "its mean is not between its extremes"
    if figures.first_seconds > figures.last_seconds or figures.first_seconds < row.day * DAY_SECONDS:
        return "its moments are not of its day"
    if row.slots is not None and int(row.slots.max()) not in {MISSING, figures.high}:
        return "its highest peak is not its largest amount"
    return ""
