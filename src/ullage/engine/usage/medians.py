"""Medians and quantiles along the last axis of tables with gaps: NaN is what was not observed.

NumPy's own functions for this go through masked arrays and are many times slower.
"""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


def observed(values: Floats) -> Counts:
    """Return how many values there are along the last axis."""
    count: Counts = np.count_nonzero(~np.isnan(values), axis=-1).astype(np.int64)
    return count


def medians(values: Floats) -> Floats:
    """Return the median along the last axis; NaN where nothing was observed."""
    if not values.shape[-1]:
        return np.full(values.shape[:-1], np.nan)
    ordered = np.sort(values, axis=-1)
    count = observed(values)
    low = np.maximum(count - 1, 0) // 2
    high = count // 2
    # Half of each: their sum might not fit.
    return _at(ordered, low) * 0.5 + _at(ordered, high) * 0.5


def ranked(values: Floats, ranks: Counts) -> Floats:
    """Return the value that stands at a rank from 1 on along the last axis; NaN where there is none."""
    found = _at(np.sort(values, axis=-1), np.clip(ranks, 1, values.shape[-1]) - 1)
    return np.where((ranks >= 1) & (ranks <= observed(values)), found, np.nan)


def means(values: Floats) -> Floats:
    """Return the mean along the last axis; NaN where nothing was observed."""
    count = observed(values)
    # Scaled down first, so that a sum of huge values still is a number.
    total = np.nansum(values / np.maximum(count, 1)[..., None], axis=-1)
    return np.where(count > 0, total, np.nan)


def greatest_so_far(values: Floats) -> Floats:
    """Return the running maximum along the last axis; gaps do not end it."""
    return np.fmax.accumulate(values, axis=-1)


def _at(ordered: Floats, places: Counts) -> Floats:
    return np.take_along_axis(ordered, places[..., None], axis=-1)[..., 0]
