"""Intervals that held too seldom, or cannot be known to hold often enough, are told as such."""

from fractions import Fraction

import pytest

from ullage.service.forecast import Backtest, Outlook
from ullage.service.forecast_doubts import doubt_of, doubts

LEVEL = Fraction(9, 10)


def outlook(inside, hours=100, supported=None):
    tested = None if hours is None else Backtest(5, 3, hours, inside, None, None, None, supported)
    return Outlook("cluster", "cpu", "committed", 28, None, None, (), (), tested)


@pytest.mark.parametrize(("inside", "hours"), [(81, 100), (100, 100), (0, None)])
def test_what_held_nearly_as_often_as_it_was_to_is_no_doubt(inside, hours):
    assert not doubt_of(outlook(inside, hours), LEVEL)


def test_what_held_clearly_less_often_is_a_warning():
    (found,) = doubts([outlook(26), outlook(95)], LEVEL)
    assert (found.code, found.severity, found.subject) == ("forecast-doubtful", "warning", "cluster")
    assert found.message == (
        "cluster, cpu committed: such intervals held only 26% of the past hours that were tried, not 90%"
    )
    assert not list(doubts([outlook(50)], Fraction(1, 2)))


@pytest.mark.parametrize(
    ("level", "supported", "told"),
    [
        ("0.9", 0.8, ""),
        ("0.9", 0.75, "what was seen supports intervals of at most 75%: that of 90% is no wider"),
        ("0.99", 0.985, ""),
        ("0.99", 0.933, "what was seen supports intervals of at most 93.3%: that of 99% is no wider"),
        ("0.999", 0.995, "what was seen supports intervals of at most 99.5%: that of 99.9% is no wider"),
    ],
)
def test_a_level_that_the_past_cannot_show_is_told(level, supported, told):
    assert doubt_of(outlook(100, supported=supported), Fraction(level)) == told


def test_intervals_that_could_not_be_tried_are_told():
    assert doubt_of(outlook(0, 0, 0.9), LEVEL) == "too little was seen to try such intervals on the past"
