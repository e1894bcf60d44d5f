"""The page of `usage report`: what each tenant pays, and what it was promised, used and left unused."""

import shlex
from datetime import datetime
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from ullage.model.settings import print_fraction
from ullage.render import view
from ullage.service.words import nothing_cell, plural

if TYPE_CHECKING:
    from ullage.service.asked import Asked
    from ullage.service.usage_report import Consumed, ConsumptionRow, TenantCost, UsageReport
    from ullage.service.usage_report_read import UsageReportQuestion

ROWS_SHOWN: Final = 60
DECIMALS: Final = 2
MACHINE_DECIMALS: Final = 9
NAMES: Final = {
    "total": "all tenants",
    "unattributed": "not attributed",
    "idle": "idle",
    "beyond": "beyond capacity",
    "capacity": "capacity",
}
"""What rows that are no tenant's are called."""
GUESSED: Final = "~"
"""The mark of an amount that is not known as a whole."""
_UNKNOWN: Final = view.Cell("unknown", tone="muted", value="0")
"""An amount of which nothing is known all the time; a column of its own says for how long."""
_FINER: Final = {"month": "week", "week": "day", "day": "hour", "hour": "month"}


def usage_report_page(
    report: "UsageReport", asked: "Asked", question: "UsageReportQuestion", *, shortened: bool = False
) -> view.Page:
    """Return the page of a report; shortened, the first rows of it."""
    blocks: list[view.Block] = []
    if report.cost is not None:
        blocks.append(_cost_table(report, ROWS_SHOWN if shortened else None))
    blocks.append(_consumption_table(report, ROWS_SHOWN if shortened else None))
    return view.Page(
        title=f"Consumption by {report.by}",
        verdict=view.Verdict(_verdict(report)),
        blocks=tuple(blocks),
        not_simulated=report.not_simulated,
        next_command=asked.command(_next_words(question)),
        about=_about(report),
        main=len(blocks) - 1,
    )


def _about(report: "UsageReport") -> str:
    of_cluster = f"cluster {report.cluster}, revision {report.revision}, " if report.cluster else ""
    return f"{of_cluster}{report.begin} to {report.end}"


def _next_words(question: "UsageReportQuestion") -> str:
    words = ["usage report", f"--period {_FINER[question.period]}"]
    for option, value in (
        ("--by", question.by if question.by != "namespace" else ""),
        ("--usage", question.usage),
        ("--counters", question.counters),
        ("--prices", question.prices),
    ):
        words += [f"{option} {shlex.quote(value)}"] if value else []
    return " ".join(words)


def _verdict(report: "UsageReport") -> str:
    tenants = len({row.tenant for row in report.rows if row.kind == "tenant"})
    who = plural(tenants, "tenant")
    if report.cost is not None:
        guessed = ", in part estimated" if any(each.estimated for each in report.costs) else ""
        unknown = ", without what is unknown" if any(each.unknown for each in report.costs) else ""
        money = f"{decimal(report.cost, report.decimals)} {report.currency}"
        return f"{who}, {money}{guessed}{unknown}"
    dark = _dark(report)
    totals = [row for row in report.rows if row.kind == "total" and _place(row, "used") not in dark]
    parts = []
    for what, unit in sorted({(row.what, row.unit) for row in totals})[:3]:
        used = [row.used.quantity for row in totals if (row.what, row.unit) == (what, unit) and row.used]
        if used:
            parts.append(f"{decimal(sum(used, Fraction(0)))} {unit} of {what}")
    return f"{who} used {', '.join(parts)}" if parts else f"{who}, and no use of theirs is known"


def _cost_table(report: "UsageReport", most: int | None) -> view.Table:
    columns = (
        view.Column("period", priority=8),
        view.Column("tenant", priority=9),
        view.Column("cost", "right", priority=9),
        view.Column("currency", priority=4),
        view.Column("how sure", priority=6),
    )
    rows = [_cost_row(each, report) for each in report.costs[:most]]
    if report.cost is not None:
        total = view.Cell(
            decimal(report.cost, report.decimals), tone="strong", value=machine_number(report.cost)
        )
        name = view.Cell("all", tone="strong")
        rows.append(
            (name, view.Cell(NAMES["total"], tone="strong"), total, view.Cell(report.currency), view.Cell(""))
        )
    return view.Table("Cost", columns, tuple(rows), _caption(len(report.costs), most))


def _cost_row(cost: "TenantCost", report: "UsageReport") -> tuple[view.Cell, ...]:
    sure = [f"unknown: {', '.join(cost.unknown)}"] if cost.unknown else []
    sure += ["in part estimated"] if cost.estimated else []
    return (
        view.Cell(cost.period),
        view.Cell(cost.tenant),
        view.Cell(decimal(cost.cost, report.decimals), value=machine_number(cost.cost)),
        view.Cell(report.currency),
        view.Cell("; ".join(sure) or "as measured", tone="warn" if cost.unknown else "plain"),
    )


def _consumption_table(report: "UsageReport", most: int | None) -> view.Table:
    columns = [
        view.Column("period", priority=8),
        view.Column("tenant", priority=9),
        view.Column("kind", wide_only=True),
        view.Column("what", priority=9),
        view.Column("unit", priority=7),
        view.Column("promised", "right", priority=8),
        view.Column("used", "right", priority=9),
        view.Column("unused", "right", priority=5),
        view.Column("estimated", "right", priority=6),
        view.Column("of promised", "right", wide_only=True, key="promised_estimated"),
        view.Column("unknown", "right", wide_only=True, key="unknown_seconds"),
    ]
    if report.cost is not None:
        columns += [view.Column("cost", "right", priority=8), view.Column("currency", wide_only=True)]
    dark = _dark(report)
    rows = tuple(_row(each, report, dark) for each in report.rows[:most])
    caption = "; ".join(each for each in (_marks(report), _caption(len(report.rows), most)) if each)
    return view.Table("Consumption", tuple(columns), rows, caption)


def _caption(count: int, most: int | None) -> str:
    if most is None or count <= most:
        return ""
    return f"the first {most} of {count} rows; -o wide shows all"


def _marks(report: "UsageReport") -> str:
    amounts = [each for row in report.rows for each in (row.promised, row.used) if each is not None]
    return f"{GUESSED} is in part or as a whole estimated" if any(each.estimated for each in amounts) else ""


def _place(row: "ConsumptionRow", measure: str) -> tuple[str, ...]:
    return row.begin, row.what, row.model, row.kind, row.tenant, measure


def _dark(report: "UsageReport") -> set[tuple[str, ...]]:
    """Return the amounts of which nothing is known all the time; of all tenants where it is so of each."""
    found: set[tuple[str, ...]] = set()
    lit: set[tuple[str, ...]] = set()
    for row in report.rows:
        length = datetime.fromisoformat(row.end) - datetime.fromisoformat(row.begin)
        for measure, amount in (("promised", row.promised), ("used", row.used)):
            if amount is None or row.kind == "total":
                continue
            total = (*_place(row, "")[:3], "total", "", measure)
            if amount.unknown_seconds == length.total_seconds():
                found |= {_place(row, measure), total}
            elif row.kind == "tenant":
                lit.add(total)
    return found - lit


def _row(row: "ConsumptionRow", report: "UsageReport", dark: set[tuple[str, ...]]) -> tuple[view.Cell, ...]:
    tone: view.Tone = "plain" if row.kind == "tenant" else "strong" if row.kind == "total" else "muted"
    what = f"{row.what} ({row.model})" if row.model else row.what
    unused = None
    if row.promised is not None and row.used is not None and row.kind in {"tenant", "total"}:
        is_known = _place(row, "used") not in dark
        unused = row.promised.quantity - row.used.quantity if is_known else None
    billed = row.promised if row.billed == "promised" else row.used or row.promised
    cells = [
        view.Cell(row.period),
        view.Cell(NAMES.get(row.kind, row.tenant), tone=tone, value=row.tenant),
        view.Cell(row.kind),
        view.Cell(what),
        view.Cell(row.unit),
        _UNKNOWN if _place(row, "promised") in dark else _quantity(row.promised),
        _UNKNOWN
        if _place(row, "used") in dark
        else _quantity(row.used, row.promised if row.kind in {"tenant", "total"} else None),
        nothing_cell() if unused is None else view.Cell(decimal(unused), value=machine_number(unused)),
        _estimated(billed),
        _estimated(row.promised),
        view.Cell(_hours(billed), value=str(billed.unknown_seconds if billed else 0)),
    ]
    if report.cost is not None:
        cost = (
            nothing_cell()
            if row.cost is None
            else view.Cell(decimal(row.cost, report.decimals), value=machine_number(row.cost))
        )
        cells += [cost, view.Cell(report.currency if row.cost is not None else "")]
    return tuple(cells)


def _quantity(amount: "Consumed | None", whole: "Consumed | None" = None) -> view.Cell:
    if amount is None:
        return nothing_cell()
    share = None
    if whole is not None and whole.quantity > 0:
        both = amount.quantity / whole.quantity
        share = view.Share(both.numerator, both.denominator)
    about = GUESSED if amount.estimated else ""
    return view.Cell(f"{about}{decimal(amount.quantity)}", share, value=machine_number(amount.quantity))


def _estimated(amount: "Consumed | None") -> view.Cell:
    if amount is None or not amount.estimated:
        return view.Cell("-", tone="muted", value="0")
    if amount.estimated == amount.quantity:
        return view.Cell("all", tone="warn", value=machine_number(amount.estimated))
    return view.Cell(decimal(amount.estimated), tone="warn", value=machine_number(amount.estimated))


def _hours(amount: "Consumed | None") -> str:
    seconds = 0 if amount is None else amount.unknown_seconds
    return f"{decimal(Fraction(seconds, 3600))} h" if seconds else "-"


def machine_number(value: Fraction) -> str:
    """Return a number as a spreadsheet reads it: exact where nine decimals are, else rounded to them."""
    text = print_fraction(value)
    return decimal(value, MACHINE_DECIMALS) if "/" in text else text


def decimal(value: Fraction, decimals: int = DECIMALS) -> str:
    """Return a number with so many decimals, halves to even; what is not nothing never reads as nothing."""
    steps = round(abs(value) * 10**decimals)
    if not steps and value and decimals < MACHINE_DECIMALS:
        least = f"{1 / 10**decimals:.{decimals}f}" if decimals else "1"
        return f"<{least}" if value > 0 else f">-{least}"
    whole, rest = divmod(steps, 10**decimals)
    text = f"{whole}.{rest:0{decimals}d}" if decimals else str(whole)
    return f"-{text}" if value < 0 else text
