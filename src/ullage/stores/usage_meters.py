"""Meters in the file of a ledger: what counters showed last, and what was consumed, hour by hour.

They are read and added to outside of any lock, and written if nobody else did so meanwhile; else it is done
again. So no reading counts twice however many record, and promises wait for none of them.
"""

import contextlib
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from ullage.engine.usage.metering_counters import Meters
from ullage.engine.usage.metering_rows import meters_of, rows_of
from ullage.stores.database_file import failures
from ullage.stores.opening import check, open_to_read, open_to_write
from ullage.stores.protocol import StoreBusyError

TRIES_MAX: Final = 5
VERSION: Final = '["version"]'
"""The row that says how often meters were written."""
DIGITS_MAX: Final = 18
Answer = TypeVar("Answer")


def read_meters(path: Path) -> Meters | None:
    """Return the meters that a ledger has; None where it has none."""
    check(path)
    with failures(path), contextlib.closing(open_to_read(path)) as connection:
        rows = stored_meters(connection)
        return meters_of(rows) if writings_of(rows.pop(VERSION, "0")) else None


def change_meters(
    path: Path, change: Callable[[Meters], Answer], *, new: Callable[[], Meters] = Meters, create: bool = True
) -> Answer:
    """Change the meters of a ledger, all of it or nothing, and return what the change returns.

    The change may be made more than once, on meters that others have written meanwhile.
    """
    with failures(path), contextlib.closing(open_to_write(path, create=create)) as connection:
        for _ in range(TRIES_MAX):
            before = stored_meters(connection)
            version = before.pop(VERSION, "0")
            writings = writings_of(version)
            meters = meters_of(before) if before else new()
            answer = change(meters)
            after = rows_of(meters)
            connection.execute("BEGIN IMMEDIATE")
            if version_of_meters(connection) == version:
                _write(connection, before, {**after, VERSION: str(writings + 1)})
                connection.execute("COMMIT")
                return answer
            connection.execute("ROLLBACK")
    raise StoreBusyError("others were metering all the time", where=str(path), remedy="try again")


def stored_meters(connection: sqlite3.Connection) -> dict[str, str]:
    """Return all rows as they are stored, by name."""
    return dict(connection.execute("SELECT name, meter FROM usage_meters"))


def writings_of(version: str) -> int:
    """Return how often meters were written; a msgspec.DecodeError where that is not as we write it."""
    if not (version.isascii() and version.isdecimal()) or len(version) > DIGITS_MAX:
        raise msgspec.DecodeError("how often meters were written is not as we write it")
    return int(version)


def version_of_meters(connection: sqlite3.Connection) -> str:
    """Return how often meters were written, as it is stored."""
    found = connection.execute("SELECT meter FROM usage_meters WHERE name = ?", (VERSION,)).fetchone()
    return "0" if found is None else str(found[0])


def _write(connection: sqlite3.Connection, before: dict[str, str], after: dict[str, str]) -> None:
    changed = [(name, text) for name, text in after.items() if before.get(name) != text]
    connection.executemany("INSERT OR REPLACE INTO usage_meters VALUES (?, ?)", changed)
    gone = [(name,) for name in before if name not in after]
    connection.executemany("DELETE FROM usage_meters WHERE name = ?", gone)
