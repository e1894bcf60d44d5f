"""What people write for a growth and a level."""

from fractions import Fraction

import pytest

from ullage.model.errors import InputError
from ullage.service.forecast_growth import parse_growth, parse_level


@pytest.mark.parametrize(
    ("text", "hours", "factor"),
    [("5%/month", 730.5, 1.05), ("-1.5%/week", 168, 0.985), ("+100%/year", 8766, 2), ("0%/day", 24, 1)],
)
def test_a_growth_is_compounded(text, hours, factor):
    assert (1 + parse_growth(text)) ** hours == pytest.approx(factor)


def test_no_growth_is_none():
    assert parse_growth("") is None


@pytest.mark.parametrize("text", ["5", "5%", "%/month", "5%/decade", "-100%/day", "1001%/day", "nan%/day"])
def test_what_is_no_growth_is_refused(text):
    with pytest.raises(InputError, match="is no growth"):
        parse_growth(text)


@pytest.mark.parametrize(
    ("text", "level"), [("0.9", "0.9"), (".95", "0.95"), ("90%", "0.9"), ("99.5%", ".995")]
)
def test_a_level_is_exact(text, level):
    assert parse_level(text) == Fraction(level)


@pytest.mark.parametrize("text", ["", "1", "0.4", "0.9999", "100%", "ninety", "1e-1", "-0.9"])
def test_what_is_no_level_is_refused(text):
    with pytest.raises(InputError, match="is no level"):
        parse_level(text)
