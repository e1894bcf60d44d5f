"""A bench: what is kept from one question to the next changes no answer."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import placement_strategies
from tests.builders import batch, cluster, node, policy, quota, waiting, workload

from ullage.engine.columns import Columns
from ullage.engine.placement import bench as benches
from ullage.engine.placement.bench import Bench
from ullage.engine.placement.fit import fit
from ullage.engine.quota.accounts import Accounts
from ullage.model.cluster import Batch
from ullage.model.constraints import Affinity, Constraints, LabelSelector, PodAffinity, PodAffinityTerm

PLACEMENTS = ("spread", "pack", "balanced", "preferences")


@st.composite
def questions(draw):
    """Draw what is asked one after the other, some of it twice."""
    names = draw(st.lists(st.sampled_from("abcdef"), min_size=1, max_size=5))
    return [
        (
            Batch(draw(placement_strategies.workloads(name)), draw(st.integers(1, 4))),
            draw(st.sampled_from(PLACEMENTS)),
        )
        for name in names
    ]


@settings(max_examples=80, deadline=None)
@given(placement_strategies.clusters(), questions())
def test_an_answer_is_the_same_whatever_was_asked_before(snapshot, asked):
    columns = Columns(snapshot)
    bench = Bench(columns)
    for one, placement in asked:
        alone = fit(Columns(snapshot), [one], placement=placement)
        assert fit(columns, [one], placement=placement, bench=bench) == alone


def test_the_same_under_quotas_where_somebody_is_evicted():
    snapshot = cluster(
        node("n", cpu="10"),
        *(workload(f"b{number}", cpu="2", node="n", namespace="b") for number in range(5)),
        quota("a", {"cpu": "6"}),
        quota("b", {"cpu": "4"}),
    )
    columns = Columns(snapshot)
    bench = Bench(columns)
    asked = [batch(count, waiting("new", cpu="2", namespace="a")) for count in (1, 3, 1, 4, 2)]
    for one in asked:
        found = fit(columns, [one], bench=bench)
        assert found == fit(Columns(snapshot), [one])
        assert any(each.evicted for each in found.outcomes)


def test_what_is_kept_for_failover_is_kept_for_every_question():
    columns = Columns(
        cluster(*(node(f"n{number}", cpu="4") for number in range(2)), policy=policy(spare_nodes="1"))
    )
    bench = Bench(columns)
    for _ in range(2):
        (outcome,) = fit(columns, [batch(8, waiting("new", cpu="1"))], bench=bench).outcomes
        assert outcome.placed == 4


def test_a_trial_is_kept_until_it_has_learned_much(monkeypatch):
    monkeypatch.setattr(benches, "SHAPES_MAX", 2)
    columns = Columns(cluster(node("n", cpu="9")))
    bench = Bench(columns)
    first = bench.trial("spread")
    for number in range(3):
        assert bench.trial("spread") is first
        first.shape_of(waiting(f"w{number}", cpu="1"))
    assert bench.trial("spread") is not first


@pytest.mark.parametrize("placement", ["spread", "preferences"])
def test_terms_of_those_who_were_asked_about_before_are_forgotten(placement):
    columns = Columns(cluster(node("n", cpu="4").tainted("dedicated").labelled({"zone": "x"})))
    bench = Bench(columns)
    term = PodAffinityTerm("zone", LabelSelector({"app": "a"}))
    away = Constraints(affinity=Affinity(pod_anti_affinity=PodAffinity((term,))))
    shy = waiting("shy", cpu="1", constraints=away)
    plain = waiting("plain", cpu="1", labels={"app": "a"})
    for one in (plain, shy, plain):
        alone = fit(Columns(columns.snapshot), [batch(1, one)], placement=placement)
        assert fit(columns, [batch(1, one)], placement=placement, bench=bench) == alone


def test_devices_that_are_packed_by_what_is_expected_are_judged_anew():
    columns = Columns(cluster(node("n", cpu="9").with_gpus(2)))
    bench = Bench(columns)
    assert bench.trial("pack") is not bench.trial("pack")
    assert bench.trial("spread") is bench.trial("spread")


@settings(max_examples=40, deadline=None)
@given(placement_strategies.clusters(), questions(), st.data())
def test_a_bench_about_another_state_answers_as_one_made_for_it(snapshot, asked, data):
    bench = Bench(Columns(snapshot))
    fit(bench.columns, [asked[0][0]], placement=asked[0][1], bench=bench)
    names = [each.name for each in snapshot.nodes]
    added = [
        workload(
            f"held-{number}", memory="1", node=data.draw(st.sampled_from(names)), owner="ReplicaSet/web-1"
        )
        for number in range(data.draw(st.integers(0, 3)))
    ]
    gone = [each.key for each in snapshot.workloads if data.draw(st.booleans())]
    other = msgspec.structs.replace(snapshot, workloads=snapshot.workloads.changed(added, gone))
    about = bench.about(other)
    for one, placement in asked:
        alone = fit(Columns(other), [one], placement=placement)
        assert fit(about.columns, [one], placement=placement, bench=about) == alone
    assert fit(bench.columns, [asked[0][0]], placement=asked[0][1], bench=bench) == fit(
        Columns(snapshot), [asked[0][0]], placement=asked[0][1]
    )


def test_a_bench_about_other_nodes_is_made_anew():
    bench = Bench(Columns(cluster(node("n", cpu="1"))))
    about = bench.about(cluster(node("n", cpu="4")))
    (outcome,) = fit(about.columns, [batch(3, waiting("new", cpu="1"))], bench=about).outcomes
    assert outcome.placed == 3


def test_quotas_of_another_state_are_counted_as_if_anew():
    snapshot = cluster(
        node("n", cpu="10"),
        *(workload(f"b{number}", cpu="2", node="n", namespace="b") for number in range(4)),
        quota("a", {"cpu": "6"}),
        quota("b", {"cpu": "4"}),
    )
    bench = Bench(Columns(snapshot))
    assert set(bench.accounts.running) == {"b/b0", "b/b1", "b/b2", "b/b3"}
    added = [workload(name, cpu="1", node="n", namespace="b") for name in ("a0", "b1")]
    workloads = snapshot.workloads.changed(added, ["b/b2"])
    about = bench.about(msgspec.structs.replace(snapshot, workloads=workloads))
    anew = Accounts(about.columns)
    for name in ("running", "leaving", "waiting", "evictable", "spared"):
        assert list(getattr(about.accounts, name)) == list(getattr(anew, name))
    assert about.accounts.standing.used == anew.standing.used
    assert list(anew.running) == ["b/a0", "b/b0", "b/b1", "b/b3"]
