"""Ledgers in files for tests: small ones with something in every table, of this and of the first version."""

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from engine.ledger.ledgers import MIB, capacity, drive, group, hold, reserve, volume
from ullage.model.ledger import Bind, Command, Expire, Outcome, Reserve, Supply
from ullage.stores.sqlite import SqliteLedger

VERSION_1 = Path(__file__).parent / "version_1.sql"
FLEET = Supply(
    (
        capacity("node/a", cpu=4000, memory=8 << 30),
        capacity("quota/team", "memory", cpu=2000),
        drive("a", "d1", 100 * MIB),
        group("a", "vg", 96 * MIB),
    )
)
VOLUMES = (volume("v", "HDDLVG", MIB),)
STORY: tuple[tuple[int, str, Command], ...] = (
    (100, "", FLEET),
    (110, "first", reserve("r1", hold("node/a", cpu=1000), hold("quota/team", cpu=1000), expires=1000)),
    (
        120,
        "",
        Reserve("r2", "other", 900, nodes=("a",), volumes=(volume("v", "HDDLVG", MIB),), mode="compat"),
    ),
    (
        130,
        "",
        Reserve("r3", "other", 900, nodes=("a",), volumes=(volume("v", "HDDLVG", MIB),), mode="compat"),
    ),
    (140, "", Bind("r1")),
    (150, "", reserve("r4", hold("quota/team", cpu=1500), expires=1000)),
    (151, "", reserve("r5", hold("node/a", cpu=500), expires=160)),
    (200, "", Expire()),
)
"""Held, waiting, bound, refused, expired: one of each."""


def tell(ledger: SqliteLedger, story: tuple[tuple[int, str, Command], ...] = STORY) -> list[Outcome]:
    return [ledger.submit(command, at_seconds=at_seconds, key=key) for at_seconds, key, command in story]


def made(path: Path) -> Path:
    """Return a file in which the story has happened."""
    with SqliteLedger(path) as ledger:
        tell(ledger)
    return path


def made_by_version_1(path: Path) -> Path:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript(VERSION_1.read_text(encoding="utf-8"))
        connection.execute("PRAGMA journal_mode = WAL")
    return path


def made_older(connection: sqlite3.Connection, version: int) -> None:
    """Make a ledger one of a version that knew nothing of usage yet."""
    newer = ("waiting", "latest", "begun", "marks", "days", "sources", "streams", "meters")
    for table in newer:
        connection.execute(f"DROP TABLE usage_{table}")
    connection.execute(f"PRAGMA user_version = {version}")
    connection.commit()


@contextlib.contextmanager
def tampering(path: Path) -> Iterator[sqlite3.Connection]:
    """Give a file to somebody who stops at nothing: no triggers, no checks."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        yield connection


def names(folder: Path) -> list[str]:
    """Return what is in a folder, apart from what readers may leave beside a ledger."""
    return sorted(path.name for path in folder.iterdir() if not path.name.endswith(("-wal", "-shm")))


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}
