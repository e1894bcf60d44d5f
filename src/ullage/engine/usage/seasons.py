"""What repeats by the hour of the day and by the hour of the week, taken off peaks over time.

The hard thing is not to see seasons in noise: a season is kept only if, found in one half of the days (or
weeks), it predicts the other half better than no season does. Everything is a median, so a bad day does not
count. Hours at which nobody looks lie on the line between those beside them. All are hours of UTC, of which
none is ever left out or repeated.
"""

from typing import Final, NamedTuple

import numpy as np

from ullage.engine.usage.medians import Flags, Floats, means, medians

DAY_HOURS: Final = 24
WEEK_DAYS: Final = 7
WEEK_HOURS: Final = WEEK_DAYS * DAY_HOURS
DAYS_MIN: Final = 3
"""On so many days an hour must have been observed to count."""
WEEKS_MIN: Final = 2
_DAY_PLACES_MIN: Final = 3
"""So many hours of the day must count, else there is no season: every eighth hour will do."""
_WEEK_PLACES_MIN: Final = WEEK_HOURS // 2
_NEIGHBOURS: Final = 2
"""An hour of the week is judged with so many hours before and after it: there are few weeks."""


class Seasons(NamedTuple):
    """What each hour adds, by rows: of the day and of the week, counted back from the end of the table.

    Hour -1 is the last one of the table; so the first one that is forecast is hour 0.
    """

    by_day: Floats
    by_week: Floats

    def at(self, hours: Floats) -> Floats:
        """Return what some hours add, counted from the end of the table on."""
        places = hours.astype(np.int64)
        return self.by_day[:, places % DAY_HOURS] + self.by_week[:, places % WEEK_HOURS]

    @property
    def has_daily(self) -> Flags:
        """Whether a row has a season of the day."""
        found: Flags = np.any(self.by_day != 0, axis=1)
        return found

    @property
    def has_weekly(self) -> Flags:
        """Whether a row has a season of the week."""
        found: Flags = np.any(self.by_week != 0, axis=1)
        return found


def seasons_of(level: Floats) -> Seasons:
    """Return the seasons of rows of hourly peaks without trend; their number is that of whole days."""
    rows, hours = level.shape
    by_day, by_week = np.zeros((rows, DAY_HOURS)), np.zeros((rows, WEEK_HOURS))
    days = hours // DAY_HOURS
    if days >= DAYS_MIN:
        cycles = level.reshape(rows, days, DAY_HOURS)
        cycles = cycles - medians(cycles)[..., None]
        by_day = _kept(cycles, DAYS_MIN, _DAY_PLACES_MIN, 0)
    weeks = days // WEEK_DAYS
    if weeks >= WEEKS_MIN:
        left = level - np.tile(by_day, days)
        cycles = left[:, hours - weeks * WEEK_HOURS :].reshape(rows, weeks, WEEK_HOURS)
        cycles = cycles - medians(cycles)[..., None]
        by_week = _kept(cycles, WEEKS_MIN, _WEEK_PLACES_MIN, _NEIGHBOURS)
    return Seasons(by_day, by_week)


def _kept(cycles: Floats, cycles_min: int, places_min: int, neighbours: int) -> Floats:
    """Return the season of cycles in rows that have one; 0 in all others."""
    seen = ~np.isnan(cycles)
    near = np.logical_or.reduce([np.roll(seen, shift, axis=2) for shift in _shifts(neighbours)])
    counts = np.count_nonzero(near, axis=1) >= cycles_min
    halves = cycles[:, 0::2], cycles[:, 1::2]
    told = _profile(halves[1], neighbours), _profile(halves[0], neighbours)
    missed = np.concatenate(
        [half - profile[:, None] for half, profile in zip(halves, told, strict=True)], axis=1
    )
    plain = np.where(np.isnan(missed), np.nan, np.concatenate(halves, axis=1))
    with_season = means(np.abs(missed).reshape(len(cycles), -1))
    without = means(np.abs(plain).reshape(len(cycles), -1))
    keeps = (np.count_nonzero(counts, axis=1) >= places_min) & (with_season < without)
    profile = _filled(np.where(counts, _profile(cycles, neighbours), np.nan))
    return np.where(keeps[:, None], profile, 0.0)


def _shifts(neighbours: int) -> range:
    return range(-neighbours, neighbours + 1)


def _profile(cycles: Floats, neighbours: int) -> Floats:
    """Return the median of each place in the cycle, seen together with its neighbours."""
    shifted = [np.roll(cycles, shift, axis=2) for shift in _shifts(neighbours)]
    profile = medians(np.concatenate(shifted, axis=1).swapaxes(1, 2))
    return profile - medians(profile)[:, None]


def _filled(profile: Floats) -> Floats:
    """Return a cycle without gaps: what is missing lies on the line between its neighbours."""
    length = profile.shape[1]
    thrice = np.tile(profile, 3)
    places = np.arange(3 * length)
    seen = ~np.isnan(thrice)
    before = np.maximum.accumulate(np.where(seen, places, 0), axis=1)
    after = np.minimum.accumulate(np.where(seen, places, 3 * length - 1)[:, ::-1], axis=1)[:, ::-1]
    low, high = np.take_along_axis(thrice, before, 1), np.take_along_axis(thrice, after, 1)
    part = (places - before) / np.maximum(after - before, 1)
    filled: Floats = low + (high - low) * part
    return filled[:, length : 2 * length]
