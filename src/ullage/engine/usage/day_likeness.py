"""How much each day is like the one before, and as how many independent days so many then count.

Busy days come in a row, and so do quiet ones: two weeks of which each day is like the one before say as much
of the next one as a few days that have nothing to do with each other.
"""

from typing import Final

from ullage.engine.usage.student import Floats

LIKENESS_MAX: Final = 0.9
"""Few days cannot show more, and with more nothing at all would be known."""


def likeness(correlation: float, days: float, means: float = 1) -> float:
    """Return how much a day is like the one before, from 0, where they are independent.

    `correlation` is that of neighbouring days once so many means are taken away. That makes days less alike
    than they are, by about (means + 4 x likeness) / days, which is undone (Kendall 1954, Marriott and Pope
    1954).
    """
    return min(max((days * correlation + means) / max(days - 4, 1), 0.0), LIKENESS_MAX)


def independent_part(alike: float) -> float:
    """Return which part of all days is as good as independent, by how much each is like the one before."""
    return (1 - alike) / (1 + alike)


def neighbours(rest: Floats) -> tuple[Floats, Floats]:
    """Return the sums of products of neighbouring days, and of squares; days are along the last axis."""
    return (rest[..., 1:] * rest[..., :-1]).sum(axis=-1), (rest * rest).sum(axis=-1)
