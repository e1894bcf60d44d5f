"""What a report of consumption is made from: usage, counters, prices, a cluster, and for which time."""

from typing import TYPE_CHECKING, Final, NamedTuple

from ullage.engine.usage.metering_calendar import HOUR_SECONDS, Period, end_of, parse_day, start_of
from ullage.engine.usage.metering_prices import Tariff
from ullage.model.cluster import Snapshot
from ullage.model.errors import InputError
from ullage.model.resources import ResourceTypes
from ullage.service.asked import Asked, read_everybody, read_types
from ullage.service.clock import told_time

if TYPE_CHECKING:
    from ullage.engine.usage.book import Book
    from ullage.engine.usage.metering_counters import Meters

_NOTHING: Final = "name what was observed with --usage, or readings of counters with --counters"
_MOMENT: Final = "write it as 2026-03, 2026-03-14 or 2026-03-14T06:00:00Z"


class UsageReportQuestion(NamedTuple):
    """What is reported, and from what: usage, counters, prices; and how tenants are told apart."""

    period: Period = "month"
    by: str = "namespace"
    usage: str = ""
    counters: str = ""
    prices: str = ""
    begin: str = ""
    end: str = ""
    gap_seconds: int = HOUR_SECONDS
    with_billing: bool = False


class Known(NamedTuple):
    """All that a report is made from."""

    snapshot: Snapshot | None
    types: ResourceTypes
    book: "Book | None"
    meters: "Meters | None"
    tariff: Tariff | None


def read(asked: Asked, question: UsageReportQuestion) -> Known:
    """Return all that a report is made from."""
    snapshot = _cluster(asked)
    types = read_types(asked.types) if snapshot is None else snapshot.resource_types
    meters = _meters(asked, question)
    book = _book(asked, question, snapshot, has_meters=meters is not None)
    tariff = None
    if question.prices:
        from ullage.sources.usage_prices import read_prices

        tariff = read_prices(question.prices, types)
    return Known(snapshot, types, book, meters, tariff)


def _cluster(asked: Asked) -> Snapshot | None:
    """Return the cluster that is meant; a report of what was metered needs none."""
    from ullage.service.held import held
    from ullage.sources.opening import default_cluster

    if not asked.cluster and held(asked.cluster) is None and not default_cluster():
        return None
    return read_everybody(asked)


def _meters(asked: Asked, question: UsageReportQuestion) -> "Meters | None":
    """Return what counters come to: of the readings that are named, else those that the ledger has."""
    from ullage.service.usage_meters import metered, recorded

    named = question.counters
    meters = metered(named, question.gap_seconds, asked) if named else recorded(asked)
    if meters is not None:
        meters.settle()
    return meters


def _book(
    asked: Asked, question: UsageReportQuestion, snapshot: Snapshot | None, *, has_meters: bool
) -> "Book | None":
    from ullage.service.observed import NothingRecordedError, read_usage

    if question.usage or not has_meters:
        return read_usage(question.usage, asked, snapshot, by_the_hour=False)
    if not asked.ledger or question.counters:
        return None
    try:
        return read_usage("", asked, snapshot, by_the_hour=False)
    except NothingRecordedError:
        return None  # the ledger has counters alone


def window(question: UsageReportQuestion, known: Known) -> tuple[int, int]:
    """Return the time that is reported: what was asked for, else all that was observed, in full hours."""
    moments = None if known.book is None else known.book.moments()
    metered = None if known.meters is None else known.meters.span_seconds()
    spans = [each for each in (moments, metered) if each is not None]
    begin = _moment(question.begin, "--from")
    end = _moment(question.end, "--to")
    if not spans and (begin is None or end is None):
        raise InputError("nothing was observed", remedy=_NOTHING)
    begin = start_of("hour", min(first for first, _ in spans)) if begin is None else begin
    end = end_of("hour", max(last for _, last in spans)) if end is None else end
    if begin >= end:
        raise InputError(
            f"nothing lies between {told_time(begin)} and {told_time(end)}",
            where="--from and --to",
            remedy=f"choose some of {_told_spans(spans)}",
        )
    return begin, end


def _told_spans(spans: list[tuple[int, int]]) -> str:
    first, last = min(each for each, _ in spans), max(each for _, each in spans)
    return f"{told_time(first)} to {told_time(last)}"


def _moment(text: str, option: str) -> int | None:
    if not text:
        return None
    from ullage.sources.usage.csv_samples import seconds_of

    try:
        found = parse_day(text)
        seconds = seconds_of(text) if found is None else found
    except InputError as error:
        raise InputError(error.what, where=option, remedy=_MOMENT) from None
    if seconds % HOUR_SECONDS or seconds < 0:
        raise InputError(f"{text} is no full hour", where=option, remedy="periods are made of full hours")
    return seconds
