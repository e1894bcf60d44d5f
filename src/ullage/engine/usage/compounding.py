"""Series that grow in proportion to what they are: a line through their logarithms, where that was right.

What compounds leaves every line behind. Both are tried on the same past days; logarithms are taken where they
missed less, in amounts, and then the whole row is forecast in them: line, seasons and widths. Of rows that
hardly grow the two cannot be told apart, so they are not tried.
"""

from typing import Final, NamedTuple

import numpy as np

from ullage.engine.usage.backtest import Tried, try_out
from ullage.engine.usage.medians import Counts, Floats, means
from ullage.engine.usage.seasons import DAY_HOURS
from ullage.engine.usage.trend import Fit, fit

GROWTH_MIN: Final = 0.1
"""A row is tried if it grew or shrank by this part of its level in all that was seen of it."""
BETTER: Final = 0.95
"""Logarithms are taken where they missed by less than this part of what the line did."""
LOGARITHM_MAX: Final = 43.0
"""No amount is larger: 2 to the power of 62."""


class Compounding(NamedTuple):
    """Which rows compound, and their lines and trials: misses are of logarithms, errors of amounts."""

    rows: Counts
    line: Fit
    tried: Tried


def compounding(values: Floats, line: Fit, tried: Tried) -> Compounding | None:
    """Return those of some rows that compound, by their lines and how these did; None if none does."""
    able = _able(values, line)
    if not len(able):
        return None
    logarithms = np.log(values[able])
    found = try_out(logarithms)
    error = _error(values[able], found)
    straight = means(np.abs(tried.misses[able]).reshape(len(able), -1))
    better = np.flatnonzero(error < BETTER * straight)
    if not len(better):
        return None
    rows = able[better]
    chosen = Tried(
        found.origins, found.misses[better], found.way[better], error[better], tried.naive_error[rows]
    )
    return Compounding(rows, fit(logarithms[better]), chosen)


def _able(values: Floats, line: Fit) -> Counts:
    """Return the rows that have logarithms and grow enough for them to matter."""
    lowest = np.fmin.reduce(values, axis=1)
    highest = np.fmax.reduce(values, axis=1)
    grown = np.abs(line.slope_per_hour) * values.shape[1] >= GROWTH_MIN * np.abs(line.levels[:, 0])
    found: Counts = np.flatnonzero((lowest > 0) & (highest < np.exp(LOGARITHM_MAX)) & grown)
    return found


def _error(values: Floats, tried: Tried) -> Floats:
    """Return the mean absolute error in amounts of rows whose misses are of logarithms."""
    rows = len(values)
    off = np.full_like(tried.misses, np.nan)
    for place, origin in enumerate(tried.origins):
        came = values[:, values.shape[1] - origin * DAY_HOURS :].reshape(rows, origin, DAY_HOURS)
        off[:, place, :origin] = came * np.expm1(-tried.misses[:, place, :origin])
    return means(np.abs(off).reshape(rows, -1))
