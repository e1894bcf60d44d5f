"""In which turns nodes can be maintained, as a report."""

import pytest

from builders import cluster, node, pod
from ganeti_builders import ganeti_cluster, ganeti_node, instance
from ullage.service.balance import BalanceQuestion, balance_of
from ullage.service.rolling import rolling_report
from ullage.sources.ganeti.snapshot import snapshot_of

QUESTION = BalanceQuestion(rolling=True)


def machines(*instances, names="abcd", **fields):
    return snapshot_of(ganeti_cluster([ganeti_node(name, **fields) for name in names], *instances))


def test_turns_of_instances(asked):
    answer = balance_of(machines(instance("i", "a", "b"), instance("e", "c")), asked, QUESTION)
    report = answer.data()
    assert (answer.yes, report["kind"], report["possible"]) == (True, "RollingReport", True)
    assert [turn["nodes"] for turn in report["turns"]] == [("a", "c", "d"), ("b",)]
    moves = {move["workload"]: move for move in report["turns"][0]["moves"]}
    assert (moves["i"]["toNode"], moves["i"]["toStandby"]) == ("b", "a")
    assert moves["i"]["commands"] == ("gnt-instance migrate -f i",)
    assert moves["e"]["commands"] == ("gnt-instance migrate -f -n b e",)


def test_a_standby_without_room_is_told_with_what_it_lacks(asked):
    held = instance("i", "a", "b", memory=600), instance("j", "b", "c", memory=600)
    answer = balance_of(machines(*held), asked, QUESTION)
    assert not answer.yes
    (stuck,) = answer.data()["stuck"]
    assert stuck["node"] == "a"
    assert stuck["refusals"][0]["reason"] == "it cannot start on b: memory is short by 200Mi"


def test_an_instance_without_standby_and_without_room():
    held = instance("i", "a", memory=900), instance("j", "b", memory=900)
    report = rolling_report(machines(*held, names="ab"), QUESTION)
    assert [each.node for each in report.stuck] == ["a", "b"]
    assert report.stuck[0].refusals[0].reason.startswith("a workload that has no standby finds no room")


def test_another_reason_is_named():
    held = instance("i", "a", "b")
    nodes = [ganeti_node("a", tags=("v:1",)), ganeti_node("b", tags=("v:2",))]
    snapshot = snapshot_of(ganeti_cluster(nodes, held, tags=("htools:migration:v",)))
    (stuck,) = rolling_report(snapshot, QUESTION).stuck
    assert stuck.refusals[0].reason == "migration tags keep it from moving to b while it runs"


def test_pods_are_drained(asked):
    snapshot = cluster(
        node("a", cpu="4").holding(pod("w/x", cpu="1", owner="ReplicaSet/r")),
        node("b", cpu="4").holding(pod("w/bare", cpu="1")),
        node("c", cpu="4").in_group("g"),
        unknowns=("tea",),
    )
    answer = balance_of(snapshot, asked, QUESTION)
    report = answer.data()
    assert not answer.yes
    assert [turn["nodes"] for turn in report["turns"]] == [("a", "c")]
    assert [each["node"] for each in report["stuck"]] == ["b"]
    assert "tea" in report["notSimulated"]
    assert [turn.nodes for turn in rolling_report(snapshot, QUESTION._replace(groups=("g",))).turns] == [
        ("c",)
    ]


@pytest.mark.parametrize("groups", [(), ("g",)])
def test_only_the_groups_that_are_named(groups):
    nodes = [ganeti_node("a"), ganeti_node("b", "h")]
    report = rolling_report(snapshot_of(ganeti_cluster(nodes)), QUESTION._replace(groups=groups))
    assert [turn.nodes for turn in report.turns] == [("a",) if groups else ("a", "b")]
