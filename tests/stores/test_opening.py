"""Which files are opened, which are refused untouched, and how an old one becomes a new one."""

import contextlib
import os
import shutil
import sqlite3
import threading

import msgspec
import pytest

from stores.ledger_files import STORY, contents, made, made_by_version_1, made_older, tell
from ullage.model.errors import InputError
from ullage.stores import codec, opening
from ullage.stores.opening import bring_up_to_date, check, open_to_read, open_to_write
from ullage.stores.protocol import StoreBusyError, StoreUnavailableError
from ullage.stores.schema import VERSION, version_of
from ullage.stores.sqlite import SqliteLedger


def changed(path, statement):
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute(statement)
        connection.commit()
    return path


def database_of_somebody_else(path):
    return changed(path, "CREATE TABLE accounts (name)")


def busy_database_of_somebody_else(path):
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
    return database_of_somebody_else(path)


def text(path):
    path.write_text("not a database, but longer than the header of one " * 20)
    return path


def empty(path):
    path.touch()
    return path


def newer(path):
    return changed(made(path), f"PRAGMA user_version = {VERSION + 1}")


def never_written(path):
    return changed(made(path), "PRAGMA user_version = 0")


def cut_off(path):
    os.truncate(made(path), path.stat().st_size - 4096)
    return path


def overwritten(path):
    with made(path).open("r+b") as file:
        file.seek(4096)
        file.write(b"\x55" * 4096)
    return path


def overwritten_header(path):
    with made(path).open("r+b") as file:
        file.write(b"\x55" * 100)
    return path


def a_folder(path):
    path.mkdir()
    return path


def nothing(path):
    return path


@pytest.mark.parametrize(
    ("make", "refusal"),
    [
        (nothing, "there is no ledger; name the file of one"),
        (a_folder, "there is no ledger"),
        (empty, "is empty, and so no ledger; remove it or name another file"),
        (text, "is no ledger; name the file of one"),
        (database_of_somebody_else, "is a database, but no ledger; name the file of a ledger"),
        (busy_database_of_somebody_else, "is a database, but no ledger"),
        (newer, r"by a newer program \(its tables are of version 8, the newest known here is 7\)"),
        (never_written, r"is damaged \(its tables are of version 0\); put a backup in its place"),
        (cut_off, r"is damaged \(.*\); put a backup in its place; nothing was changed"),
        (overwritten, r"is damaged \(.*\); put a backup in its place"),
        (overwritten_header, "is no ledger"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_what_is_no_sound_ledger_is_refused_in_one_line_and_left_as_it_is(tmp_path, make, refusal):
    path = make(tmp_path / "ledger")
    before = contents(tmp_path) if make is not a_folder else None
    with pytest.raises(InputError, match=refusal) as refused:
        open_to_write(path, create=False)
    assert str(refused.value).startswith(f"{path}: ")
    assert "\n" not in str(refused.value)
    if before is not None:
        assert contents(tmp_path) == before


def test_a_log_that_a_crash_has_left_is_read_with_the_file(tmp_path):
    path = tmp_path / "ledger"
    with SqliteLedger(path) as ledger:
        tell(ledger)
        for name in ("ledger", "ledger-wal"):
            shutil.copy(tmp_path / name, tmp_path / f"crashed{name.removeprefix('ledger')}")
    before = contents(tmp_path)
    assert check(tmp_path / "crashed") == VERSION
    assert before.items() <= contents(tmp_path).items()
    with SqliteLedger(tmp_path / "crashed") as ledger:
        assert ledger.state().revision == len(STORY)


def test_a_first_page_that_a_crash_has_torn_is_made_whole_by_the_log(tmp_path):
    with SqliteLedger(tmp_path / "ledger") as ledger:
        tell(ledger)
        for name in ("ledger", "ledger-wal"):
            shutil.copy(tmp_path / name, tmp_path / f"crashed{name.removeprefix('ledger')}")
    with (tmp_path / "crashed").open("r+b") as file:
        file.seek(512)
        file.write(b"\x55" * (4096 - 512))
    assert check(tmp_path / "crashed") == VERSION
    with SqliteLedger(tmp_path / "crashed") as ledger:
        assert ledger.verify() == []
        assert ledger.state().revision == len(STORY)


def test_what_a_crash_has_left_half_done_is_undone(tmp_path):
    path = made(tmp_path / "ledger")
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute("PRAGMA cache_size = 1")
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("UPDATE entries SET entry = hex(zeroblob(100000))")
        for name in ("ledger", "ledger-journal"):
            shutil.copy(tmp_path / name, tmp_path / f"crashed{name.removeprefix('ledger')}")
    assert check(tmp_path / "crashed") == VERSION
    with SqliteLedger(tmp_path / "crashed") as ledger:
        assert ledger.verify() == []


def test_a_file_of_somebody_else_is_not_taken_for_a_new_ledger(tmp_path):
    path = empty(tmp_path / "ledger")
    with pytest.raises(InputError, match="is empty"):
        open_to_write(path)
    assert path.read_bytes() == b""


def test_a_new_ledger_is_whole_and_durable_by_its_header_alone(tmp_path):
    path = tmp_path / "ledger"
    with contextlib.closing(open_to_write(path)) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)
        assert connection.execute("PRAGMA foreign_keys").fetchone() == (1,)
    assert list(contents(tmp_path)) == ["ledger"]
    assert check(path) == VERSION


def test_a_folder_that_is_not_there_is_said_to_be_the_reason(tmp_path):
    with pytest.raises(StoreUnavailableError, match="cannot be made: No such file"):
        open_to_write(tmp_path / "absent" / "ledger")


def test_of_several_who_make_a_ledger_at_once_one_does_and_all_use_it(tmp_path):
    ready = threading.Barrier(8)
    found = []

    def client():
        ready.wait()
        with contextlib.closing(open_to_write(tmp_path / "ledger")) as connection:
            found.append(version_of(connection))

    threads = [threading.Thread(target=client) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [VERSION] * 8
    assert check(tmp_path / "ledger") == VERSION
    assert not [name for name in contents(tmp_path) if name.endswith(".new")]


def test_a_ledger_of_the_first_version_is_copied_and_then_upgraded_with_all_it_has(tmp_path):
    path = made_by_version_1(tmp_path / "ledger")
    before = path.read_bytes()
    with SqliteLedger(path) as ledger:
        assert ledger.verify() == []
        assert [entry.key for entry in ledger.state().entries] == [
            "r1/web@node/a",
            "r1/web@quota/team",
            "r2/v1@group/a/vg",
            "r3/v1@",
        ]
        repeated = ledger.submit(next(ledger.history(reservation="r1")).command, at_seconds=300, key="first")
        assert (repeated.revision, repeated.repeated) == (2, True)
        assert not ledger.submit(STORY[5][2], at_seconds=300).decision.accepted
        assert ledger.at(2).revision == 2
    copy = tmp_path / "ledger.version-1"
    with contextlib.closing(sqlite3.connect(copy)) as old, contextlib.closing(sqlite3.connect(path)) as new:
        assert (version_of(old), version_of(new)) == (1, VERSION)
    assert len(copy.read_bytes()) == len(before)
    assert check(copy) == 1


@pytest.mark.parametrize(("version", "ends"), [(2, ',[],""]'), (3, ',""]')])
def test_entries_of_older_versions_name_no_drives_or_claims_and_stay_as_they_are(tmp_path, version, ends):
    with SqliteLedger(path := made(tmp_path / "ledger")) as ledger:
        before = ledger.state()
    with contextlib.closing(sqlite3.connect(path)) as connection:
        short = "UPDATE entries SET entry = substr(entry, 1, length(entry) - ?) || ']' WHERE entry LIKE ?"
        connection.execute(short, (len(ends), f"%{ends}"))
        made_older(connection, version)
    bring_up_to_date(path)
    assert check(path) == VERSION
    with SqliteLedger(path) as ledger:
        assert ledger.state() == before
        assert ledger.verify() == []
    assert (tmp_path / f"ledger.version-{version}").exists()


def test_entries_that_were_written_with_the_names_of_their_fields_are_read_on(tmp_path):
    with SqliteLedger(path := made(tmp_path / "ledger")) as ledger:
        before = ledger.state()
    with contextlib.closing(sqlite3.connect(path)) as connection:
        for place, text_of_it in connection.execute("SELECT place, entry FROM entries").fetchall():
            (entry,) = codec.to_entries(f"[{text_of_it}]")
            named = msgspec.json.encode(entry, enc_hook=dict).decode()
            connection.execute("UPDATE entries SET entry = ? WHERE place = ?", (named, place))
        made_older(connection, 2)
    with SqliteLedger(path) as ledger:
        assert ledger.state() == before
        assert ledger.verify() == []


def test_what_is_up_to_date_or_no_ledger_is_left_alone(tmp_path):
    for path in (made(tmp_path / "new"), text(tmp_path / "text"), empty(tmp_path / "empty")):
        before = path.read_bytes()
        bring_up_to_date(path)
        assert path.read_bytes() == before
    assert not list(tmp_path.glob("*.version-*"))


def test_a_copy_from_an_earlier_upgrade_is_not_lost(tmp_path):
    path = made_by_version_1(tmp_path / "ledger")
    (tmp_path / "ledger.version-1").write_text("kept")
    open_to_write(path).close()
    assert (tmp_path / "ledger.version-1").read_text() == "kept"
    assert check(tmp_path / "ledger.version-1-1") == 1


def test_an_upgrade_without_room_for_a_copy_is_not_made(tmp_path, monkeypatch):
    monkeypatch.setattr(opening, "COPIES_MAX", 1)
    path = made_by_version_1(tmp_path / "ledger")
    (tmp_path / "ledger.version-1").write_text("kept")
    with pytest.raises(StoreUnavailableError, match="1 copies of version 1 are beside it; remove some"):
        open_to_write(path)
    assert check(path) == 1


def test_an_upgrade_that_fails_leaves_the_old_version(tmp_path, monkeypatch):
    path = made_by_version_1(tmp_path / "ledger")

    def broken(connection):
        connection.execute("CREATE TABLE checkpoints (revision)")
        raise sqlite3.OperationalError("out of luck")

    monkeypatch.setattr(opening, "migrate", broken)
    with pytest.raises(StoreUnavailableError, match="out of luck"):
        open_to_write(path)
    monkeypatch.undo()
    assert check(path) == 1
    with SqliteLedger(path) as ledger:
        assert ledger.verify() == []


def test_an_upgrade_waits_for_who_writes_and_says_so_if_it_takes_too_long(tmp_path):
    path = made_by_version_1(tmp_path / "ledger")
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreBusyError, match="another process was writing all the time; try again"):
            open_to_write(path, busy_seconds=0.01)
    assert check(path) == 1
    assert not (tmp_path / "ledger.version-1").exists()


def test_who_only_reads_upgrades_nothing(tmp_path):
    path = made_by_version_1(tmp_path / "ledger")
    upgrades = f"its tables are of version 1, not {VERSION}; ullage ledger expire --ledger {path} upgrades it"
    with pytest.raises(InputError, match=upgrades):
        open_to_read(path)
    assert check(path) == 1


def test_who_only_reads_cannot_write_and_sees_one_moment(tmp_path):
    path = made(tmp_path / "ledger")
    with contextlib.closing(open_to_read(path)) as reading, SqliteLedger(path) as ledger:
        ledger.submit(STORY[1][2], at_seconds=300)
        assert reading.execute("SELECT max(revision) FROM journal").fetchone() == (len(STORY),)
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            reading.execute("DELETE FROM waiting")


def test_of_a_large_file_only_the_present_state_is_checked(tmp_path, monkeypatch):
    path = made(tmp_path / "ledger")
    with contextlib.closing(sqlite3.connect(path)) as connection:
        root = dict(connection.execute("SELECT name, rootpage FROM sqlite_schema").fetchall())
    monkeypatch.setattr(opening, "CHECKED_BYTES_MAX", 1)
    for table, refused in (("journal", False), ("entries", True)):
        with path.open("r+b") as file:
            file.seek((root[table] - 1) * 4096)
            file.write(b"\x55" * 4096)
        with contextlib.ExitStack() as expected:
            if refused:
                expected.enter_context(pytest.raises(InputError, match="is damaged"))
            check(path)
