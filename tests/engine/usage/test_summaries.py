"""Summaries are exact where they say so, near elsewhere, and the same in whatever order things come."""

import math
from fractions import Fraction

import numpy as np
import pytest
from ddsketch import DDSketch
from hypothesis import given
from hypothesis import strategies as st

from ullage.engine.usage import summaries as module
from ullage.engine.usage.summaries import AMOUNT_MAX, NO_FIGURES, Figures, Summaries, amount_at
from ullage.engine.usage.summary import percentile
from ullage.model.usage import PERCENTILES, fraction_of

ROWS = 3
AMOUNTS = st.one_of(st.integers(0, 300), st.integers(0, AMOUNT_MAX))
POINTS = st.lists(st.tuples(st.integers(0, ROWS - 1), st.integers(0, 10**9), AMOUNTS), max_size=60)
EVERY_ROW = np.arange(ROWS)


def summaries_of(points) -> Summaries:
    found = Summaries()
    found.grow(ROWS)
    if points:
        found.add(*(np.array(column, np.int64) for column in zip(*points, strict=True)))
    return found


def plain(figures: Figures):
    return (*figures[:7], figures.buckets.tolist(), figures.counts.tolist())


def rows_of(found: Summaries):
    return [plain(found.of(np.array([row]))) for row in range(ROWS)]


def heavy_tailed(name: str, count: int = 20_000):
    generator = np.random.default_rng(7)
    shapes = {
        "lognormal": lambda: generator.lognormal(16, 2.5, count),
        "pareto": lambda: (generator.pareto(1.1, count) + 1) * 1e6,
        "small": lambda: generator.lognormal(3, 1.5, count),
        "two peaks": lambda: (
            np.where(generator.random(count) < 0.97, 5e7, 8e10) * generator.uniform(0.9, 1.1, count)
        ),
        "sparse": lambda: generator.lognormal(20, 4, 12),
    }
    return np.minimum(shapes[name](), 1e18).astype(np.int64)


@pytest.mark.parametrize("name", ["lognormal", "pareto", "small", "two peaks", "sparse"])
def test_every_percentile_is_within_one_per_cent_of_the_exact_one(name):
    amounts = heavy_tailed(name)
    found = summaries_of([(1, place, int(amount)) for place, amount in enumerate(amounts)])
    figures = found.of(np.array([1]))
    ordered = np.sort(amounts)
    judge = DDSketch(0.01)
    for amount in amounts:
        judge.add(float(amount))
    for text in (*PERCENTILES, "0.1", "1", "25", "75", "99.99", "100"):
        share = fraction_of(text)
        rank = max(1, math.ceil(share * len(ordered)))
        exact, ours = int(ordered[rank - 1]), percentile(figures, share)
        assert abs(ours - exact) * 100 <= exact, text
        # The judge counts ranks from 0 and takes the one below: it is asked for the very rank.
        theirs = judge.get_quantile_value((rank - 1) / (len(ordered) - 1))
        assert abs(ours - theirs) <= 0.02 * max(ours, theirs), text


@given(POINTS)
def test_count_sum_extremes_and_moments_are_exact(points):
    found = summaries_of(points)
    for row in range(ROWS):
        figures = found.of(np.array([row]))
        amounts = [amount for at, _, amount in points if at == row]
        moments = [second for at, second, _ in points if at == row]
        assert figures.points == len(amounts) == int(figures.counts.sum())
        assert figures.total == sum(amounts)
        assert (figures.low, figures.high) == (min(amounts, default=0), max(amounts, default=0))
        assert (figures.first_seconds, figures.last_seconds) == (
            min(moments, default=0),
            max(moments, default=0),
        )


@given(POINTS, st.randoms(use_true_random=False), st.integers(0, 60))
def test_the_order_and_the_batches_in_which_points_come_do_not_matter(points, random, cut):
    shuffled = points[:]
    random.shuffle(shuffled)
    parts = summaries_of(shuffled[:cut])
    for row, second, amount in shuffled[cut:]:
        parts.add(*(np.array([each], np.int64) for each in (row, second, amount)))
    assert rows_of(parts) == rows_of(summaries_of(points))


def merged(*many: Summaries) -> Summaries:
    found = Summaries()
    found.grow(ROWS)
    for each in many:
        for row in range(ROWS):
            found.put(row, each.of(np.array([row])))
    return found


@given(POINTS, POINTS, POINTS)
def test_merging_is_associative_and_commutative_and_the_same_as_having_seen_all(first, second, third):
    one, two, three = summaries_of(first), summaries_of(second), summaries_of(third)
    expected = rows_of(summaries_of(first + second + third))
    assert rows_of(merged(merged(one, two), three)) == expected
    assert rows_of(merged(one, merged(two, three))) == expected
    assert rows_of(merged(three, one, two)) == expected


@given(POINTS)
def test_rows_together_are_what_one_row_of_all_would_be(points):
    together = summaries_of(points).of(EVERY_ROW)
    assert plain(together) == plain(summaries_of([(0, *rest) for _, *rest in points]).of(np.array([0])))


@pytest.mark.parametrize("amount", [-1, -(1 << 62), AMOUNT_MAX + 1])
def test_what_is_no_amount_is_counted_as_dropped_and_nothing_else(amount):
    found = summaries_of([])
    assert found.add(np.array([1, 1]), np.array([5, 9]), np.array([amount, 3])) == 1
    figures = found.of(np.array([1]))
    assert (figures.dropped, figures.points, figures.total) == (1, 1, 3)
    assert (figures.first_seconds, figures.last_seconds) == (9, 9)
    assert plain(found.of(np.array([0]))) == plain(NO_FIGURES)


def test_dropped_points_survive_merging_where_nothing_else_was_observed():
    found = summaries_of([(0, 5, -1)])
    assert merged(found, found).of(np.array([0])).dropped == 2


def test_sums_beyond_64_bits_are_exact():
    found = summaries_of([(0, 0, AMOUNT_MAX)] * 50)
    assert found.of(np.array([0])).total == 50 * AMOUNT_MAX
    assert merged(found, found).of(np.array([0])).total == 100 * AMOUNT_MAX


@given(POINTS)
def test_many_small_chunks_hold_what_one_large_one_does(points):
    # A few keys a chunk and a few points in the buffer: every edge between chunks is met.
    expected = rows_of(summaries_of(points))
    sizes = module._CHUNK_MAX, module._PENDING_MAX
    try:
        module._CHUNK_MAX, module._PENDING_MAX = 3, 4
        split = summaries_of([])
        for row, second, amount in points:
            split.add(*(np.array([each], np.int64) for each in (row, second, amount)))
        assert rows_of(split) == expected
    finally:
        module._CHUNK_MAX, module._PENDING_MAX = sizes


def test_the_first_rank_is_the_least_amount_and_the_last_the_largest():
    figures = summaries_of([(0, 0, each) for each in (1000, 1003, 99_999)]).of(np.array([0]))
    assert (amount_at(figures, 0), amount_at(figures, 1), amount_at(figures, 3)) == (1000, 1000, 99_999)
    assert amount_at(figures, 9) == 99_999


@given(POINTS.filter(bool), st.fractions(Fraction(0), Fraction(1)))
def test_a_percentile_is_never_outside_of_what_was_observed(points, share):
    figures = summaries_of([(0, *rest) for _, *rest in points]).of(np.array([0]))
    assert figures.low <= percentile(figures, share) <= figures.high


@pytest.mark.parametrize("count", [1, 255, 256, 65_535, 65_536, (1 << 32) - 1, 1 << 32, 1 << 40])
def test_counts_of_any_width_come_out_as_they_were(count):
    found, more = Summaries(), Summaries()
    for each in (found, more):
        each.grow(2)
    buckets = np.array([3, 9], np.int64)
    figures = Figures(count + 1, 3 * count + 9, 3, 9, 0, 0, 60, buckets, np.array([count, 1], np.int64))
    found.put(0, figures)
    found.put(1, figures._replace(points=2, total=12, counts=np.array([1, 1], np.int64)))
    assert found.of(np.array([0])).counts.tolist() == [count, 1]
    assert found.of(np.array([1])).counts.tolist() == [1, 1]
    more.put_table(np.array([0, 1]), found.table(np.array([0, 1])))
    assert more.of(np.array([0, 1])).counts.tolist() == [count + 1, 2]
