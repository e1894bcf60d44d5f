"""Backtests look at nothing that came later, and what they measure is what the next forecast needs."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from series_builders import DAY, made
from ullage.engine.usage.backtest import (
    ORIGINS_MAX,
    ORIGINS_MIN,
    Widths,
    coverage_of,
    origins_of,
    spread,
    supported_of,
    try_out,
    widths_of,
)
from ullage.engine.usage.trend import TRAIN_DAYS_MIN

LEVEL = Fraction(9, 10)
SEEDS = st.integers(0, 1000)


@given(st.integers(0, 400))
def test_origins_are_few_in_order_and_learn_from_half_of_the_days(days):
    origins = origins_of(days)
    assert list(origins) == sorted(origins, reverse=True)
    assert len(origins) <= ORIGINS_MAX
    assert all(1 <= each <= days - max(TRAIN_DAYS_MIN, days / 2) for each in origins)
    assert bool(origins) == (days >= 6)


def test_misses_are_what_came_less_what_was_forecast():
    tried = try_out(np.full((1, 8 * DAY), 5.0))
    assert tried.origins == (4, 3, 2, 1)
    for place, origin in enumerate(tried.origins):
        assert (tried.misses[:, place, :origin] == 0).all()
        assert np.isnan(tried.misses[:, place, origin:]).all()
    assert tried.error == tried.naive_error == 0


@settings(max_examples=15)
@given(SEEDS, st.sampled_from(["noise", "walk", "jumps"]), st.integers(1, 6))
def test_a_forecast_of_the_past_does_not_change_with_what_comes_after(seed, kind, later):
    """Days after the end of all misses of some origins are other ones; nothing of these origins moves."""
    values = made(kind, 2, 14, seed)
    changed = values.copy()
    cut = 14 - later
    changed[:, cut * DAY :] = made("walk", 2, 14, seed + 1)[:, cut * DAY :] * 7
    one, other = try_out(values), try_out(changed)
    for place, origin in enumerate(one.origins):
        seen = origin - later
        if seen > 0:
            np.testing.assert_array_equal(one.misses[:, place, :seen], other.misses[:, place, :seen])


@settings(max_examples=10)
@given(SEEDS)
def test_an_interval_is_made_of_misses_that_were_known_by_then(seed):
    """What an origin adds to coverage stays when misses of earlier ones change that came after it."""
    tried = try_out(made("walk", 2, 20, seed))

    def added(tried, place):
        counts = [
            coverage_of(tried._replace(origins=tried.origins[:end], misses=tried.misses[:, :end]), LEVEL)
            for end in (place, place + 1)
        ]
        return [(after - before).tolist() for before, after in zip(*counts, strict=True)]

    for place, origin in enumerate(tried.origins):
        misses = tried.misses.copy()
        for earlier, before in enumerate(tried.origins[:place]):
            misses[:, earlier, before - origin : before] = 1e9
        assert added(tried._replace(misses=misses), place) == added(tried, place)


@settings(max_examples=15)
@given(SEEDS, st.sampled_from(["noise", "walk", "heavy", "daily"]))
def test_widths_grow_with_distance_and_with_the_level(seed, kind):
    tried = try_out(made(kind, 3, 14, seed))
    before = None
    for level in (Fraction(1, 2), Fraction(4, 5), Fraction(9, 10), Fraction(99, 100)):
        wide = spread(widths_of(tried.misses, level), 60)
        assert (np.diff(wide, axis=1) >= 0).all()
        assert before is None or (wide >= before).all()
        before = wide


def test_few_misses_are_taken_at_their_largest():
    misses = np.full((1, 4, 1, DAY), np.nan)
    misses[0, :, 0, 0] = (1, -5, 2, 3)
    assert widths_of(misses, LEVEL).hourly.tolist() == [[5]]
    misses[0, :2] = np.nan
    assert np.isnan(widths_of(misses, LEVEL).hourly).all()


def test_hours_that_miss_together_count_as_one():
    """Of independent hours of twelve days nine tenths are within; of days that are off as a whole, all."""
    numbers = np.random.default_rng(4)
    apart = numbers.standard_normal((1, 12, 1, DAY))
    together = np.repeat(numbers.standard_normal((1, 12, 1, 1)), DAY, axis=3)
    assert widths_of(apart, LEVEL).hourly[0, 0] == pytest.approx(np.quantile(np.abs(apart), 0.9), rel=0.1)
    assert widths_of(together, LEVEL).hourly[0, 0] == np.abs(together).max()


def test_intervals_are_known_up_to_the_level_that_the_largest_miss_is_right_for():
    together = np.full((1, 4, 4, DAY), np.nan)
    together[0, :, 0] = np.array([1.0, -2.0, 3.0, -4.0])[:, None]
    (known,) = supported_of(together)
    assert known == pytest.approx(4 / 5), "hours of a day miss together: four misses"
    apart = np.random.default_rng(1).standard_normal((1, 4, 4, DAY))
    assert 0.9 < supported_of(apart)[0] <= 96 / 97
    for misses in (together, apart):
        level = Fraction(supported_of(misses)[0]).limit_denominator(1000)
        at, above = (widths_of(misses, each).hourly[0, 0] for each in (level, Fraction(999, 1000)))
        assert at <= above == np.nanmax(np.abs(misses[:, :, 0]))
    assert np.isnan(supported_of(together[:, : ORIGINS_MIN - 1])).all()


def test_beyond_what_was_tried_days_go_off_in_a_line_and_hours_stay_noisy():
    widths = Widths(np.array([[2.0, 4.0, np.nan]]), np.array([[1.0, 3.0, np.nan]]))
    np.testing.assert_allclose(spread(widths, 5), [[2, 4, 5.5, 7, 8.5]])
    np.testing.assert_allclose(spread(widths, 1), [[2]])
    assert np.isnan(spread(Widths(np.full((1, 0), np.nan), np.full((1, 0), np.nan)), 3)).all()


def test_a_day_that_nobody_saw_ends_what_is_measured():
    misses = np.ones((1, 5, 4, DAY))
    misses[:, :, 1] = np.nan
    found = widths_of(misses, LEVEL).hourly
    assert found[0, 0] == 1
    assert np.isnan(found[0, 1:]).all()


def test_a_slope_is_believed_as_far_as_it_was_right():
    grows = (100 + 2.0 * np.arange(14 * DAY) / DAY)[None]
    assert try_out(grows).way.tolist() == [0]
    turns = np.abs(np.arange(14 * DAY) % (6 * DAY) - 3.0 * DAY)[None]
    assert try_out(turns).way.tolist() != [0]


def test_too_short_a_series_is_not_tried():
    tried = try_out(np.ones((2, 5 * DAY)))
    assert tried.origins == ()
    assert np.isnan(tried.error).all()
    assert coverage_of(tried, LEVEL).hours.tolist() == [0, 0]


def test_the_coverage_that_is_told_is_near_the_level():
    for kind in ("noise", "daily", "heavy", "sluggish", "walk"):
        covered = coverage_of(try_out(made(kind, 150, 21, seed=11)), LEVEL)
        share = covered.inside.sum() / covered.hours.sum()
        assert 0.88 <= share <= 0.99, (kind, share)
    assert ORIGINS_MIN == 3
