"""What happens to a batch and to the state in memory when something goes wrong, and what is kept beside."""

import asyncio
import contextlib
import os
import sqlite3

import pytest

from engine.ledger.ledgers import hold, reserve
from stores.ledger_files import FLEET, tampering
from ullage.engine.ledger.decide import decide
from ullage.model.errors import InputError
from ullage.model.ledger import Expire, Release
from ullage.stores import writing
from ullage.stores.protocol import StoreBusyError, StoreUnavailableError
from ullage.stores.sqlite import SqliteLedger

ONE, TWO, THREE = (reserve(name, hold("node/a", cpu=10), expires=10**9) for name in ("one", "two", "three"))


@pytest.fixture
def ledger(tmp_path):
    with SqliteLedger(tmp_path / "ledger", busy_seconds=0.01) as opened:
        opened.submit(FLEET, at_seconds=100)
        yield opened


def together(ledger, *commands):
    """Submit several at once, and return an outcome or an error for each."""

    async def all_of_them():
        asked = [ledger.submit_async(command, at_seconds=101) for command in commands]
        return await asyncio.gather(*asked, return_exceptions=True)

    return asyncio.run(all_of_them())


def held(ledger):
    return [entry.reservation for entry in ledger.state().entries]


def test_a_batch_that_cannot_be_written_leaves_nothing_and_everybody_is_told(ledger):
    with contextlib.closing(sqlite3.connect(ledger.path)) as other:
        other.execute("ALTER TABLE entries RENAME TO hidden")
        told = together(ledger, ONE, TWO)
        assert [type(error) for error in told] == [StoreUnavailableError, StoreUnavailableError]
        assert told[0] is not told[1]
        assert "cannot be used (no such table" in str(told[0])
        other.execute("ALTER TABLE hidden RENAME TO entries")
    assert (held(ledger), ledger.state().revision) == ([], 1)
    assert ledger.submit(THREE, at_seconds=102).revision == 2
    assert held(ledger) == ["three"]
    assert ledger.verify() == []


def test_who_waits_too_long_for_others_is_told_and_may_try_again(ledger):
    with contextlib.closing(sqlite3.connect(ledger.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreBusyError, match="another process was writing all the time; try again"):
            ledger.submit(ONE, at_seconds=101)
        assert ledger.ask(len) == 0
    assert ledger.submit(ONE, at_seconds=101).revision == 2


def test_a_decision_that_breaks_is_the_trouble_of_one_request(tmp_path):
    def brittle(state, command, at_seconds):
        if command == TWO:
            raise ZeroDivisionError
        return decide(state, command, at_seconds)

    with SqliteLedger(tmp_path / "ledger", decide=brittle) as ledger:
        ledger.submit(FLEET, at_seconds=100)
        first, second, third = together(ledger, ONE, TWO, THREE)
        assert [first.revision, third.revision] == [2, 3]
        assert isinstance(second, ZeroDivisionError)
        assert held(ledger) == ["one", "three"]


def test_a_file_that_was_taken_away_is_not_written_to_any_more(ledger):
    ledger.path.rename(ledger.path.with_name("elsewhere"))
    with pytest.raises(InputError, match="there is no ledger"):
        ledger.submit(ONE, at_seconds=101)


def test_a_file_that_was_put_in_the_place_is_the_ledger_from_then_on(ledger, tmp_path):
    ledger.submit(ONE, at_seconds=101)
    with SqliteLedger(tmp_path / "other") as other:
        other.submit(FLEET, at_seconds=100)
        other.submit(TWO, at_seconds=101)
        other.submit(Expire(), at_seconds=102)
    os.replace(tmp_path / "other", ledger.path)  # noqa: PTH105 - as mv does it
    for name in ("ledger-wal", "ledger-shm"):
        (tmp_path / name).unlink(missing_ok=True)
    assert ledger.submit(THREE, at_seconds=103).revision == 4
    assert held(ledger) == ["three", "two"]
    assert ledger.verify() == []


def test_a_ledger_that_went_back_behind_our_back_is_read_anew(ledger):
    ledger.submit(ONE, at_seconds=101)
    with tampering(ledger.path) as file:
        file.execute("DELETE FROM journal WHERE revision = 2")
        file.execute("DELETE FROM entries")
    assert ledger.submit(TWO, at_seconds=102).revision == 2
    assert held(ledger) == ["two"]


def test_a_ledger_that_took_another_way_behind_our_back_is_read_anew(ledger):
    ledger.submit(ONE, at_seconds=101)
    with tampering(ledger.path) as file:
        file.execute("UPDATE journal SET hash = zeroblob(32) WHERE revision = 2")
        file.execute(
            "INSERT INTO journal SELECT 3, at_seconds, '', command, decision, hash "
            "FROM journal WHERE revision = 2"
        )
        file.execute("UPDATE entries SET entry = replace(entry, 'one', 'won')")
    assert ledger.ask(lambda state: state.revision) == 3
    assert ledger.ask(lambda state: [entry.reservation for entry in state.entries]) == ["won"]


def test_an_entry_that_others_ended_and_made_again_is_one_row(ledger):
    ledger.submit(ONE, at_seconds=101)
    with SqliteLedger(ledger.path) as other:
        other.submit(Release("one"), at_seconds=102)
        other.submit(ONE, at_seconds=103)
    ledger.submit(Release("one"), at_seconds=104)
    ledger.submit(ONE, at_seconds=105)
    with SqliteLedger(ledger.path) as other:
        other.submit(Release("one"), at_seconds=106)
    ledger.submit(ONE, at_seconds=107)
    assert held(ledger) == ["one"]
    assert ledger.verify() == []


def test_states_are_kept_as_often_as_there_are_entries(ledger, monkeypatch):
    monkeypatch.setattr(writing, "CHECKPOINT_ROWS_MIN", 3)
    for number in range(20):
        ledger.submit(reserve(f"r{number}", hold("node/a", cpu=1), expires=10**9), at_seconds=101)
    ledger.close()
    with contextlib.closing(sqlite3.connect(ledger.path)) as file:
        kept = [revision for (revision,) in file.execute("SELECT revision FROM checkpoints ORDER BY 1")]
    assert kept == [3, 6, 11, 21]  # three steps, three, then as many as the one before has entries
