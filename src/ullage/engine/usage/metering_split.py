"""What passed between two moments, divided over periods in proportion to time, to the last byte.

Each part is what the share up to its end, rounded down, is more than the share up to its begin. So the parts
add up to the whole, none is a byte or more away from its exact share, and, unlike with the largest remainder,
a month is the very sum of its days and a day that of its hours: parts of parts are parts of the whole.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple


class Span(NamedTuple):
    """So much passed from one moment to another; at which pace is not known."""

    begin: int
    end: int
    passed: int

    def until(self, moment: int) -> int:
        """Return how much of it passed until a moment, at an even pace, rounded down."""
        at = min(max(moment, self.begin), self.end)
        return self.passed * (at - self.begin) // (self.end - self.begin)


def split(span: Span, borders: Sequence[int]) -> list[int]:
    """Return how much of a span lies between each two borders, which are in order."""
    shares = [span.until(border) for border in borders]
    return [later - earlier for earlier, later in pairwise(shares)]
