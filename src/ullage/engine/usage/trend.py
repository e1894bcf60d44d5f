"""A line and its seasons through hourly peaks: the slope of Theil and Sen, carried on from the latest level.

The slope is the median of the slopes between all pairs of days, so that a quarter of them may be wrong. The
line does not go through the middle of all that was seen but through the latest hours: levels that jumped stay
where they are now. How much of the slope is believed, and from how many hours the level is taken, is a `Way`;
which of them is taken is not decided here, but by which was right in the past.
"""

from typing import Final, NamedTuple

import numpy as np

from ullage.engine.usage.medians import Floats, medians, observed
from ullage.engine.usage.seasons import DAY_HOURS, WEEK_DAYS, Seasons, seasons_of

TRAIN_DAYS_MIN: Final = 3


class Way(NamedTuple):
    """How to go on from here: with how much of the slope, from the median of how many of the latest hours."""

    damping: float
    anchor_hours: int


WAYS: Final = tuple(Way(damping, hours) for hours in (24, 3) for damping in (1.0, 0.5, 0.0))
"""All ways; the first one counts until one of the others was better."""
_DAMPINGS: Final = np.array([way.damping for way in WAYS])


class Fit(NamedTuple):
    """Rows of series as lines with seasons; hours count from the end of what was seen.

    `levels` has the level at that end by row and way; it and the slope are NaN where too little was seen.
    """

    slope_per_hour: Floats
    levels: Floats
    seasons: Seasons

    def project(self, hours: int) -> Floats:
        """Return so many hours after the end, by row, way and hour."""
        after = np.arange(hours, dtype=np.float64)
        slopes = self.slope_per_hour[:, None, None] * _DAMPINGS[:, None]
        line: Floats = self.levels[..., None] + slopes * after
        return line + self.seasons.at(after)[:, None]


def fit(values: Floats) -> Fit:
    """Return the lines of rows of hourly peaks, whole days of them; NaN is what was not observed."""
    hours = values.shape[1]
    days = hours // DAY_HOURS
    since_end = np.arange(-hours, 0, dtype=np.float64)
    slope = _slopes(_daily(values), WEEK_DAYS if days >= 2 * WEEK_DAYS else 1)
    seasons = seasons_of(values - slope[:, None] * since_end)
    calm = values - seasons.at(since_end)
    slope = _slopes(_daily(calm), 1)
    levels = np.stack([_level(calm, slope * way.damping, way.anchor_hours) for way in WAYS], axis=1)
    known = observed(_daily(values)) >= TRAIN_DAYS_MIN
    return Fit(np.where(known, slope, np.nan), np.where(known[:, None], levels, np.nan), seasons)


def _daily(values: Floats) -> Floats:
    return medians(values.reshape(len(values), -1, DAY_HOURS))


def _slopes(daily: Floats, every: int) -> Floats:
    """Return the median slope per hour between days a multiple of `every` days apart; 0 without any."""
    days = daily.shape[1]
    first, last = np.triu_indices(days, 1)
    apart = last - first
    meant = apart % every == 0
    first, last, apart = first[meant], last[meant], apart[meant]
    slopes = medians((daily[:, last] - daily[:, first]) / (apart * DAY_HOURS))
    return np.nan_to_num(slopes, nan=0.0)


def _level(calm: Floats, slope: Floats, anchor_hours: int) -> Floats:
    """Return the level at the end: the median of the latest hours up to the last that was observed."""
    hours = calm.shape[1]
    last = hours - 1 - np.argmax(~np.isnan(calm[:, ::-1]), axis=1)
    places = np.maximum(last[:, None] - np.arange(anchor_hours), 0)
    latest = np.take_along_axis(calm, places, axis=1)
    return medians(latest - slope[:, None] * (places - hours))
