"""When does it run out: each resource, quota and class of drives, from what is promised and what is used.

A date is always three: the earliest and the latest of the interval, and the likely one. How often such
intervals held in the past, and how far off the middle was beside a plain guess, is told with them.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Final, NamedTuple

from ullage.model.cluster import Snapshot
from ullage.model.constraints import Record
from ullage.model.errors import InputError
from ullage.model.resources import Amount
from ullage.model.usage import UsageSummary
from ullage.model.verdict import Finding
from ullage.service.answer import Answer, versioned
from ullage.service.asked import Asked, read_cluster
from ullage.service.clock import told_time
from ullage.service.forecast_bounds import DEFAULT_KINDS, KINDS, bounds_of
from ullage.service.forecast_doubts import doubts
from ullage.service.forecast_growth import parse_growth, parse_level
from ullage.service.held import columns_of
from ullage.service.observed import read_usage

if TYPE_CHECKING:
    from ullage.engine.usage.book import Book

HORIZON_DAYS: Final = 90
HORIZON_DAYS_MAX: Final = 730
WITHIN_DAYS: Final = 30
LEVEL: Final = "0.9"


class ForecastQuestion(NamedTuple):
    """What is forecast: by which kinds, how far, at which level, and with which growth in place of its own.

    The answer is no where something hard is likely to run out within some days.
    """

    usage: str = ""
    horizon_days: int = HORIZON_DAYS
    level: str = LEVEL
    growth: str = ""
    by: str = ""
    within_days: int = WITHIN_DAYS


class Growth(Record, frozen=True):
    """How fast it grows in a week; low and high are the ends of the interval.

    `percent` is the share of the level now; what `compounds` grows by that share of what it is by then. Where
    a growth was given there is no interval.
    """

    low: Amount | None
    likely: Amount
    high: Amount | None
    percent: float | None
    compounds: bool = False


class Backtest(Record, frozen=True):
    """How forecasts of the past did: made on so many days, up to so many days ahead.

    Of `hours` that were forecast with an interval, so many were `inside`. Both errors are mean absolute ones;
    the naive forecast says that each hour will be as on the last day, and `error_percent` is of its error.
    Intervals are known up to the level `supported`: one of a higher level is no wider.
    """

    origins: int
    distance_days: int
    hours: int
    inside: int
    error: Amount | None
    naive_error: Amount | None
    error_percent: float | None
    supported: float | None = None


class BoundOutlook(Record, frozen=True):
    """When a bound is reached; a date that is missing is not within the horizon."""

    bound: str
    amount: Amount
    hard: bool
    reached: bool
    earliest: str | None
    likely: str | None
    latest: str | None


class Peak(Record, frozen=True):
    """The peak of the day that begins at a moment."""

    at: str
    peak: Amount


class BandDay(Record, frozen=True):
    """The interval of the peak of the day that begins at a moment."""

    at: str
    low: Amount
    likely: Amount
    high: Amount


class Outlook(Record, frozen=True):
    """One series: where it stands, how it grows, and when it reaches its bounds; or `why` that is unknown.

    `days` is for how long it was observed, `predicted` what use of a workload to expect. Where there are very
    many series only the first to run out have `history` and `band`.
    """

    subject: str
    resource: str
    measure: str
    days: int
    now: Amount | None
    growth: Growth | None
    seasons: tuple[str, ...]
    bounds: tuple[BoundOutlook, ...]
    backtest: Backtest | None
    predicted: UsageSummary | None = None
    history: tuple[Peak, ...] = ()
    band: tuple[BandDay, ...] = ()
    why: str = ""
    remedy: str = ""


class ForecastReport(Record, frozen=True):
    """The answer to `ullage forecast`; `as_of` is when the last observation was made."""

    cluster: str
    revision: int
    policy: str
    as_of: str
    horizon_days: int
    within_days: int
    level: Fraction
    growth: str
    outlooks: tuple[Outlook, ...]
    hours: int
    inside: int
    runs_out: tuple[str, ...]
    not_simulated: tuple[str, ...]
    findings: tuple[Finding, ...] = ()


def forecast(asked: Asked, question: ForecastQuestion) -> Answer:
    """Answer when each resource, quota and class of drives runs out."""
    _check(question)
    snapshot = read_cluster(asked)
    return forecast_of(snapshot, read_usage(question.usage, asked, snapshot), asked, question)


def _check(question: ForecastQuestion) -> None:
    parse_level(question.level)
    parse_growth(question.growth)
    longest = max(question.horizon_days, question.within_days)
    if not (question.horizon_days >= 1 and longest <= HORIZON_DAYS_MAX):
        days = question.horizon_days if question.horizon_days < 1 else longest
        raise InputError(f"a horizon of {days} days", remedy=f"use 1 to {HORIZON_DAYS_MAX} days")
    if question.by and question.by not in KINDS:
        raise InputError(f"nothing is forecast by {question.by!r}", remedy=f"use one of {', '.join(KINDS)}")


def forecast_of(snapshot: Snapshot, book: "Book", asked: Asked, question: ForecastQuestion) -> Answer:
    """Answer when things run out; cluster and usage were read already."""
    from ullage.service.forecast_page import forecast_page

    report = forecast_report(snapshot, book, question)
    types = snapshot.resource_types
    return Answer(
        lambda: forecast_page(report, types, asked),
        lambda: versioned("ForecastReport", report, types),
        not report.runs_out,
        shortened=lambda: forecast_page(report, types, asked, shortened=True),
    )


def forecast_report(snapshot: Snapshot, book: "Book", question: ForecastQuestion) -> ForecastReport:
    """Return every number of the answer; it looks as far ahead as it is asked about."""
    from ullage.service.forecast_series import outlooks_of

    question = question._replace(horizon_days=max(question.horizon_days, question.within_days))
    bounds = bounds_of(columns_of(snapshot), (question.by,) if question.by else DEFAULT_KINDS)
    found = outlooks_of(book, bounds, question)
    outlooks, level = found.outlooks, parse_level(question.level)
    return ForecastReport(
        cluster=snapshot.name,
        revision=snapshot.revision,
        policy=snapshot.policy.name,
        as_of=told_time(found.end_seconds),
        horizon_days=question.horizon_days,
        within_days=question.within_days,
        level=level,
        growth=question.growth,
        outlooks=outlooks,
        hours=sum(each.backtest.hours for each in outlooks if each.backtest),
        inside=sum(each.backtest.inside for each in outlooks if each.backtest),
        runs_out=_runs_out(outlooks, told_time(found.end_seconds + question.within_days * 86_400)),
        not_simulated=(*_not_simulated(outlooks, question), *snapshot.unknowns),
        findings=tuple(doubts(outlooks, level)),
    )


def _runs_out(outlooks: Sequence[Outlook], until: str) -> tuple[str, ...]:
    """Return what is at a hard bound, or is likely to be by some moment."""
    return tuple(
        f"{each.subject} {each.resource} {each.measure}"
        for each in outlooks
        if any(
            bound.hard and (bound.reached or (bound.likely is not None and bound.likely <= until))
            for bound in each.bounds
        )
    )


def _not_simulated(outlooks: Sequence[Outlook], question: ForecastQuestion) -> tuple[str, ...]:
    tried = [each.backtest.distance_days for each in outlooks if each.backtest]
    beyond = bool(tried) and min(tried) < question.horizon_days and not question.growth
    return (
        "bounds that change: nodes, drives and quotas stay what they are now",
        *([f"forecasts further than {min(tried)} days: widths grow on from there"] if beyond else []),
        *(["doubt about the growth that was given"] if question.growth else []),
    )
