"""Lines through series: exact where there is no noise, unmoved by what goes wrong for a while."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from series_builders import DAY, made
from ullage.engine.usage.trend import WAYS, fit

SEEDS = st.integers(0, 1000)


def line(days, start=100.0, per_day=3.0):
    return (start + per_day * np.arange(days * DAY) / DAY)[None]


@pytest.mark.parametrize("days", [3, 6, 14, 30])
def test_a_line_goes_on_as_it_was(days):
    found = fit(line(days))
    np.testing.assert_allclose(found.slope_per_hour * DAY, 3.0)
    told = found.project(5 * DAY)
    np.testing.assert_allclose(told[:, 0], line(days + 5)[:, days * DAY :], rtol=1e-9)


def test_a_line_with_seasons_goes_on_as_it_was():
    at = np.arange(40 * DAY)
    whole = line(40) + 20 * np.sin(2 * np.pi * at / DAY) + 0.0
    told = fit(whole[:, : 30 * DAY]).project(10 * DAY)[:, 0]
    np.testing.assert_allclose(told, whole[:, 30 * DAY :], rtol=1e-6)


@pytest.mark.parametrize("days", [14, 17, 21, 30])
@pytest.mark.parametrize("per_day", [0.0, -3.0])
def test_what_rises_through_the_week_and_falls_back_is_a_season_and_no_trend(days, per_day):
    by_day = np.repeat([0.0, 5, 10, 15, 20, 25, 30], DAY)
    whole = line(days + 7, 500.0, per_day) + np.resize(by_day, (days + 7) * DAY)
    found = fit(whole[:, : days * DAY])
    np.testing.assert_allclose(found.slope_per_hour * DAY, per_day, atol=1e-9)
    np.testing.assert_allclose(found.project(7 * DAY)[:, 0], whole[:, days * DAY :], rtol=1e-9)


def test_a_quarter_of_days_may_be_wrong():
    wrong = line(12)
    wrong[:, 2 * DAY : 4 * DAY] = 0
    np.testing.assert_allclose(fit(wrong).slope_per_hour * DAY, 3.0)


def test_gaps_do_not_bend_a_line():
    holed = line(10)
    holed[:, np.random.default_rng(3).random(10 * DAY) < 0.7] = np.nan
    holed[:, 4 * DAY : 5 * DAY] = np.nan
    found = fit(holed)
    np.testing.assert_allclose(found.slope_per_hour * DAY, 3.0, rtol=0.05)


def test_a_level_that_jumped_stays_where_it_is_now():
    jumped = np.full((1, 14 * DAY), 10.0)
    jumped[:, 13 * DAY :] = 50
    flat = next(place for place, way in enumerate(WAYS) if way.damping == 0)
    np.testing.assert_allclose(fit(jumped).project(DAY)[:, flat], 50)


def test_two_days_are_too_few():
    found = fit(line(2))
    assert np.isnan(found.slope_per_hour).all()
    assert np.isnan(found.project(3)).all()


def test_a_constant_stays_what_it_is():
    np.testing.assert_array_equal(fit(np.full((2, 6 * DAY), 7.0)).project(9), 7.0)


@settings(max_examples=20)
@given(SEEDS, st.sampled_from(["noise", "daily", "walk", "heavy"]))
def test_what_is_shifted_or_scaled_is_forecast_shifted_or_scaled(seed, kind):
    values = made(kind, 2, 9, seed)
    told = fit(values).project(DAY)
    np.testing.assert_allclose(fit(values + 512).project(DAY), told + 512, rtol=1e-9)
    np.testing.assert_allclose(fit(values * 4).project(DAY), told * 4, rtol=1e-12)
    np.testing.assert_allclose(fit(values * -2).project(DAY), told * -2, rtol=1e-12)
