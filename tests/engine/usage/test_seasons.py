"""Seasons are found where they are, and only there."""

import numpy as np
import pytest

from series_builders import DAY
from ullage.engine.usage.seasons import Seasons, seasons_of

WEEK = 7 * DAY
ROWS = 200


def waves(days, height=30.0):
    return height * np.sin(2 * np.pi * np.arange(days * DAY) / DAY)[None]


def test_a_daily_wave_is_found_exactly_where_there_is_no_noise():
    found = seasons_of(waves(5) + 100)
    np.testing.assert_allclose(found.by_day, waves(1), atol=1e-9)
    assert not found.by_week.any()
    assert found.has_daily.all()
    assert not found.has_weekly.any()


def test_what_was_seen_comes_again_at_the_same_hours():
    found = seasons_of(waves(5))
    hours = np.arange(-2 * DAY, 3 * DAY, dtype=np.float64)
    np.testing.assert_allclose(found.at(hours), np.tile(waves(1), 5), atol=1e-9)


def test_a_bad_day_does_not_change_a_season():
    wave = waves(9)
    wave[0, 3 * DAY : 4 * DAY] += np.arange(DAY) * 1000
    np.testing.assert_allclose(seasons_of(wave).by_day, waves(1), atol=1e-9)


def test_two_days_have_no_season():
    assert not seasons_of(waves(2)).by_day.any()


def test_a_week_in_which_weekends_are_calm_is_known_after_two_of_them():
    at = np.arange(2 * WEEK)
    level = (500.0 + 60 * (at // DAY % 7 < 5))[None]
    found = seasons_of(level)
    told = level - found.at(at.astype(np.float64))
    assert np.ptp(told) < 1e-6 or np.mean(np.abs(told - np.median(told))) < 60 / 20
    assert found.has_weekly.all()
    assert not seasons_of(level[:, : 2 * WEEK - DAY]).has_weekly.any()


@pytest.mark.parametrize("days", [6, 14, 28])
def test_hardly_ever_is_a_season_seen_in_noise(days):
    found = seasons_of(np.random.default_rng(9).standard_normal((ROWS, days * DAY)))
    assert found.has_daily.mean() < 0.05
    assert found.has_weekly.mean() < 0.05


@pytest.mark.parametrize("every", [2, 4, 6, 8])
def test_hours_at_which_nobody_looks_lie_between_those_beside_them(every):
    sparse = np.full((1, 9 * DAY), np.nan)
    sparse[:, ::every] = waves(9)[:, ::every]
    found = seasons_of(sparse).by_day
    assert not np.isnan(found).any()
    np.testing.assert_allclose(found[:, ::every], waves(1)[:, ::every], atol=1e-6)
    between = found[0, every // 2]
    assert min(found[0, 0], found[0, every]) <= between <= max(found[0, 0], found[0, every])


def test_one_look_a_day_has_no_season():
    sparse = np.full((1, 9 * DAY), np.nan)
    sparse[:, ::DAY] = np.arange(9)
    assert not seasons_of(sparse).by_day.any()


def test_nothing_observed_has_no_season():
    found = seasons_of(np.full((2, 14 * DAY), np.nan))
    assert isinstance(found, Seasons)
    assert not found.by_day.any()
    assert not found.by_week.any()
