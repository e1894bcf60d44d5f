"""The calendar agrees with Python's own, which the engine may not use."""

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.engine.usage.metering_calendar import (
    PERIODS,
    SECONDS_MAX,
    Date,
    borders_of,
    date_of,
    days_of,
    end_of,
    name_of,
    parse_day,
    start_of,
)
from ullage.model.errors import InputError

moments = st.integers(0, SECONDS_MAX - 40 * 86_400)


def known(seconds: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)


@given(st.dates(date(1, 3, 1), date(9999, 12, 31)))
def test_a_date_is_its_number_of_days_and_back(drawn):
    days = (drawn - date(1970, 1, 1)).days
    assert date_of(days) == (drawn.year, drawn.month, drawn.day)
    assert days_of(Date(drawn.year, drawn.month, drawn.day)) == days


def test_every_day_of_four_hundred_years_is_as_the_calendar_has_it():
    first = date(1970, 1, 1)
    for days in range(146_097 + 1):
        known_date = first + timedelta(days=days)
        assert date_of(days) == (known_date.year, known_date.month, known_date.day)
        assert days_of(date_of(days)) == days


@given(moments)
def test_periods_are_called_as_the_calendar_calls_them(seconds):
    at = known(seconds)
    year, week, _ = at.isocalendar()
    assert name_of("hour", seconds) == at.strftime("%Y-%m-%dT%H").rjust(13, "0")
    assert name_of("day", seconds) == at.date().isoformat()
    assert name_of("week", seconds) == f"{year:04d}-W{week:02d}"
    assert name_of("month", seconds) == at.date().isoformat()[:7]


@given(moments, st.sampled_from(PERIODS))
def test_a_period_has_the_moments_of_its_name_and_no_others(seconds, period):
    start, end = start_of(period, seconds), end_of(period, seconds)
    assert start <= seconds < end
    assert name_of(period, start) == name_of(period, seconds) == name_of(period, end - 1)
    assert name_of(period, end) != name_of(period, seconds)
    assert end_of(period, start) == end
    assert known(start).minute == known(start).second == 0
    if period == "week":
        assert known(start).weekday() == 0
        assert end - start == 7 * 86_400


@pytest.mark.parametrize(
    ("year", "days"), [(2023, 28), (2024, 29), (1900, 28), (2000, 29), (2100, 28), (2400, 29)]
)
def test_february_is_as_long_as_its_year_says(year, days):
    start = days_of(Date(year, 2, 1)) * 86_400
    assert end_of("month", start) - start == days * 86_400


def test_borders_are_begin_every_border_between_and_end():
    begin, end = parse_day("2026-01-30"), parse_day("2026-03-02")
    named = [parse_day(each) for each in ("2026-01-30", "2026-02-01", "2026-03-01", "2026-03-02")]
    assert borders_of("month", begin, end) == named
    assert borders_of("day", begin, begin + 3600) == [begin, begin + 3600]
    assert len(borders_of("hour", begin, begin + 86_400)) == 25


def test_periods_without_number_are_refused():
    with pytest.raises(InputError, match="more than 100000 hours"):
        borders_of("hour", 0, SECONDS_MAX)


@pytest.mark.parametrize(
    ("text", "name"), [("2026-03-14", "2026-03-14"), ("2024-02-29", "2024-02-29"), ("2026-03", "2026-03-01")]
)
def test_a_day_or_a_month_is_read(text, name):
    assert name_of("day", parse_day(text)) == name


@pytest.mark.parametrize("text", ["", "now", "2026", "2026-3-1", "2026-03-14T10", "14.03.2026"])
def test_what_is_no_day_is_left_to_others(text):
    assert parse_day(text) is None


@pytest.mark.parametrize("text", ["2026-02-29", "2026-13-01", "2026-00", "2026-04-31", "2026-01-00"])
def test_a_day_that_there_never_was_is_refused(text):
    with pytest.raises(InputError, match="no day of the calendar"):
        parse_day(text)
