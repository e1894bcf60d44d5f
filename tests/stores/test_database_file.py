"""Files that appear whole or not at all, copies of what is in use, and SQLite's failures in our words."""

import contextlib
import errno
import os
import sqlite3

import msgspec
import pytest

from stores.ledger_files import STORY, contents, made, names, tell
from ullage.model.errors import InputError
from ullage.stores import database_file
from ullage.stores.database_file import connect, copied, failures, new_file, write_again
from ullage.stores.opening import check
from ullage.stores.protocol import StoreBusyError, StoreUnavailableError
from ullage.stores.sqlite import SqliteLedger


def test_a_new_file_has_its_name_only_when_it_is_full(tmp_path):
    path = tmp_path / "new"
    with new_file(path) as part:
        part.write_text("all of it")
        assert not path.exists()
    assert contents(tmp_path) == {"new": b"all of it"}


def test_of_a_file_that_was_not_finished_nothing_is_left(tmp_path):
    with pytest.raises(ZeroDivisionError), new_file(tmp_path / "new") as part:
        part.write_text(str(1 // 0))
    assert contents(tmp_path) == {}


def test_a_new_file_never_takes_the_place_of_another(tmp_path):
    (tmp_path / "new").write_text("there before")
    with pytest.raises(FileExistsError), new_file(tmp_path / "new") as part:
        part.write_text("later")
    assert contents(tmp_path) == {"new": b"there before"}


def test_a_disk_that_takes_no_file_is_named(tmp_path):
    with (
        pytest.raises(StoreUnavailableError, match=r"new: cannot be made: No space left .*; name a file in"),
        new_file(tmp_path / "new"),
    ):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_copy_is_of_one_moment_and_one_file(tmp_path):
    path = tmp_path / "ledger"
    with SqliteLedger(path) as ledger:
        tell(ledger, STORY[:3])
        with copied(path, tmp_path / "copy") as copy:
            tell(ledger, STORY[3:])
            check(copy)
        with SqliteLedger(tmp_path / "copy") as other:
            assert other.state().revision == 3
            assert other.verify() == []
        assert ledger.state().revision == len(STORY)
    assert names(tmp_path) == ["copy", "ledger"]


@pytest.mark.parametrize("name", ["a b", "a%20b", "a?mode=memory", "a#b", "ü", "-"])
def test_a_name_is_a_name_whatever_is_in_it(tmp_path, name):
    path = made(tmp_path / name)
    with contextlib.closing(connect(path, read_only=True)) as connection:
        assert connection.execute("SELECT count(*) FROM journal").fetchone() == (len(STORY),)
    assert names(tmp_path) == [name]


def sqlite_error(code, text="said so"):
    error = sqlite3.OperationalError(text)
    error.sqlite_errorcode = code
    return error


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        (sqlite_error(sqlite3.SQLITE_BUSY), StoreBusyError, "another process was writing all the time"),
        (sqlite_error(sqlite3.SQLITE_BUSY_SNAPSHOT), StoreBusyError, "another process was writing"),
        (sqlite_error(sqlite3.SQLITE_NOTADB), InputError, "is no ledger"),
        (sqlite_error(sqlite3.SQLITE_CORRUPT_INDEX), StoreUnavailableError, "is damaged (said so)"),
        (sqlite_error(sqlite3.SQLITE_IOERR_FSYNC), StoreUnavailableError, "cannot be used (said so)"),
        (sqlite_error(sqlite3.SQLITE_FULL), StoreUnavailableError, "see that its disk has room"),
        (sqlite3.ProgrammingError("closed"), StoreUnavailableError, "cannot be used (closed)"),
        (msgspec.ValidationError("no text"), StoreUnavailableError, "is damaged (no text)"),
    ],
)
def test_failures_are_said_in_one_line_with_the_file(tmp_path, error, kind, words):
    with pytest.raises(InputError) as said, failures(tmp_path / "ledger"):
        raise error
    assert type(said.value) is kind
    assert words in str(said.value)
    assert str(said.value).startswith(f"{tmp_path / 'ledger'}: ")


def test_a_file_that_is_written_again_is_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr(database_file, "CHUNK_BYTES", 1000)
    path = tmp_path / "log"
    path.write_bytes(bytes(range(256)) * 10)
    before = path.stat().st_mtime_ns
    write_again(path)
    assert path.read_bytes() == bytes(range(256)) * 10
    assert path.stat().st_mtime_ns > before


def test_a_file_that_is_not_there_need_not_be_written_again(tmp_path):
    write_again(tmp_path / "log")
    assert contents(tmp_path) == {}


def test_a_file_that_cannot_be_written_again_is_named(tmp_path):
    with pytest.raises(StoreUnavailableError, match="cannot be written: Is a directory; see that its disk"):
        write_again(tmp_path)
