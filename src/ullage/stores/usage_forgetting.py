"""What is too old is forgotten in the file of a ledger, so that it grows with streams, and not with time.

Days are old by the newest day of their kind that was recorded and has come: an observation of the far future
ends nothing. Streams of which nothing is left go with them, but for those of which points wait. What is gone
is not new when it is offered again: its source remembers how far it went.
"""

import sqlite3
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

import msgspec
import numpy as np

from ullage.stores.usage_fold import settle_marks
from ullage.stores.usage_points import to_points

KEPT_DAYS: Final[Mapping[str, int]] = MappingProxyType(
    {"container": 35, "pod": 35, "workload": 100, "node": 100}
)
"""How many days are kept of what there is much of."""
OTHERS_KEPT_DAYS: Final = 400
_IS_LEFT: Final = (
    "EXISTS (SELECT 1 FROM usage_days WHERE usage_days.stream = {stream}) "
    "OR {stream} IN (SELECT value FROM json_each(?1))"
)


def newest_of(days: Iterable[tuple[str, int]], today: int) -> dict[str, int]:
    """Return the newest day of each kind that has come."""
    newest: dict[str, int] = {}
    for kind, day in days:
        if newest.get(kind, -1) < day <= today:
            newest[kind] = day
    return newest


def forget(connection: sqlite3.Connection, newest: Mapping[str, int]) -> bool:
    """Delete days that are older than is kept of their kind by its newest one, and what has none left.

    Returns whether anything was deleted. It is done in the transaction in which the newest days are recorded.
    """
    connection.executemany("INSERT OR REPLACE INTO usage_begun VALUES (?, ?)", newest.items())
    deleted = 0
    for kind, day in newest.items():
        last = day - KEPT_DAYS.get(kind, OTHERS_KEPT_DAYS)
        of_days = connection.execute(
            "DELETE FROM usage_days WHERE day <= ? AND stream IN "
            "(SELECT number FROM usage_streams WHERE subject = ? OR subject LIKE ? || '/%')",
            (last, kind, kind),
        )
        of_points = connection.execute("DELETE FROM usage_waiting WHERE day <= ? AND kind = ?", (last, kind))
        deleted += of_days.rowcount + of_points.rowcount
    if deleted:
        settle_marks(connection)
        _forget_streams(connection)
    return bool(deleted)


def _forget_streams(connection: sqlite3.Connection) -> None:
    """Delete streams of which nothing is left, with their marks."""
    waiting = [to_points(data).streams for (data,) in connection.execute("SELECT data FROM usage_waiting")]
    numbers = np.unique(np.concatenate([np.empty(0, np.int64), *waiting]))
    with_points = (msgspec.json.encode(numbers.tolist()).decode(),)
    of_marks, of_streams = (_IS_LEFT.format(stream=each) for each in ("usage_marks.stream", "number"))
    gone = (
        f"SELECT max(last_seconds) FROM usage_marks WHERE source = usage_sources.number AND NOT ({of_marks})"  # noqa: S608 - our own names
    )
    connection.execute(
        "UPDATE usage_sources "  # noqa: S608 - our own names
        f"SET forgotten_seconds = max(forgotten_seconds, coalesce(({gone}), -1))",
        with_points,
    )
    connection.execute(f"DELETE FROM usage_marks WHERE NOT ({of_marks})", with_points)  # noqa: S608 - our own names
    connection.execute(f"DELETE FROM usage_streams WHERE NOT ({of_streams})", with_points)  # noqa: S608 - our own names
