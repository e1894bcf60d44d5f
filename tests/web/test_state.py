"""The file of a server's state: durable, its own, and never half of something."""

import asyncio
import contextlib
import sqlite3

import pytest

from ullage.model.errors import InputError
from ullage.stores.protocol import StoreUnavailableError
from ullage.web import state as module
from ullage.web.keys import Keyed
from ullage.web.state import FILE, MIGRATIONS, Audited, State


def entry(number):
    return Audited(number, "ci", "demo", "reserve", f"r{number}", "accepted", number)


def noted(folder, count):
    async def work():
        with contextlib.closing(State(folder)) as state:
            await asyncio.gather(*(state.note(entry(number)) for number in range(count)))
            return state.audited(rows_max=1000)

    return asyncio.run(work())


def test_every_commit_is_in_the_audit_log_in_its_order(tmp_path):
    found = noted(tmp_path, 300)
    assert [number for number, _ in found] == list(range(1, 301))
    assert [each for _, each in found] == [entry(number) for number in range(300)]


def test_the_log_goes_on_after_a_restart_and_can_be_read_in_parts(tmp_path):
    noted(tmp_path, 3)
    noted(tmp_path, 2)
    with contextlib.closing(State(tmp_path)) as state:
        assert [number for number, _ in state.audited(after=2, rows_max=2)] == [3, 4]


def test_the_log_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "AUDITED_MAX", 10)
    noted(tmp_path, 8)
    assert [number for number, _ in noted(tmp_path, 8)] == list(range(7, 17))


def test_who_notes_something_that_cannot_be_written_is_told(tmp_path):
    async def work():
        with contextlib.closing(State(tmp_path)) as state:
            state.now(lambda connection: connection.execute("DROP TABLE audit"))
            return await asyncio.gather(*(state.note(entry(n)) for n in range(3)), return_exceptions=True)

    assert [type(each).__name__ for each in asyncio.run(work())] == ["StoreUnavailableError"] * 3


def test_what_is_noted_without_waiting_is_written_soon_or_at_the_end(tmp_path, monkeypatch):
    async def work(seconds):
        monkeypatch.setattr(module, "SOON_SECONDS", seconds)
        with contextlib.closing(State(tmp_path)) as state:
            for number in range(3):
                await state.note_soon(entry(number))
            if seconds < 1:
                await state._later
                assert len(state.audited()) == 3

    for seconds, count in ((0.001, 3), (600, 6)):
        asyncio.run(asyncio.wait_for(work(seconds), 10))
        with contextlib.closing(State(tmp_path)) as state:
            assert [each for _, each in state.audited()] == [entry(number % 3) for number in range(count)]


def test_what_could_not_be_written_soon_is_tried_again_and_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "SOON_SECONDS", 0.001)
    monkeypatch.setattr(module, "SOON_MAX", 2)

    async def work():
        with contextlib.closing(State(tmp_path)) as state:
            full = "CREATE TRIGGER full BEFORE INSERT ON audit BEGIN SELECT raise(ABORT, 'full'); END"
            state.now(lambda connection: connection.execute(full))
            await state.note_soon(entry(0))
            await state.note_soon(entry(1))
            with pytest.raises(StoreUnavailableError):
                await state.note_soon(entry(2))
            await asyncio.sleep(0.02)
            await state.run(lambda connection: connection.execute("DROP TRIGGER full"))
            await state._later
            return state.audited()

    found = asyncio.run(asyncio.wait_for(work(), 10))
    assert [each for _, each in found] == [entry(0), entry(1)]


def test_what_fails_half_way_has_not_happened(tmp_path):
    def half(connection):
        connection.execute("DELETE FROM audit")
        raise KeyError

    noted(tmp_path, 3)
    with contextlib.closing(State(tmp_path)) as state:
        with pytest.raises(KeyError):
            state.now(half)
        assert len(state.audited()) == 3


@pytest.mark.parametrize(
    ("statements", "told"),
    [
        (["CREATE TABLE mine (a)"], "is a database of something else"),
        (
            [
                f"PRAGMA application_id = {module.APPLICATION_ID}",
                f"PRAGMA user_version = {len(MIGRATIONS) + 1}",
            ],
            "was written by a newer program",
        ),
    ],
)
def test_a_file_of_others_is_left_alone(tmp_path, statements, told):
    with contextlib.closing(sqlite3.connect(tmp_path / FILE)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()
        before = list(connection.iterdump())
    with pytest.raises(InputError, match=told):
        State(tmp_path)
    with contextlib.closing(sqlite3.connect(tmp_path / FILE)) as connection:
        assert list(connection.iterdump()) == before


def test_keys_of_samples_that_were_sent_before_an_upgrade_are_still_known(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "MIGRATIONS", MIGRATIONS[:5])
    sent = ("demo", "mine", 10**10, "digest", "taken")
    with contextlib.closing(State(tmp_path)) as state:
        state.now(
            lambda connection: connection.execute("INSERT INTO samples_sent VALUES (?, ?, ?, ?, ?)", sent)
        )
    monkeypatch.setattr(module, "MIGRATIONS", MIGRATIONS)
    with contextlib.closing(State(tmp_path)) as state:
        assert state.now(Keyed("samples", "demo", "mine", "digest").known) == "taken"
        assert state.now(Keyed("plan", "demo", "mine", "digest").known) is None


def test_what_is_no_database_is_refused(tmp_path):
    (tmp_path / FILE).write_bytes(b"something else entirely, and long enough" * 100)
    with pytest.raises(InputError, match="cannot be used"):
        State(tmp_path)
