"""Buckets of amounts whose width grows with the amount: 64 of them for each doubling, integers only.

Amounts below 128 have a bucket each. Above that an amount keeps its seven leading bits, so that the middle of
its bucket is less than 1/128 away from it, whatever its size. The bucket of an amount never depends on what
else was seen: histograms of the same buckets are merged by adding their counts.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]

SUB_BITS: Final = 6
PER_DOUBLING: Final = 1 << SUB_BITS
EXACT_BELOW: Final = 2 * PER_DOUBLING
BUCKETS: Final = (62 - SUB_BITS) * PER_DOUBLING + EXACT_BELOW
"""So many buckets hold every amount of 63 bits."""
RELATIVE_ERROR_MAX: Final = 1 / EXACT_BELOW


def bucket_of(amounts: Integers) -> Integers:
    """Return the bucket of each amount, none of which is negative."""
    # The exponent of a float is the bit length, or one more where a large number is rounded up: its leading
    # bits are then all ones, and the last bucket before a power of two is the same by both countings.
    exponent = np.frexp(amounts.astype(np.float64))[1].astype(np.int64)
    shift = np.maximum(exponent - (SUB_BITS + 1), 0)
    return (shift << SUB_BITS) + (amounts >> shift)


def middle_of(buckets: Integers) -> Integers:
    """Return the amount that stands for each bucket: its middle."""
    low, high = edges_of(buckets)
    return low + ((high - low) >> 1)


def middle_of_one(bucket: int) -> int:
    """Return the same of one bucket, for those who have it of many one by one."""
    shift = max((bucket >> SUB_BITS) - 1, 0)
    return ((bucket - (shift << SUB_BITS)) << shift) + (((1 << shift) - 1) >> 1)


def edges_of(buckets: Integers) -> tuple[Integers, Integers]:
    """Return the least and the largest amount of each bucket."""
    shift = np.maximum((buckets >> SUB_BITS) - 1, 0)
    leading = buckets - (shift << SUB_BITS)
    low = leading << shift
    return low, low + ((np.int64(1) << shift) - 1)
