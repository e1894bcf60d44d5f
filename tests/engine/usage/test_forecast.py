"""Forecasts: intervals that hold what comes as often as they say, right dates, and honest silence."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from series_builders import DAY, made, openb_committed
from ullage.engine.usage.forecast import (
    EMPTY,
    KNOWN,
    NEVER,
    SHORT,
    STALE,
    UNTRIED,
    band,
    forecast,
    run_out,
)

LEVEL = Fraction(9, 10)
ALL = np.arange
SEEDS = st.integers(0, 1000)
KINDS = st.sampled_from(["noise", "daily", "walk", "heavy", "jumps"])


def line(days, start=100.0, per_day=3.0):
    return (start + per_day * np.arange(days * DAY) / DAY)[None]


def reached(values, bound, days=60):
    found = run_out(forecast(values, LEVEL), ALL(len(values)), np.full(len(values), float(bound)), days)
    return [[int(hour) for hour in each] for each in found]


class TestRunOut:
    @pytest.mark.parametrize("days", [6, 10, 14, 30, 56])
    def test_the_date_is_right_on_a_line_without_noise(self, days):
        values = line(days)
        bound = 100 + 3.0 * (days + 20)
        earliest, likely, latest = reached(values, bound)
        for (hour,) in (earliest, likely, latest):
            assert abs(hour - 20 * DAY) <= 1

    def test_a_line_that_falls_never_reaches_anything(self):
        assert reached(line(14, 500, -2), 501) == [[NEVER], [NEVER], [NEVER]]

    def test_a_constant_reaches_what_it_is_and_nothing_above(self):
        constant = np.full((1, 14 * DAY), 80.0)
        assert reached(constant, 80) == [[0], [0], [0]]
        assert reached(constant, 81) == [[NEVER], [NEVER], [NEVER]]

    def test_a_season_reaches_a_bound_at_its_hour(self):
        at = np.arange(21 * DAY)
        wave = (100 + 10 * np.sin(2 * np.pi * at / DAY))[None]
        assert reached(wave, 109.99)[1] == [6]

    @settings(max_examples=15)
    @given(SEEDS, KINDS, st.integers(1000, 1100))
    def test_the_earliest_is_never_after_the_likely_nor_that_after_the_latest(self, seed, kind, bound):
        never = 10**9
        for hours in zip(*reached(made(kind, 4, 10, seed), bound), strict=True):
            ordered = [never if hour == NEVER else hour for hour in hours]
            assert ordered == sorted(ordered)

    @settings(max_examples=15)
    @given(SEEDS, KINDS)
    def test_a_higher_bound_is_not_reached_earlier(self, seed, kind):
        values = made(kind, 3, 10, seed)
        for low, high in zip(reached(values, 1010), reached(values, 1030), strict=True):
            for sooner, later in zip(low, high, strict=True):
                assert later == NEVER or NEVER < sooner <= later

    def test_a_growth_that_is_given_takes_the_place_of_the_own(self):
        found = forecast(np.full((1, 14 * DAY), 100.0), LEVEL)
        hourly = 2 ** (1 / (10 * DAY)) - 1
        (hour,) = run_out(found, ALL(1), np.array([200.0]), 30, hourly).likely
        assert abs(hour - 10 * DAY) <= 1


class TestSilence:
    @pytest.mark.parametrize(
        ("values", "reason"),
        [
            (np.full((1, 14 * DAY), np.nan), EMPTY),
            (np.where(np.arange(14 * DAY) < 11 * DAY, 5.0, np.nan)[None], STALE),
            (np.where(np.arange(14 * DAY) < 9 * DAY, np.nan, 5.0)[None], SHORT),
            (np.where(np.isin(np.arange(14 * DAY) // DAY, (0, 13)), 5.0, np.nan)[None], SHORT),
            (np.where(np.arange(14 * DAY) < 8 * DAY, np.nan, 5.0)[None], KNOWN),
            (np.where(np.isin(np.arange(20 * DAY) // DAY, (0, 1, 2, 3, 4, 19)), 5.0, np.nan)[None], UNTRIED),
        ],
    )
    def test_too_little_is_told_as_such(self, values, reason):
        found = forecast(values, LEVEL)
        assert found.reason.tolist() == [reason]
        assert np.isnan(band(found, ALL(1), 3).likely).all() == (reason != KNOWN)
        assert (run_out(found, ALL(1), np.array([1.0]), 3).likely == NEVER).all() == (reason != KNOWN)

    def test_nothing_is_forecast_of_nothing(self):
        assert forecast(np.empty((0, 14 * DAY)), LEVEL).reason.tolist() == []
        assert forecast(np.empty((2, 0)), LEVEL).reason.tolist() == [EMPTY, EMPTY]


class TestLaws:
    @settings(max_examples=8)
    @given(SEEDS, st.permutations(range(5)))
    def test_rows_stand_for_themselves(self, seed, order):
        """New series, gaps and others beside a row do not change what is said of it."""
        values = np.concatenate(
            [made(kind, 1, 20, seed) for kind in ("noise", "daily", "walk", "heavy", "jumps")]
        )
        values[1, : 12 * DAY] = np.nan
        values[2, 5 * DAY : 6 * DAY] = np.nan
        whole = forecast(values, LEVEL)
        mixed = forecast(values[list(order)], LEVEL)
        for place, row in enumerate(order):
            alone = forecast(values[row : row + 1], LEVEL)
            for other, at in ((mixed, place), (alone, 0)):
                for one, two in zip(
                    band(whole, np.array([row]), 9), band(other, np.array([at]), 9), strict=True
                ):
                    np.testing.assert_array_equal(one, two)

    @settings(max_examples=15)
    @given(SEEDS, KINDS)
    def test_what_is_shifted_or_scaled_has_the_interval_shifted_or_scaled(self, seed, kind):
        values = made(kind, 2, 10, seed)
        plain = band(forecast(values, LEVEL), ALL(2), 20)
        for changed, wanted in (
            (values + 4096, [each + 4096 for each in plain]),
            (values * 1024, [each * 1024 for each in plain]),
        ):
            for one, two in zip(band(forecast(changed, LEVEL), ALL(2), 20), wanted, strict=True):
                np.testing.assert_allclose(one, two, rtol=1e-6)

    @settings(max_examples=15)
    @given(SEEDS, KINDS)
    def test_intervals_of_higher_levels_hold_those_of_lower_ones(self, seed, kind):
        values = made(kind, 2, 12, seed)
        before = None
        for level in (Fraction(1, 2), Fraction(3, 4), LEVEL, Fraction(99, 100)):
            edges = band(forecast(values, level), ALL(2), 30)
            assert (edges.low <= edges.likely).all()
            assert (edges.likely <= edges.high).all()
            if before is not None:
                assert (edges.low <= before.low).all()
                assert (edges.high >= before.high).all()
                np.testing.assert_array_equal(edges.likely, before.likely)
            before = edges

    def test_huge_amounts_are_forecast_as_small_ones_are(self):
        scale = 2.0**52
        values = made("daily", 3, 14, 1)
        small, huge = (band(forecast(each, LEVEL), ALL(3), 30) for each in (values, values * scale))
        np.testing.assert_array_equal(huge.high, small.high * scale)

    def test_missing_hours_leave_a_forecast_where_it_was(self):
        values = made("daily", 50, 14, 2)
        holed = np.where(np.random.default_rng(1).random(values.shape) < 0.2, np.nan, values)
        whole, part = (band(forecast(each, LEVEL), ALL(50), 3) for each in (values, holed))
        assert np.abs(whole.likely - part.likely).mean() < 5
        assert not np.isnan(part.high).any()


HELD = {"noise": 14, "daily": 14, "weekly": 28, "sluggish": 14, "walk": 28, "heavy": 14}
SERIES = 300


class TestCoverage:
    @pytest.mark.parametrize("kind", HELD)
    def test_intervals_hold_what_comes_as_often_as_they_say(self, kind):
        """Of each series one hour at each distance: these are independent, so their number is binomial."""
        days = HELD[kind]
        values = made(kind, SERIES, days + 7, seed=20)
        found = forecast(values[:, : days * DAY], LEVEL)
        edges = band(found, ALL(SERIES), 7)
        came = values[:, days * DAY :]
        inside = (edges.low <= came) & (came <= edges.high)
        least = 0.9 * SERIES - 3 * (SERIES * 0.9 * 0.1) ** 0.5
        for distance in (1, 2, 4, 7):
            hour = distance * DAY - 12
            assert np.count_nonzero(inside[:, hour]) >= least, (distance, inside[:, hour].mean())

    def test_intervals_say_something(self):
        """Those of plain noise are not much wider than it is: 1.64 times 5 for nine tenths."""
        found = forecast(made("noise", 100, 28, seed=3), LEVEL)
        edges = band(found, ALL(100), 7)
        width = (edges.high - edges.likely)[:, :DAY].mean()
        assert 7 < width < 11

    def test_it_beats_a_plain_guess_where_there_is_something_to_know(self):
        for kind in ("noise", "daily", "heavy"):
            found = forecast(made(kind, 50, 21, seed=8), LEVEL)
            assert found.error.mean() < 0.8 * found.naive_error.mean()

    def test_what_the_trace_had_committed_is_held_too(self, shared):
        """Twelve series of two weeks each day, three days ahead: more than nine tenths of hours are held."""
        folder = shared / "data" / "openb"
        if not folder.is_dir():
            pytest.skip("../shared has no openb trace")
        values = np.array(list(openb_committed(folder).values()))
        rows, inside, hours = ALL(len(values)), 0, 0
        for end in range(14, 32, 3):
            found = forecast(values[:, (end - 14) * DAY : end * DAY], LEVEL)
            edges = band(found, rows, 3)
            came = values[:, end * DAY : (end + 3) * DAY]
            inside += np.count_nonzero((edges.low <= came) & (came <= edges.high))
            hours += came.size
        assert 0.9 <= inside / hours <= 0.99


class TestCompounding:
    @pytest.mark.parametrize("percent", [-3, 2, 5])
    def test_what_compounds_is_dated_by_its_own_growth(self, percent):
        growth = np.log1p(percent / 100)
        values = 100 * np.exp(growth * np.arange(28 * DAY) / DAY)[None]
        found = forecast(values, LEVEL)
        assert found.compounds.all()
        came = 100 * np.exp(growth * (28 + np.arange(60 * DAY) / DAY))[None]
        edges = band(found, ALL(1), 60)
        assert np.allclose(edges.likely, came, rtol=1e-6)
        assert np.all(edges.high >= edges.likely)
        if percent > 0:
            assert abs(reached(values, 100 * np.exp(growth * 48))[1][0] - 20 * DAY) <= 1

    @pytest.mark.parametrize("days", [14, 28])
    def test_intervals_hold_what_comes(self, days):
        values = made("compounding", 60, days + 7, 5)
        found = forecast(values[:, : days * DAY], LEVEL)
        edges, came = band(found, ALL(60), 7), values[:, days * DAY :]
        assert np.mean((edges.low <= came) & (came <= edges.high)) >= 0.88
        assert found.inside.sum() >= 0.88 * found.hours.sum()

    def test_a_line_stays_a_line_and_what_has_no_logarithm_too(self):
        values = np.concatenate([line(28), line(28, 0.0), line(28, -50.0)])
        assert not forecast(values, LEVEL).compounds.any()

    def test_a_growth_that_is_given_takes_the_place_of_its_own(self):
        values = 100 * np.exp(0.05 * np.arange(28 * DAY) / DAY)[None]
        edges = band(forecast(values, LEVEL), ALL(1), 10, 0.0)
        assert np.allclose(edges.likely, values[0, -1], rtol=0.01)

    def test_no_amount_is_without_end(self):
        values = 100 * np.exp(0.9 * np.arange(28 * DAY) / DAY)[None]
        assert np.isfinite(band(forecast(values, LEVEL), ALL(1), 730).high).all()
