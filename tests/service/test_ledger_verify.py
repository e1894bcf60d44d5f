"""A ledger that says what it is, and one that does not."""

import sqlite3

from ullage.model.ledger import Capacity, Hold, Reserve, Supply, Together
from ullage.model.resources import Resources
from ullage.service.ledger_file import submitted
from ullage.service.ledger_verify import ledger_verify

HOLD = Hold("c", "node/n1", Resources({"cpu": 2}))


def made(path, offers=2):
    supply = Supply((Capacity("node/n1", Resources({"cpu": offers})),))
    submitted(path, Together((supply, Reserve("a", "one", 100, holds=(HOLD,)))), at_seconds=1, create=True)
    return path


def test_a_sound_ledger_is_proved(tmp_path, read):
    answer = ledger_verify(str(made(tmp_path / "ledger.db")))
    assert answer.yes
    assert (answer.data()["sound"], answer.data()["steps"]) == (True, 1)
    assert read(answer).startswith("✓ the ledger is sound: 1 step decided again")


def test_a_ledger_that_was_changed_by_another_hand_is_found_out(tmp_path, read):
    path = made(tmp_path / "ledger.db")
    connection = sqlite3.connect(path)
    connection.execute("UPDATE entries SET entry = replace(entry, 'one', 'two')")
    connection.commit()
    connection.close()
    answer = ledger_verify(str(path))
    assert not answer.yes
    assert {each["code"] for each in answer.data()["findings"]} == {"ledger-table-wrong"}
    assert "restore a backup" in " ".join(read(answer).split())


def test_a_promise_that_is_not_covered_any_more_is_a_finding(tmp_path):
    path = made(tmp_path / "ledger.db")
    submitted(path, Supply((Capacity("node/n1", Resources({"cpu": 1})),)), at_seconds=2)
    answer = ledger_verify(str(path))
    assert [each["code"] for each in answer.data()["findings"]] == ["ledger-over-promised"]
    assert not answer.yes
