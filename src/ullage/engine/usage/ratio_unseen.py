"""What days that were not seen may bring: how likely the peak of another day is above a node's memory.

The logarithms of the daily peaks of each composed node are taken as normal with unknown mean and spread,
which gives Student's distribution for another day: with fewer degrees of freedom the more each day is like
the one before (day_likeness.py). The hard thing is days of rest. They are no part of that distribution and
say nothing of the days of work: they are left out of mean and spread, and a node that was hardly ever at work
is one of which nothing is known.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from ullage.engine.usage.day_likeness import independent_part, likeness, neighbours
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


def independent_share(peaks: Floats, weekend: Booleans) -> float:
    """Return which share of days is as good as independent of each other, by the peaks of all nodes together.

    One node alone has too few days to tell.
    """
    rows = peaks.reshape(-1, peaks.shape[-1])
    works = at_work(rows)
    products = squares = means = 0.0
    for chosen, kinds in _alike(works, weekend):
        rest = _rest(rows[chosen], works[chosen], kinds)
        in_order = np.argsort(~works[chosen], axis=1, kind="stable")  # days of rest are no neighbours
        found = neighbours(np.take_along_axis(rest, in_order, axis=1))
        products += float(found[0].sum())
        squares += float(found[1].sum())
        means += np.count_nonzero(chosen) * len(kinds) / len(rows)
    days = np.count_nonzero(works)
    varied = squares + days * SPREAD_MIN**2
    return independent_part(likeness(products / varied if varied else 0.0, days / len(rows), means))


def unseen_risk(found: Composed, rooms: Floats, weekend: Booleans, independent: float) -> Floats:
    """Return the risk that another day brings, by ratio: how likely its peak is over, times how long.

    `independent` is which share of days is independent of each other.
    """
    ratios, nodes, days = found.peaks.shape
    if days < DAYS_LEAST:
        return np.ones(ratios)
    peaks = found.peaks.reshape(ratios * nodes, days)
    bounds = np.tile(rooms, ratios)
    works = at_work(peaks)
    likely = np.empty(ratios * nodes)
    for chosen, kinds in _alike(works, weekend):
        likely[chosen] = _likely(peaks[chosen], works[chosen], bounds[chosen], kinds, independent)
    over: Floats = (likely.reshape(ratios, nodes) * found.near).mean(axis=1)
    return over


def _alike(works: Booleans, weekend: Booleans) -> Iterator[tuple[Booleans, Sequence[Booleans]]]:
    """Yield rows with the kinds of days that have means of their own: workdays and weekends, or all alike.

    There must be two of each kind.
    """
    kinds = [weekend, ~weekend]
    apart = np.logical_and.reduce([np.count_nonzero(works & kind, axis=1) >= 2 for kind in kinds])
    for chosen, days_of in ((apart, kinds), (~apart, [np.ones_like(weekend)])):
        if chosen.any():
            yield chosen, days_of


def _means(peaks: Floats, works: Booleans, kinds: Sequence[Booleans]) -> Iterator[tuple[Booleans, Floats]]:
    """Yield the days of work of each kind, and their mean by row."""
    for kind in kinds:
        days = works & kind
        yield days, np.where(days, peaks, 0.0).sum(axis=1) / np.maximum(np.count_nonzero(days, axis=1), 1)


def _rest(peaks: Floats, works: Booleans, kinds: Sequence[Booleans]) -> Floats:
    """Return what is left of peaks without the means of their kind; nothing of days of rest."""
    found = np.where(works, peaks, 0.0)
    for days, mean in _means(peaks, works, kinds):
        found -= np.where(days, mean[:, None], 0.0)
    return found


def _likely(
    peaks: Floats, works: Booleans, bounds: Floats, kinds: Sequence[Booleans], independent: float
) -> Floats:
    """Return how likely the peak of a day of work is above a bound, by row; all kinds have one spread."""
    every = np.count_nonzero(works, axis=1)
    squares = (_rest(peaks, works, kinds) ** 2).sum(axis=1)
    freedom = np.maximum(np.rint(every * independent).astype(np.int64) - len(kinds), 1)
    spread = np.maximum(np.sqrt(squares / np.maximum(every - len(kinds) / independent, 1)), SPREAD_MIN)
    found = np.zeros(len(peaks))
    for days, mean in _means(peaks, works, kinds):
        count = np.count_nonzero(days, axis=1)
        error = np.sqrt(1 + 1 / np.maximum(count * independent, 1))
        found += count * _tails((bounds - mean) / (spread * error), freedom)
    known = np.where(every < DAYS_LEAST, 1.0, found / np.maximum(every, 1))
    return np.where(every == 0, 0.0, known)


def _tails(bounds: Floats, freedom: npt.NDArray[np.int64]) -> Floats:
    """Return the probability of more than each bound, each with its own degrees of freedom."""
    found = np.ones(len(bounds))
    for each in np.unique(freedom[freedom > 0]).tolist():
        alike = freedom == each
        found[alike] = tail(bounds[alike], each)
    return found
