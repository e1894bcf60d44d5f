"""Intervals that did not hold in the past: said wherever one of them is told, as it will not hold now."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from ullage.model.verdict import Finding

if TYPE_CHECKING:
    from ullage.service.forecast import Outlook

HELD_MIN: Final = Fraction(9, 10)
"""An interval is doubtful if it held less often than this part of its level."""
_REMEDY: Final = "take its dates for a guess; state the growth that you expect (--growth)"


def doubt_of(outlook: "Outlook", level: Fraction) -> str:
    """Return how seldom intervals of a series held, where that is clearly less than they were to."""
    tested = outlook.backtest
    if tested is None or not tested.hours or Fraction(tested.inside, tested.hours) >= HELD_MIN * level:
        return ""
    share, wanted = 100 * tested.inside / tested.hours, float(100 * level)
    return f"such intervals held only {share:.0f}% of the past hours that were tried, not {wanted:g}%"


def doubts(outlooks: Sequence["Outlook"], level: Fraction) -> Iterator[Finding]:
    """Yield the series whose intervals did not hold."""
    for each in outlooks:
        why = doubt_of(each, level)
        if why:
            message = f"{each.subject}, {each.resource} {each.measure}: {why}"
            yield Finding("forecast-doubtful", "warning", each.subject, message, _REMEDY)
