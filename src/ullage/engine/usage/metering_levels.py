"""Amounts over time: what levels come to when each holds until the next is observed, in exact integers.

Levels stand on a grid of five minutes. Where there was one point in each slot of a day, its peaks are what
was used. Elsewhere they say too much of most of the time: there the mean of what was observed on the day
counts, and its peaks only say how it was spread, so that what is billed does not depend on how points were
recorded. A level counts until the next observation. Where that is further away than `gap_seconds`, and than
twice the usual distance of its stream, what is counted for it is estimated, as is part of a day of which only
the mean is known. Where it is further away than HOLD_SECONDS_MAX, or there is none, the level counts for the
slot in which it was seen, and the rest is unknown: nothing is counted for it. Periods add up whatever their
borders. Of promises the most of five minutes counts.
"""

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from ullage.engine.usage.book import FINE_SECONDS, Book, Stream
from ullage.engine.usage.buckets import Integers
from ullage.engine.usage.levels import DAY_SECONDS, MISSING
from ullage.engine.usage.means import LOW_BITS
from ullage.model.usage import USAGE

GRID_SECONDS: Final = FINE_SECONDS
HOLD_SECONDS_MAX: Final = DAY_SECONDS
UNKNOWN: Final = 0
MEASURED: Final = 1
ESTIMATED: Final = 2
States = npt.NDArray[np.int8]
Exact = npt.NDArray[Any]
"""Integers: of 64 bits where they fit, else Python's own."""
_INT64_SAFE: Final = 1 << 62
_HALF_BITS: Final = 31
_HALF_MASK: Final = (1 << _HALF_BITS) - 1


class Held(NamedTuple):
    """A level in each slot of a time, and how it is known; where it is not, it is 0."""

    amounts: Exact
    states: States


class Integral(NamedTuple):
    """An amount times seconds, the part of it that is estimated, and for how long it was known at all."""

    amount_seconds: int
    estimated: int
    known_seconds: int


class Span(NamedTuple):
    """The time in question, between two full hours; observations further apart than a gap are none.

    `borders` are where it is divided into periods.
    """

    begin: int
    end: int
    gap_seconds: int
    borders: Sequence[int] = ()


def held(book: Book, stream: Stream, span: Span) -> Held:
    """Return the level of a stream over a time."""
    begin, end, gap_seconds, borders = span
    first_day = max(0, begin - HOLD_SECONDS_MAX) // DAY_SECONDS
    days = -(-(end + HOLD_SECONDS_MAX) // DAY_SECONDS) - first_day
    slots = book.slots(stream, first_day, days)
    parts = np.zeros(len(slots), np.bool_)
    if stream.measure == USAGE:
        slots, parts = _means(book, stream, slots, first_day, (begin, *borders, end))
    seen = np.flatnonzero(slots >= 0)
    if not len(seen):
        return unknown(begin, end)
    apart = np.append(np.diff(seen), HOLD_SECONDS_MAX) * GRID_SECONDS
    usual = int(np.sort(apart[:-1])[(len(apart) - 1) // 2]) if len(apart) > 2 else 0
    lengths = np.where(apart <= HOLD_SECONDS_MAX, apart // GRID_SECONDS, 1)
    lengths[-1] = 1
    guessed = parts[seen] | ((lengths > 1) & (apart > max(gap_seconds, GRID_SECONDS, 2 * usual)))
    which = np.cumsum(slots >= 0) - 1
    known = (which >= 0) & (np.arange(len(slots)) - seen[which] < lengths[which])
    states = np.where(known, np.where(guessed[which], ESTIMATED, MEASURED), UNKNOWN).astype(np.int8)
    amounts = np.where(known, slots[seen[which]], 0)
    low, count = (begin - first_day * DAY_SECONDS) // GRID_SECONDS, (end - begin) // GRID_SECONDS
    return Held(amounts[low : low + count], states[low : low + count])


def _means(
    book: Book, stream: Stream, slots: Integers, first_day: int, borders: Sequence[int]
) -> tuple[Integers, npt.NDArray[np.bool_]]:
    """Return slots of the grid with what was used in them, and which of them are parts of a day.

    Where only the mean of a day is known they come to it, spread as its peaks are and never above them; where
    these are of more than a slot of the grid, they begin with the day's first point and end with its last.
    """
    per_slot, per_day = book.slot_seconds(stream) // GRID_SECONDS, DAY_SECONDS // GRID_SECONDS
    found = np.repeat(slots, per_slot).reshape(-1, per_day)
    parts = np.zeros(found.shape, np.bool_)
    number = book.numbers(stream.resource, stream.measure).get(stream.subject)
    numbers = np.array([] if number is None else [number], np.int64)
    _, known, table = book.of_streams(numbers, histograms=False)
    for row, day in enumerate(known.tolist()):
        points = int(table.points[row])
        if not (first_day <= day < first_day + len(found) and points):
            continue
        levels = found[day - first_day]
        seen = np.flatnonzero(levels >= 0)
        if per_slot == 1 and len(seen) == points:
            continue
        begin, end = int(table.first_seconds[row]), int(table.last_seconds[row])
        if per_slot > 1:
            places = seen + day * per_day
            seen = seen[(places >= begin // GRID_SECONDS) & (places <= end // GRID_SECONDS)]
        total = (int(table.sum_high[row]) << LOW_BITS) + int(table.sum_low[row])
        spread = _spread(total * len(seen), points, levels[seen].tolist())
        levels[:] = MISSING
        levels[seen] = spread
        is_cut = any(begin // GRID_SECONDS < each // GRID_SECONDS <= end // GRID_SECONDS for each in borders)
        parts[day - first_day] = is_cut and bool(table.low[row] < table.high[row])
    return found.reshape(-1), parts.reshape(-1)


def _spread(total: int, points: int, weights: Sequence[int]) -> list[int]:
    """Return whole parts of a fraction, in proportion to weights, which they never exceed."""
    whole = points * max(sum(weights), 1)
    least = min(total, whole)
    until = [least * each // whole for each in accumulate(weights, initial=0)]
    return [later - earlier for earlier, later in pairwise(until)]


def unknown(begin: int, end: int) -> Held:
    """Return a level of which nothing is known."""
    return constant(0, begin, end, UNKNOWN)


def constant(amount: int, begin: int, end: int, state: int = MEASURED) -> Held:
    """Return a level that is the same all the time."""
    slots = (end - begin) // GRID_SECONDS
    return Held(np.full(slots, amount, np.int64), np.full(slots, state, np.int8))


def together(levels: Sequence[Held]) -> Held:
    """Return the sum of levels of one time; what is not there counts nothing, and where none is, no sum is.

    The sum is estimated where one of them is.
    """
    most = sum(_most(each) for each in levels)
    amounts: Exact = np.zeros(len(levels[0].amounts), np.int64 if most < _INT64_SAFE else object)
    for each in levels:
        amounts = amounts + each.amounts
    return Held(amounts, np.maximum.reduce([each.states for each in levels]))


def integrals(level: Held, begin: int, borders: Sequence[int]) -> list[Integral]:
    """Return what a level that begins at a moment comes to between each two borders: full hours."""
    cuts = [(border - begin) // GRID_SECONDS for border in borders]
    whole = _sums(level.amounts, cuts)
    guessed = _sums(np.where(level.states == ESTIMATED, level.amounts, 0), cuts)
    known = _sums((level.states != UNKNOWN).astype(np.int64), cuts)
    return [
        Integral(amount * GRID_SECONDS, part * GRID_SECONDS, slots * GRID_SECONDS)
        for amount, part, slots in zip(whole, guessed, known, strict=True)
    ]


def exact_product(level: Held, factor: int) -> Exact:
    """Return the amounts of a level, each so many times."""
    fits = _most(level) * factor < _INT64_SAFE
    return (level.amounts if fits else level.amounts.astype(object)) * factor


def _most(level: Held) -> int:
    return int(level.amounts.max()) if len(level.amounts) else 0


def _sums(amounts: Exact, cuts: Sequence[int]) -> list[int]:
    """Return the exact sum between each two cuts: 64 bits would not hold bytes times slots."""
    if amounts.dtype == object:
        return [int(sum(amounts[low:high])) for low, high in pairwise(cuts)]
    parts = amounts.astype(np.int64)
    high_sums = _reduced(parts >> _HALF_BITS, cuts)
    low_sums = _reduced(parts & _HALF_MASK, cuts)
    return [(high << _HALF_BITS) + low for high, low in zip(high_sums, low_sums, strict=True)]


def _reduced(amounts: Integers, cuts: Sequence[int]) -> list[int]:
    return [int(each) for each in np.add.reduceat(amounts[: cuts[-1]], cuts[:-1])]
