"""Percentiles of many histograms at once, the same as those of one after the other (`summary.percentile`)."""

from fractions import Fraction
from typing import Final, NamedTuple

import numpy as np

from ullage.engine.usage.buckets import Integers, middle_of
from ullage.engine.usage.summaries import AMOUNT_MAX, BUCKET_BITS, summed

_BUCKET_MASK: Final = (1 << BUCKET_BITS) - 1


class Histograms(NamedTuple):
    """Histograms with their extremes; `owners` says of which of them an entry is, in any order.

    One may have several entries of the same bucket. One without points has no entry that counts.
    """

    points: Integers
    low: Integers
    high: Integers
    owners: Integers
    buckets: Integers
    counts: Integers


def merged(found: Histograms, owners: Integers, count: int) -> Histograms:
    """Return what histograms come to by whose they are, of so many; who has no points has extremes of 0."""
    known = found.points > 0
    own = owners[known]
    points = combined(np.add, found.points[known], own, count)
    low = combined(np.minimum, found.low[known], own, count, AMOUNT_MAX)
    high = combined(np.maximum, found.high[known], own, count)
    return Histograms(
        points, np.where(points > 0, low, 0), high, owners[found.owners], found.buckets, found.counts
    )


def combined(combine: np.ufunc, values: Integers, owners: Integers, count: int, empty: int = 0) -> Integers:
    """Return what values come to by whose they are, of so many; `empty` where there are none."""
    found = np.full(count, empty, np.int64)
    combine.at(found, owners, values)
    return found


def percentiles(found: Histograms, share: Fraction) -> Integers:
    """Return the least amount of each that this share of its points does not exceed, within 1/128."""
    keys, counts = summed([((found.owners << BUCKET_BITS) + found.buckets, found.counts)])
    passed = np.concatenate(([0], np.cumsum(counts)))
    begins = np.searchsorted(keys, np.arange(len(found.points)) << BUCKET_BITS)
    ranks = np.array(
        [-(-share.numerator * each // share.denominator) for each in found.points.tolist()], np.int64
    )
    inner = np.flatnonzero((ranks > 1) & (ranks < found.points))
    places = np.searchsorted(passed[1:], passed[begins[inner]] + ranks[inner])
    amounts = np.where(ranks <= 1, found.low, found.high)
    middles = middle_of(keys[places] & _BUCKET_MASK)
    amounts[inner] = np.clip(middles, found.low[inner], found.high[inner])
    return amounts
