"""Intervals that held too seldom are told as such."""

from fractions import Fraction

import pytest

from ullage.service.forecast import Backtest, Outlook
from ullage.service.forecast_doubts import doubt_of, doubts

LEVEL = Fraction(9, 10)


def outlook(inside, hours=100):
    tested = None if hours is None else Backtest(5, 3, hours, inside, None, None, None)
    return Outlook("cluster", "cpu", "committed", 28, None, None, (), (), tested)


@pytest.mark.parametrize(("inside", "hours"), [(81, 100), (100, 100), (0, 0), (0, None)])
def test_what_held_nearly_as_often_as_it_was_to_is_no_doubt(inside, hours):
    assert not doubt_of(outlook(inside, hours), LEVEL)


def test_what_held_clearly_less_often_is_a_warning():
    (found,) = doubts([outlook(26), outlook(95)], LEVEL)
    assert (found.code, found.severity, found.subject) == ("forecast-doubtful", "warning", "cluster")
    assert found.message == (
        "cluster, cpu committed: such intervals held only 26% of the past hours that were tried, not 90%"
    )
    assert not list(doubts([outlook(50)], Fraction(1, 2)))
