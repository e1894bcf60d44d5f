"""Nodes that can be empty at the same time: each set is held to a real drain."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from builders import cluster, node, pod
from placement_strategies import clusters
from ullage.engine.columns import Columns
from ullage.engine.redundancy import together
from ullage.engine.redundancy.drain import drain
from ullage.engine.redundancy.together import in_turns, names_of, not_needed
from ullage.model.admission import DisruptionBudget
from ullage.model.constraints import LabelSelector
from ullage.model.table import Table


def web(name, cpu="1", **fields):
    return pod(f"w/{name}", cpu=cpu, **{"owner": "ReplicaSet/web", "labels": {"app": "web"}, **fields})


def turns(*parts, names="abcd"):
    found = in_turns(Columns(cluster(*parts)), [name for name in names if name in "abcd"])
    return ["".join(each.nodes) for each in found.drains], {each.node: each.refusals for each in found.stuck}


def test_empty_nodes_are_down_together():
    assert turns(*(node(name, cpu="4") for name in "abcd")) == (["abcd"], {})


def test_a_turn_leaves_room_for_what_it_moves():
    found, stuck = turns(*(node(name, cpu="4").holding(web(name, cpu="2")) for name in "abcd"))
    assert (found, stuck) == (["ab", "cd"], {})


@pytest.mark.parametrize(
    ("held", "reason"),
    [
        (pod("bare", cpu="1"), "it has no owner"),
        (web("guarded", labels={"app": "guarded"}), "budget w/one allows no eviction"),
        (web("twice", labels={"app": "twice"}), "it is protected by 2 budgets"),
        (web("large", cpu="9"), "0/1 nodes have room"),
    ],
    ids=("no owner", "a budget allows none", "two budgets", "no room"),
)
def test_a_node_that_cannot_be_emptied_is_told_with_its_reason(held, reason):
    found, stuck = turns(
        node("a", cpu="10").holding(held),
        node("b", cpu="4").holding(web("free")),
        DisruptionBudget("one", "w", LabelSelector({"app": "guarded"}), min_available="1"),
        DisruptionBudget("two", "w", LabelSelector({"app": "twice"}), min_available="0"),
        DisruptionBudget("three", "w", LabelSelector({"app": "twice"}), min_available="0"),
        names="ab",
    )
    assert found == ["b"]
    assert stuck["a"][0].reason.startswith(reason)
    assert stuck["a"][0].remedy


def test_only_some_nodes_are_drained_to_see_why_they_are_stuck(monkeypatch):
    monkeypatch.setattr(together, "EXPLAINED_MAX", 1)
    _, stuck = turns(*(node(name, cpu="4").holding(web(name, cpu="4")) for name in "abc"), names="abc")
    assert [refusals[0].reason for refusals in stuck.values()][1:] == [together.UNEXPLAINED] * 2
    assert stuck["b"][0].remedy == "ullage balance --drain b"


def test_no_more_nodes_are_tried_after_many_that_fail(monkeypatch):
    monkeypatch.setattr(together, "FAILURES_MAX", 2)
    full = [node(name, cpu="4").holding(web(name, cpu="3")) for name in "abc"]
    assert turns(node("d", cpu="4"), *full, names="dabc")[0] == ["d", "a", "b", "c"]


def test_daemons_stay_and_move_nothing():
    held = (web("d", owner="DaemonSet/d"), web("e", terminating=True))
    assert turns(node("a", cpu="4").holding(*held), node("b", cpu="4"), names="ab")[0] == ["ab"]


def off(*parts, placement="spread"):
    columns = Columns(cluster(*parts))
    return not_needed(columns, names_of(columns, ()), placement)


def test_nodes_with_the_least_to_move_are_not_needed():
    held = node("a", cpu="4").holding(web("a0"), web("a1")), node("b", cpu="4").holding(web("b0"))
    found = off(*held, node("c", cpu="4"))
    assert found.nodes == ("b", "c")
    assert [step.subject for wave in found.waves for step in wave] == ["w/b0"]


def test_a_node_with_parts_of_the_cluster_or_a_pod_of_its_own_is_needed():
    api = pod("w/api", cpu="1", owner="Node/a")
    found = off(node("a", cpu="4").holding(api), node("b", cpu="4").holding(pod("bare")), node("c", cpu="4"))
    assert found.nodes == ("c",)


def test_nodes_of_some_groups_that_run():
    parts = node("a").in_group("x"), node("b").in_group("y"), node("c").in_group("x").offline()
    columns = Columns(cluster(*parts))
    assert (names_of(columns, ()), names_of(columns, ("x",))) == (["a", "b"], ["a"])


@given(clusters(), st.sets(st.integers(0, 5), max_size=2))
@settings(max_examples=25)
def test_every_turn_is_a_drain_that_leaves_nothing_behind(snapshot, bare):
    workloads = [
        each if number in bare else replace(each, owner="ReplicaSet/r")
        for number, each in enumerate(snapshot.workloads)
    ]
    columns = Columns(replace(snapshot, workloads=Table(workloads)))
    names = names_of(columns, ())
    found = in_turns(columns, names)
    listed = [name for each in found.drains for name in each.nodes]
    assert sorted([*listed, *(each.node for each in found.stuck)]) == sorted(names)
    for each in (*found.drains, not_needed(columns, names)):
        again = drain(columns, each.nodes)
        assert (again.refusals, again.unowned) == ((), ())
    assert all(each.refusals for each in found.stuck)
