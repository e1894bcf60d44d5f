"""What people write for a growth and for a level: `5%/month`, `0.9` or `90%`."""

import re
from fractions import Fraction
from typing import Final

from ullage.model.errors import InputError

_GROWTH: Final = re.compile(r"([+-]?\d{1,4}(?:\.\d{1,6})?)%/(day|week|month|year)")
_PERIOD_HOURS: Final = {"day": 24, "week": 168, "month": 730.5, "year": 8766}
_LEVEL: Final = re.compile(r"(\d{1,2}(?:\.\d{1,6})?)%|(0?\.\d{1,6})")
LEVEL_MIN: Final = Fraction(1, 2)
LEVEL_MAX: Final = Fraction(999, 1000)


def parse_growth(text: str) -> float | None:
    """Return a growth as what is added in an hour to one, compounded; None where none is given."""
    if not text:
        return None
    match = _GROWTH.fullmatch(text.strip())
    percent = float(match[1]) if match else -100.0
    if not match or not -100 < percent <= 1000:
        raise InputError(
            f"{text!r} is no growth", where="--growth", remedy="write 5%/month, or -1.5%/week; at most 1000%"
        )
    return float((1 + percent / 100) ** (1 / _PERIOD_HOURS[match[2]])) - 1


def parse_level(text: str) -> Fraction:
    """Return the probability that intervals are to have."""
    match = _LEVEL.fullmatch(text.strip())
    level = Fraction(0)
    if match:
        level = Fraction(match[1]) / 100 if match[1] else Fraction(match[2])
    if not LEVEL_MIN <= level <= LEVEL_MAX:
        raise InputError(
            f"{text!r} is no level of an interval", where="--level", remedy="write 0.5 to 0.999, such as 0.9"
        )
    return level
