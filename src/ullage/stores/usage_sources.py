"""How often each source was recorded in the file of a ledger."""

import sqlite3
from pathlib import Path

from ullage.stores.protocol import StoreBusyError


def counted(connection: sqlite3.Connection, source: str, batches: int, at_seconds: int, path: Path) -> int:
    """Count a batch of a source and return its number; refuse it if another one came in between.

    `batches` is how many there were when its marks were read.
    """
    found = connection.execute("SELECT number, batches FROM usage_sources WHERE name = ?", (source,))
    number, written = found.fetchone() or (None, 0)
    if written != batches:
        raise StoreBusyError(
            f"another process has recorded {source} meanwhile",
            where=str(path),
            remedy="observe it again: nothing was added",
        )
    if number is not None:
        connection.execute(
            "UPDATE usage_sources SET batches = ?, at_seconds = ? WHERE number = ?",
            (batches + 1, at_seconds, number),
        )
        return int(number)
    done = connection.execute(
        "INSERT INTO usage_sources (name, batches, at_seconds, forgotten_seconds) VALUES (?, 1, ?, -1)",
        (source, at_seconds),
    )
    return int(done.lastrowid or 0)
