"""Where the ledger lies, and what it says now: a file that is named, or the one of the user."""

import contextlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ullage.model.ledger_entry import LedgerEntry
from ullage.service.clock import now_seconds

if TYPE_CHECKING:
    import sqlite3

    from ullage.engine.ledger.state import LedgerState
    from ullage.model.ledger import Command, Outcome

DATA_VARIABLE: Final = "XDG_DATA_HOME"
FILE: Final = ("ullage", "ledger.db")


def ledger_path(named: str) -> Path:
    """Return the file that is named, else the one in the user's folder for data."""
    if named:
        return Path(named)
    data = os.environ.get(DATA_VARIABLE, "")
    folder = Path(data) if Path(data).is_absolute() else Path.home() / ".local" / "share"
    return folder.joinpath(*FILE)


def told_path(path: Path) -> str:
    """Return a path as people write it."""
    home = Path.home()
    return f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path)


@contextlib.contextmanager
def reading(path: Path) -> "Iterator[sqlite3.Connection]":
    """Look at a ledger that exists at one moment; what is none is refused, and every file stays as it is."""
    from ullage.stores.database_file import failures
    from ullage.stores.opening import check, open_to_read

    check(path)
    with failures(path), contextlib.closing(open_to_read(path)) as connection:
        yield connection


def read_ledger(path: Path, revision: int | None = None) -> "LedgerState":
    """Return the state of a ledger that exists, now or after a step of the past."""
    from ullage.stores.reading import read_state, state_at

    with reading(path) as connection:
        return read_state(connection) if revision is None else state_at(connection, revision)


def live_entries(named: str) -> tuple[LedgerEntry, ...]:
    """Return the entries of a ledger's file whose time has not come."""
    state = read_ledger(ledger_path(named))
    return alive(state.entries, max(now_seconds(), state.at_seconds))


def alive(entries: Iterable[LedgerEntry], at_seconds: int) -> tuple[LedgerEntry, ...]:
    """Return the entries that still stand at a time, though nobody may have told the ledger yet."""
    return tuple(
        entry for entry in entries if entry.expires_seconds is None or entry.expires_seconds > at_seconds
    )


def submitted(
    path: Path,
    command: "Command",
    *,
    at_seconds: int,
    key: str = "",
    revision: int | None = None,
    create: bool = False,
) -> "Outcome":
    """Take one step of a ledger; its file is made, and the folder for it, where that is wanted."""
    from ullage.stores.sqlite import SqliteLedger

    if create:
        path.parent.mkdir(parents=True, exist_ok=True)
    with SqliteLedger(path, create=create) as ledger:
        return ledger.submit(command, at_seconds=at_seconds, key=key, revision=revision)
