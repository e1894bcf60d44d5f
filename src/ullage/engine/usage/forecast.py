"""Where series of hourly peaks go from here, and when they reach a bound: always an interval, never a number.

A row is a line with seasons (trend.py), gone on in the way that was right in the past, and as wide as its
backtest was wrong at the same distance (backtest.py); where that was better, it is all of logarithms, as what
compounds is no line (compounding.py). Each row stands for itself: what else is forecast with it changes
nothing. Where too little was seen to have a backtest, nothing is said but why.
"""

from fractions import Fraction
from typing import Final, NamedTuple

import numpy as np

from ullage.engine.steps import Steps, tell
from ullage.engine.usage.backtest import (
    Tried,
    Widths,
    coverage_of,
    origins_of,
    spread,
    supported_of,
    try_out,
    widths_of,
)
from ullage.engine.usage.compounding import LOGARITHM_MAX, compounding
from ullage.engine.usage.medians import Counts, Flags, Floats, observed
from ullage.engine.usage.seasons import DAY_HOURS, WEEK_HOURS, Seasons
from ullage.engine.usage.trend import WAYS, Fit, fit

DAYS_MIN: Final = 6
"""Fewer days have no backtest."""
STALE_HOURS: Final = 48
NEVER: Final = -1
"""Not within the horizon."""
_CHUNK_ROWS: Final = 256
_DAMPINGS: Final = np.array([way.damping for way in WAYS])

KNOWN: Final = 0
EMPTY: Final = 1
STALE: Final = 2
SHORT: Final = 3
UNTRIED: Final = 4


class Forecast(NamedTuple):
    """Rows of forecasts; the first hour that is forecast is hour 0.

    `reason` is KNOWN or why nothing is known, and then all else is NaN or 0. `days` are those from the
    first that was seen, `seen_days` those with anything in them, `silent_hours` those since the last.
    `distance` is up to how many days ahead the backtest measured; beyond, widths are carried on. Intervals
    are known up to the level `supported`: those of higher levels are no wider. Of rows that compound level,
    slope, seasons and widths are of logarithms.
    """

    reason: Counts
    days: Counts
    seen_days: Counts
    silent_hours: Counts
    latest: Floats
    level: Floats
    slope_per_hour: Floats
    seasons: Seasons
    widths: Widths
    origins: Counts
    distance: Counts
    error: Floats
    naive_error: Floats
    inside: Counts
    hours: Counts
    supported: Floats
    compounds: Flags

    @property
    def drift_per_hour(self) -> Floats:
        """How far off the slope may be, at the level of the interval."""
        known = np.maximum(self.distance, 1)[:, None]
        drift: Floats = np.take_along_axis(self.widths.daily, known - 1, axis=1)[:, 0]
        slope: Floats = drift / (known[:, 0] * DAY_HOURS)
        return slope


class Band(NamedTuple):
    """An interval by row and hour: `likely` is its middle."""

    low: Floats
    likely: Floats
    high: Floats


class RunOut(NamedTuple):
    """In which hour a bound is reached: by the upper edge of the interval, its middle, its lower edge."""

    earliest: Counts
    likely: Counts
    latest: Counts


def forecast(values: Floats, level: Fraction, steps: Steps | None = None) -> Forecast:
    """Return the forecast of rows of hourly peaks, whole days of them, with intervals of a probability."""
    rows, hours = values.shape
    if not values.size:
        return _nothing(rows, 0)._replace(reason=np.full(rows, EMPTY, np.int64))
    seen = ~np.isnan(values)
    spans = np.where(seen.any(axis=1), -(-(hours - np.argmax(seen, axis=1)) // DAY_HOURS), 0)
    silent = np.where(spans > 0, np.argmax(seen[:, ::-1], axis=1), 0)
    seen_days = np.count_nonzero(seen.reshape(rows, -1, DAY_HOURS).any(axis=2), axis=1)
    found = _nothing(rows, max(_distances(spans), default=0))
    found = found._replace(
        reason=np.select(
            (spans == 0, silent >= STALE_HOURS, seen_days < DAYS_MIN), (EMPTY, STALE, SHORT), KNOWN
        ),
        days=spans,
        seen_days=seen_days,
        silent_hours=silent,
        latest=_latest(values, silent),
    )
    done, total = 0, int(np.count_nonzero(found.reason == KNOWN))
    for span in np.unique(spans[found.reason == KNOWN]):
        alike = np.flatnonzero((spans == span) & (found.reason == KNOWN))
        for start in range(0, len(alike), _CHUNK_ROWS):
            tell(steps, "series forecast", done, total)
            some = alike[start : start + _CHUNK_ROWS]
            done += len(some)
            _fill(found, some, values[some, hours - span * DAY_HOURS :], level)
    return found


def _distances(spans: Counts) -> list[int]:
    return [max(origins_of(int(span)), default=0) for span in np.unique(spans)]


def _latest(values: Floats, silent: Counts) -> Floats:
    latest: Floats = values[np.arange(len(values)), values.shape[1] - 1 - silent]
    return latest


def _nothing(rows: int, distances: int) -> Forecast:
    """Return rows of which nothing is known."""

    def unknown(*shape: int) -> Floats:
        return np.full((rows, *shape), np.nan)

    def none() -> Counts:
        return np.zeros(rows, np.int64)

    seasons = Seasons(np.zeros((rows, DAY_HOURS)), np.zeros((rows, WEEK_HOURS)))
    widths = Widths(unknown(max(distances, 1)), unknown(max(distances, 1)))
    return Forecast(
        none(), none(), none(), none(), unknown(), unknown(), unknown(), seasons, widths, none(), none(),
        unknown(), unknown(), none(), none(), unknown(), np.zeros(rows, np.bool_),
    )  # fmt: skip


def _fill(found: Forecast, rows: Counts, values: Floats, level: Fraction) -> None:
    """Work out some rows that were seen for equally many days."""
    line, tried = fit(values), try_out(values)
    _write(found, rows, line, tried, level)
    grown = compounding(values, line, tried)
    if grown is not None:
        found.compounds[rows[grown.rows]] = True
        _write(found, rows[grown.rows], grown.line, grown.tried, level)


def _write(found: Forecast, rows: Counts, line: Fit, tried: Tried, level: Fraction) -> None:
    widths = widths_of(tried.misses, level)
    distances = widths.hourly.shape[1]
    measured = observed(widths.hourly)
    covered = coverage_of(tried, level)
    found.level[rows] = np.take_along_axis(line.levels, tried.way[:, None], axis=1)[:, 0]
    found.slope_per_hour[rows] = line.slope_per_hour * _DAMPINGS[tried.way]
    found.seasons.by_day[rows] = line.seasons.by_day
    found.seasons.by_week[rows] = line.seasons.by_week
    found.widths.hourly[rows, :distances] = widths.hourly
    found.widths.daily[rows, :distances] = widths.daily
    found.origins[rows] = _tried_origins(tried)
    found.distance[rows] = measured
    found.error[rows], found.naive_error[rows] = tried.error, tried.naive_error
    found.inside[rows], found.hours[rows] = covered
    found.supported[rows] = supported_of(tried.misses)
    untried = rows[measured == 0]
    found.reason[untried] = UNTRIED
    found.level[untried] = found.slope_per_hour[untried] = np.nan


def _tried_origins(tried: Tried) -> Counts:
    found: Counts = np.count_nonzero(observed(tried.misses).any(axis=2), axis=1)
    return found


def band(found: Forecast, rows: Counts, days: int, growth_per_hour: float | None = None) -> Band:
    """Return the interval of some rows for so many days, by hour.

    With a growth (a factor less one), levels grow by it and not by their own slope; as it is given, it is
    no source of doubt, and widths stay what they were where they were last measured.
    """
    hours = np.arange(days * DAY_HOURS, dtype=np.float64)
    widths = Widths(found.widths.hourly[rows], found.widths.daily[rows])
    level, compounds = found.level[rows, None], found.compounds[rows, None]
    if growth_per_hour is None:
        likely = level + found.slope_per_hour[rows, None] * hours
    else:
        grown = np.log1p(growth_per_hour) * hours
        likely = np.where(compounds, level + grown, level * np.exp(grown))
        widths = Widths(widths.hourly, np.zeros_like(widths.daily))
    likely = likely + Seasons(found.seasons.by_day[rows], found.seasons.by_week[rows]).at(hours)
    width = np.repeat(spread(widths, days), DAY_HOURS, axis=1)
    return Band(*(_amounts(each, compounds) for each in (likely - width, likely, likely + width)))


def _amounts(edge: Floats, compounds: Flags) -> Floats:
    """Return an edge in amounts: of rows that compound it is of logarithms."""
    if not compounds.any():
        return edge
    found: Floats = np.where(compounds, np.exp(np.minimum(edge, LOGARITHM_MAX)), edge)
    return found


def run_out(
    found: Forecast, rows: Counts, bounds: Floats, days: int, growth_per_hour: float | None = None
) -> RunOut:
    """Return in which hour rows reach bounds within so many days; NEVER where they do not."""
    parts: list[tuple[Counts, Counts, Counts]] = []
    for start in range(0, max(len(rows), 1), _CHUNK_ROWS):
        some = slice(start, start + _CHUNK_ROWS)
        edges = band(found, rows[some], days, growth_per_hour)
        reached = [edge >= bounds[some, None] for edge in (edges.high, edges.likely, edges.low)]
        earliest, likely, latest = (_first(each) for each in reached)
        parts.append((earliest, likely, latest))
    return RunOut(*(np.concatenate(each) for each in zip(*parts, strict=True)))


def _first(reached: Flags) -> Counts:
    if not reached.shape[1]:
        return np.full(len(reached), NEVER, np.int64)
    return np.where(reached.any(axis=1), np.argmax(reached, axis=1), NEVER)
