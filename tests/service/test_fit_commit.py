"""`fit --commit`: held once, in one step, and refused with what is missing."""

import contextlib
import json
import sqlite3
import threading

import pytest

from ullage.model.errors import InputError
from ullage.service import fit_commit
from ullage.service.asked import Asked, read_cluster
from ullage.service.fit import Commit, FitQuestion, fit
from ullage.service.ledger_change import release
from ullage.service.ledger_file import read_ledger

NODES = [{"name": "n1", "capacity": {"cpu": "4", "pods": "9"}}]


def written(path, kind, **fields):
    path.write_text(json.dumps({"apiVersion": "ullage.dev/v1", "kind": kind, **fields}), encoding="utf-8")
    return str(path)


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with a cluster of one node, where it is the second 1000."""
    monkeypatch.setenv("ULLAGE_NOW", "1000")
    written(tmp_path / "room.json", "Snapshot", name="room", nodes=NODES)
    return tmp_path


def committed(place, cpu="3", name="a", *, replicas=1, atomic=False, **commit):
    workload = {"name": name, "namespace": "shop", "requests": {"cpu": cpu}, "replicas": replicas}
    path = written(place / f"{name}.json", "WorkloadSet", workloads=[workload])
    asked = Asked(str(place / "room.json"), ledger=str(place / "ledger.db"))
    return fit(asked, FitQuestion((path,), atomic=atomic, commit=Commit(**{"hold_seconds": 60, **commit})))


def entries(place):
    return read_ledger(place / "ledger.db").entries


def test_what_fits_is_held_until_its_time(place):
    answer = committed(place)
    report = answer.data()["commit"]
    assert (answer.yes, report["accepted"], report["expires"]) == (True, True, "1970-01-01T00:17:40Z")
    (held,) = entries(place)
    assert (held.owner, held.capacity, held.expires_seconds) == ("shop/a", "node/n1", 1060)
    assert answer.data()["kind"] == "FitReport"


def test_questions_count_what_is_held(place):
    committed(place)
    cluster = str(place / "room.json")
    assert len(read_cluster(Asked(cluster)).workloads) == 0
    assert len(read_cluster(Asked(cluster, ledger=str(place / "ledger.db"))).workloads) == 1


def test_what_does_not_fit_is_noted_and_the_answer_is_no(place):
    answer = committed(place, cpu="9")
    assert not answer.yes
    (rejected,) = answer.data()["commit"]["rejected"]
    assert "cpu short" in rejected["reason"]
    assert entries(place) == ()


def test_a_part_is_held_unless_all_or_none_is_asked_for(place):
    answer = committed(place, cpu="2", replicas=3, atomic=True)
    assert (answer.yes, answer.data()["commit"]["reason"]) == (
        False,
        "all or none was asked for, and not all fit",
    )
    assert not (place / "ledger.db").exists()
    assert not committed(place, cpu="2", replicas=3).yes
    assert len(entries(place)) == 2


def test_under_one_key_it_is_held_once_and_told_again(place, monkeypatch):
    first = committed(place, key="k").data()["commit"]
    monkeypatch.setenv("ULLAGE_NOW", "1030")
    second = committed(place, key="k", hold_seconds=600).data()["commit"]
    assert second["repeated"]
    assert (first["revision"], first["held"]) == (second["revision"], second["held"])
    assert read_ledger(place / "ledger.db").revision == 1


def test_a_key_is_not_used_for_another_question(place):
    committed(place, key="k")
    with pytest.raises(InputError, match=r"the key k was used for shop/a at revision 1; use a new key"):
        committed(place, name="b", cpu="1", key="k")


def test_without_a_key_what_is_held_is_kept_as_it_is(place):
    committed(place)
    answer = committed(place)
    assert (answer.yes, answer.data()["commit"]["kept"]) == (True, ("Pod/shop/a/1",))
    assert read_ledger(place / "ledger.db").revision == 1


def test_of_two_that_want_the_last_room_at_once_one_has_it(place, monkeypatch):
    """Both have planned before either commits."""
    import ullage.service.fit_commit as module

    both = threading.Barrier(2)
    submitted = module.submitted

    def after_both(*args, **named):
        both.wait(timeout=30)
        return submitted(*args, **named)

    monkeypatch.setattr(module, "submitted", after_both)
    answers = {}
    threads = [
        threading.Thread(target=lambda name=name: answers.update({name: committed(place, name=name)}))
        for name in "ab"
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answer.yes for answer in answers.values()) == [False, True]
    refused = next(answer for answer in answers.values() if not answer.yes).data()["commit"]
    assert (refused["moved"], refused["shortfalls"][0]["missing"]) == (True, "2")
    assert len(entries(place)) == 1


def test_what_has_ended_gives_way(place, monkeypatch):
    committed(place)
    assert not committed(place, name="b").yes
    monkeypatch.setenv("ULLAGE_NOW", "1060")
    assert committed(place, name="b").yes
    assert [each.owner for each in entries(place)] == ["shop/b"]


def test_a_shape_has_no_owner(place):
    asked = Asked(str(place / "room.json"), ledger=str(place / "ledger.db"))
    with pytest.raises(InputError, match="a shape cannot be held"):
        fit(asked, FitQuestion(shape="cpu=1", commit=Commit(60)))


def test_where_nothing_waits_nothing_is_held(place):
    asked = Asked(str(place / "room.json"), ledger=str(place / "ledger.db"))
    assert fit(asked, FitQuestion(commit=Commit(60))).yes
    assert not (place / "ledger.db").exists()


def test_what_is_held_already_is_held_longer_only_where_that_is_asked_for(place, monkeypatch):
    committed(place)
    monkeypatch.setenv("ULLAGE_NOW", "1030")
    report = committed(place).data()["commit"]
    assert (report["kept"], report["expires"]) == (("Pod/shop/a/1",), "1970-01-01T00:17:40Z")
    report = committed(place, extends=True).data()["commit"]
    assert (report["kept"], report["expires"]) == ((), "1970-01-01T00:18:10Z")
    assert [each["expiresSeconds"] for each in report["held"]] == [1090]
    report = committed(place, extends=True, hold_seconds=10).data()["commit"]
    assert (report["kept"], report["expires"]) == (("Pod/shop/a/1",), "1970-01-01T00:18:10Z"), (
        "never cut short"
    )


def test_what_does_not_fit_waits_if_it_may(place):
    committed(place)
    answer = committed(place, name="b", waits=True)
    report = answer.data()["commit"]
    assert (answer.yes, report["accepted"], report["rejected"]) == (False, True, ())
    assert [(each["state"], each["queuePosition"]) for each in report["waiting"]] == [("WAITING", 1)]
    again = committed(place, name="b", waits=True).data()["commit"]
    assert (again["revision"], again["waiting"]) == (report["revision"], report["waiting"])
    release(str(place / "ledger.db"), "Pod/shop/a/1")
    assert {each.reservation: each.state for each in entries(place)} == {"Pod/shop/b/1": "RESERVED"}
    assert committed(place, name="b", waits=True).yes


def test_who_waits_already_waits_longer_only_where_that_is_asked_for(place, monkeypatch):
    committed(place)
    committed(place, name="b", waits=True)

    def ends(**commit):
        report = committed(place, name="b", waits=True, **commit).data()["commit"]
        assert (report["accepted"], len(report["waiting"])) == (True, 1)
        return [each["expiresSeconds"] for each in report["waiting"]]

    monkeypatch.setenv("ULLAGE_NOW", "1030")
    assert ends() == [1060]
    assert ends(extends=True) == [1090]
    assert ends(extends=True, hold_seconds=10) == [1090], "never cut short"


def test_who_waits_does_so_one_by_one(place):
    with pytest.raises(InputError, match="--wait: those who wait are held one by one"):
        committed(place, cpu="2", replicas=3, atomic=True, waits=True)


def test_a_ledger_of_an_older_version_is_upgraded_before_it_is_read(place):
    committed(place)
    (file,) = [each for each in place.iterdir() if each.read_bytes().startswith(b"SQLite")]
    with contextlib.closing(sqlite3.connect(file)) as connection:
        short = "UPDATE entries SET entry = substr(entry, 1, length(entry) - 7) || ']'"
        connection.execute(short)
        connection.execute("PRAGMA foreign_keys = OFF")
        newer = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'usage_%'"
        for (table,) in connection.execute(newer).fetchall():
            connection.execute(f"DROP TABLE {table}")
        connection.execute("PRAGMA user_version = 2")
        connection.commit()
    answer = committed(place, cpu="1", name="b")
    assert answer.yes
    assert {each.owner for each in entries(place)} == {"shop/a", "shop/b"}


@pytest.mark.parametrize("runs", [True, False])
def test_quotas_count_everybody_whichever_nodes_a_selector_means(place, runs):
    zones = [{**NODES[0], "name": name, "labels": {"zone": name}} for name in ("a", "b")]
    quota = {"name": "shop", "namespaces": ["shop"], "min": {"cpu": "4"}, "max": {"cpu": "4"}}
    workload = {"name": "w", "namespace": "shop", "node": "a", "state": "ok", "requests": {"cpu": "3"}}
    written(
        place / "room.json", "Snapshot", nodes=zones, quotas=[quota], workloads=[workload] if runs else []
    )

    def held_on(name, zone):
        path = written(
            place / "w.json",
            "WorkloadSet",
            workloads=[{**workload, "name": name, "node": "", "state": "init"}],
        )
        asked = Asked(str(place / "room.json"), selector=f"zone={zone}", ledger=str(place / "ledger.db"))
        answer = fit(asked, FitQuestion((path,), commit=Commit(60)))
        assert fit(asked, FitQuestion((path,))).yes == answer.yes
        return answer.yes

    if not runs:
        assert held_on("first", "a")
        assert {entry.capacity for entry in entries(place)} == {"node/a", "quota/shop"}
    assert not held_on("second", "b")


def test_a_selector_says_where_there_may_be_room(place):
    zones = [{**NODES[0], "name": name, "labels": {"zone": name}} for name in ("a", "b")]
    written(place / "room.json", "Snapshot", nodes=zones)
    asked = Asked(str(place / "room.json"), selector="zone notin (a)", ledger=str(place / "ledger.db"))
    path = written(place / "w.json", "WorkloadSet", workloads=[{"name": "w", "requests": {"cpu": "3"}}])
    assert not fit(asked, FitQuestion((path,), replicas=2, commit=Commit(60))).yes
    assert [entry.capacity for entry in entries(place)] == ["node/b"]


def test_asked_under_one_key_at_the_same_time_both_are_told_the_same(place, monkeypatch):
    def slower(*args, **kwargs):
        monkeypatch.setattr(fit_commit, "submitted", submitted)
        monkeypatch.setenv("ULLAGE_NOW", "1001")
        committed(place, key="k")
        return submitted(*args, **kwargs)

    submitted = fit_commit.submitted
    monkeypatch.setattr(fit_commit, "submitted", slower)
    answer = committed(place, key="k")
    report = answer.data()["commit"]
    assert (answer.yes, report["repeated"]) == (True, True)
    assert report["expires"] == "1970-01-01T00:17:41Z"
