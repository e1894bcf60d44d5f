"""What a forecast would have said on past days, and how wrong it would have been.

Each origin is a day on which the forecast is made anew from what had been seen by then, and compared with
what came. The hard thing is that nothing may look ahead: how much of a slope is believed at an origin follows
from misses that were known by then, and so do the intervals whose coverage is told.
"""

from fractions import Fraction
from typing import Final, NamedTuple

import numpy as np

from ullage.engine.usage.medians import (
    Counts,
    Flags,
    Floats,
    greatest_so_far,
    means,
    medians,
    observed,
    ranked,
)
from ullage.engine.usage.seasons import DAY_HOURS
from ullage.engine.usage.trend import TRAIN_DAYS_MIN, WAYS, fit

ORIGINS_MAX: Final = 14
ORIGINS_MIN: Final = 3
"""A distance counts as tried if so many origins saw what came of it."""


class Tried(NamedTuple):
    """Misses (what came less what was forecast) by row, origin, distance in days, and hour of that day.

    `origins` says how many days before the end each was, the earliest first. `way` is which of the
    WAYS was best in all of the past, by row. `error` and `naive_error` are mean absolute errors: of the
    forecasts, and of saying that each hour will be as on the last day seen.
    """

    origins: tuple[int, ...]
    misses: Floats
    way: Counts
    error: Floats
    naive_error: Floats


class Coverage(NamedTuple):
    """How many hours were within intervals made of earlier misses only, of how many, by row."""

    inside: Counts
    hours: Counts


def origins_of(days: int) -> tuple[int, ...]:
    """Return the origins for so many days, as days before the end, the earliest first.

    The first half of the days is only learnt from.
    """
    furthest = days - max(TRAIN_DAYS_MIN, -(-days // 2))
    if furthest < ORIGINS_MIN:
        return ()
    step = -(-furthest // ORIGINS_MAX)
    return tuple(range(furthest, 0, -step))


def try_out(values: Floats) -> Tried:
    """Return how forecasts of rows of hourly peaks would have done; whole days of them."""
    rows, hours = values.shape
    origins = origins_of(hours // DAY_HOURS)
    distances = origins[0] if origins else 0
    raw = np.full((rows, len(origins), len(WAYS), distances, DAY_HOURS), np.nan)
    naive = np.full((rows, len(origins), distances, DAY_HOURS), np.nan)
    for place, origin in enumerate(origins):
        cut = hours - origin * DAY_HOURS
        came = values[:, cut:]
        told = fit(values[:, :cut]).project(origin * DAY_HOURS)
        shape = (rows, len(WAYS), origin, DAY_HOURS)
        raw[:, place, :, :origin] = (came[:, None] - told).reshape(shape)
        before = values[:, cut - DAY_HOURS : cut]
        naive[:, place, :origin] = came.reshape(rows, origin, DAY_HOURS) - before[:, None]
    beliefs = _beliefs(raw, origins)
    believed = beliefs[:, :-1, None, None, None]
    misses = np.take_along_axis(raw, believed, axis=2)[:, :, 0]
    both = ~np.isnan(misses) & ~np.isnan(naive)
    return Tried(
        origins,
        misses,
        beliefs[:, -1],
        means(np.abs(np.where(both, misses, np.nan)).reshape(rows, -1)),
        means(np.abs(np.where(both, naive, np.nan)).reshape(rows, -1)),
    )


def _beliefs(raw: Floats, origins: tuple[int, ...]) -> Counts:
    """Return the way that had missed least, by row: at each origin, and at the end."""
    rows = len(raw)
    missed = np.nansum(np.abs(raw), axis=-1)
    beliefs = np.zeros((rows, len(origins) + 1), np.int64)
    for place, origin in enumerate((*origins, 0)):
        sums = np.zeros((rows, len(WAYS)))
        for earlier, before in enumerate(origins[:place]):
            sums += missed[:, earlier, :, : before - origin].sum(axis=-1)
        beliefs[:, place] = np.argmin(sums, axis=1)
    return beliefs


class Widths(NamedTuple):
    """How far what came was off, by row and distance in days; NaN where too few origins saw what came.

    `hourly` holds for single hours, `daily` for whole days of them, in which the noise of hours cancels out.
    """

    hourly: Floats
    daily: Floats


def widths_of(misses: Floats, level: Fraction) -> Widths:
    """Return the misses that are not exceeded with the probability asked.

    Of n independent misses the one of rank level * (n + 1) is right for the next one, whatever they are
    distributed like. Hours of one day miss together, so they count as fewer than they are: as many as
    their correlation leaves. No width is less than that of a shorter distance.
    """
    by_distance = misses.swapaxes(1, 2)
    rows, distances, origins, hours = by_distance.shape
    by_origin = observed(by_distance)
    tried = np.count_nonzero(by_origin, axis=-1)
    flat = np.abs(by_distance).reshape(rows, distances, origins * hours)
    alone = _independent(by_distance, by_origin, tried, observed(flat))
    enough: Flags = np.logical_and.accumulate(tried >= ORIGINS_MIN, axis=1)
    of_days = np.abs(medians(by_distance))
    return Widths(_exceeded(flat, alone, level, enough), _exceeded(of_days, tried, level, enough))


def supported_of(misses: Floats) -> Floats:
    """Return up to which level an interval is known from misses, by row; NaN where nothing was tried enough.

    Of n independent misses the largest is right for n / (n + 1), and intervals of higher levels are it too.
    """
    by_distance = misses.swapaxes(1, 2)
    rows, distances, origins, hours = by_distance.shape
    by_origin = observed(by_distance)
    tried = np.count_nonzero(by_origin, axis=-1)
    count = observed(by_distance.reshape(rows, distances, origins * hours))
    alone = _independent(by_distance, by_origin, tried, count)
    levels = np.where(tried >= ORIGINS_MIN, alone / (alone + 1), np.nan)
    best: Floats = np.fmax.reduce(levels, axis=1, initial=np.nan)
    return best


def _exceeded(sizes: Floats, alone: Floats | Counts, level: Fraction, enough: Flags) -> Floats:
    count = observed(sizes)
    share = np.ceil((alone + 1) * float(level)) / np.maximum(alone, 1)
    ranks = np.minimum(np.ceil(share * count), count).astype(np.int64)
    width = np.where(enough, ranked(sizes, ranks), np.nan)
    return np.where(np.isnan(width), np.nan, greatest_so_far(width))


def _independent(misses: Floats, by_origin: Counts, tried: Counts, count: Counts) -> Floats:
    """Return as how many independent misses those of each distance count: from origins to hours."""
    scale = np.nanmax(np.abs(np.nan_to_num(misses)), axis=(-1, -2), keepdims=True)
    unit = misses / np.where(scale > 0, scale, 1.0)
    together = np.nan_to_num(means(unit)) ** 2 * by_origin**2
    apart = np.nansum(unit**2, axis=(-1, -2))
    # One day's misses summed and squared are their squares n times over if they are equal, once if unrelated.
    effect = together.sum(axis=-1) / np.where(apart > 0, apart, 1.0)
    alone: Floats = np.clip(count / np.maximum(effect, 1.0), tried, np.maximum(count, tried))
    return alone


def spread(widths: Widths, days: int) -> Floats:
    """Return widths for so many days: as measured where they are, beyond that as far as they would grow.

    What whole days were off by grows in proportion to the distance; the noise of hours stays what it is.
    """
    rows, measured = widths.hourly.shape
    found = np.full((rows, days), np.nan)
    if not measured:
        return found
    known = np.maximum(observed(widths.hourly), 1)[:, None]
    last = np.take_along_axis(widths.hourly, known - 1, axis=1)
    drift = np.take_along_axis(widths.daily, known - 1, axis=1) / known
    distance = np.arange(1, days + 1, dtype=np.float64)
    kept = min(measured, days)
    found[:, :kept] = widths.hourly[:, :kept]
    return np.where(distance <= known, found, last + drift * (distance - known))


def coverage_of(tried: Tried, level: Fraction) -> Coverage:
    """Return how often intervals held what came, each made of what had been missed before it."""
    rows = len(tried.misses)
    inside, hours = np.zeros(rows, np.int64), np.zeros(rows, np.int64)
    for place, origin in enumerate(tried.origins):
        known = tried.misses[:, :place].copy()
        for earlier, before in enumerate(tried.origins[:place]):
            known[:, earlier, before - origin :] = np.nan
        if place < ORIGINS_MIN:
            continue
        width = spread(widths_of(known, level), origin)
        came = tried.misses[:, place, :origin]
        told = ~np.isnan(came) & ~np.isnan(width)[..., None]
        inside += np.count_nonzero(told & (np.abs(came) <= width[..., None]), axis=(1, 2))
        hours += np.count_nonzero(told, axis=(1, 2))
    return Coverage(inside, hours)
