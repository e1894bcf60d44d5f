"""Emptying nodes: waves that budgets allow, destinations that hold, and who cannot move."""

import re
from collections import Counter

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import claim, cluster, node, persistent_volume, pod, tolerating, volume
from ullage.engine.columns import Columns
from ullage.engine.redundancy.budgets import Budgets
from ullage.engine.redundancy.drain import drain, how_to_unblock
from ullage.model.admission import DisruptionBudget
from ullage.model.constraints import (
    Affinity,
    Constraints,
    LabelSelector,
    NodeSelector,
    NodeSelectorTerm,
    PodAffinity,
    PodAffinityTerm,
    Requirement,
    TopologySpread,
)
from ullage.model.errors import InputError
from ullage.model.table import Table

HOST = "kubernetes.io/hostname"
WEB = LabelSelector({"app": "web"})


def machine(name, cpu="4", zone="z"):
    return node(name, cpu=cpu).labelled({HOST: name, "zone": zone})


def web(number, **fields):
    return pod(f"w/web-{number}", cpu="1", **{"labels": {"app": "web"}, "owner": "ReplicaSet/web", **fields})


def budget(name="web", **fields):
    return DisruptionBudget(name, "w", **{"selector": WEB, **fields})


def drained(*parts, nodes=("a",), placement="spread"):
    return drain(Columns(cluster(*parts)), nodes, placement)


def moves(found):
    return [[(step.subject, step.to_node) for step in wave] for wave in found.waves]


def test_everything_moves_to_the_other_nodes_in_one_wave():
    found = drained(machine("a").holding(web(0), web(1, priority=1)), machine("b"), machine("c"))
    assert moves(found) == [[("w/web-1", "b"), ("w/web-0", "c")]]
    (wave,) = found.waves
    assert {(step.action, step.from_node) for step in wave} == {("move", "a")}
    assert wave[0].evidence == "wave 1; b has 3 cpu left then"
    assert found.refusals == ()


def test_a_wave_takes_no_more_of_a_budget_than_it_allows():
    held = [web(number) for number in range(4)]
    found = drained(machine("a").holding(*held), machine("b"), budget(max_unavailable="2"))
    assert [len(wave) for wave in found.waves] == [2, 2]
    assert "budget w/web allows 2 at a time" in found.waves[0][0].evidence
    assert [each.key for each in found.budgets] == ["w/web"]


def test_what_no_budget_protects_goes_in_the_first_wave():
    other = pod("w/other", cpu="1", owner="ReplicaSet/other")
    found = drained(machine("a").holding(web(0), web(1), other), machine("b"), budget(max_unavailable="1"))
    assert [[step.subject for step in wave] for wave in found.waves] == [["w/other", "w/web-0"], ["w/web-1"]]


def test_a_budget_that_allows_nothing_blocks_and_is_named():
    found = drained(machine("a").holding(web(0), web(1)), machine("b"), budget(min_available="2"))
    assert found.waves == ()
    assert [each.subject for each in found.refusals] == ["w/web-0", "w/web-1"]
    assert found.refusals[0].reason == "budget w/web allows no eviction: 2 run and 2 are needed"
    assert found.refusals[0].remedy == "run 1 more of its replicas, or set its minAvailable to 1"


@st.composite
def blocking_budgets(draw):
    amount = draw(st.sampled_from(["0", "1", "2", "3", "7", "10%", "50%", "99%", "100%"]))
    record = budget(**{draw(st.sampled_from(["min_available", "max_unavailable"])): amount})
    replicas = draw(st.integers(1, 5))
    return record, replicas, draw(st.integers(0, replicas))


def allowed(record, replicas, healthy):
    held = [web(number) for number in range(healthy)]
    waiting = [web(number, state="init") for number in range(healthy, replicas)]
    (found,) = Budgets(cluster(machine("a", cpu="900").holding(*held), *waiting, record)).all
    return found


@given(question=blocking_budgets())
def test_each_way_to_unblock_a_budget_lets_it_allow_an_eviction(question):
    record, replicas, healthy = question
    found = allowed(record, replicas, healthy)
    if found.allowed:
        return
    ways = how_to_unblock(found).split(", or ")
    for way in ways:
        number = re.search(r"\d+", way)
        assert number or way == "get some of its pods to run, and let it demand fewer"
        amount = int(number[0]) if number else 0
        if not number:
            after = allowed(budget(max_unavailable=str(replicas)), replicas, 1)
        elif way.startswith("get "):
            assert healthy + amount <= replicas
            after = allowed(record, replicas, healthy + amount)
        elif way.startswith("run "):
            after = allowed(record, replicas + amount, healthy + amount)
        elif "maxUnavailable" in way:
            after = allowed(budget(max_unavailable=str(amount)), replicas, healthy)
        else:
            after = allowed(budget(min_available=str(amount)), replicas, healthy)
        assert after.allowed >= 1, way


def test_more_replicas_do_not_help_where_none_may_be_unavailable():
    found = drained(machine("a").holding(web(0), web(1)), machine("b"), budget(max_unavailable="0"))
    assert found.refusals[0].remedy == "set its maxUnavailable to 1"


@pytest.mark.parametrize(
    ("record", "owner", "reason", "remedy"),
    [
        (budget(max_unavailable="1"), "Job/j", "Job/j does not say", "state minAvailable as a number"),
        (
            budget(min_available="1", disruptions_allowed=0),
            "ReplicaSet/web",
            "the cluster itself states 0, though 2 of 2 run and 1 are needed",
            "wait until all of its pods are ready",
        ),
    ],
    ids=["owner without a scale", "stated by the cluster"],
)
def test_why_a_budget_blocks(record, owner, reason, remedy):
    held = [web(number, owner=owner) for number in range(2)]
    found = drained(machine("a").holding(*held), machine("b"), record)
    assert reason in found.refusals[0].reason
    assert found.refusals[0].remedy == remedy


def test_two_budgets_over_one_pod_refuse_its_eviction():
    found = drained(
        machine("a").holding(web(0), web(1)),
        machine("b"),
        budget("one", min_available="0"),
        budget("two", min_available="0"),
    )
    assert found.waves == ()
    assert "w/one and w/two" in found.refusals[0].reason


def test_what_finds_no_place_is_refused_with_what_is_missing_elsewhere():
    big = pod("w/big", cpu="3", owner="ReplicaSet/big")
    found = drained(machine("a").holding(big, web(0)), machine("b", cpu="2"))
    assert moves(found) == [[("w/web-0", "b")]]
    (refusal,) = found.refusals
    assert refusal.subject == "w/big"
    assert "node b: cpu short by" in refusal.reason
    assert "node a" not in refusal.reason + refusal.remedy


def test_daemons_mirrors_and_what_ends_stay_where_they_are():
    found = drained(
        machine("a").holding(
            pod("w/agent", cpu="1", owner="DaemonSet/agent"),
            pod("w/mirror", cpu="1", owner="Node/a"),
            pod("w/going", cpu="1", owner="Job/going", terminating=True),
        ),
        machine("b", cpu="1"),
    )
    assert (found.waves, found.refusals) == ((), ())
    assert (found.daemons, found.mirrors, found.ending) == (("w/agent",), ("w/mirror",), ("w/going",))


def test_pods_that_nobody_starts_again_are_named():
    found = drained(machine("a").holding(web(0), pod("w/bare", cpu="1")), machine("b"))
    assert found.unowned == ("w/bare",)


def test_nodes_that_are_emptied_together_take_nothing_from_each_other():
    found = drained(
        machine("a").holding(web(0)), machine("b").holding(web(1)), machine("c"), nodes=("a", "b")
    )
    assert {step.to_node for wave in found.waves for step in wave} == {"c"}


def test_a_volume_that_only_the_node_reaches_is_named():
    here = NodeSelector((NodeSelectorTerm((Requirement(HOST, "In", ("a",)),)),))
    found = drained(
        machine("a").holding(web(0, volumes=(volume("data", "1Gi", claim="data-0"),))),
        machine("b"),
        claim("w/data-0", "1Gi", bound=True, volume="pv-1"),
        persistent_volume("pv-1", "1Gi", node_affinity=here, claim="w/data-0"),
    )
    (refusal,) = found.refusals
    assert refusal.reason == "volume pv-1 of claim data-0 is reached from a only"
    assert "move its data first" in refusal.remedy


def test_what_tolerates_the_cordon_may_come_back():
    stubborn = web(0, constraints=tolerating("node.kubernetes.io/unschedulable"))
    found = drained(machine("a").holding(stubborn), machine("b", cpu="1"))
    (refusal,) = found.refusals
    assert "it tolerates the cordon, so it may be started on a again" in refusal.reason


def test_an_emptied_node_still_counts_where_replicas_are_spread():
    spread = Constraints(topology_spread=(TopologySpread(1, "zone", label_selector=WEB),))
    parts = (
        machine("a", zone="one").holding(web(0, constraints=spread)),
        machine("b", zone="two").holding(web(1, constraints=spread)),
    )
    (refusal,) = drained(*parts).refusals
    assert "topology spread over zone" in refusal.reason


def test_one_follows_another_that_it_must_be_near():
    together = Affinity(
        pod_affinity=PodAffinity(required=(PodAffinityTerm(HOST, LabelSelector({"app": "db"})),))
    )
    db = pod("w/db", cpu="1", labels={"app": "db"}, owner="StatefulSet/db")
    near = web(0, priority=9, constraints=Constraints(affinity=together))
    found = drained(machine("a").holding(db, near), machine("b"))
    assert found.refusals == ()
    assert moves(found) == [[("w/db", "b"), ("w/web-0", "b")]]


def test_one_that_must_be_near_is_tried_again_after_a_later_wave():
    together = Affinity(
        pod_affinity=PodAffinity(required=(PodAffinityTerm(HOST, LabelSelector({"app": "web"})),))
    )
    near = pod(
        "w/near", cpu="1", priority=9, owner="ReplicaSet/near", constraints=Constraints(affinity=together)
    )
    first = web(0, priority=5, constraints=Constraints(node_selector={HOST: "a"}))
    found = drained(machine("a").holding(near, first, web(1)), machine("b"), budget(max_unavailable="1"))
    assert [[step.subject for step in wave] for wave in found.waves] == [["w/web-1"], ["w/near"]]
    assert [each.subject for each in found.refusals] == ["w/web-0"]


def test_an_unknown_node_is_an_error():
    with pytest.raises(InputError, match="node z is unknown"):
        drained(machine("a"), nodes=("z",))


def test_a_plan_holds_the_steps_in_order_and_the_cluster_is_left_alone():
    snapshot = cluster(machine("a").holding(web(0)), machine("b"), revision=7)
    columns = Columns(snapshot)
    before = columns.promised.copy()
    plan = drain(columns, ["a"]).plan(snapshot)
    assert (plan.question, plan.revision, plan.complete) == ("drain", 7, True)
    assert [step.subject for step in plan.steps] == ["w/web-0"]
    assert (columns.promised == before).all()


@st.composite
def clusters(draw):
    parts, number = [], 0
    for name in "abcd"[: draw(st.integers(2, 4))]:
        held = []
        for _ in range(draw(st.integers(0, 4))):
            app = draw(st.sampled_from(["web", "api"]))
            held.append(
                pod(
                    f"w/p{number}",
                    cpu=draw(st.integers(1, 3)),
                    labels={"app": app},
                    owner=f"ReplicaSet/{app}",
                    priority=draw(st.integers(0, 1)),
                )
            )
            number += 1
        parts.append(machine(name, cpu=str(draw(st.integers(4, 12)))).holding(*held))
    for app in ("web", "api"):
        if draw(st.booleans()):
            most = str(draw(st.integers(0, 2)))
            parts.append(DisruptionBudget(app, "w", LabelSelector({"app": app}), max_unavailable=most))
    return cluster(*parts)


@settings(max_examples=80)
@given(snapshot=clusters(), nodes=st.sampled_from([("a",), ("a", "b")]))
def test_moves_hold_one_after_the_other(snapshot, nodes):
    found = drain(Columns(snapshot), nodes)
    allowed = {each.key: each.allowed for each in found.budgets}
    moved = {step.subject: step for wave in found.waves for step in wave}
    refused = {each.subject for each in found.refusals}
    there = {each.key for each in snapshot.workloads if each.node in nodes}
    assert moved.keys() | refused == there
    assert not moved.keys() & refused
    assert not {step.to_node for step in moved.values()} & set(nodes)
    for wave in found.waves:
        apps = Counter(f"w/{snapshot.workloads[step.subject].labels['app']}" for step in wave)
        assert all(count <= allowed[key] for key, count in apps.items() if key in allowed)
    after = msgspec.structs.replace(
        snapshot,
        workloads=Table(
            msgspec.structs.replace(each, node=moved[each.key].to_node) if each.key in moved else each
            for each in snapshot.workloads
        ),
    )
    before, columns = Columns(snapshot), Columns(after)
    worse = (columns.committed > columns.limit) & (columns.committed > before.committed)
    assert not worse.any()
