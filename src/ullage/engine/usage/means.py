"""Exact means of columns of sums that are kept in two halves, as amounts of 63 bits do not fit in one."""

from typing import Final

from ullage.engine.usage.buckets import Integers

LOW_BITS: Final = 32
LOW_MASK: Final = (1 << LOW_BITS) - 1
PART_BITS: Final = 20
"""What a mean is more than a whole number is told in as many parts of one."""


def means_of(high: Integers, low: Integers, points: Integers) -> tuple[Integers, Integers]:
    """Return the mean of each, rounded down, and in parts what it is more than that; there are points."""
    above, left = high // points, high % points
    rest = (left << LOW_BITS) + low
    return (above << LOW_BITS) + rest // points, (rest % points << PART_BITS) // points


def rounded(means: Integers, parts: Integers) -> Integers:
    """Return sums of such means as whole numbers."""
    return means + (parts + (1 << (PART_BITS - 1)) >> PART_BITS)
