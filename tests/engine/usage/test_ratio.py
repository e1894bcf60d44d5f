"""The advised ratio: its laws on any usage, and that the stated risk holds on what was kept back."""

import os
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ratio_builders import (
    DAY,
    FAMILIES,
    GI,
    MONDAY,
    advised_and_over,
    openb_tenants,
    over_by_risk,
    shocks,
    world,
)
from ullage.engine.usage.day_likeness import likeness, neighbours
from ullage.engine.usage.ratio import HORIZON_DAYS, RATIO_MAX, RATIOS, STEP, curve_of, growth_of
from ullage.engine.usage.ratio_nodes import ANYWHERE, Evidence, composed

RISK = 0.001
RISKS = (RISK, 0.005, 0.01, 0.05)
NODES = 12
OPENB = Path(os.environ.get("ULLAGE_SHARED", "") or Path(__file__).parents[4] / "shared") / "data" / "openb"


@st.composite
def evidences(draw):
    """A few workloads on a few nodes, over some days of four slots; some ask for nothing or use nothing."""
    numbers = np.random.default_rng(draw(st.integers(0, 10**6)))
    days, workloads, nodes = draw(st.integers(3, 9)), draw(st.integers(1, 6)), draw(st.integers(1, 3))
    requests = numbers.integers(0, 65, workloads) * draw(st.sampled_from((0, 1, 1, 1)))
    uses = numbers.integers(0, 81, (workloads, 4 * days)) * draw(st.sampled_from((0, 1, 1, 1)))
    return Evidence(
        requests << 20,
        uses << 20,
        np.full(workloads, ANYWHERE),
        numbers.integers(20, 201, nodes) << 20,
        numbers.integers(0, 101, nodes) << 20,
        np.zeros((nodes, 4 * days), np.int64),
        4,
        MONDAY + np.arange(days),
    )


@given(evidences(), st.sampled_from((0.001, 0.05, 0.3)))
@settings(max_examples=15, deadline=None)
def test_risk_rises_with_the_ratio_and_is_never_below_what_was_seen(made, risk):
    curve = curve_of(made, seed=1, nodes=NODES)
    risks = [point.risk for point in curve.points]
    assert risks == sorted(risks)
    assert all(point.seen <= point.risk + 1e-12 for point in curve.points)
    assert all(point.risk_swap <= point.risk + 1e-12 for point in curve.points)
    advised = curve.highest(risk)
    assert advised in RATIOS
    assert curve.highest(risk, with_swap=True) >= advised
    assert curve.highest(min(1.0, 2 * risk)) >= advised


@given(evidences())
@settings(max_examples=12, deadline=None)
def test_what_is_advised_keeps_the_risk_on_the_very_data(made):
    curve = curve_of(made, seed=1, nodes=NODES)
    advised = curve.highest(0.05)
    ahead = made.day_numbers.max() - made.day_numbers + HORIZON_DAYS
    again = composed(made, [advised], np.exp(curve.growth * ahead), NODES, 1)
    assert advised == 1 or again.over.mean() <= 0.05


@given(evidences(), st.randoms(use_true_random=False))
@settings(max_examples=10, deadline=None)
def test_the_order_of_nodes_and_workloads_does_not_matter(made, random):
    rows, nodes = list(range(len(made.requests))), list(range(len(made.allocatable)))
    random.shuffle(rows)
    random.shuffle(nodes)
    turned = made._replace(
        requests=made.requests[rows],
        uses=made.uses[rows],
        allocatable=made.allocatable[nodes],
        swap=made.swap[nodes],
    )
    assert curve_of(turned, seed=1, nodes=NODES).points == curve_of(made, seed=1, nodes=NODES).points


@given(evidences(), st.sampled_from((2, 1024, 1 << 20)))
@settings(max_examples=10, deadline=None)
def test_the_unit_of_amounts_does_not_matter(made, scale):
    scaled = made._replace(
        requests=made.requests * scale,
        uses=made.uses * scale,
        allocatable=made.allocatable * scale,
        swap=made.swap * scale,
    )
    found, expected = curve_of(scaled, seed=1, nodes=NODES), curve_of(made, seed=1, nodes=NODES)
    for one, other in zip(found.points, expected.points, strict=True):
        assert one.ratio == other.ratio
        assert one.risk == pytest.approx(other.risk, abs=1e-9)
    assert found.highest(0.05) == expected.highest(0.05)


def even(share, days=14, swap=0):
    """One workload for each of three nodes, always at the same share of its promise."""
    return Evidence(
        np.full(9, 8 * GI),
        np.full((9, days * DAY), int(share * 8 * GI)),
        np.full(9, ANYWHERE),
        np.full(3, 24 * GI),
        np.full(3, swap),
        np.zeros((3, days * DAY), np.int64),
        DAY,
        MONDAY + np.arange(days),
    )


@pytest.mark.parametrize(
    ("share", "expected"),
    [
        pytest.param(1.0, Fraction(1), id="all that is promised is used"),
        pytest.param(1.2, Fraction(1), id="never below 1, even where 1 is over"),
        pytest.param(0.5, Fraction(37, 20), id="half of it: 2 less what nothing is known better than"),
        pytest.param(0.05, RATIO_MAX, id="next to nothing: the highest that is judged"),
    ],
)
def test_use_that_never_changes(share, expected):
    assert curve_of(even(share), seed=1, nodes=NODES).highest(RISK) == expected


def test_swap_carries_what_memory_does_not():
    curve = curve_of(even(0.5, swap=12 * GI), seed=1, nodes=NODES)
    assert curve.highest(RISK, with_swap=True) > curve.highest(RISK) + 8 * STEP


def test_with_a_day_or_two_nothing_is_known_of_others():
    assert curve_of(even(0.1, days=2), seed=1, nodes=NODES).points[0].risk == 1.0


def test_a_rise_is_carried_on_and_a_fall_is_not():
    made = even(0.5)
    rising = np.repeat(1.01 ** np.arange(14), DAY)
    up = made._replace(uses=(made.uses * rising).astype(np.int64))
    down = made._replace(uses=(made.uses * rising[::-1]).astype(np.int64))
    assert growth_of(up) == pytest.approx(np.log(1.01), rel=1e-3)
    assert growth_of(down) == growth_of(made) == 0.0


@given(st.integers(0, 10**6), st.sampled_from((0, 1, 1 << 20)), st.integers(0, 13))
@settings(max_examples=10, deadline=None)
def test_a_day_of_rest_is_no_reason_to_promise_more(seed, used, rested):
    made = even(0.4)
    days = np.exp(np.random.default_rng(seed).normal(0, 0.25, 14))
    uses = (made.uses * np.repeat(days, DAY)).astype(np.int64)
    rests = np.arange(14 * DAY) // DAY == rested
    curve = curve_of(made._replace(uses=np.where(rests, used, uses)), seed=1, nodes=NODES)
    others = np.flatnonzero(~rests)
    without = made._replace(uses=uses[:, others], beyond=made.beyond[:, others])
    without = without._replace(day_numbers=np.delete(made.day_numbers, rested))
    bounds = curve_of(without, seed=1, nodes=NODES)
    assert curve.growth == bounds.growth
    for point, bound in zip(curve.points[:30], bounds.points[:30], strict=True):
        assert point.risk >= 0.9 * bound.risk


def test_who_hardly_ever_worked_is_not_known():
    made = even(0.2)
    seldom = made._replace(uses=np.where(np.arange(14 * DAY) // DAY < 12, 0, made.uses))
    nothing = made._replace(uses=np.zeros_like(made.uses))
    assert curve_of(seldom, seed=1, nodes=NODES).points[0].risk == pytest.approx(2 / 14)
    assert curve_of(nothing, seed=1, nodes=NODES).highest(RISK) == RATIO_MAX


def test_a_day_of_rest_does_not_hide_a_rise():
    made = even(0.5)
    rising = np.repeat(1.01 ** np.arange(14), DAY) * (np.arange(14 * DAY) // DAY != 6)
    rises = made._replace(uses=(made.uses * rising).astype(np.int64))
    assert growth_of(rises) == pytest.approx(np.log(1.01), rel=1e-3)


def test_more_ratios_may_be_judged_but_only_steps_are_advised():
    curve = curve_of(even(0.5), seed=1, nodes=NODES, more=[Fraction(10, 9)])
    assert curve.at(Fraction(10, 9)) is not None
    assert curve.highest(RISK) in RATIOS


def upper(count, share, sigmas=4):
    """So many of `count` worlds at most exceed what each does with this probability."""
    return count * share + sigmas * (count * share * (1 - share)) ** 0.5


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_held_back_days_stay_within_the_stated_risk(family):
    """The mean over many worlds is within the risk, and few single weeks are above it."""
    worlds = 24
    over = [over_by_risk(world(family, seed), 14, RISKS) for seed in range(worlds)]
    assert (np.mean(over, axis=0) <= RISKS).all()
    assert sum(each[0] > RISK for each in over) <= upper(worlds, 0.1)


@pytest.mark.slow
def test_what_is_recorded_in_the_trace_stays_within_the_stated_risk():
    if not OPENB.is_dir():
        pytest.skip("../shared has no openb trace")
    over = [over_by_risk(openb_tenants(OPENB, day, 21, 14), 14, RISKS) for day in range(112, 129, 2)]
    assert (np.mean(over, axis=0) <= RISKS).all()


@given(st.integers(0, 10**6))
@settings(max_examples=8, deadline=None)
def test_days_that_are_like_the_one_before_tell_less(seed):
    """The same days, once high and low in turn, and once in order: what is high comes in a row."""
    days = np.sort(np.random.default_rng(seed).normal(0, 0.2, 14))[::-1]
    in_turn = days[[0, 13, 1, 12, 2, 11, 3, 10, 4, 9, 5, 8, 6, 7]]
    made = even(0.3)
    mixed, in_order = (
        curve_of(
            made._replace(uses=(made.uses * np.repeat(np.exp(each), DAY)).astype(np.int64)),
            seed=1,
            nodes=NODES,
        )
        for each in (in_turn, days)
    )
    assert mixed.growth == in_order.growth == 0.0
    assert in_order.highest(0.01) < mixed.highest(0.01)


@pytest.mark.parametrize("correlation", [0.0, 0.3, 0.6])
def test_few_days_are_no_reason_to_take_them_for_independent(correlation):
    numbers = np.random.default_rng(1)
    days, rows = 14, 4000
    noise = numbers.normal(0, 1, (rows, 60 + days))
    levels = np.zeros_like(noise)
    for day in range(1, 60 + days):
        levels[:, day] = correlation * levels[:, day - 1] + noise[:, day]
    levels = levels[:, -days:]
    products, squares = neighbours(levels - levels.mean(axis=1, keepdims=True))
    found = likeness(products.sum() / squares.sum(), days)
    assert correlation - 0.02 <= found <= correlation + 0.1


@pytest.mark.slow
def test_days_unlike_all_that_was_seen_are_beyond_the_advice():
    """The limit of the method, told in its documentation: without shocks in the evidence none is foreseen."""
    over = [advised_and_over(world(shocks, seed), 14, RISK)[1] for seed in range(16)]
    assert max(over) > RISK
