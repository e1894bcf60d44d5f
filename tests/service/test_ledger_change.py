"""Steps by hand."""

import json

import pytest

from ullage.model.disk_plan import DiskCapacity
from ullage.model.errors import InputError
from ullage.model.ledger import VOLUME_SPACE, Bind, Capacity, Hold, Reserve, Supply, Together
from ullage.model.resources import Resources
from ullage.service.asked import Asked
from ullage.service.ledger_change import bind, expire, extend, pause, release
from ullage.service.ledger_file import read_ledger, submitted


def hold(request, cpu=1):
    return Hold(request, "node/n1", Resources({"cpu": cpu}))


@pytest.fixture
def path(tmp_path, monkeypatch):
    """A pod and a job hold something until second 100; it is second 50."""
    monkeypatch.setenv("ULLAGE_NOW", "50")
    path = tmp_path / "ledger.db"
    commands = (
        Supply((Capacity("node/n1", Resources({"cpu": 9})),)),
        Reserve("Pod/a/1", "a", 100, holds=(hold("x"), hold("y"))),
        Reserve("Pod/b/1", "b", 200, holds=(hold("x"),)),
    )
    submitted(path, Together(commands), at_seconds=1, create=True)
    return path


def states(path):
    return {each.key: (each.state, each.expires_seconds) for each in read_ledger(path).entries}


def test_what_is_bound_does_not_expire(path, read):
    answer = bind(str(path), "Pod/b/1")
    assert answer.yes
    assert read(answer).startswith("✓ bind Pod/b/1: 1 reservation changed")
    assert states(path)["Pod/b/1/x@node/n1"] == ("BOUND", None)
    assert "is bound already" in read(bind(str(path), "Pod/b/1"))


def test_all_or_a_part_is_given_back(path):
    assert release(str(path), "Pod/a/1", ["y"]).yes
    assert set(states(path)) == {"Pod/a/1/x@node/n1", "Pod/b/1/x@node/n1"}
    assert release(str(path), "Pod/a/1").yes
    assert set(states(path)) == {"Pod/b/1/x@node/n1"}


def test_it_is_held_for_so_long_from_now(path, monkeypatch):
    assert extend(str(path), "Pod/b/1", 1000).yes
    assert states(path)["Pod/b/1/x@node/n1"] == ("RESERVED", 1050)
    monkeypatch.setenv("ULLAGE_NOW", "3")
    assert extend(str(path), "Pod/b/1", 1000).yes
    assert states(path)["Pod/b/1/x@node/n1"] == ("RESERVED", 1050), "a ledger does not go back in time"


def test_a_refusal_is_an_answer_with_its_reason(path, read):
    answer = release(str(path), "nobody")
    assert not answer.yes
    assert "reservation nobody is not known or has ended" in read(answer)
    assert answer.data()["accepted"] is False


def test_what_its_time_has_come_for_is_given_back(path, monkeypatch):
    asked = Asked(ledger=str(path))
    assert expire(asked, orphans=False).data()["changed"] == ()
    monkeypatch.setenv("ULLAGE_NOW", "100")
    changed = expire(asked, orphans=False).data()["changed"]
    assert [(each["reservation"], each["state"]) for each in changed] == [("Pod/a/1", "EXPIRED")] * 2


def test_orphans_are_what_is_in_use_by_nobody(path, tmp_path):
    bind(str(path), "Pod/a/1")
    bind(str(path), "Pod/b/1")
    cluster = tmp_path / "room.json"
    nodes = [{"name": "n1", "capacity": {"cpu": "4"}}]
    pods = [{"name": "b", "node": "n1", "requests": {"cpu": "1"}}]
    document = {"apiVersion": "ullage.dev/v1", "kind": "Snapshot", "nodes": nodes, "workloads": pods}
    cluster.write_text(json.dumps(document))
    answer = expire(Asked(str(cluster), ledger=str(path)), orphans=True)
    assert {each["reservation"] for each in answer.data()["changed"]} == {"Pod/a/1"}
    assert set(states(path)) == {"Pod/b/1/x@node/n1"}


def test_no_file_is_made_for_a_step_by_hand(tmp_path):
    with pytest.raises(InputError, match="there is no ledger"):
        bind(str(tmp_path / "none.db"), "a")
    assert list(tmp_path.iterdir()) == []


def test_a_reservation_is_never_cut_short_by_extending_it(path):
    with pytest.raises(
        InputError, match=r"--hold: Pod/b/1 is held until 1970-01-01T00:03:20Z, 50 seconds longer"
    ):
        extend(str(path), "Pod/b/1", 100)
    assert states(path)["Pod/b/1/x@node/n1"] == ("RESERVED", 200)


def test_what_is_in_use_is_paused_and_stays_promised(path, read):
    assert not pause(str(path), "Pod/b/1", paused=True).yes, "it is not in use yet"
    bind(str(path), "Pod/b/1")
    answer = pause(str(path), "Pod/b/1", paused=True)
    assert read(answer).startswith("✓ pause Pod/b/1: 1 reservation changed")
    (entry,) = read_ledger(path).entries_of("Pod/b/1")
    assert (entry.state, entry.paused) == ("BOUND", True)
    assert read(pause(str(path), "Pod/b/1", paused=False)).startswith(
        "✓ resume Pod/b/1: 1 reservation changed"
    )
    assert not read_ledger(path).entries_of("Pod/b/1")[0].paused


def test_nobody_is_gone_from_a_cluster_that_names_no_workloads(path, tmp_path):
    bind(str(path), "Pod/b/1")
    hosts = tmp_path / "hosts.json"
    hosts.write_text(
        json.dumps({"apiVersion": "ullage.dev/v1", "kind": "Snapshot", "nodes": [{"name": "n1"}]})
    )
    with pytest.raises(
        InputError, match=r"--orphans: hosts.json names no workloads, so nobody can be said to be gone"
    ):
        expire(Asked(str(hosts), ledger=str(path)), orphans=True)
    assert "Pod/b/1/x@node/n1" in states(path)


@pytest.mark.parametrize("by", ["hand", "orphans"])
def test_who_waits_for_a_disk_is_not_held_while_the_volume_may_be_there(tmp_path, monkeypatch, by):
    monkeypatch.setenv("ULLAGE_NOW", "50")
    path, cluster = tmp_path / "ledger.db", tmp_path / "room.json"
    disk = DiskCapacity("d", "n1", "HDD", 1 << 30)
    space = Resources({VOLUME_SPACE: 600 << 20})
    commands = (
        Supply((Capacity("drive/n1/d", Resources({VOLUME_SPACE: 1000 << 20}), disk=disk),)),
        Reserve("Pod/a/1", "a", 100, holds=(Hold("data", "drive/n1/d", space),)),
        Bind("Pod/a/1"),
        Reserve("Pod/b/1", "b", 200, holds=(Hold("data", "drive/n1/d", space),), waits=True),
    )
    submitted(path, Together(commands), at_seconds=1, create=True)
    drive = {"uuid": "d", "driveClass": "HDD", "sizeBytes": 1 << 30}
    group = {"name": "vg", "driveClass": "HDD", "sizeBytes": 1 << 30, "freeBytes": 400 << 20, "drives": ["d"]}
    nodes = [{"name": "n1", "capacity": {"cpu": "4"}, "drives": [drive], "volumeGroups": [group]}]
    pods = [{"name": "other", "node": "n1", "requests": {"cpu": "1"}}]
    document = {"apiVersion": "ullage.dev/v1", "kind": "Snapshot", "nodes": nodes, "workloads": pods}
    cluster.write_text(json.dumps(document))
    if by == "hand":
        assert release(str(path), "Pod/a/1").yes
    else:
        assert expire(Asked(str(cluster), ledger=str(path)), orphans=True).yes
    assert {each.reservation: each.state for each in read_ledger(path).entries} == {"Pod/b/1": "WAITING"}
