"""What `balance` proposes, as a report."""

import msgspec
import pytest

from builders import cluster, node, pod
from ganeti_builders import ganeti_cluster, ganeti_node, instance
from ullage.engine.balance import loss_watch
from ullage.model.checks import unique
from ullage.model.errors import InputError
from ullage.service.balance import BalanceQuestion, balance_of
from ullage.service.rebalance import check_groups, rebalance_report
from ullage.sources.ganeti.snapshot import snapshot_of

PODS = cluster(
    node("a", cpu="9", memory="9Gi").holding(
        *(pod(f"w/p{at}", cpu="1", memory="2Gi", owner="ReplicaSet/r") for at in range(4))
    ),
    node("b", cpu="9", memory="9Gi"),
    name="pods",
    unknowns=("tea",),
)
MIRRORED = snapshot_of(
    ganeti_cluster(
        [ganeti_node(name) for name in "abc"], *(instance(f"i{at}", "a", "b", memory=200) for at in range(3))
    ),
    "mirrored",
)


def test_moves_terms_and_redundancy_of_pods(asked):
    answer = balance_of(PODS, asked, BalanceQuestion())
    report = answer.data()
    assert (answer.yes, report["kind"], report["cluster"]) == (True, "RebalanceReport", "pods")
    (group,) = report["groups"]
    assert [(move["workload"], move["fromNode"], move["toNode"]) for move in group["moves"]] == [
        ("w/p0", "a", "b"), ("w/p1", "a", "b"),
    ]  # fmt: skip
    assert group["moves"][0]["cost"] == "restart"
    assert group["moves"][-1]["score"] == group["scoreAfter"] < group["scoreBefore"]
    assert len(group["terms"]) == 16
    assert not [term["name"] for term in group["terms"] if term["name"].endswith("-load")]
    assert sum(term["shareBefore"] for term in group["terms"]) == pytest.approx(group["scoreBefore"])
    kept = {"notTakingOverBefore": 0, "notTakingOverAfter": 0}
    assert group["redundancy"] == {**kept, "notEvacuableBefore": 0, "notEvacuableAfter": 0}
    assert report["redundancy"] == group["redundancy"]
    assert report["placedByRules"] is True
    assert not [each for each in report["notSimulated"] if "losing a node" in each or "more moves" in each]
    assert "tea" in report["notSimulated"]
    assert any("scheduler" in each for each in report["notSimulated"])


def test_pods_that_move_away_from_a_folder_of_their_node_are_counted():
    left = "data in folders of nodes, which stay there (hostPath): "
    told = rebalance_report(PODS, BalanceQuestion()).not_simulated
    assert not [each for each in told if "hostPath" in each]
    workloads = [msgspec.structs.replace(each, host_path=True) for each in PODS.workloads]
    pods = msgspec.structs.replace(PODS, workloads=unique(workloads, "workload"))
    assert f"{left}2 pods that move reach some" in rebalance_report(pods, BalanceQuestion()).not_simulated
    one = rebalance_report(pods, BalanceQuestion(moves_max=1)).not_simulated
    assert f"{left}1 pod that moves reaches some" in one


def test_commands_standbys_and_both_redundancies_of_instances():
    (group,) = rebalance_report(MIRRORED, BalanceQuestion()).groups
    assert (group.name, group.nodes) == ("g", 3)
    assert group.moves
    assert all(move.commands and move.to_standby for move in group.moves)
    found = group.redundancy
    assert (found.not_evacuable_before, found.not_evacuable_after) == (0, 0)


def test_what_is_wished_is_heard():
    def moves(**fields):
        return rebalance_report(MIRRORED, BalanceQuestion(**fields)).moves

    assert len(moves(moves_max=1)) == 1
    assert {move.cost for move in moves(disk_moves=False)} == {"migration"}
    assert moves(gain_min=99.0) == ()
    (group,) = rebalance_report(MIRRORED, BalanceQuestion(weights=("cpu=7",))).groups
    assert {term.name: term.weight for term in group.terms}["cpu"] == 7.0


def test_a_group_that_is_not_there_is_one_line():
    check_groups(MIRRORED, ("g",))
    with pytest.raises(InputError, match="no group 'h'; did you mean g"):
        rebalance_report(MIRRORED, BalanceQuestion(groups=("h",)))


def test_groups_together_are_their_sum():
    held = node("x", cpu="9", memory="20Gi").in_group("other").holding(pod("w/x", memory="20Gi"))
    report = rebalance_report(cluster(*full_and_empty(), held), BalanceQuestion())
    assert [group.redundancy.not_evacuable_before for group in report.groups] == [0, 1]
    together = report.redundancy
    assert (together.not_evacuable_before, together.not_evacuable_after) == (1, 1)


def full_and_empty():
    pods = (pod(f"w/p{at}", cpu="1", memory="2Gi", owner="ReplicaSet/r") for at in range(4))
    return node("a", cpu="9", memory="9Gi").holding(*pods), node("b", cpu="9", memory="9Gi")


def test_what_was_not_judged_is_told(monkeypatch):
    monkeypatch.setattr(loss_watch, "RUNNING_SIDE_BY_SIDE_MAX", 3)
    report = rebalance_report(PODS, BalanceQuestion())
    assert report.redundancy.not_evacuable_before is None
    assert any("too large to judge" in each for each in report.not_simulated)


def test_a_search_that_ended_early_is_told(monkeypatch):
    monkeypatch.setattr(loss_watch, "PLACED_SIDE_BY_SIDE_MAX", 0)
    held = {"n0": (3,), "n1": (5, 3), "n2": (2, 4)}
    nodes = [
        node(name, cpu="9", memory="10").holding(
            *(pod(f"w/{name}{size}", cpu="1", memory=str(size), owner="ReplicaSet/r") for size in sizes)
        )
        for name, sizes in held.items()
    ]
    report = rebalance_report(cluster(*nodes), BalanceQuestion())
    assert any(each.startswith("more moves of group default: ") for each in report.not_simulated)
