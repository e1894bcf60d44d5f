"""Losing nodes: what is placed anew, who stays without a place, and every loss by kinds of node."""

from itertools import combinations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import cluster, node, pod, policy
from ullage.engine.columns import Columns
from ullage.engine.redundancy import losses
from ullage.engine.redundancy.losses import Losses, Move
from ullage.model.constraints import (
    Affinity,
    Constraints,
    LabelSelector,
    PodAffinity,
    PodAffinityTerm,
    TopologySpread,
)
from ullage.model.errors import InputError

ZONE = "zone"
HOST = "kubernetes.io/hostname"


def away_from(app, topology):
    term = PodAffinityTerm(topology, LabelSelector({"app": app}))
    return Constraints(affinity=Affinity(pod_anti_affinity=PodAffinity(required=(term,))))


def near(app, topology):
    term = PodAffinityTerm(topology, LabelSelector({"app": app}))
    return Constraints(affinity=Affinity(pod_affinity=PodAffinity(required=(term,))))


def spread_over(app, topology):
    return Constraints(
        topology_spread=(TopologySpread(1, topology, label_selector=LabelSelector({"app": app})),)
    )


def machine(name, zone="a", cpu="4", **more):
    return node(name, cpu=cpu, **more).labelled({HOST: name, ZONE: zone})


def losses_in(*parts, placement="spread", **fields):
    return Losses(Columns(cluster(*parts, **fields)), placement)


def test_what_ran_on_a_lost_node_is_placed_on_the_others():
    report = losses_in(
        machine("a").holding(
            pod("x", cpu="2", owner="ReplicaSet/x"), pod("y", cpu="1", owner="ReplicaSet/y")
        ),
        machine("b").holding(pod("z", cpu="1", owner="ReplicaSet/z")),
    ).of(["a"])
    assert set(report.moves) == {Move("x", "a", "b"), Move("y", "a", "b")}
    assert (report.losers, report.daemons, report.unowned) == ((), 0, ())


def test_a_loser_is_named_with_what_is_missing_on_the_nodes_that_are_left():
    report = losses_in(
        machine("a").holding(pod("x", cpu="3", priority=1), pod("y", cpu="1")),
        machine("b").holding(pod("z", cpu="2")),
        machine("c").holding(pod("w", cpu="3")),
    ).of(["a"])
    assert report.moves == (Move("y", "a", "b"),)
    (loser,) = report.losers
    assert (loser.workload, loser.node) == ("x", "a")
    assert loser.reason.startswith("0/2 nodes have room (cpu short on 2); nearest: node b: cpu short by 2 ")
    assert "on node b" in loser.remedy


def test_by_priority_then_the_largest_first():
    report = losses_in(
        machine("a").holding(pod("first", cpu="1", priority=9), pod("small", cpu="1"), pod("large", cpu="2")),
        machine("b").holding(pod("there", cpu="1")),
    ).of(["a"])
    assert [move.workload for move in report.moves] == ["first", "large"]
    assert [loser.workload for loser in report.losers] == ["small"]


def test_several_nodes_are_lost_together():
    parts = [machine(name).holding(pod(f"on-{name}", cpu="3")) for name in "abc"]
    found = losses_in(*parts, machine("d"))
    assert not found.of(["a"]).losers
    assert len(found.of(["a", "b"]).losers) == 1
    assert not found.of(["a"]).losers, "everything was taken back"


def test_daemons_go_with_their_node_and_what_ends_is_not_started_again():
    report = losses_in(
        machine("a").holding(
            pod("agent", cpu="3", owner="DaemonSet/agent"),
            pod("mirror", cpu="1", owner="Node/a"),
            pod("going", cpu="1", owner="Job/going", terminating=True),
        ),
        machine("b", cpu="1"),
    ).of(["a"])
    assert (report.moves, report.losers, report.daemons) == ((), (), 2)


def test_a_daemon_on_a_lost_node_no_longer_keeps_others_out_of_its_zone():
    parts = (
        machine("a", "one").holding(
            pod("agent", cpu="1", owner="DaemonSet/agent", labels={"app": "agent"}),
            pod("x", cpu="1"),
        ),
        machine("b", "one"),
        machine("c", "two", cpu="1").holding(
            pod("shy", cpu="1", constraints=away_from("agent", ZONE), labels={"app": "shy"})
        ),
    )
    found = losses_in(*parts)
    assert found.of(["c"]).losers
    assert found.of(["a", "c"]).losers == ()
    assert found.of(["c"]).losers, "the daemon counts again"


def test_pods_without_an_owner_are_named():
    report = losses_in(
        machine("a").holding(
            pod("bare", cpu="1"),
            pod("vm", cpu="1", kind="Instance"),
            pod("set", cpu="1", owner="ReplicaSet/s"),
        ),
        machine("b"),
    ).of(["a"])
    assert report.unowned == ("bare",)
    assert len(report.moves) == 3


def test_an_unknown_node_is_an_error():
    with pytest.raises(InputError, match="node z is unknown"):
        losses_in(machine("a")).of(["a", "z"])


def test_a_spread_does_not_wait_for_a_zone_that_is_lost():
    apart = {"constraints": spread_over("s", ZONE), "labels": {"app": "s"}}
    parts = [machine(name, name).holding(pod(f"s-{name}", cpu="1", **apart)) for name in "abc"]
    report = losses_in(*parts).of(["a"])
    assert len(report.moves) == 1


# Every loss


def test_every_loss_of_equal_nodes_is_one_kind():
    survey = losses_in(*(machine(f"n{number}") for number in range(10))).every(2)
    assert (survey.losses, survey.kinds, survey.tried, survey.untried, survey.failing) == (45, 1, 1, 0, 0)


def test_a_survey_tells_the_worst_first_and_for_how_many_losses_they_stand():
    full = [machine(f"full{number}").holding(pod(f"f{number}", cpu="4")) for number in range(3)]
    half = [machine(f"half{number}").holding(pod(f"h{number}", cpu="2")) for number in range(2)]
    survey = losses_in(*full, *half).every(1)
    assert (survey.losses, survey.kinds, survey.failing, survey.failing_losses) == (5, 2, 1, 3)
    (worst,) = survey.worst
    assert (worst.nodes, worst.alike) == (("full0",), 3)
    assert survey._replace(worst=()) == losses_in(*full, *half).every(1)._replace(worst=())


def test_nodes_whose_workloads_differ_in_priority_are_not_of_one_kind():
    parts = (
        machine("a").holding(pod("large-a", cpu="3", priority=1), pod("small-a", cpu="1")),
        machine("b").holding(pod("large-b", cpu="3"), pod("small-b", cpu="1", priority=1)),
        machine("c").holding(pod("large-c", cpu="3"), pod("small-c", cpu="1", priority=1)),
    )
    assert losses_in(*parts).every(1).kinds == 2


def test_only_named_nodes_are_lost_where_some_are_named():
    found = losses_in(machine("a").holding(pod("x", cpu="4")), machine("b", cpu="1"), machine("c", cpu="2"))
    assert found.every(1, ["b", "c"]).failing == 0
    assert (found.every(1, ["a", "b"]).failing, found.every(1, ["a", "b"]).losses) == (1, 2)


def test_where_kinds_are_too_many_the_fullest_nodes_are_tried(monkeypatch):
    monkeypatch.setattr(losses, "LOSSES_MAX", 3)
    parts = [
        machine(f"n{number}").holding(*(pod(f"p{number}-{each}", cpu="1") for each in range(number)))
        for number in range(4)
    ]
    survey = losses_in(*parts).every(1)
    assert (survey.kinds, survey.tried, survey.untried, survey.failing) == (4, 3, 1, 0)
    survey = losses_in(*parts).every(2)
    assert (survey.kinds, survey.tried, survey.untried) == (6, 3, 3)


@pytest.mark.parametrize("rules", [Constraints(), spread_over("a", ZONE)], ids=["side by side", "one by one"])
def test_where_too_many_workloads_are_to_be_placed_the_rest_is_untried_and_said(monkeypatch, rules):
    monkeypatch.setattr(losses, "PLACED_MAX", 3)
    monkeypatch.setattr(losses, "PLACED_SIDE_BY_SIDE_MAX", 3)
    held = pod("x", cpu="3", labels={"app": "a"}, constraints=rules)
    parts = [
        machine(f"n{number}", cpu=str(number + 4)).holding(msgspec.structs.replace(held, name=f"p{number}"))
        for number in range(4)
    ]
    survey = losses_in(*parts).every(2)
    assert (survey.kinds, survey.tried, survey.untried) == (6, 2, 4)
    assert losses_in(*parts).every(1).untried == 0


@pytest.mark.parametrize("nodes_lost", [2, 3, 9])
def test_where_more_nodes_are_lost_than_there_are_all_of_them_are(nodes_lost):
    survey = losses_in(machine("a").holding(pod("x", cpu="1")), machine("b")).every(nodes_lost)
    assert (survey.nodes_lost, survey.losses, survey.failing) == (2, 1, 1)
    assert survey.worst[0].nodes == ("a", "b")


def test_no_node_lost_is_one_loss_that_costs_nothing():
    survey = losses_in(machine("a").holding(pod("x", cpu="1"))).every(0)
    assert (survey.losses, survey.kinds, survey.failing) == (1, 1, 0)


RULES = st.sampled_from(
    [
        Constraints(),
        Constraints(),
        Constraints(node_selector={ZONE: "one"}),
        away_from("a", HOST),
        away_from("b", HOST),
        away_from("a", ZONE),
        near("b", ZONE),
        spread_over("a", ZONE),
    ]
)


@st.composite
def clusters(draw):
    kinds = draw(st.lists(st.tuples(st.sampled_from("ab"), st.integers(1, 4), RULES), min_size=1, max_size=4))
    parts = []
    for number in range(draw(st.integers(2, 5))):
        held = draw(st.lists(st.integers(0, len(kinds) - 1), max_size=3))
        workloads = []
        for place, kind in enumerate(held):
            app, cpu, rules = kinds[kind]
            owner = "DaemonSet/d" if draw(st.integers(0, 5)) == 0 else "ReplicaSet/r"
            workloads.append(
                pod(f"p{number}-{place}", cpu=cpu, labels={"app": app}, constraints=rules, owner=owner)
            )
        zone = draw(st.sampled_from(["one", "two"]))
        cpu = str(draw(st.integers(4, 8)))
        parts.append(machine(f"n{number}", zone, cpu).holding(*workloads))
    return cluster(*parts)


@settings(max_examples=60)
@given(snapshot=clusters(), placement=st.sampled_from(["spread", "pack"]), nodes_lost=st.integers(1, 2))
def test_kinds_of_loss_say_what_trying_every_loss_would_say(snapshot, placement, nodes_lost):
    found = Losses(Columns(snapshot), placement)
    names = [each.name for each in snapshot.nodes]
    tried = [found.of(chosen) for chosen in combinations(names, nodes_lost)]
    survey = found.every(nodes_lost)
    assert survey.losses == len(tried)
    assert survey.untried == 0
    assert survey.failing_losses == sum(bool(report.losers) for report in tried)
    assert sum(report.alike for report in survey.worst) == survey.failing_losses
    assert sorted((len(report.losers)) for report in survey.worst for _ in range(report.alike)) == sorted(
        len(report.losers) for report in tried if report.losers
    )


@settings(max_examples=30)
@given(snapshot=clusters())
def test_a_loss_leaves_no_trace(snapshot):
    found = Losses(Columns(snapshot))
    names = [each.name for each in snapshot.nodes]
    before = [found.of([name]) for name in names]
    found.every(1)
    assert [found.of([name]) for name in names] == before


def test_what_is_really_in_use_counts_where_the_policy_says_so():
    parts = (
        machine("a", memory="8Gi").using(memory="1Gi").holding(pod("x", memory="4Gi")),
        machine("b", memory="8Gi").using(memory="6Gi").holding(pod("y", memory="1Gi")),
    )
    strict = losses_in(*parts, policy=policy(committed="actual")).every(1)
    assert strict.failing == 1
    assert losses_in(*parts, policy=policy()).every(1).failing == 0


def test_one_that_must_be_near_another_is_placed_after_it():
    near = PodAffinity((PodAffinityTerm("kubernetes.io/hostname", LabelSelector({"app": "db"})),))
    labels = {"app": "db"}
    parts = [
        node("a", cpu="8")
        .labelled({"kubernetes.io/hostname": "a"})
        .holding(
            pod("db", cpu="1", labels=labels),
            pod("web", cpu="2", constraints=Constraints(affinity=Affinity(pod_affinity=near))),
        ),
        node("b", cpu="8").labelled({"kubernetes.io/hostname": "b"}),
    ]
    report = Losses(Columns(cluster(*parts))).of(["a"])
    assert not report.losers
    assert {move.workload for move in report.moves} == {"db", "web"}
