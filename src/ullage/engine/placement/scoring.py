"""How nodes are scored: integers, higher is better, negative where nothing more fits; ties go to the first.

    spread     the largest share of its scarcest resource left free
    pack       the smallest share left free: fill nodes one after the other
    balanced   the resources of the node used most evenly, then as spread
    preferences  as kube-scheduler weighs them (preferences.py); the scores here only say what fits

Scores are made from shares (room.py): what one more workload would leave of each resource it takes.
"""

from collections.abc import Callable
from typing import Final

import numpy as np

from ullage.engine.placement.room import STEPS, STEPS_BITS
from ullage.engine.placement.shapes import Integers

CLOSED: Final = -1
BALANCE_BITS: Final = 10
"""Balance is told apart in 2^10ths only, so that nodes of nearly equal balance are chosen by room."""

Scores = Callable[[Integers], Integers]
"""Scores of nodes from shares, [resource, node]."""


def spread(shares: Integers) -> Integers:
    """Return the least share left."""
    if not len(shares):
        return np.full(shares.shape[1], STEPS, np.int64)
    least: Integers = np.minimum.reduce(shares)
    return least


def pack(shares: Integers) -> Integers:
    """Return how little is left."""
    least = spread(shares)
    return np.where(least < 0, CLOSED, STEPS - least)


def balanced(shares: Integers) -> Integers:
    """Return how near the shares are to each other, then how much is left."""
    least = spread(shares)
    if not len(shares):
        return least
    apart = shares.max(axis=0) - least
    even = ((STEPS - apart) >> (STEPS_BITS - BALANCE_BITS)) << STEPS_BITS
    return np.where(least < 0, CLOSED, even + least)


SCORES: Final[dict[str, Scores]] = {
    "spread": spread,
    "pack": pack,
    "balanced": balanced,
    "preferences": spread,  # says where there is room; preferences.py weighs those nodes
}
