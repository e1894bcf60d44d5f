"""Whether daily peaks rise, and how far that is carried on: one rule for every advice.

A line is laid through the logarithms of the peaks. Only what stands out from its own uncertainty is a rise;
what falls is no reason to promise more, or to ask for less. Days of rest are left out.
"""

from typing import Final

import numpy as np

from ullage.engine.usage.buckets import Integers
from ullage.engine.usage.percentiles import combined
from ullage.engine.usage.ratio_unseen import DAYS_LEAST, RESTING
from ullage.engine.usage.student import Floats

DAYS_MAX: Final = 28
"""What is older says little of what is to come."""
DAY_KNOWN: Final = 0.5
"""A day counts when so much of it was observed."""
HORIZON_DAYS: Final = 7
"""For so long a rise is carried on: then the advice is due again."""
GROWTH_MIN: Final = 1e-6
"""Less than a millionth a day is rounding."""


def growth_a_day(peaks: Integers, days: Integers, owners: Integers, count: int) -> Floats:
    """Return by how much the logarithm of daily peaks grows a day, by whose they are, of so many; 0 for none.

    Of each owner a day has at most one peak.
    """
    works = (peaks > 0) & (peaks > RESTING * combined(np.maximum, peaks, owners, count)[owners])
    levels, places, own = np.log(peaks[works]), days[works].astype(np.float64), owners[works]
    known = np.bincount(own, minlength=count)

    def total(values: Floats) -> Floats:
        return np.bincount(own, values, count).astype(np.float64)

    def mean(values: Floats) -> Floats:
        return total(values) / np.maximum(known, 1)

    places = places - mean(places)[own]
    width = np.maximum(total(places * places), 1.0)
    slope = total(places * levels) / width
    rest = levels - mean(levels)[own] - slope[own] * places
    error = np.sqrt(total(rest * rest) / np.maximum(known - 2, 1) / width)
    return np.where((known >= DAYS_LEAST) & (slope > np.maximum(error, GROWTH_MIN)), slope, 0.0)
