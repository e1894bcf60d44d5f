"""Slots of very many streams that wait for more of what was used in them, in bounded memory.

Whatever comes of a slot that waits counts in its mean and raises its peak, in any order: both are kept in
integers, so that the mean is exact but for the last division. Where too many wait, those are closed of which
nothing came for longest; of a closed one a bit is kept, so that what comes later is told as too late and
never counts a second time.
"""

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from ullage.engine.usage.buckets import Integers
from ullage.engine.usage.means import LOW_BITS, LOW_MASK, means_of

WAITING_MAX: Final = 1 << 21
"""So many slots may wait; at least half as many stay open whenever some are closed."""
SLOT_BITS: Final = 26
_SLOT_MASK: Final = (1 << SLOT_BITS) - 1
_WORD_BITS: Final = 6
_NOTHING: Final = np.empty(0, np.int64)


class Closed(NamedTuple):
    """Slots of which nothing more counts, in order, and the keys of those that came too late.

    Means are whole numbers, and `parts` is what they are more. Where all points were dropped the peak is
    below 0, and there is no mean.
    """

    keys: Integers
    peaks: Integers
    means: Integers
    parts: Integers
    late: Integers


class _Waiting(NamedTuple):
    """Slots in order, each once: the peak, when something came last, the points that count, and their sum."""

    keys: Integers
    peaks: Integers
    ages: Integers
    points: Integers
    sum_high: Integers
    sum_low: Integers

    def of(self, which: npt.NDArray[np.bool_]) -> "_Waiting":
        """Return some of them."""
        return _Waiting(*(each[which] for each in self))


_NONE: Final = _Waiting(*[_NOTHING] * 6)


class WaitingPeaks:
    """Slots by key: the number of a stream with a slot behind it, of SLOT_BITS."""

    def __init__(self, waiting_max: int = WAITING_MAX) -> None:
        self._waiting_max = waiting_max
        self._parts = [_NONE]
        self._count = self._settled = self._age = 0
        self._words = _NOTHING
        self._bits = np.empty(0, np.uint64)

    def add(self, keys: Integers, amounts: Integers) -> None:
        """Take in points; amounts below 0 are points that were dropped."""
        self._age += 1
        good = amounts >= 0
        counted = np.where(good, amounts, 0)
        ages = np.full(len(keys), self._age, np.int64)
        columns = ages, good.astype(np.int64), counted >> LOW_BITS, counted & LOW_MASK
        self._parts.append(_grouped(_Waiting(keys, amounts, *columns)))
        self._count += len(self._parts[-1].keys)

    def is_full(self) -> bool:
        """Whether it is time to close some."""
        return self._count - self._settled >= max(self._waiting_max // 4, 1)

    def close(self, *, everything: bool = False) -> Closed:
        """Close what is too much, or everything."""
        found = _grouped(_Waiting(*map(np.concatenate, zip(*self._parts, strict=True))))
        is_late = self._is_closed(found.keys)
        late, found = found.keys[is_late], found.of(~is_late)
        count = len(found.keys)
        done = np.ones(count, np.bool_) if everything else self._too_much(found.keys, found.ages)
        closed = found.of(done)
        self._remember(closed.keys)
        self._parts = [found.of(~done)]
        self._count = self._settled = len(self._parts[0].keys)
        means, parts = means_of(closed.sum_high, closed.sum_low, np.maximum(closed.points, 1))
        return Closed(closed.keys, closed.peaks, means, parts, late)

    def _too_much(self, keys: Integers, ages: Integers) -> npt.NDArray[np.bool_]:
        """Say which are closed: those that were met longest ago, and none of the last batch."""
        found = np.zeros(len(keys), np.bool_)
        if len(keys) > self._waiting_max:
            old = int(np.count_nonzero(ages < self._age))
            count = min(len(keys) - self._waiting_max // 2, old)
            found[np.lexsort((keys & _SLOT_MASK, ages))[:count]] = True
        return found

    def _is_closed(self, keys: Integers) -> npt.NDArray[np.bool_]:
        if not len(self._words):
            return np.zeros(len(keys), np.bool_)
        words = keys >> _WORD_BITS
        places = np.minimum(np.searchsorted(self._words, words), len(self._words) - 1)
        found: npt.NDArray[np.bool_] = self._words[places] == words
        found &= self._bits[places] & _bit_of(keys) != 0
        return found

    def _remember(self, keys: Integers) -> None:
        words = np.concatenate((self._words, keys >> _WORD_BITS))
        bits = np.concatenate((self._bits, _bit_of(keys)))
        order = np.argsort(words, kind="stable")
        words = words[order]
        starts = _starts(words)
        self._words = words[starts]
        self._bits = np.bitwise_or.reduceat(bits[order], starts) if len(starts) else bits


def _bit_of(keys: Integers) -> npt.NDArray[np.uint64]:
    return np.uint64(1) << (keys & ((1 << _WORD_BITS) - 1)).astype(np.uint64)


def _grouped(found: _Waiting) -> _Waiting:
    """Return all keys in order, each once, with its peak, its last age and its sums."""
    order = np.argsort(found.keys, kind="stable")
    keys = found.keys[order]
    starts = _starts(keys)
    if not len(starts):
        return _NONE
    peaks, ages = (np.maximum.reduceat(each[order], starts) for each in (found.peaks, found.ages))
    return _Waiting(keys[starts], peaks, ages, *(np.add.reduceat(each[order], starts) for each in found[3:]))


def _starts(keys: Integers) -> Integers:
    """Return where each of sorted keys is met first."""
    return np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1]))) if len(keys) else _NOTHING
