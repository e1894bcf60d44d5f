"""How far memory can be over-committed: the highest ratio whose risk stays within what is stated.

The risk is the probability that a node that is filled to the ratio uses more than its memory in a slot (an
hour), for a node and a slot taken at random over the days to come. Two estimates of it are made from composed
nodes (ratio_nodes.py), and the larger one counts: the share of slots that were over, with the upper end of an
interval over whole days, as the hours of a day are not independent; and what days that were not seen may
bring, from the daily peaks of each node (ratio_unseen.py). Both take days for as many as are independent of
each other (day_likeness.py). A rise from day to day is carried on until the advice is due again (rising.py).
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Final, NamedTuple

import numpy as np

from ullage.engine.steps import Steps
from ullage.engine.usage.book import WEEK_DAYS
from ullage.engine.usage.ratio_nodes import Evidence, composed
from ullage.engine.usage.ratio_unseen import independent_share, unseen_risk
from ullage.engine.usage.rising import HORIZON_DAYS, growth_a_day
from ullage.engine.usage.student import Floats, bound

STEP: Final = Fraction(1, 20)
RATIO_MAX: Final = Fraction(4)
RATIOS: Final = tuple(1 + number * STEP for number in range(int((RATIO_MAX - 1) / STEP) + 1))
DAYS_MIN: Final = 7
"""Fewer days do not show a week."""
NODES_COMPOSED: Final = 500
DOUBT: Final = 0.05
"""How often the upper end of an interval may be too low."""
_THURSDAY: Final = 3
"""Days since 1970 began on one, weeks begin on Monday."""
_SATURDAY: Final = 5


class Point(NamedTuple):
    """The risk at a ratio: what was seen of it, and what counts; of memory, and of memory and swap."""

    ratio: Fraction
    seen: float
    risk: float
    seen_swap: float
    risk_swap: float


class Curve(NamedTuple):
    """The risk by ratio, in order; `growth` is how much use grows from a day to the next."""

    points: tuple[Point, ...]
    days: int
    growth: float

    def highest(self, risk: float, *, with_swap: bool = False) -> Fraction:
        """Return the highest ratio in steps from 1 on whose risk stays within a bound, 1 if none does."""
        found = Fraction(1)
        for point in self.points:
            if (point.risk_swap if with_swap else point.risk) > risk:
                break
            if point.ratio in _STEPS:
                found = max(found, point.ratio)
        return found

    def at(self, ratio: Fraction) -> Point | None:
        """Return the point of a ratio, if it was judged."""
        return next((each for each in self.points if each.ratio == ratio), None)


_STEPS: Final = frozenset(RATIOS)


def curve_of(
    evidence: Evidence,
    *,
    seed: int,
    more: Sequence[Fraction] = (),
    nodes: int = NODES_COMPOSED,
    steps: Steps | None = None,
) -> Curve:
    """Return the risk at every step of the ratio, and at some `more` ratios."""
    ratios = sorted({*RATIOS, *more})
    growth = growth_of(evidence)
    ahead = evidence.day_numbers.max(initial=0) - evidence.day_numbers + HORIZON_DAYS
    found = composed(evidence, ratios, np.exp(growth * ahead), nodes, seed, steps=steps)
    weekend = (evidence.day_numbers + _THURSDAY) % WEEK_DAYS >= _SATURDAY
    independent = independent_share(found.peaks, weekend)
    risks, risks_swap = (
        np.maximum(_upper(over, independent), unseen_risk(found, rooms, weekend, independent))
        for over, rooms in ((found.over, np.zeros(nodes)), (found.over_swap, found.rooms))
    )
    # Who is over memory and swap is over memory: what bounds the one bounds the other.
    rising = np.maximum.accumulate(risks), np.maximum.accumulate(np.minimum(risks, risks_swap))
    seen, seen_swap = found.over.mean(axis=1), found.over_swap.mean(axis=1)
    points = zip(
        ratios, seen.tolist(), rising[0].tolist(), seen_swap.tolist(), rising[1].tolist(), strict=True
    )
    return Curve(tuple(Point(*each) for each in points), evidence.days, growth)


def growth_of(evidence: Evidence) -> float:
    """Return by how much the logarithm of the daily peak of all use together grows a day."""
    together = evidence.uses.sum(axis=0) + evidence.beyond.sum(axis=0)
    peaks = together.reshape(evidence.days, evidence.day_slots).max(axis=1, initial=0)
    return float(growth_a_day(peaks, evidence.day_numbers, np.zeros(len(peaks), np.int64), 1)[0])


def _upper(over: Floats, independent: float) -> Floats:
    """Return the upper end of an interval of the mean over days, of which a share is independent."""
    days = over.shape[1]
    found: Floats = over.mean(axis=1)
    if days > 1:
        counted = max(round(days * independent), 2)
        found = found + bound(DOUBT, counted - 1) * over.std(axis=1, ddof=1) / np.sqrt(counted)
    return np.minimum(found, 1.0)
