"""Hours, days, weeks and months of UTC, in integers: where a period begins, and what it is called.

A civil date from a number of days is arithmetic, not a table: with years that begin in March the leap day is
the last of its year, and four hundred years have 146 097 days. Weeks begin on Monday and are named as ISO
8601 names them, by the year that has their Thursday.
"""

import re
from typing import Final, Literal, NamedTuple

from ullage.model.errors import InputError

Period = Literal["hour", "day", "week", "month"]
PERIODS: Final[tuple[Period, ...]] = ("hour", "day", "week", "month")
HOUR_SECONDS: Final = 3600
DAY_SECONDS: Final = 86_400
WEEK_DAYS: Final = 7
SECONDS_MAX: Final = 253_402_300_799
"""The end of the year 9999."""
BORDERS_MAX: Final = 100_000
"""So many periods in a row: eleven years of hours."""
_ERA_DAYS: Final = 146_097
_ERA_YEARS: Final = 400
_TO_1970_DAYS: Final = 719_468
"""From the first of March of the year 0 to 1970."""
_MONDAY: Final = 3
"""Days from the Monday before 1970 to its first day, a Thursday."""
_MONTHS: Final = 12
_MONTH: Final = re.compile(r"([0-9]{4})-([0-9]{2})")
_DAY: Final = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")


class Date(NamedTuple):
    """A day of the calendar."""

    year: int
    month: int
    day: int


def date_of(days: int) -> Date:
    """Return the date of a number of days since 1970."""
    era, of_era = divmod(days + _TO_1970_DAYS, _ERA_DAYS)
    year = (of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year + year // 4 - year // 100)
    from_march = (5 * of_year + 2) // 153
    day = of_year - (153 * from_march + 2) // 5 + 1
    month = from_march + 3 if from_march < 10 else from_march - 9
    return Date(year + era * _ERA_YEARS + (month <= 2), month, day)


def days_of(date: Date) -> int:
    """Return how many days after 1970 a date is."""
    year = date.year - (date.month <= 2)
    era, of_years = divmod(year, _ERA_YEARS)
    from_march = (date.month + 9) % _MONTHS
    of_year = (153 * from_march + 2) // 5 + date.day - 1
    of_era = of_years * 365 + of_years // 4 - of_years // 100 + of_year
    return era * _ERA_DAYS + of_era - _TO_1970_DAYS


def start_of(period: Period, seconds: int) -> int:
    """Return the second at which the period that has a moment began."""
    if period == "hour":
        return seconds // HOUR_SECONDS * HOUR_SECONDS
    days = seconds // DAY_SECONDS
    if period == "week":
        days -= (days + _MONDAY) % WEEK_DAYS
    elif period == "month":
        days -= date_of(days).day - 1
    return days * DAY_SECONDS


def end_of(period: Period, seconds: int) -> int:
    """Return the second at which the period that has a moment ends: the next one begins."""
    start = start_of(period, seconds)
    if period == "hour":
        return start + HOUR_SECONDS
    if period == "month":
        date = date_of(start // DAY_SECONDS)
        years, month = divmod(date.month, _MONTHS)
        return days_of(Date(date.year + years, month + 1, 1)) * DAY_SECONDS
    return start + DAY_SECONDS * (WEEK_DAYS if period == "week" else 1)


def borders_of(period: Period, begin: int, end: int) -> list[int]:
    """Return begin, every border of periods between, and end."""
    found, at = [begin], end_of(period, begin)
    while at < end:
        if len(found) > BORDERS_MAX:
            raise InputError(
                f"more than {BORDERS_MAX} {period}s", remedy="ask about a shorter time, or longer periods"
            )
        found.append(at)
        at = end_of(period, at)
    return [*found, end]


def name_of(period: Period, seconds: int) -> str:
    """Return what the period that has a moment is called, as 2026-03 or 2026-W11."""
    days = start_of(period, seconds) // DAY_SECONDS
    year, month, day = date_of(days)
    if period == "month":
        return f"{year:04d}-{month:02d}"
    if period == "week":
        year = date_of(days + _MONDAY).year
        return f"{year:04d}-W{(days + _MONDAY - days_of(Date(year, 1, 1))) // WEEK_DAYS + 1:02d}"
    hour = f"T{seconds % DAY_SECONDS // HOUR_SECONDS:02d}" if period == "hour" else ""
    return f"{year:04d}-{month:02d}-{day:02d}{hour}"


def parse_day(text: str) -> int | None:
    """Return the first second of a day or a month, as 2026-03-14 or 2026-03; None where the text is neither.

    A day that the calendar does not have is an InputError.
    """
    found = _DAY.fullmatch(text) or _MONTH.fullmatch(text)
    if found is None:
        return None
    numbers = [int(each) for each in found.groups()]
    date = Date(numbers[0], numbers[1], numbers[2] if len(numbers) > 2 else 1)
    if not 1 <= date.month <= _MONTHS or date.day < 1 or date_of(days_of(date)) != date:
        raise InputError(f"{text} is no day of the calendar", remedy="write YEAR-MONTH-DAY, as 2026-03-14")
    return days_of(date) * DAY_SECONDS
