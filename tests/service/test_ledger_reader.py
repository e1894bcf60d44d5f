"""A ledger that is read again and again says what it says when it is read once."""

import shutil

import pytest

from ullage.model.errors import InputError
from ullage.model.ledger import Capacity, Hold, Reserve, Supply, Together
from ullage.model.resources import Resources
from ullage.service import ledger_reader
from ullage.service.ledger_file import read_ledger, submitted
from ullage.service.ledger_reader import LedgerReader


def step(path, name):
    supply = Supply((Capacity("node/n1", Resources({"cpu": 8000})),))
    hold = Reserve(name, f"team/{name}", 1000, (Hold("r1", "node/n1", Resources({"cpu": 1000})),))
    submitted(path, Together((supply, hold)), at_seconds=100, create=True)


@pytest.fixture
def ledger(tmp_path):
    path = tmp_path / "ledger.db"
    step(path, "r0")
    return path


def test_the_state_is_the_same_object_until_a_step_is_taken(ledger):
    reader = LedgerReader(ledger)
    first = reader.read()
    assert first.state == read_ledger(ledger)
    assert reader.read().state is first.state
    step(ledger, "r1")
    second = reader.read()
    assert second.state == read_ledger(ledger)
    assert (len(first.state), len(second.state)) == (1, 2)
    assert first.seal != second.seal


@pytest.mark.parametrize("most", [1, 3, 100])
def test_few_steps_are_followed_and_many_are_read_as_a_whole(ledger, monkeypatch, most):
    monkeypatch.setattr(ledger_reader, "STEPS_MAX", most)
    reader = LedgerReader(ledger)
    reader.read()
    for number in range(3):
        step(ledger, f"more-{number}")
    assert reader.read().state == read_ledger(ledger)


def test_a_copy_with_as_many_steps_is_another_ledger(tmp_path, ledger):
    other = tmp_path / "other.db"
    step(other, "elsewhere")
    reader = LedgerReader(ledger)
    first = reader.read()
    for name in ("ledger.db-wal", "ledger.db-shm"):
        (tmp_path / name).unlink(missing_ok=True)
    shutil.copy(other, tmp_path / "new.db")
    (tmp_path / "new.db").replace(ledger)
    found = reader.read()
    assert found.seal != first.seal
    assert [each.reservation for each in found.state.entries] == ["elsewhere"]


def test_what_was_overwritten_in_place_is_noticed(tmp_path, ledger):
    other = tmp_path / "other.db"
    step(other, "elsewhere")
    step(other, "further")
    reader = LedgerReader(ledger)
    reader.read()
    ledger.write_bytes(other.read_bytes())
    assert reader.read().state == read_ledger(other)


def test_a_ledger_that_is_not_there_is_refused_as_ever(tmp_path):
    with pytest.raises(InputError) as error:
        LedgerReader(tmp_path / "none.db").read()
    with pytest.raises(InputError) as usual:
        read_ledger(tmp_path / "none.db")
    assert str(error.value) == str(usual.value)
