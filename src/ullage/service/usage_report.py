"""What tenants consumed, by period: promised, used, idle; what was counted as it was used; and what it costs.

Amounts over time come from what was observed, counters from their readings, prices from a file. Quantities
and costs are exact fractions; a line of a bill is rounded once, and sums are sums of lines.
"""

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from itertools import pairwise
from typing import Final, NamedTuple

from ullage.engine.usage.metering_calendar import name_of
from ullage.engine.usage.metering_prices import What
from ullage.engine.usage.metering_report import Amount, Reporter, Row
from ullage.engine.usage.metering_report import Asked as Reported
from ullage.engine.usage.metering_tenants import By, Tenancy
from ullage.model.cluster import Snapshot
from ullage.model.constraints import Record
from ullage.model.errors import InputError
from ullage.model.resources import Resources
from ullage.service.answer import Answer, versioned
from ullage.service.asked import Asked
from ullage.service.clock import told_time
from ullage.service.usage_report_notes import notes_of_levels, notes_of_meters, notes_of_rows
from ullage.service.usage_report_read import Known, UsageReportQuestion, read, window

LABEL_PREFIX: Final = "label:"
ROWS_MAX: Final = 1_000_000


class Consumed(Record, frozen=True):
    """So much, in the unit of its row; how much of it is estimated; for how long nothing was known."""

    quantity: Fraction
    estimated: Fraction
    unknown_seconds: int = 0
    restarts: int = 0


class ConsumptionRow(Record, frozen=True):
    """What somebody consumed of a thing in a period; `billed` is what of it is to be paid for.

    The kinds of rows are tenant, total (all tenants), unattributed (use of nobody that we know), idle (what
    nobody used), beyond (what was promised or used at times when that was more than there is) and capacity,
    which is total, unattributed and idle less beyond.
    """

    period: str
    begin: str
    end: str
    kind: str
    what: str
    unit: str
    tenant: str = ""
    model: str = ""
    promised: Consumed | None = None
    used: Consumed | None = None
    billed: str = ""
    cost: Fraction | None = None


class TenantCost(Record, frozen=True):
    """What somebody pays for a period; `unknown` are the things whose cost is not known."""

    period: str
    tenant: str
    cost: Fraction
    estimated: bool = False
    unknown: tuple[str, ...] = ()


class UsageReport(Record, frozen=True):
    """The answer to `ullage usage report`."""

    cluster: str
    revision: int
    by: str
    period: str
    begin: str
    end: str
    currency: str
    decimals: int
    rows: tuple[ConsumptionRow, ...]
    costs: tuple[TenantCost, ...]
    cost: Fraction | None
    not_simulated: tuple[str, ...]


def usage_report(asked: Asked, question: UsageReportQuestion) -> Answer:
    """Answer what tenants consumed, and what it costs."""
    from ullage.service.usage_report_page import usage_report_page

    tenancy_by, label = _by(question.by)
    known = read(asked, question)
    tenancy = Tenancy(tenancy_by, label, known.snapshot)
    begin, end = window(question, known)
    reported = Reported(question.period, begin, end, known.types, known.tariff, question.with_billing)
    report = _report(reported, tenancy, question, known)
    return Answer(
        lambda: usage_report_page(report, asked, question),
        lambda: versioned("UsageReport", report, known.types),
        shortened=lambda: usage_report_page(report, asked, question, shortened=True),
    )


def _by(text: str) -> tuple[By, str]:
    if text.startswith(LABEL_PREFIX) and len(text) > len(LABEL_PREFIX):
        return "label", text.removeprefix(LABEL_PREFIX)
    if text in {"namespace", "tenant"}:
        return "namespace", ""
    if text == "quota":
        return "quota", ""
    raise InputError(f"--by {text!r} is unknown", remedy="use namespace, quota or label:KEY")


def _report(reported: Reported, tenancy: Tenancy, question: UsageReportQuestion, known: Known) -> UsageReport:
    reporter = Reporter(reported)
    notes = []
    if known.book is not None:
        from ullage.engine.usage.metering_consumption import Consumption
        from ullage.engine.usage.metering_levels import Span

        borders = [each.end for each in reporter.cells]
        span = Span(reported.first, reported.end, question.gap_seconds, borders)
        consumption = Consumption(known.book, tenancy, span)
        reporter.add_levels(consumption, _capacity(known.snapshot))
        notes += notes_of_levels(known.snapshot, promised_now=consumption.is_promised_now)
    if known.meters is not None:
        reporter.add_meters(known.meters, tenancy.quota_of() if tenancy.by == "quota" else {})
        notes += notes_of_meters(known.meters, reported)
    rows = reporter.in_order()
    if len(rows) > ROWS_MAX:
        raise InputError(f"{len(rows)} rows", remedy="use longer periods, or --from and --to")
    tariff = reported.tariff
    costs = _costs(rows, reported) if tariff is not None else []
    snapshot = known.snapshot
    return UsageReport(
        cluster="" if snapshot is None else snapshot.name,
        revision=0 if snapshot is None else snapshot.revision,
        by=question.by,
        period=question.period,
        begin=told_time(reported.begin),
        end=told_time(reported.end),
        currency="" if tariff is None else tariff.currency,
        decimals=0 if tariff is None else tariff.decimals,
        rows=tuple(_told(rows, reported)),
        costs=tuple(costs),
        cost=None if tariff is None else sum((each.cost for each in costs), Fraction(0)),
        not_simulated=(*notes, *notes_of_rows(rows, reported)),
    )


def _capacity(snapshot: Snapshot | None) -> Mapping[What, int]:
    """Return what the cluster has to give now; nothing where it is not known."""
    from ullage.engine.usage.metering_tenants import capacity_now
    from ullage.service.held import columns_of

    if snapshot is None:
        return {}
    columns = columns_of(snapshot)
    allocatable = (
        Resources(zip(columns.resources, (int(each) for each in row), strict=True))
        for row in columns.allocatable
    )
    return capacity_now(snapshot, allocatable)


class _Told(NamedTuple):
    """What a period is called, and from when to when it is."""

    name: str
    begin: str
    end: str


def _told(rows: Iterable[Row], reported: Reported) -> Iterator[ConsumptionRow]:
    """Yield rows as they are told; of the periods each is named once, and not for every row."""
    periods = [
        _Told(name_of(reported.period, begin), told_time(begin), told_time(end))
        for begin, end in pairwise(reported.borders())
    ]
    return (_row(each, periods[each.period]) for each in rows)


def _row(row: Row, period: _Told) -> ConsumptionRow:
    return ConsumptionRow(
        period=period.name,
        begin=period.begin,
        end=period.end,
        kind=row.kind,
        what=row.what.name,
        unit=row.unit.name,
        tenant=row.tenant,
        model=row.what.model,
        promised=_consumed(row.promised),
        used=_consumed(row.used),
        billed=row.priced if row.kind in {"tenant", "total"} else "",
        cost=row.cost,
    )


def _consumed(amount: Amount | None) -> Consumed | None:
    return None if amount is None else Consumed(*amount)


def _costs(rows: list[Row], reported: Reported) -> list[TenantCost]:
    """Return what each tenant pays for each period: the sum of its lines."""
    found: dict[tuple[int, str], list[Row]] = {}
    for row in rows:
        if row.kind == "tenant" and row.priced:
            found.setdefault((row.period, row.tenant), []).append(row)
    borders = reported.borders()
    costs = []
    for (period, tenant), lines in sorted(found.items()):
        billed = [each.promised if each.priced == "promised" else each.used for each in lines]
        costs.append(
            TenantCost(
                name_of(reported.period, borders[period]),
                tenant,
                sum((each.cost for each in lines if each.cost is not None), Fraction(0)),
                any(each.estimated for each in billed if each is not None),
                tuple(sorted({each.what.name for each in lines if each.cost is None})),
            )
        )
    return costs
