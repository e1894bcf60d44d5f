"""Intervals that did not hold in the past, or are of a level that the past cannot show.

It is said wherever one of them is told, as it will not hold now.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from ullage.model.verdict import Finding

if TYPE_CHECKING:
    from ullage.service.forecast import Outlook

HELD_MIN: Final = Fraction(9, 10)
"""An interval is doubtful if it held less often than this part of its level."""
UNSUPPORTED_MIN: Final = 2
"""An interval is doubtful if it is known to miss no seldomer than so many times what it is to."""
_REMEDY: Final = "take its dates for a guess; state the growth that you expect (--growth)"


def doubt_of(outlook: "Outlook", level: Fraction) -> str:
    """Return how seldom intervals of a series held, or may hold, where that is clearly too seldom."""
    tested = outlook.backtest
    if tested is None:
        return ""
    wanted = float(100 * level)
    if tested.hours and Fraction(tested.inside, tested.hours) < HELD_MIN * level:
        share = 100 * tested.inside / tested.hours
        return f"such intervals held only {share:.0f}% of the past hours that were tried, not {wanted:g}%"
    if tested.supported is not None and 1 - tested.supported > UNSUPPORTED_MIN * (1 - level):
        known = f"{100 * tested.supported:.3g}%"
        return f"what was seen supports intervals of at most {known}: that of {wanted:g}% is no wider"
    if not tested.hours:
        return "too little was seen to try such intervals on the past"
    return ""


def doubts(outlooks: Sequence["Outlook"], level: Fraction) -> Iterator[Finding]:
    """Yield the series whose intervals did not hold, or cannot be known to."""
    for each in outlooks:
        why = doubt_of(each, level)
        if why:
            message = f"{each.subject}, {each.resource} {each.measure}: {why}"
            yield Finding("forecast-doubtful", "warning", each.subject, message, _REMEDY)
