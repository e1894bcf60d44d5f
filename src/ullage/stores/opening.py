"""The door of a ledger's file: it is looked at, made if need be, brought up to date, and only then used.

The hard thing is to be sure first. What is no ledger, was written by a newer program or is damaged is refused
after looks that change no byte of it. A ledger of an older version is copied beside itself and then changed
in one transaction, whoever else may be about to do the same.
"""

import contextlib
import shlex
import sqlite3
from pathlib import Path
from typing import Final

from ullage.model.errors import InputError
from ullage.stores.database_file import (
    BUSY_SECONDS,
    connect,
    copied,
    damaged,
    failures,
    look_at,
    new_file,
    write_again,
)
from ullage.stores.protocol import StoreUnavailableError
from ullage.stores.schema import APPLICATION_ID, VERSION, migrate, version_of

CHECKED_BYTES_MAX: Final = 256 << 20
"""The size up to which all pages are checked at each opening; beyond it, those of the present state."""
COPIES_MAX: Final = 100
_MAGIC: Final = b"SQLite format 3\0"
_HEADER_BYTES: Final = 100
_VERSION_AT: Final = 60
"""Where the header of a file has the version that `PRAGMA user_version` tells."""


def open_to_write(
    path: Path, *, create: bool = True, busy_seconds: float = BUSY_SECONDS, proved: bool = True
) -> sqlite3.Connection:
    """Return a connection to a ledger that was found sound and is of the current version.

    Unless it is to be `proved`, its pages are not looked at: for whoever adds to it every minute.
    """
    if create and not path.exists():
        _create(path)
    with failures(path):
        version = check(path) if proved else _stated_version(path)
        connection = connect(path, busy_seconds=busy_seconds)
        try:
            _keep_a_log(connection, path)
            _secure_log(connection, path)
            if version < VERSION:
                _upgrade(connection, path)
        except BaseException:
            connection.close()
            raise
    return connection


def bring_up_to_date(path: Path) -> None:
    """Upgrade a ledger whose header names an older version, so that who is about to write can read it first.

    What is no ledger is left alone: it is refused when it is opened.
    """
    with path.open("rb") as file:
        header = file.read(_HEADER_BYTES)
    number = int.from_bytes(header[_VERSION_AT : _VERSION_AT + 4], "big")
    if header.startswith(_MAGIC) and 0 < number < VERSION:
        open_to_write(path, create=False).close()


def open_to_read(path: Path, *, busy_seconds: float = BUSY_SECONDS) -> sqlite3.Connection:
    """Return a connection that cannot write and that sees the ledger at one moment."""
    with failures(path):
        connection = connect(path, read_only=True, busy_seconds=busy_seconds)
        try:
            connection.execute("BEGIN")
            _check_current(version_of(connection), path)
        except BaseException:
            connection.close()
            raise
    return connection


def _check_current(version: int, path: Path) -> None:
    if version != VERSION:
        raise InputError(
            f"its tables are of version {version}, not {VERSION}",
            where=str(path),
            remedy=f"ullage ledger expire --ledger {shlex.quote(str(path))} upgrades it, and keeps a copy",
        )


def check(path: Path) -> int:
    """Return the version of a sound ledger; refuse anything else, and leave the file as it is.

    The first look takes the file for one that nobody changes: no lock, nothing put beside it, so that nothing
    at all happens to a database of somebody else. Where there is no log, all is seen in that look.
    """
    if not path.is_file():
        raise InputError("there is no ledger", where=str(path), remedy="name the file of one")
    if path.stat().st_size == 0:
        raise InputError(
            "is empty, and so no ledger", where=str(path), remedy="remove it or name another file"
        )
    with failures(path), contextlib.closing(look_at(path)) as looking:
        try:
            _check_application(looking, path)
            if not _has_log(path):
                return _sound_version(looking, path)
        except (StoreUnavailableError, sqlite3.Error):
            # A log may hold what makes it whole, or somebody has begun to write to it under our eyes.
            if not _has_log(path):
                raise
    undone = path.with_name(f"{path.name}-journal").exists()  # what a crash left half done has to be undone
    with failures(path), contextlib.closing(connect(path, read_only=not undone)) as looking:
        looking.execute("BEGIN")
        _check_application(looking, path)
        return _sound_version(looking, path)


def _stated_version(path: Path) -> int:
    """Return the version that a ledger says it is of."""
    with contextlib.closing(connect(path, read_only=True)) as looking:
        looking.execute("BEGIN")
        _check_application(looking, path)
        return _known_version(looking, path)


def _check_application(looking: sqlite3.Connection, path: Path) -> None:
    (found,) = looking.execute("PRAGMA application_id").fetchone()
    if found != APPLICATION_ID:
        raise InputError("is a database, but no ledger", where=str(path), remedy="name the file of a ledger")


def _has_log(path: Path) -> bool:
    return any(path.with_name(f"{path.name}{suffix}").exists() for suffix in ("-wal", "-journal"))


def _sound_version(looking: sqlite3.Connection, path: Path) -> int:
    version = _known_version(looking, path)
    _check_pages(looking, path)
    return version


def _known_version(looking: sqlite3.Connection, path: Path) -> int:
    version = version_of(looking)
    if version > VERSION:
        raise InputError(
            f"was written by a newer program (its tables are of version {version}, the newest known here is "
            f"{VERSION})",
            where=str(path),
            remedy="use that program",
        )
    if version < 1:
        raise damaged(path, f"its tables are of version {version}")
    return version


def _check_pages(looking: sqlite3.Connection, path: Path) -> None:
    (pages,) = looking.execute("PRAGMA page_count").fetchone()
    (page_bytes,) = looking.execute("PRAGMA page_size").fetchone()
    whole = pages * page_bytes <= CHECKED_BYTES_MAX
    for part in ("",) if whole else ("(entries)", "(capacities)", "(waiting)"):
        (found,) = looking.execute(f"PRAGMA quick_check{part}").fetchone()
        if found != "ok":
            raise damaged(path, found.splitlines()[-1])


def _create(path: Path) -> None:
    """Make an empty ledger, unless another process is quicker: then its ledger is the one."""
    with (
        contextlib.suppress(FileExistsError),
        new_file(path) as part,
        failures(path),
        contextlib.closing(connect(part)) as connection,
    ):
        connection.execute("BEGIN IMMEDIATE")
        migrate(connection)
        connection.execute("COMMIT")
        connection.execute("PRAGMA journal_mode = WAL")


def _keep_a_log(connection: sqlite3.Connection, path: Path) -> None:
    """Have changes written to a log first; a file that was copied or restored may not have one yet."""
    (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
    if mode != "wal":
        raise StoreUnavailableError(
            f"cannot keep a log beside it (mode {mode})",
            where=str(path),
            remedy="put it on a local disk, where processes can share memory",
        )


def _secure_log(connection: sqlite3.Connection, path: Path) -> None:
    """Make sure that the disk has the log that is read here.

    If a process failed to synchronise it and ended, what it wrote last may be read but never have reached the
    disk. Whatever were added behind that would be lost with it when the power fails.
    """
    connection.execute("BEGIN IMMEDIATE")  # nobody adds to it meanwhile
    try:
        write_again(path.with_name(f"{path.name}-wal"))
    finally:
        connection.execute("ROLLBACK")


def _upgrade(connection: sqlite3.Connection, path: Path) -> None:
    """Bring a ledger to the current version, after a copy of it as it was, in one transaction."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = version_of(connection)
        if version < VERSION:  # another process may have been quicker
            _keep(path, version)
            migrate(connection)
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def _keep(path: Path, version: int) -> None:
    """Copy a ledger beside itself, under the next free name."""
    for number in range(COPIES_MAX):
        target = path.with_name(f"{path.name}.version-{version}{f'-{number}' if number else ''}")
        with contextlib.suppress(FileExistsError):
            with copied(path, target) as copy:
                check(copy)
            return
    raise StoreUnavailableError(
        f"{COPIES_MAX} copies of version {version} are beside it", where=str(path), remedy="remove some"
    )
