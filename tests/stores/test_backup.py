"""A backup is whole, proved and new, or there is none."""

import threading

import pytest

from engine.ledger.ledgers import hold, reserve
from stores.ledger_files import FLEET, STORY, contents, made, names, tampering
from ullage.model.errors import InputError
from ullage.stores.backup import backup
from ullage.stores.protocol import StoreUnavailableError
from ullage.stores.sqlite import SqliteLedger


def test_a_backup_is_the_ledger_as_it_is(tmp_path):
    path = made(tmp_path / "ledger")
    assert backup(path, tmp_path / "backup") == len(STORY)
    with SqliteLedger(path) as ledger, SqliteLedger(tmp_path / "backup") as copy:
        assert copy.state() == ledger.state()
        assert list(copy.journal()) == list(ledger.journal())
        copy.submit(STORY[1][2], at_seconds=300)
        assert copy.verify() == []
        assert copy.state().revision == ledger.state().revision + 1


def test_a_ledger_that_is_written_to_all_the_time_is_backed_up_at_one_moment(tmp_path):
    with SqliteLedger(tmp_path / "ledger") as ledger:
        ledger.submit(FLEET, at_seconds=1)
        done = threading.Event()

        def client():
            for number in range(100_000):
                if done.is_set():
                    return
                ledger.submit(reserve(f"r{number}", hold("node/a", cpu=0), expires=10**9), at_seconds=2)

        thread = threading.Thread(target=client)
        thread.start()
        revisions = [backup(ledger.path, tmp_path / f"backup{number}") for number in range(3)]
        done.set()
        thread.join()
    for number, revision in enumerate(revisions):
        with SqliteLedger(tmp_path / f"backup{number}") as copy:
            assert (copy.state().revision, copy.verify()) == (revision, [])


def test_a_backup_never_takes_the_place_of_a_file(tmp_path):
    path = made(tmp_path / "ledger")
    (tmp_path / "backup").write_text("there before")
    with pytest.raises(InputError, match="backup: is there already; name a new file"):
        backup(path, tmp_path / "backup")
    assert (tmp_path / "backup").read_text() == "there before"
    assert names(tmp_path) == ["backup", "ledger"]


def test_what_is_no_ledger_has_no_backup(tmp_path):
    with pytest.raises(InputError, match="there is no ledger"):
        backup(tmp_path / "ledger", tmp_path / "backup")
    assert contents(tmp_path) == {}


def test_of_a_ledger_that_cannot_be_proved_there_is_no_backup(tmp_path):
    path = made(tmp_path / "ledger")
    with tampering(path) as file:
        file.execute("UPDATE journal SET key = 'other' WHERE revision = 2")
    with pytest.raises(StoreUnavailableError, match="has 1 errors, the first: revision 2 is not what was"):
        backup(path, tmp_path / "backup")
    assert not (tmp_path / "backup").exists()
