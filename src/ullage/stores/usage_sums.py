"""Sums over pods and nodes in the file of a ledger, which are kept as long as they are those of all of them.

A sum is a stream of use, or of the most that was used, that no source has told. It is right as long as one
source tells of everybody, always with its sums, and of all at the same time: what was used in the same slots
cannot be added up later. When that ends, sums are forgotten, and made from what is recorded of each whenever
somebody asks.
"""

import sqlite3
from collections.abc import Collection
from typing import Final

import msgspec

from ullage.engine.usage.book import Book, Stream
from ullage.model.usage import MAX_USAGE, USAGE, kind_of
from ullage.stores.usage_known import MEMBERS

SUMMED: Final = (USAGE, MAX_USAGE)
"""What is told of crowds."""
LATE_SECONDS: Final = 3600
"""What a source tells of some so long after it told of others is not in the sums of that time."""
_OF_MEMBERS: Final = (
    "usage_marks JOIN usage_streams ON usage_streams.number = stream WHERE source = ? AND measure = 'usage' "
    "AND (subject > 'node/' AND subject < 'node0' OR subject > 'pod/' AND subject < 'pod0')"
)
_SUMS: Final = (
    "SELECT number FROM usage_streams WHERE measure IN ('usage', 'maxusage') "
    "AND NOT EXISTS (SELECT 1 FROM usage_marks WHERE stream = number)"
)


def unkept_sums(
    connection: sqlite3.Connection, source: str, book: Book, told: Collection[Stream], first_seconds: int
) -> tuple[set[Stream], bool]:
    """Return the sums of a book that are not to be recorded, and whether sums go on being kept.

    `told` are the streams that the source has told, from a moment on; others of the book are sums.
    """
    has_members = any(each.measure == USAGE and kind_of(each.subject) in MEMBERS for each in told)
    streams = (each for measure in SUMMED for each in book.streams(measure=measure))
    sums = {each for each in streams if each not in told and book.days(each)}
    holds = not has_members or _hold(connection, source, first_seconds, has_sums=bool(sums))
    return (_told(connection, sums) if holds else sums), holds


def forget_sums(connection: sqlite3.Connection) -> None:
    """Delete all sums."""
    connection.execute(f"DELETE FROM usage_days WHERE stream IN ({_SUMS})")  # noqa: S608 - our own names
    connection.execute(f"DELETE FROM usage_streams WHERE number IN ({_SUMS})")  # noqa: S608 - our own names


def _hold(connection: sqlite3.Connection, source: str, first_seconds: int, *, has_sums: bool) -> bool:
    """Whether sums are those of everybody, with what a source tells from a moment on."""
    numbers = dict(connection.execute("SELECT name, number FROM usage_sources"))
    own = numbers.pop(source, None)
    others = False
    for other in numbers.values():
        if connection.execute(f"SELECT 1 FROM {_OF_MEMBERS} LIMIT 1", (other,)).fetchone():  # noqa: S608 - our own names
            others = True
    (last,) = connection.execute(f"SELECT max(last_seconds) FROM {_OF_MEMBERS}", (own,)).fetchone()  # noqa: S608 - our own names
    had_sums = connection.execute(f"{_SUMS} LIMIT 1").fetchone() is not None
    return do_sums_hold(
        others=others, last_seconds=last, first_seconds=first_seconds, has_sums=has_sums, had_sums=had_sums
    )


def do_sums_hold(
    *, others: bool, last_seconds: int | None, first_seconds: int, has_sums: bool, had_sums: bool
) -> bool:
    """Whether sums are those of everybody: no `others` tell of members, and none comes without or too late.

    `last_seconds` is when the source told of members last, before it tells of some from `first_seconds` on.
    """
    if others or not has_sums:
        return False
    return last_seconds is None or (had_sums and first_seconds >= last_seconds - LATE_SECONDS)


def _told(connection: sqlite3.Connection, streams: Collection[Stream]) -> set[Stream]:
    """Return those of some streams that any source has told as such."""
    found = connection.execute(
        "SELECT DISTINCT subject, resource, measure FROM json_each(?) CROSS JOIN usage_streams "
        "ON subject = value JOIN usage_marks ON stream = number",
        (msgspec.json.encode({each.subject for each in streams}).decode(),),
    )
    return {Stream(*each) for each in found}.intersection(streams)
