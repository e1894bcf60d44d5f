"""What repeats by the hour of the day and by the hour of the week, taken off peaks over time.

The hard thing is not to see seasons in noise: a season is kept only if, found in one half of the days (or
weeks), it predicts the other half better than no season does. Everything is a median, so a bad day does not
count. Hours are those of UTC: no hour is ever left out or repeated.
"""

from typing import Final, NamedTuple

import numpy as np

from ullage.engine.usage.medians import Flags, Floats, means, medians, observed

DAY_HOURS: Final = 24
WEEK_DAYS: Final = 7
WEEK_HOURS: Final = WEEK_DAYS * DAY_HOURS
DAYS_MIN: Final = 3
"""So often every hour of the day must have been observed."""
WEEKS_MIN: Final = 2
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
        by_day = _kept(cycles, DAYS_MIN, 0)
    weeks = days // WEEK_DAYS
    if weeks >= WEEKS_MIN:
        left = level - np.tile(by_day, days)
        cycles = left[:, hours - weeks * WEEK_HOURS :].reshape(rows, weeks, WEEK_HOURS)
        cycles = cycles - medians(cycles)[..., None]
        by_week = _kept(cycles, WEEKS_MIN, _NEIGHBOURS)
    return Seasons(by_day, by_week)


def _kept(cycles: Floats, cycles_min: int, neighbours: int) -> Floats:
    """Return the season of cycles in rows that have one; 0 in all others."""
    enough = np.all(observed(cycles.swapaxes(1, 2)) >= cycles_min, axis=1)
    whole = _profile(cycles, neighbours)
    halves = cycles[:, 0::2], cycles[:, 1::2]
    told = _profile(halves[1], neighbours), _profile(halves[0], neighbours)
    missed = np.concatenate(
        [half - profile[:, None] for half, profile in zip(halves, told, strict=True)], axis=1
    )
    plain = np.concatenate(halves, axis=1)
    both = ~np.isnan(missed)
    with_season = means(np.abs(np.where(both, missed, np.nan)).reshape(len(cycles), -1))
    without = means(np.abs(np.where(both, plain, np.nan)).reshape(len(cycles), -1))
    keeps = enough & (with_season < without)
    return np.where(keeps[:, None] & ~np.isnan(whole), whole, 0.0)


def _profile(cycles: Floats, neighbours: int) -> Floats:
    """Return the median of each place in the cycle, seen together with its neighbours."""
    shifted = [np.roll(cycles, shift, axis=2) for shift in range(-neighbours, neighbours + 1)]
    profile = medians(np.concatenate(shifted, axis=1).swapaxes(1, 2))
    return profile - medians(profile)[:, None]
