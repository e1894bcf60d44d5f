"""Peaks of very many streams by slot that wait for more of the same slot, in bounded memory.

Whatever comes of a slot that waits raises its peak, in any order. Where too many wait, those are closed of
which nothing came for longest; of a closed one a bit is kept, so that what comes later is told as too late
and never counts a second time.
"""

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from ullage.engine.usage.buckets import Integers

WAITING_MAX: Final = 1 << 22
"""So many peaks may wait; at least half as many stay open whenever some are closed."""
SLOT_BITS: Final = 26
_SLOT_MASK: Final = (1 << SLOT_BITS) - 1
_WORD_BITS: Final = 6
_NOTHING: Final = np.empty(0, np.int64)


class Closed(NamedTuple):
    """Peaks of which nothing more counts, and the keys of those that came too late."""

    keys: Integers
    amounts: Integers
    late: Integers


class WaitingPeaks:
    """Peaks by key: the number of a stream with a slot behind it, of SLOT_BITS."""

    def __init__(self, waiting_max: int = WAITING_MAX) -> None:
        self._waiting_max = waiting_max
        self._parts = [(_NOTHING, _NOTHING, _NOTHING)]
        self._count = self._settled = self._age = 0
        self._words = _NOTHING
        self._bits = np.empty(0, np.uint64)

    def add(self, keys: Integers, amounts: Integers) -> None:
        """Raise peaks."""
        self._age += 1
        self._parts.append(_grouped(keys, amounts, np.full(len(keys), self._age, np.int64)))
        self._count += len(self._parts[-1][0])

    def is_full(self) -> bool:
        """Whether it is time to close some."""
        return self._count - self._settled >= max(self._waiting_max // 4, 1)

    def close(self, *, everything: bool = False) -> Closed:
        """Close what is too much, or everything."""
        keys, amounts, ages = _grouped(*map(np.concatenate, zip(*self._parts, strict=True)))
        is_late = self._is_closed(keys)
        late = keys[is_late]
        keys, amounts, ages = keys[~is_late], amounts[~is_late], ages[~is_late]
        done = np.ones(len(keys), np.bool_) if everything else self._too_much(keys, ages)
        self._remember(keys[done])
        self._parts = [(keys[~done], amounts[~done], ages[~done])]
        self._count = self._settled = len(self._parts[0][0])
        return Closed(keys[done], amounts[done], late)

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


def _grouped(keys: Integers, amounts: Integers, ages: Integers) -> tuple[Integers, Integers, Integers]:
    """Return all keys in order, each once, with its largest amount and its last age."""
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    starts = _starts(keys)
    if not len(starts):
        return _NOTHING, _NOTHING, _NOTHING
    amounts, ages = (np.maximum.reduceat(each[order], starts) for each in (amounts, ages))
    return keys[starts], amounts, ages


def _starts(keys: Integers) -> Integers:
    """Return where each of sorted keys is met first."""
    return np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1]))) if len(keys) else _NOTHING
