"""Amounts as whole steps of their resource, such that sums stay right: idle containers are not 1m each.

What one is rounded by is carried to the next of the same moment. So every amount is off by less than a step,
and so is every sum of amounts that follow each other, however many these are.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from ullage.engine.usage.buckets import Integers

_DECIMALS: Final = 6
"""Beyond these, what a rate has is rounding."""


def whole_amounts(amounts: npt.NDArray[np.float64], moments: Integers, places: Integers) -> Integers:
    """Return amounts as whole ones; `places` is their order within a moment."""
    amounts = np.round(amounts, _DECIMALS)
    whole = np.floor(amounts)
    parts = amounts - whole
    if parts.any():
        order = np.lexsort((places, moments))
        parts, begins = parts[order], np.diff(moments[order], prepend=-1) != 0
        before = np.cumsum(parts) - parts
        before -= before[begins][np.cumsum(begins) - 1]
        whole[order] += _nearest(before + parts) - _nearest(before)
    return whole.astype(np.int64)


def _nearest(amounts: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return np.floor(np.round(amounts, _DECIMALS) + 0.5)
