"""A bench: what is kept from one question to the next changes no answer."""

from hypothesis import given, settings
from hypothesis import strategies as st
from tests import placement_strategies
from tests.builders import batch, cluster, node, policy, quota, waiting, workload

from ullage.engine.columns import Columns
from ullage.engine.placement import bench as benches
from ullage.engine.placement.bench import Bench
from ullage.engine.placement.fit import fit
from ullage.model.cluster import Batch

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


def test_devices_that_are_packed_by_what_is_expected_are_judged_anew():
    columns = Columns(cluster(node("n", cpu="9").with_gpus(2)))
    bench = Bench(columns)
    assert bench.trial("pack") is not bench.trial("pack")
    assert bench.trial("spread") is bench.trial("spread")
