"""Bounds: never above the lowest score that they are a bound of, and close to it in a larger cluster."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from fleet_strategies import balancings, fleets, tables
from ganeti_clusters import Kind, random_cluster
from ullage.engine.balance.bounds import Bounds, chord_of
from ullage.engine.balance.candidates import Balancing, score_after
from ullage.engine.balance.columns import KINDS, Columns, suits
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.rows import spread_of, target_scores
from ullage.engine.balance.score import TERMS


def bounds_and_lowest(fleet: Fleet, options: Balancing, terms) -> tuple[np.ndarray, np.ndarray, float]:
    columns = Columns(fleet, options, terms)
    bounds = Bounds(columns)
    spread = spread_of(columns, score_after(fleet, {}, terms))
    everyone = np.arange(len(columns.movers))
    lowest = [
        target_scores(columns, spread, kind, everyone, bounds.sides_for(kind, everyone)).min(axis=1)
        for kind in range(len(KINDS))
    ]
    return bounds.lower(spread), np.concatenate(lowest), spread.doubt


@given(fleets(), balancings, tables)
@settings(max_examples=80)
def test_a_bound_is_never_above_the_lowest_score(fleet, options, terms):
    assume(suits(fleet, terms))
    bounds, lowest, doubt = bounds_and_lowest(fleet, options, terms)
    assert (bounds <= lowest + doubt).all()


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(Kind(40, 200), id="few sizes"),
        pytest.param(Kind(40, 400, has_distinct_sizes=True), id="very many sizes"),
        pytest.param(Kind(40, 200, "mixed", has_equal_nodes=False, offline_share=0.1), id="unequal nodes"),
    ],
)
def test_in_a_larger_cluster_bounds_hold_and_are_close(kind):
    fleet = Fleet(random_cluster(2, kind))
    bounds, lowest, doubt = bounds_and_lowest(fleet, Balancing(), TERMS)
    assert (bounds <= lowest + doubt).all()
    possible = np.isfinite(lowest)
    assert np.median(lowest[possible] - bounds[possible]) < 0.05


@given(
    st.floats(0, 10), st.floats(0.1, 5), st.lists(st.floats(-10, 10), min_size=2, max_size=2), st.floats(0, 1)
)
def test_a_chord_lies_below_the_deviation(variance, weight, ends, where):
    low, high = sorted(ends)
    low = max(low, -variance)
    high = max(high, low)
    found = chord_of(np.array([weight]), np.array([variance]), np.array([low]), np.array([high]))
    change = low + where * (high - low)
    below = float(found.least[0] + found.slope[0] * change)
    assert below <= weight * np.sqrt(max(variance + change, 0.0)) + 1e-9
