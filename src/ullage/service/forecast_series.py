"""From bounds and a book to outlooks: which series there are, what is forecast of each, and why not."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from ullage.engine.steps import counted
from ullage.engine.usage.book import Book, Stream
from ullage.engine.usage.compounding import LOGARITHM_MAX
from ullage.engine.usage.decaying import predicted_summary
from ullage.engine.usage.forecast import (
    DAYS_MIN,
    EMPTY,
    KNOWN,
    NEVER,
    SHORT,
    STALE,
    Forecast,
    RunOut,
    band,
    forecast,
    run_out,
)
from ullage.engine.usage.medians import Counts, Floats
from ullage.engine.usage.seasons import DAY_HOURS, WEEK_HOURS
from ullage.engine.usage.series import HOUR_SECONDS, LOOKBACK_DAYS, end_hour_of, hourly_peaks
from ullage.model.resources import Amount
from ullage.model.usage import kind_of
from ullage.service.clock import told_time
from ullage.service.forecast import (
    Backtest,
    BandDay,
    BoundOutlook,
    ForecastQuestion,
    Growth,
    Outlook,
    Peak,
)
from ullage.service.forecast_bounds import Bound
from ullage.service.forecast_growth import parse_growth, parse_level
from ullage.service.progress import listener
from ullage.service.words import plural

BANDS_MAX: Final = 100
"""So many series are told day by day."""
BAND_POINTS_MAX: Final = 30
DAY_SECONDS: Final = DAY_HOURS * HOUR_SECONDS
_OBSERVE: Final = "record it with `ullage usage observe`, or name a --usage that has it"


class Found(NamedTuple):
    """Outlooks in the order of their bounds, and the end of what was observed."""

    outlooks: tuple[Outlook, ...]
    end_seconds: int


class _Known(NamedTuple):
    """What all outlooks of one answer are made of."""

    streams: list[Stream]
    values: Floats
    found: Forecast
    end_hour: int
    growth_per_hour: float | None
    horizon_days: int


def outlooks_of(book: Book, bounds: Sequence[Bound], question: ForecastQuestion) -> Found:
    """Return what is to be expected of everything that has bounds."""
    by_stream: dict[Stream, list[Bound]] = {}
    for bound in bounds:
        by_stream.setdefault(Stream(bound.subject, bound.resource, bound.measure), []).append(bound)
    streams = list(by_stream)
    end_hour = end_hour_of(book, streams)
    steps = listener()
    values = hourly_peaks(book, streams, end_hour, steps=steps)
    level = parse_level(question.level)
    known = _Known(
        streams,
        values,
        forecast(values, level, steps),
        end_hour,
        parse_growth(question.growth),
        question.horizon_days,
    )
    dates = _dates(known, [by_stream[each] for each in streams])
    banded = _soonest(known, dates)
    outlooks = tuple(
        _outlook(known, row, dates[row], book, has_band=row in banded)
        for row in counted(range(len(streams)), len(streams), "series told", steps)
    )
    return Found(outlooks, end_hour * HOUR_SECONDS)


def _dates(known: _Known, bounds: Sequence[Sequence[Bound]]) -> list[tuple[BoundOutlook, ...]]:
    """Return when each series reaches each of its bounds, all at once."""
    found = known.found
    pairs = [(row, bound) for row, each in enumerate(bounds) for bound in each]
    rows = np.array([row for row, _ in pairs], np.int64)
    amounts = np.array([bound.amount for _, bound in pairs], np.float64)
    dates = run_out(found, rows, amounts, known.horizon_days, known.growth_per_hour)
    told: list[list[BoundOutlook]] = [[] for _ in bounds]
    for place, (row, bound) in enumerate(pairs):
        reached = bool(found.reason[row] == KNOWN and found.latest[row] >= bound.amount)
        told_dates = (None, None, None) if reached else _told(known, dates, place)
        amount = Amount(bound.resource, bound.amount)
        told[row].append(BoundOutlook(bound.name, amount, bound.hard, reached, *told_dates))
    return [tuple(each) for each in told]


def _told(known: _Known, dates: RunOut, place: int) -> tuple[str | None, str | None, str | None]:
    earliest, likely, latest = (
        None if each[place] == NEVER else told_time((known.end_hour + int(each[place])) * HOUR_SECONDS)
        for each in dates
    )
    return earliest, likely, latest


def _soonest(known: _Known, dates: Sequence[Sequence[BoundOutlook]]) -> set[int]:
    """Return which rows are told day by day: those that run out first."""

    def when(row: int) -> tuple[str, str, int]:
        hard = [each for each in dates[row] if each.hard] or dates[row]
        likely = min(("" if each.reached else each.likely or "~" for each in hard), default="~")
        earliest = min(("" if each.reached else each.earliest or "~" for each in hard), default="~")
        return likely, earliest, row

    rows = [row for row in range(len(dates)) if known.found.reason[row] == KNOWN]
    return set(sorted(rows, key=when)[:BANDS_MAX])


def _outlook(
    known: _Known, row: int, bounds: tuple[BoundOutlook, ...], book: Book, *, has_band: bool
) -> Outlook:
    stream, found = known.streams[row], known.found
    resource = stream.resource
    latest = found.latest[row]
    is_workload = kind_of(stream.subject) == "workload"
    predicted = predicted_summary(book, stream) if is_workload else None
    now = None if np.isnan(latest) else Amount(resource, round(latest))
    if found.reason[row] != KNOWN:
        why, remedy = _why(known, row)
        return Outlook(
            *stream, int(found.days[row]), now, None, (), bounds, None, predicted, why=why, remedy=remedy
        )
    seasons = [("daily", found.seasons.by_day[row].any()), ("weekly", found.seasons.by_week[row].any())]
    return Outlook(
        *stream,
        int(found.days[row]),
        now,
        _growth(known, row),
        tuple(name for name, has in seasons if has),
        bounds,
        _backtest(found, row, resource),
        predicted,
        _history(known, row) if has_band else (),
        _band(known, row) if has_band else (),
    )


def _why(known: _Known, row: int) -> tuple[str, str]:
    """Return why nothing is known of a series, and how to know it."""
    found = known.found
    days = int(found.seen_days[row])
    match int(found.reason[row]):
        case reason if reason == EMPTY:
            return f"nothing was recorded in the last {LOOKBACK_DAYS} days", _OBSERVE
        case reason if reason == STALE:
            hours = int(found.silent_hours[row])
            return f"nothing was recorded for {plural(hours, 'hour')}", _OBSERVE
        case reason if reason == SHORT:
            more = DAYS_MIN - days
            return (
                f"recorded on {plural(days, 'day')}, and a backtest needs {DAYS_MIN}",
                f"record it for {plural(more, 'more day')} (`ullage usage observe`)",
            )
    return "too few of its days can be compared with earlier ones", "record it without gaps for some days"


def _growth(known: _Known, row: int) -> Growth:
    found, resource = known.found, known.streams[row].resource
    level = found.level[row]
    if found.compounds[row]:
        level = np.exp(level)
    if known.growth_per_hour is not None:
        share = (1 + known.growth_per_hour) ** WEEK_HOURS - 1
        return Growth(None, Amount(resource, round(level * share)), None, round(100 * share, 2))
    slope = found.slope_per_hour[row] * WEEK_HOURS
    drift = found.drift_per_hour[row] * WEEK_HOURS
    low, likely, high = slope - drift, slope, slope + drift
    if found.compounds[row]:
        low, likely, high = (level * np.expm1(min(each, LOGARITHM_MAX)) for each in (low, likely, high))
    percent = round(float(100 * likely / level), 2) if level > 0 else None
    low, likely, high = (Amount(resource, round(each)) for each in (low, likely, high))
    return Growth(low, likely, high, percent, bool(found.compounds[row]))


def _backtest(found: Forecast, row: int, resource: str) -> Backtest:
    errors = [
        None if np.isnan(each[row]) else Amount(resource, round(each[row]))
        for each in (found.error, found.naive_error)
    ]
    error, naive = found.error[row], found.naive_error[row]
    return Backtest(
        int(found.origins[row]),
        int(found.distance[row]),
        int(found.hours[row]),
        int(found.inside[row]),
        errors[0],
        errors[1],
        round(float(100 * error / naive), 1) if naive > 0 else None,
        None if np.isnan(found.supported[row]) else round(float(found.supported[row]), 4),
    )


def _history(known: _Known, row: int) -> tuple[Peak, ...]:
    resource = known.streams[row].resource
    days = known.values[row].reshape(-1, DAY_HOURS)
    start = known.end_hour - known.values.shape[1]
    seen = np.flatnonzero(~np.isnan(days).all(axis=1))
    return tuple(
        Peak(
            told_time((start + int(day) * DAY_HOURS) * HOUR_SECONDS),
            Amount(resource, round(np.nanmax(days[day]))),
        )
        for day in seen
    )


def _band(known: _Known, row: int) -> tuple[BandDay, ...]:
    resource = known.streams[row].resource
    rows: Counts = np.array([row], np.int64)
    edges = band(known.found, rows, known.horizon_days, known.growth_per_hour)
    low, likely, high = (each[0].reshape(-1, DAY_HOURS).max(axis=1) for each in edges)
    days = range(0, known.horizon_days, -(-known.horizon_days // BAND_POINTS_MAX))
    return tuple(
        BandDay(
            told_time((known.end_hour + day * DAY_HOURS) * HOUR_SECONDS),
            *(Amount(resource, max(0, round(each[day]))) for each in (low, likely, high)),
        )
        for day in days
    )
