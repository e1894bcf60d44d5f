"""A ledger that says what it is, and one that does not."""

import json
import sqlite3

import pytest

from ullage.model.ledger import Capacity, Hold, Reserve, Supply, Together
from ullage.model.resources import Resources
from ullage.service.asked import Asked
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


def cluster_file(tmp_path, cpu):
    nodes = [{"name": "n1", "capacity": {"cpu": cpu}}] if cpu else [{"name": "n2", "capacity": {"cpu": "9"}}]
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps({"apiVersion": "ullage.dev/v1", "kind": "Snapshot", "nodes": nodes}))
    return Asked(str(path))


@pytest.mark.parametrize(
    ("cpu", "codes"), [("2m", []), ("1m", ["ledger-over-promised"]), ("", ["ledger-capacity-gone"])]
)
def test_promises_are_compared_with_what_a_cluster_offers_now(tmp_path, monkeypatch, cpu, codes):
    monkeypatch.setenv("ULLAGE_NOW", "50")
    path = made(tmp_path / "ledger.db")
    answer = ledger_verify(str(path), cluster_file(tmp_path, cpu))
    assert [each["code"] for each in answer.data()["findings"]] == codes
    assert answer.yes == (not codes)
    assert answer.data()["against"].endswith("cluster.json")
    assert ledger_verify(str(path)).yes, "as it was when it was last looked at"


def test_what_has_ended_is_not_compared(tmp_path, monkeypatch):
    monkeypatch.setenv("ULLAGE_NOW", "100")
    assert ledger_verify(str(made(tmp_path / "ledger.db")), cluster_file(tmp_path, "1m")).yes
