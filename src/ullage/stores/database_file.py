"""Connections to the file of a ledger, copies of it, and SQLite's failures in our words.

A file of the ledger is opened through SQLite alone: to close it after opening it in any other way would drop
the locks that connections of the same process have on it.
"""

import contextlib
import os
import secrets
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from urllib.parse import quote

import msgspec

from ullage.model.errors import InputError
from ullage.stores.protocol import StoreBusyError, StoreUnavailableError

BUSY_SECONDS: Final = 5
CHUNK_BYTES: Final = 1 << 20
CACHE_KIB: Final = 64 << 10
LOG_PAGES: Final = 4000
"""Pages of the write-ahead log that are written before they are moved to their places: 16 MB."""


class Connection(sqlite3.Connection):
    """A connection for which something may be kept as long as it lives: it can be referred to weakly."""


def connect(path: Path, *, read_only: bool = False, busy_seconds: float = BUSY_SECONDS) -> sqlite3.Connection:
    """Return a connection to an existing file; transactions are begun and ended by whoever uses it."""
    connection = _connect(path, f"mode={'ro' if read_only else 'rw'}", busy_seconds)
    try:
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA trusted_schema = OFF")
        if not read_only:  # who reads sees each page once
            connection.execute(f"PRAGMA wal_autocheckpoint = {LOG_PAGES}")
            connection.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
    except BaseException:
        connection.close()
        raise
    return connection


def look_at(path: Path) -> sqlite3.Connection:
    """Return a connection that takes a file for one that nobody changes: no lock, nothing beside it."""
    return _connect(path, "mode=ro&immutable=1", 0)


def _connect(path: Path, options: str, busy_seconds: float) -> sqlite3.Connection:
    return sqlite3.connect(
        f"file:{quote(str(path.absolute()))}?{options}",
        timeout=busy_seconds,
        isolation_level=None,
        check_same_thread=False,
        factory=Connection,
        uri=True,
    )


@contextlib.contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """Give a file to be filled, which then gets its name: whole and durable, or not at all.

    It never takes the place of another: FileExistsError says that there was one.
    """
    part = path.with_name(f".{path.name}.{secrets.token_hex(8)}.new")
    try:
        os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o644))
        try:
            yield part
            _make_durable(part)
            os.link(part, path)
            _make_durable(path.parent)
        finally:
            part.unlink(missing_ok=True)
    except FileExistsError:
        raise
    except OSError as error:
        raise StoreUnavailableError(
            f"cannot be made: {error.strerror}",
            where=str(path),
            remedy="name a file in a folder that can be written to",
        ) from error


@contextlib.contextmanager
def copied(path: Path, target: Path) -> Iterator[Path]:
    """Copy a ledger as it is at one moment, while others read and write it, to a file of its own.

    The copy is given to be looked at, and gets its name afterwards.
    """
    with new_file(target) as part:
        with (
            failures(path),
            contextlib.closing(connect(path, read_only=True)) as source,
            contextlib.closing(connect(part)) as copy,
        ):
            source.backup(copy)  # in one step: a reader of a log holds up no writer
            copy.execute("PRAGMA journal_mode = DELETE")  # one file, without a log beside it
        yield part


def write_again(path: Path) -> None:
    """Write what a file holds to where it is, and see to it that the disk has it.

    After a synchronisation that failed, the system may hold for written what never was: it has to be told
    again. SQLite locks no bytes of a log, so that a log may be opened like this.
    """
    try:
        descriptor = os.open(path, os.O_RDWR)
        try:
            place = 0
            while data := os.pread(descriptor, CHUNK_BYTES, place):
                place += os.pwrite(descriptor, data, place)
            if place:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except FileNotFoundError:
        return
    except OSError as error:
        raise StoreUnavailableError(
            f"cannot be written: {error.strerror}",
            where=str(path),
            remedy="see that its disk has room and works",
        ) from error


@contextlib.contextmanager
def failures(path: Path) -> Iterator[None]:
    """Say in our words what SQLite says: busy, damaged, no database, or the disk failed."""
    try:
        yield
    except sqlite3.Error as error:
        primary = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if primary in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
            raise StoreBusyError(
                "another process was writing all the time", where=str(path), remedy="try again"
            ) from error
        if primary == sqlite3.SQLITE_NOTADB:
            raise InputError("is no ledger", where=str(path), remedy="name the file of one") from error
        if primary == sqlite3.SQLITE_CORRUPT:
            raise damaged(path, str(error)) from error
        raise StoreUnavailableError(
            f"cannot be used ({error})", where=str(path), remedy="see that its disk has room and works"
        ) from error
    except msgspec.MsgspecError as error:
        raise damaged(path, str(error)) from error


def damaged(path: Path, what: str) -> StoreUnavailableError:
    """Return the refusal of a file that is not as we wrote it."""
    return StoreUnavailableError(
        f"is damaged ({what})", where=str(path), remedy="put a backup in its place; nothing was changed"
    )


def _make_durable(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
