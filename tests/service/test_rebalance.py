"""What `balance` proposes, as a report."""

import pytest

from builders import cluster, node, pod
from ganeti_builders import ganeti_cluster, ganeti_node, instance
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
    assert len(group["terms"]) == 20
    assert sum(term["shareBefore"] for term in group["terms"]) == pytest.approx(group["scoreBefore"])
    assert group["redundancy"] == {"notTakingOverBefore": 0, "notTakingOverAfter": 0}
    assert "tea" in report["notSimulated"]
    assert any("scheduler" in each for each in report["notSimulated"])


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
