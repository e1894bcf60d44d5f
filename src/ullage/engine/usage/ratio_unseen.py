"""What days that were not seen may bring: how likely the peak of another day is above a node's memory.

The logarithms of the daily peaks of each composed node are taken as normal with unknown mean and spread,
which gives Student's distribution for another day. The hard thing is days of rest. They are no part of that
distribution and say nothing of the days of work: they are left out of mean and spread, and a node that was
hardly ever at work is one of which nothing is known.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from ullage.engine.usage.ratio_nodes import Composed
from ullage.engine.usage.student import Floats, tail

Booleans = npt.NDArray[np.bool_]

DAYS_LEAST: Final = 3
"""With fewer nothing can be told of other days."""
SPREAD_MIN: Final = 0.01
"""Nothing is known better than to a hundredth, however even it was."""
RESTING: Final = 0.05
"""A day on which not even this part of the highest peak was used is one of rest."""


def at_work(peaks: Floats) -> Booleans:
    """Return which days were no days of rest; peaks are logarithms, by day along the last axis."""
    found: Booleans = peaks > peaks.max(axis=-1, keepdims=True) + np.log(RESTING)
    return found


def unseen_risk(found: Composed, rooms: Floats, weekend: Booleans) -> Floats:
    """Return the risk that another day brings, by ratio: how likely its peak is over, times how long.

    Workdays and days of a weekend have means of their own, where there are two of each, and one spread.
    """
    ratios, nodes, days = found.peaks.shape
    if days < DAYS_LEAST:
        return np.ones(ratios)
    peaks = found.peaks.reshape(ratios * nodes, days)
    bounds = np.tile(rooms, ratios)
    works = at_work(peaks)
    kinds = [weekend, ~weekend]
    apart = np.logical_and.reduce([np.count_nonzero(works & kind, axis=1) >= 2 for kind in kinds])
    likely = np.empty(ratios * nodes)
    for chosen, days_of in ((apart, kinds), (~apart, [np.ones(days, np.bool_)])):
        if chosen.any():
            likely[chosen] = _likely(peaks[chosen], works[chosen], bounds[chosen], days_of)
    over: Floats = (likely.reshape(ratios, nodes) * found.near).mean(axis=1)
    return over


def _likely(peaks: Floats, works: Booleans, bounds: Floats, kinds: Sequence[Booleans]) -> Floats:
    """Return how likely the peak of a day of work is above a bound, by row."""
    counts = [np.count_nonzero(works & kind, axis=1) for kind in kinds]
    every = np.count_nonzero(works, axis=1)
    levels = np.where(works, peaks, 0.0)
    means = [
        (levels * kind).sum(axis=1) / np.maximum(count, 1) for kind, count in zip(kinds, counts, strict=True)
    ]
    rest = sum(
        (np.where(works & kind, levels - mean[:, None], 0.0) ** 2).sum(axis=1)
        for kind, mean in zip(kinds, means, strict=True)
    )
    freedom = every - len(kinds)
    spread = np.maximum(np.sqrt(rest / np.maximum(freedom, 1)), SPREAD_MIN)
    found = np.zeros(len(peaks))
    for count, mean in zip(counts, means, strict=True):
        part = np.maximum(count, 1)
        found += count * _tails((bounds - mean) / (spread * np.sqrt(1 + 1 / part)), freedom)
    known = np.where(every < DAYS_LEAST, 1.0, found / np.maximum(every, 1))
    return np.where(every == 0, 0.0, known)


def _tails(bounds: Floats, freedom: npt.NDArray[np.int64]) -> Floats:
    """Return the probability of more than each bound, each with its own degrees of freedom."""
    found = np.ones(len(bounds))
    for each in np.unique(freedom[freedom > 0]).tolist():
        alike = freedom == each
        found[alike] = tail(bounds[alike], each)
    return found
