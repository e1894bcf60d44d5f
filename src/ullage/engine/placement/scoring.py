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

from ullage.engine.placement.node_columns import Flags
from ullage.engine.placement.room import STEPS, STEPS_BITS, Room
from ullage.engine.placement.rules import Rows
from ullage.engine.placement.shapes import Integers, Shape

CLOSED: Final = -1
BALANCE_BITS: Final = 10
"""Balance is told apart in 2^10ths only, so that nodes of nearly equal balance are chosen by room."""

Scores = Callable[[Room, Shape, Rows], Integers]
"""Scores of some nodes for one more workload of a shape."""


def pack(room: Room, shape: Shape, rows: Rows) -> Integers:
    """Return how little is left."""
    least = room.least(shape, rows)
    return np.where(least < 0, CLOSED, STEPS - least)


def balanced(room: Room, shape: Shape, rows: Rows) -> Integers:
    """Return how near the shares are to each other, then how much is left."""
    least = room.least(shape, rows)
    if not shape.takings:
        return least
    apart = room.shares(shape, rows).max(axis=0) - least
    even = ((STEPS - apart) >> (STEPS_BITS - BALANCE_BITS)) << STEPS_BITS
    return np.where(least < 0, CLOSED, even + least)


def best_row(scores: Integers, wide: Flags | None) -> int:
    """Return the first node with the highest score among those that rules over zones allow, -1 for none."""
    if not len(scores):
        return -1
    row = int(scores.argmax())
    if wide is not None and not wide[row]:
        scores = np.where(wide, scores, CLOSED)
        row = int(scores.argmax())
    return row if scores.item(row) >= 0 else -1


SCORES: Final[dict[str, Scores]] = {
    "spread": Room.least,
    "pack": pack,
    "balanced": balanced,
    "preferences": Room.least,  # says where there is room; preferences.py weighs those nodes
}
