"""A plan is what `fit --commit` would do: made on a cluster that is held, written by nobody."""

import msgspec
import pytest

from ullage.model.errors import InputError
from ullage.service.asked import Asked, read_to_hold
from ullage.service.fit import Commit, FitQuestion, fit
from ullage.service.fit_plan import fit_plan
from ullage.service.held import holding
from ullage.service.ledger_file import read_ledger, submitted
from ullage.service.plan_record import FitPlan, step_to_commit
from ullage.service.question_records import Plan
from ullage.service.questions import ask

ROOM = {
    "apiVersion": "ullage.dev/v1",
    "kind": "Snapshot",
    "name": "room",
    "nodes": [{"name": name, "capacity": {"cpu": "4", "memory": "8Gi"}} for name in ("n1", "n2")],
    "workloads": [{"name": "later", "namespace": "shop", "state": "init", "requests": {"cpu": "1"}}],
}


@pytest.fixture(autouse=True)
def now(monkeypatch):
    monkeypatch.setenv("ULLAGE_NOW", "1000")
    return lambda seconds: monkeypatch.setenv("ULLAGE_NOW", str(seconds))


@pytest.fixture
def place(tmp_path):
    (tmp_path / "room.json").write_bytes(msgspec.json.encode(ROOM))
    with holding([read_to_hold("room", Asked(str(tmp_path / "room.json")))]):
        yield tmp_path


def workloads(cpu="3", name="a", replicas=1, **fields):
    workload = {"name": name, "namespace": "shop", "requests": {"cpu": cpu}, "replicas": replicas}
    header = {"apiVersion": "ullage.dev/v1", "kind": "WorkloadSet"}
    return msgspec.json.encode({**header, "workloads": [workload], **fields})


def planned(place, body=b"", **values):
    ledger = place / "ledger.db"
    answer = ask("plan", values, cluster="room", body=body, ledger=str(ledger) if ledger.exists() else "")
    plan = msgspec.convert(answer.data(), FitPlan)
    assert answer.yes is plan.fits
    return plan


def commit(place, plan, at_seconds=1000):
    step = step_to_commit(plan, cluster_revision=plan.cluster_revision, at_seconds=at_seconds)
    return submitted(
        place / "ledger.db", step, at_seconds=at_seconds, revision=plan.ledger_revision, create=True
    )


def entries(place, file="ledger.db"):
    return read_ledger(place / file).entries


def standing(place, file="ledger.db"):
    """What is held or in line; why others were refused is noted by `fit --commit` each time."""
    return [each for each in entries(place, file) if each.state != "REJECTED"]


@pytest.mark.parametrize(
    ("cpu", "replicas", "values"),
    [("3", 1, {}), ("3", 2, {"holdSeconds": 60}), ("3", 5, {}), ("3", 5, {"waits": True, "holdSeconds": 60})],
)
def test_a_committed_plan_holds_what_fit_commit_holds(place, cpu, replicas, values):
    path = place / "work.json"
    path.write_bytes(workloads(cpu, replicas=replicas))
    hold = values.get("holdSeconds")
    asked = Asked(str(place / "room.json"), ledger=str(place / "other.db"))
    question = FitQuestion((str(path),), commit=Commit(hold or 3600, "", hold is not None, "waits" in values))
    for _ in range(2):
        told = fit(asked, question).data()
        plan = planned(place, path.read_bytes(), **values)
        if plan.may_be_committed:
            assert commit(place, plan).decision.accepted
        assert standing(place) == standing(place, "other.db")
        assert {**plan.report, "commit": told["commit"]} == told


def test_nothing_is_written_before_it_is_committed(place):
    plan = planned(place, workloads())
    assert not (place / "ledger.db").exists()
    assert (plan.fits, plan.ledger_revision, plan.owners) == (True, 0, ("shop/a",))
    commit(place, plan)
    (held,) = entries(place)
    assert (held.owner, held.expires_seconds) == ("shop/a", 4600)


def test_what_is_held_already_is_kept_and_is_nothing_to_commit(place):
    commit(place, planned(place, workloads()))
    again = planned(place, workloads())
    assert (again.step, again.ledger_revision, len(again.kept)) == ("", 1, 1)


def test_without_workloads_those_that_wait_are_meant(place):
    assert planned(place).owners == ("shop/later",)
    assert planned(place, namespace="shop").owners == ("shop/later",)


def test_where_nothing_waits_there_is_no_plan(place):
    empty = {**ROOM, "workloads": []}
    (place / "room.json").write_bytes(msgspec.json.encode(empty))
    with (
        holding([read_to_hold("room", Asked(str(place / "room.json")))]),
        pytest.raises(InputError, match="nothing waits"),
    ):
        planned(place)


def test_all_or_none_is_asked_for_by_flag_or_document(place):
    for plan in (
        planned(place, workloads(replicas=5), atomic=True),
        planned(place, workloads(replicas=5, atomic=True)),
    ):
        assert (plan.fits, plan.atomic, plan.may_be_committed) == (False, True, False)


@pytest.mark.parametrize(
    ("values", "what"),
    [
        ({"shape": "cpu=1"}, "unknown field `shape`"),
        ({"atomic": True, "waits": True}, "all or none is asked for"),
    ],
)
def test_what_cannot_be_held_is_refused(place, values, what):
    with pytest.raises(InputError, match=what):
        planned(place, b"" if "shape" in values else workloads(), **values)


def test_two_plans_for_the_same_room_are_decided_by_the_ledger(place):
    first, second = planned(place, workloads("4", "a", 2)), planned(place, workloads("4", "b", 2))
    assert first.fits
    assert second.fits
    assert commit(place, first).decision.accepted
    late = commit(place, second)
    assert late.moved
    assert {each.owner for each in entries(place)} == {"shop/a"}
    assert not planned(place, workloads("4", "b", 2)).fits


def test_a_cluster_that_is_not_held_can_be_planned_on_too(place):
    (place / "work.json").write_bytes(workloads())
    before = planned(place, workloads(name="before"))
    for ledger in ("", str(place / "ledger.db")):
        asked = Asked(str(place / "room.json"), ledger=ledger)
        found = fit_plan(asked, Plan(), (str(place / "work.json"),)).data()
        assert found == ask("plan", {}, cluster="room", body=workloads(), ledger=ledger).data()
        assert found["ledgerRevision"] == (1 if ledger else 0)
        if not ledger:
            commit(place, before)
