"""Balancing by load: the term of memory in use, its weight by the ratio, and moves that follow from it."""

from fractions import Fraction

import pytest

from builders import cluster, node, pod, policy
from ullage.engine.balance.by_load import Loads, ratio_in_force, terms_by_load
from ullage.engine.balance.rebalance import Wishes, fleet_of, rebalance
from ullage.engine.balance.score import DYNAMIC, TERMS, score_of, values_of, with_load

GI = 1 << 30


def uneven(ratio="1.5"):
    """Two nodes that promise the same, of which one uses far more."""
    own = {"owner": "ReplicaSet/r", "namespace": "x"}
    return cluster(
        node("n1", cpu=8, memory="16Gi", pods=20).holding(
            *(pod(f"hot-{at}", cpu=1, memory="4Gi", **own) for at in range(4))
        ),
        node("n2", cpu=8, memory="16Gi", pods=20).holding(
            *(pod(f"cold-{at}", cpu=1, memory="4Gi", **own) for at in range(4))
        ),
        policy=policy(memory_ratio=ratio),
    )


LOADS = Loads(
    {f"x/hot-{at}": 4 * GI for at in range(4)} | {f"x/cold-{at}": GI // 2 for at in range(4)}, {"n2": GI}
)


@pytest.mark.parametrize(("ratio", "weight"), [("1", 0.0), ("1.5", 2.5), ("2", 5.0), ("3", 10.0)])
def test_the_weight_grows_with_the_ratio_from_nothing(ratio, weight):
    terms = terms_by_load(uneven(ratio), "default", {})
    assert terms[-1] == DYNAMIC._replace(weight=weight)
    assert [term.name for term in terms[:-1]] == [term.name for term in TERMS]


def test_a_weight_of_the_users_own_counts():
    assert terms_by_load(uneven(), "default", {DYNAMIC.name: 7.0})[-1].weight == 7.0


def test_the_value_is_the_deviation_of_use_by_what_is_available():
    fleet = fleet_of(uneven(), loads=LOADS)
    terms = with_load(TERMS, Fraction(3, 2))
    assert values_of(fleet.hosts, fleet.states, terms)[-1] == pytest.approx((16 / 16 - 3 / 16) / 2)


def test_without_over_commitment_the_score_is_that_without_load():
    snapshot = uneven("1")
    plain, loaded = fleet_of(snapshot), fleet_of(snapshot, loads=LOADS)
    terms = terms_by_load(snapshot, "default", {})
    assert score_of(loaded.hosts, loaded.states, terms) == score_of(plain.hosts, plain.states)


def test_use_is_made_even_though_promises_are():
    snapshot = uneven()
    assert not rebalance(snapshot, Wishes())[0].moves
    (found,) = rebalance(snapshot, Wishes(loads=LOADS))
    moved = {move.workload for move in found.moves}
    assert any("hot" in name for name in moved)
    term = next(each for each in found.terms if each.name == DYNAMIC.name)
    assert term.after < term.before / 2


def test_the_ratio_of_a_group_is_the_highest_of_its_nodes():
    assert ratio_in_force(uneven("1.25"), "default") == Fraction(5, 4)
    assert ratio_in_force(uneven("unlimited"), "default") == 1, "what is promised, where there is no bound"
