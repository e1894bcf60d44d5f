"""A ledger that says what it is, and one that does not."""

import json
import sqlite3

import pytest

from stores.ledger_files import made_by_version_1
from ullage.model.ledger import Capacity, Hold, Reserve, Supply, Together
from ullage.model.resources import Resources
from ullage.service.asked import Asked
from ullage.service.check import CheckQuestion, check
from ullage.service.disks_list import disks_list
from ullage.service.fit import Commit, FitQuestion, fit
from ullage.service.ledger_change import release
from ullage.service.ledger_file import submitted
from ullage.service.ledger_verify import ledger_verify
from ullage.service.status import status
from ullage.stores.opening import bring_up_to_date

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


GIB = 1 << 30
PLAIN = {"uuid": "d1", "driveClass": "HDD", "sizeBytes": GIB}
GROUP = {"name": "vg", "driveClass": "HDD", "sizeBytes": GIB, "freeBytes": GIB, "drives": ["d1"]}
FINDS = {"the group has gone": ([], ["ledger-capacity-gone"]), "it is there": ([GROUP], [])}


@pytest.mark.parametrize(("groups", "codes"), FINDS.values(), ids=FINDS)
def test_promises_of_the_first_version_name_no_drives_and_are_told_where_their_group_has_gone(
    tmp_path, monkeypatch, groups, codes
):
    monkeypatch.setenv("ULLAGE_NOW", "300")
    path = made_by_version_1(tmp_path / "ledger.db")
    bring_up_to_date(path)
    drive = {**PLAIN, "clean": not groups}
    node = {"name": "a", "capacity": {"cpu": "4", "memory": "9Gi"}, "drives": [drive], "volumeGroups": groups}
    team = {"name": "team", "namespaces": ["x"], "min": {"cpu": "4"}, "max": {"cpu": "4"}}
    room = {"apiVersion": "ullage.dev/v1", "kind": "Snapshot", "nodes": [node], "quotas": [team]}
    (tmp_path / "room.json").write_text(json.dumps(room))
    asked = Asked(str(tmp_path / "room.json"), ledger=str(path))
    for answer in (status(asked), check(asked, CheckQuestion()), disks_list(asked)):
        assert answer.data()
    found = ledger_verify(str(path), asked).data()["findings"]
    assert [each["code"] for each in found] == codes
    for each in found:
        assert "nor on which drives it was, so it is counted on none" in each["message"]
        assert each["remedy"] == "release r2, and ask for it again"
    volume = {"name": "v", "claim": "v", "storageClass": "HDDLVG", "sizeBytes": GIB - 32 * (1 << 20)}
    pod = {"name": "p", "namespace": "x", "requests": {"cpu": "1"}, "volumes": [volume]}
    wanted = {"apiVersion": "ullage.dev/v1", "kind": "WorkloadSet", "workloads": [pod]}
    (tmp_path / "p.json").write_text(json.dumps(wanted))
    assert fit(asked, FitQuestion((str(tmp_path / "p.json"),), commit=Commit(60))).yes
    after = ledger_verify(str(path)).data()["findings"]
    assert [each["code"] for each in after] == codes
    release(str(path), "r2")
    assert ledger_verify(str(path)).yes
    assert ledger_verify(str(path), asked).data()["findings"] == ()
