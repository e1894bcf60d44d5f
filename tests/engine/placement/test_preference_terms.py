"""Soft spreads and weighted terms, against their definitions node by node."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.engine.placement.counters import Counter
from ullage.engine.placement.preference_terms import FEW, Pulls, SoftSpread, SpreadPart, normalised

EVERY = slice(None)


def counter(codes, counts) -> Counter:
    found = Counter(np.array(codes, np.int32), len(counts), lambda _: False)
    found.counts[:] = counts
    return found


@st.composite
def labels(draw, nodes: int):
    """The values that nodes have of one label, and how much there is on each value."""
    values = draw(st.sampled_from((1, 3, FEW, FEW + 1, FEW + 5)))
    codes = draw(st.lists(st.integers(-1, values - 1), min_size=nodes, max_size=nodes))
    counts = draw(st.lists(st.integers(0, 40), min_size=values, max_size=values))
    return codes, counts


@st.composite
def cases(draw):
    nodes = draw(st.integers(1, 30))
    chosen = draw(st.lists(labels(nodes), min_size=1, max_size=3))
    rows = sorted(draw(st.sets(st.integers(0, nodes - 1), min_size=1)))
    return nodes, chosen, rows


def as_rows(rows, nodes):
    return EVERY if len(rows) == nodes else np.array(rows, np.intp)


def spread_by_definition(chosen, skews, rows, *, all_required):
    raw = {}
    kept = [row for row in rows if not all_required or all(codes[row] >= 0 for codes, _ in chosen)]
    for row in kept:
        total = 0.0
        for (codes, counts), skew in zip(chosen, skews, strict=True):
            size = len({codes[each] for each in kept})
            if codes[row] >= 0:
                total += counts[codes[row]] * math.log(size + 2) + (skew - 1)
        raw[row] = math.floor(total + 0.5)
    low, high = min(raw.values(), default=0), max(raw.values(), default=0)
    scored = {row: 100 if not high else 100 * (high + low - each) // high for row, each in raw.items()}
    return [2 * scored.get(row, 0) for row in rows]


@given(cases(), st.lists(st.integers(1, 6), min_size=3, max_size=3), st.booleans())
def test_soft_spreads_prefer_the_values_with_the_fewest(case, skews, all_required):
    nodes, chosen, rows = case
    skews = skews[: len(chosen)]
    parts = [
        SpreadPart(counter(codes, counts), np.array(codes, np.int32), skew, by_node=False)
        for (codes, counts), skew in zip(chosen, skews, strict=True)
    ]
    spread = SoftSpread(parts, all_required=all_required).on(as_rows(rows, nodes))
    expected = spread_by_definition(chosen, skews, rows, all_required=all_required)
    assert spread.scores(len(rows)).tolist() == expected


def test_over_host_names_every_node_that_would_take_it_is_a_value():
    codes = np.array([0, 1, -1, -1, -1], np.int32)
    part = SpreadPart(counter(codes, [1, 4]), codes, 1, by_node=True)
    on = SoftSpread([part], all_required=False).on(EVERY)
    few, many = round(math.log(5 + 2)), round(4 * math.log(5 + 2))
    assert on.scores(5).tolist() == [100 * (many - few) // many * 2, 0, 200, 200, 200]


@given(cases(), st.lists(st.integers(-100, 100), min_size=6, max_size=6))
def test_weighted_terms_are_stretched_from_the_least_to_the_largest_sum(case, weights):
    nodes, chosen, rows = case
    pulls, raw = Pulls(), dict.fromkeys(rows, 0)
    for index, (codes, counts) in enumerate(chosen):
        for weight in weights[2 * index : 2 * index + 2]:
            pulls.add(f"label-{index}", np.array(codes, np.int32), counter(codes, counts), weight)
            for row in rows:
                raw[row] += weight * counts[codes[row]] if codes[row] >= 0 else 0
    low, high = min(raw.values()), max(raw.values())
    expected = [2 * int(100 * ((raw[row] - low) / (high - low))) if high > low else 0 for row in rows]
    assert pulls.on(as_rows(rows, nodes)).scores().tolist() == expected


@pytest.mark.parametrize(
    ("raw", "fewest_best", "expected"),
    [
        pytest.param([0, 0], True, 300, id="no taint anywhere is best everywhere"),
        pytest.param([0, 0], False, 0, id="no weight anywhere is nothing"),
        pytest.param([0, 1, 3], True, [300, 201, 0], id="shares of the largest, rounded down first"),
        pytest.param([0, 1, 3], False, [0, 99, 300], id="weights as shares of the largest"),
    ],
)
def test_counts_of_nodes_are_shares_of_the_largest(raw, fewest_best, expected):
    found = normalised(np.array(raw), 3, fewest_best=fewest_best)
    assert (found if isinstance(found, int) else found.tolist()) == expected
