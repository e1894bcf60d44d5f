"""Disruption budgets, counted as the disruption controller counts them."""

import pytest

from builders import cluster, node, pod, waiting
from ullage.engine.redundancy.budgets import Budgets, amount_of
from ullage.model.admission import DisruptionBudget
from ullage.model.constraints import LabelSelector, Requirement

WEB = LabelSelector({"app": "web"})


def replicas(count, app="web", owner="ReplicaSet/web", namespace="shop", **fields):
    return [
        pod(f"{namespace}/{app}-{number}", cpu="1", labels={"app": app}, owner=owner, **fields)
        for number in range(count)
    ]


def budget(**fields):
    return DisruptionBudget(**{"name": "web", "namespace": "shop", "selector": WEB, **fields})


def counted(record, *workloads, others=()):
    held = [each for each in workloads if each.state != "init"]
    lone = [each for each in workloads if each.state == "init"]
    snapshot = cluster(node("a", cpu="99").holding(*held), *lone, *others, record)
    (found,) = Budgets(snapshot).all
    return found


@pytest.mark.parametrize(
    ("text", "whole", "amount"),
    [("3", 10, 3), ("0", 10, 0), ("50%", 7, 4), ("1%", 7, 1), ("0%", 7, 0), ("100%", 7, 7), ("30%", 10, 3)],
)
def test_a_share_is_rounded_up(text, whole, amount):
    assert amount_of(text, whole) == amount


@pytest.mark.parametrize(
    ("fields", "desired", "allowed"),
    [
        ({"min_available": "2"}, 2, 5),
        ({"min_available": "50%"}, 4, 3),
        ({"min_available": "100%"}, 7, 0),
        ({"min_available": "9"}, 9, 0),
        ({"max_unavailable": "1"}, 6, 1),
        ({"max_unavailable": "30%"}, 4, 3),
        ({"max_unavailable": "0"}, 7, 0),
        ({"max_unavailable": "100%"}, 0, 7),
        ({"max_unavailable": "9"}, 0, 7),
        ({"max_unavailable": "1", "min_available": "1"}, 6, 1),
    ],
)
def test_what_is_needed_and_what_may_go_of_seven(fields, desired, allowed):
    found = counted(budget(**fields), *replicas(7))
    assert (found.expected, found.healthy, found.desired, found.allowed) == (7, 7, desired, allowed)


def test_a_budget_that_states_nothing_allows_nothing():
    found = counted(budget(), *replicas(3))
    assert found.allowed == 0
    assert "neither" in found.problem


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        (None, 0),
        (LabelSelector(), 3),
        (WEB, 2),
        (LabelSelector({}, (Requirement("app", "NotIn", ("web",)),)), 1),
    ],
    ids=["null selects nothing", "empty selects all", "by label", "by condition"],
)
def test_whom_a_selector_means(selector, expected):
    found = counted(
        budget(selector=selector, min_available="0"),
        *replicas(2),
        *replicas(1, "other", "ReplicaSet/other"),
        *replicas(4, namespace="elsewhere"),
    )
    assert (found.expected, found.healthy) == (expected, expected)
    assert found.allowed == expected


def test_those_that_wait_are_expected_but_not_healthy():
    late = waiting("shop/late", cpu="1", labels={"app": "web"}, owner="ReplicaSet/web")
    found = counted(budget(max_unavailable="1"), *replicas(2), late)
    assert (found.expected, found.healthy, found.desired, found.allowed) == (3, 2, 2, 0)


def test_those_that_end_are_neither_expected_nor_healthy():
    gone = pod("shop/gone", cpu="1", labels={"app": "web"}, owner="ReplicaSet/web", terminating=True)
    found = counted(budget(max_unavailable="1"), *replicas(2), gone)
    assert (found.expected, found.healthy, found.desired, found.allowed) == (2, 2, 1, 1)


def test_a_share_is_of_all_that_the_owner_wants_selected_or_not():
    unlabelled = pod("shop/plain", cpu="1", owner="ReplicaSet/web")
    found = counted(budget(min_available="50%"), *replicas(3), unlabelled)
    assert (found.expected, found.healthy, found.desired, found.allowed) == (4, 3, 2, 1)


def test_pods_without_an_owner_are_in_no_share_but_in_a_number():
    bare = replicas(3, owner="")
    assert counted(budget(min_available="50%"), *bare).allowed == 0
    assert counted(budget(max_unavailable="1"), *bare).allowed == 0
    assert counted(budget(min_available="2"), *bare).allowed == 1


@pytest.mark.parametrize("kind", ["Job", "DaemonSet"])
def test_owners_without_a_scale_leave_a_share_at_zero(kind):
    owned = replicas(3, owner=f"{kind}/x")
    found = counted(budget(max_unavailable="1"), *owned)
    assert found.allowed == 0
    assert f"{kind}/x" in found.problem
    assert counted(budget(min_available="1"), *owned).allowed == 2


@pytest.mark.parametrize(("stated", "allowed"), [(None, 2), (0, 0), (1, 1), (5, 5)])
def test_what_the_cluster_states_counts_more(stated, allowed):
    found = counted(budget(min_available="1", disruptions_allowed=stated), *replicas(3))
    assert (found.counted, found.allowed) == (2, allowed)


def on_nodes(*counts, **fields):
    """A cluster with so many web pods on nodes a, b, c..."""
    parts, number = [], 0
    for name, count in zip("abcdef", counts, strict=False):
        held = replicas(sum(counts))[number : number + count]
        parts.append(node(name, cpu="99").holding(*held))
        number += count
    return Budgets(cluster(*parts, budget(**fields)))


def test_a_loss_breaks_a_budget_when_it_takes_more_than_is_allowed():
    budgets = on_nodes(2, 1, 1, 0, max_unavailable="2")
    assert budgets.broken_by(["a"]) == []
    (broken,) = budgets.broken_by(["a", "b", "d"])
    assert (broken.budget.key, broken.nodes, broken.lost) == ("shop/web", ("a", "b"), 3)


def test_the_worst_loss_of_so_many_nodes():
    budgets = on_nodes(1, 3, 2, 1, max_unavailable="2")
    (broken,) = budgets.worst(1)
    assert (broken.nodes, broken.lost) == (("b",), 3)
    (broken,) = budgets.worst(2)
    assert (broken.nodes, broken.lost) == (("b", "c"), 5)
    assert budgets.worst(1, ["a", "c"]) == []
    assert budgets.worst(0) == []


def test_without_budgets_there_is_nothing_to_break():
    budgets = Budgets(cluster(node("a", cpu="9").holding(*replicas(2))))
    assert (budgets.all, budgets.broken_by(["a"]), budgets.worst(1)) == ((), [], [])
