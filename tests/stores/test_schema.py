"""What the tables refuse, whoever writes to them."""

import contextlib
import sqlite3

import pytest

from stores.ledger_files import made, made_by_version_1
from ullage.stores.schema import APPLICATION_ID, MIGRATIONS, VERSION, migrate, version_of


@pytest.fixture
def file(tmp_path):
    with contextlib.closing(sqlite3.connect(made(tmp_path / "ledger"), isolation_level=None)) as connection:
        connection.execute("PRAGMA foreign_keys = ON")
        yield connection


@pytest.mark.parametrize(
    ("statement", "refusal"),
    [
        ("UPDATE journal SET at_seconds = 0 WHERE revision = 2", "the journal is only appended to"),
        ("DELETE FROM journal WHERE revision = 8", "the journal is only appended to"),
        ("INSERT INTO journal SELECT 10, 1, '', '', '', zeroblob(32)", "the journal has no gaps"),
        ("INSERT OR REPLACE INTO journal SELECT 8, 1, '', '', '', zeroblob(32)", "the journal has no gaps"),
        ("INSERT INTO journal SELECT 9, 1, '', '', '', zeroblob(31)", "CHECK constraint failed"),
        (
            "INSERT INTO journal SELECT 9, 'now', '', '', '', zeroblob(32)",
            "cannot store TEXT value",
        ),
        ("INSERT INTO journal SELECT 9, 1, 'first', '', '', zeroblob(32)", "UNIQUE constraint failed"),
        ("INSERT INTO capacities VALUES ('node/b', 9, '{}')", "FOREIGN KEY constraint failed"),
        ("INSERT INTO checkpoints VALUES (9, 0, '{}')", "FOREIGN KEY constraint failed"),
        ("INSERT INTO waiting VALUES (2, 'r3', '{}')", "UNIQUE constraint failed"),
        (
            "INSERT INTO usage_days VALUES (7, 0, 0, 0, 0, 0, 0, 0, 0, 0, zeroblob(1), NULL)",
            "FOREIGN KEY constraint failed",
        ),
        ("INSERT INTO usage_marks VALUES (7, 7, 0)", "FOREIGN KEY constraint failed"),
        ("INSERT INTO entries VALUES (NULL, NULL)", "NOT NULL constraint failed"),
    ],
)
def test_the_tables_refuse(file, statement, refusal):
    with pytest.raises(sqlite3.IntegrityError, match=refusal):
        file.execute(statement)


def test_rows_without_a_key_are_many(file):
    file.execute("INSERT INTO journal SELECT 9, 1, '', '', '', zeroblob(32)")
    file.execute("INSERT INTO journal SELECT 10, 1, '', '', '', zeroblob(32)")


def test_every_table_is_strict(file):
    tables = [row for row in file.execute("PRAGMA table_list") if not row[1].startswith("sqlite_")]
    assert len(tables) == 13
    assert all(strict for *_, strict in tables)


def tables_of(connection):
    found = connection.execute(
        "SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name"
    )
    return found.fetchall()


def test_versions_are_steps_and_each_leads_to_the_same_tables(file, tmp_path):
    with contextlib.closing(sqlite3.connect(made_by_version_1(tmp_path / "old"))) as old:
        assert version_of(old) == 1
        migrate(old)
        assert version_of(old) == VERSION == len(MIGRATIONS)
        assert old.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)
        assert tables_of(old) == tables_of(file)


def test_tables_of_the_current_version_are_left_alone(file):
    before = tables_of(file)
    migrate(file)
    assert tables_of(file) == before


@pytest.mark.parametrize(("sources", "are_kept"), [(1, True), (2, False)])
def test_sums_that_an_older_version_made_of_one_of_several_sources_are_left_out(file, sources, are_kept):
    streams = ("node/n1", "pod/a/p", "pod/a/q", "cluster", "namespace/a")
    for number, subject in enumerate(streams, 1):
        measure = "committed" if subject == "cluster" else "usage"
        file.execute("INSERT INTO usage_streams VALUES (?, ?, 'cpu', ?)", (number, subject, measure))
        file.execute(
            "INSERT INTO usage_days VALUES (?, 0, 1, 0, 0, 0, 0, 0, 0, 0, zeroblob(1), NULL)", (number,)
        )
    for source in range(1, sources + 1):
        file.execute("INSERT INTO usage_sources VALUES (?, ?, 1, 0, -1)", (source, f"s{source}"))
        file.execute("INSERT INTO usage_marks VALUES (?, ?, 9)", (source, source + 1))
    file.execute("INSERT INTO usage_marks VALUES (1, 1, 9)")
    file.execute("INSERT INTO usage_marks VALUES (1, 3, 9)")
    for newer in ("waiting", "latest", "begun"):
        file.execute(f"DROP TABLE usage_{newer}")
    file.execute("PRAGMA user_version = 5")
    migrate(file)
    left = {subject for (subject,) in file.execute("SELECT subject FROM usage_streams")}
    assert left == set(streams) - (set() if are_kept else {"namespace/a"})
