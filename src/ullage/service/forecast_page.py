"""The page of `forecast`: when what runs out, how it grows, how good such forecasts were, and a picture."""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final

from ullage.model.resources import ResourceTypes
from ullage.render import view
from ullage.service.forecast_doubts import doubt_of
from ullage.service.words import (
    amount_cell,
    nothing_cell,
    plural,
    resources_in_order,
    several,
    share_cell,
)

if TYPE_CHECKING:
    from ullage.service.asked import Asked
    from ullage.service.forecast import BoundOutlook, ForecastReport, Growth, Outlook

ROWS_SHOWN: Final = 40
CHARTS_SHOWN: Final = 4
NEVER: Final = "~"
"""Behind every date."""
_DATE_LETTERS: Final = 10


def forecast_page(
    report: "ForecastReport", types: ResourceTypes, asked: "Asked", *, shortened: bool = False
) -> view.Page:
    """Return the page of a forecast; shortened, many series fit a few screens."""
    known = [each for each in report.outlooks if not each.why]
    rows_max = ROWS_SHOWN if shortened else None
    charts = [_chart(each, types, report) for each in sorted(known, key=_when)[:CHARTS_SHOWN] if each.band]
    blocks: list[view.Block] = [_dates(report, known, types, rows_max)]
    if known:
        blocks.append(_quality(report, known, types, rows_max))
    blocks += charts
    unknown = [each for each in report.outlooks if each.why]
    if report.findings:
        told = [view.Finding(each.severity, "", each.message, each.remedy) for each in report.findings]
        blocks.append(view.Findings("Doubtful", tuple(told[:rows_max])))
    if unknown:
        blocks.append(_unknown(unknown))
    return view.Page(
        title=f"Forecast of {report.cluster}",
        verdict=view.Verdict(_verdict(report, known, types), _tone(report, known)),
        blocks=tuple(blocks),
        not_simulated=report.not_simulated,
        next_command=asked.command("status" if known else "usage observe --help"),
        about=f"cluster {report.cluster}, revision {report.revision}, policy {report.policy}"
        + (f", observed until {report.as_of}" if known else ""),
        main=0,
    )


def _tone(report: "ForecastReport", known: "Sequence[Outlook]") -> view.VerdictTone:
    if not known:
        return "info"
    return "no" if report.runs_out else "yes"


def _verdict(report: "ForecastReport", known: "Sequence[Outlook]", types: ResourceTypes) -> str:
    if not known:
        reasons = sorted({each.why for each in report.outlooks}) or ["there is nothing that can run out"]
        return f"unknown: {several(reasons, 2)}"
    first = min(known, key=_when)
    bound = min(_hard(first), key=_bound_when)
    name = _name(first)
    if bound.reached:
        amount = types[first.resource].readable(bound.amount.value)
        return f"{name} is at its {bound.bound} already: {_now(first, types)} of {amount}"
    if bound.likely is None:
        soonest = min(known, key=lambda each: (min(_earliest(bound) for bound in _hard(each)), _name(each)))
        may = min(_hard(soonest), key=_earliest)
        text = f"nothing is likely to run out within {report.horizon_days} days"
        if may.earliest is not None:
            text += f"; {_name(soonest)} might on {_day(may.earliest)}"
        return text + _doubt(soonest, report)
    growth = _growth_words(first.growth, types[first.resource].name, types)
    latest = _day(bound.latest) if bound.latest else f"after {report.horizon_days} days"
    return (
        f"{name} is likely to run out on {_day(bound.likely)} ({_percent(report)}: {_day(bound.earliest)} to "
        f"{latest}){f', growing by {growth}' if growth else ''}{_doubt(first, report)}"
    )


def _doubt(outlook: "Outlook", report: "ForecastReport") -> str:
    why = doubt_of(outlook, report.level)
    return f"; {why}" if why else ""


def _percent(report: "ForecastReport") -> str:
    return f"{float(report.level * 100):g}%"


def _name(outlook: "Outlook") -> str:
    kind, _, name = outlook.subject.partition("/")
    return f"{outlook.resource} {outlook.measure}" + (f" of {kind} {name}" if name else "")


def _now(outlook: "Outlook", types: ResourceTypes) -> str:
    return types[outlook.resource].readable(outlook.now.value) if outlook.now else ""


def _hard(outlook: "Outlook") -> "Sequence[BoundOutlook]":
    return [each for each in outlook.bounds if each.hard] or outlook.bounds


def _bound_when(bound: "BoundOutlook") -> tuple[str, str]:
    if bound.reached:
        return "", ""
    return bound.likely or NEVER, bound.earliest or NEVER


def _earliest(bound: "BoundOutlook") -> str:
    return "" if bound.reached else bound.earliest or NEVER


def _when(outlook: "Outlook") -> tuple[bool, tuple[str, str], str]:
    """Order by what runs out first; what has no hard bound comes last."""
    hard = any(each.hard for each in outlook.bounds)
    return not hard, min(_bound_when(each) for each in _hard(outlook)), _name(outlook)


def _day(at: str | None) -> str:
    return (at or "")[:_DATE_LETTERS]


def _date_cell(at: str | None, bound: "BoundOutlook", report: "ForecastReport") -> view.Cell:
    if bound.reached:
        return view.Cell("now", tone="bad" if bound.hard else "plain", value=report.as_of)
    if at is None:
        return nothing_cell()
    return view.Cell(_day(at), value=at)


def _now_cell(outlook: "Outlook", bound: "BoundOutlook", types: ResourceTypes) -> view.Cell:
    """Return where a series stands, as a share of a bound that it cannot pass."""
    if outlook.now is None:
        return nothing_cell()
    if not bound.hard:
        return amount_cell(types, outlook.resource, outlook.now.value)
    return share_cell(types, outlook.resource, outlook.now.value, bound.amount.value)


def _growth_words(growth: "Growth | None", resource: str, types: ResourceTypes) -> str:
    if growth is None or not growth.likely.value:
        return ""
    amount = types[resource].readable(growth.likely.value) + _share_words(growth)
    return f"{amount} a week{', compounding' if growth.compounds else ''}"


def _share_words(growth: "Growth") -> str:
    return "" if growth.percent is None else f" ({round(growth.percent, 1) + 0.0:+.1f}%)"


def _growth_cells(outlook: "Outlook", types: ResourceTypes) -> tuple[view.Cell, view.Cell]:
    """Return what a week adds, and what share of the level that is."""
    growth = outlook.growth
    if growth is None:
        return nothing_cell(), nothing_cell()
    kind = types[outlook.resource]
    sign = "+" if growth.likely.value > 0 else ""
    amount = view.Cell(f"{sign}{kind.readable(growth.likely.value)}", value=kind.print(growth.likely.value))
    if growth.percent is None:
        return amount, nothing_cell()
    return amount, view.Cell(f"{round(growth.percent, 1) + 0.0:+.1f}%", value=f"{growth.percent}%")


def _ordered(outlooks: "Sequence[Outlook]") -> "list[Outlook]":
    """Return series with what is promised and what is used of the same beside each other."""
    order = {
        name: place for place, name in enumerate(resources_in_order({each.resource for each in outlooks}))
    }
    subjects = {name: place for place, name in enumerate(dict.fromkeys(each.subject for each in outlooks))}
    return sorted(outlooks, key=lambda each: (subjects[each.subject], order[each.resource], each.measure))


def _dates(
    report: "ForecastReport", known: "Sequence[Outlook]", types: ResourceTypes, rows_max: int | None
) -> view.Table:
    columns = (
        view.Column("what", priority=9, key="subject"),
        view.Column("resource", priority=9),
        view.Column("measure", priority=8),
        view.Column("bound", priority=9),
        view.Column("amount", "right", wide_only=True),
        view.Column("now", "right", priority=4),
        view.Column("a week", "right", priority=7, key="growth_per_week"),
        view.Column("in %", "right", priority=5, key="growth_percent_per_week"),
        view.Column("earliest", "right", priority=7),
        view.Column("likely", "right", priority=9),
        view.Column("latest", "right", priority=7),
    )
    pairs = [(each, bound) for each in _ordered(known) for bound in each.bounds]
    kept = pairs if rows_max is None else pairs[:rows_max]
    rows = tuple(
        (
            view.Cell(each.subject),
            view.Cell(each.resource),
            view.Cell(each.measure),
            view.Cell(
                f"{bound.bound} {types[each.resource].readable(bound.amount.value)}", value=bound.bound
            ),
            amount_cell(types, each.resource, bound.amount.value),
            _now_cell(each, bound, types),
            *_growth_cells(each, types),
            _date_cell(bound.earliest, bound, report),
            _date_cell(bound.likely, bound, report),
            _date_cell(bound.latest, bound, report),
        )
        for each, bound in kept
    )
    caption = (
        f"earliest and latest are the ends of an interval of {_percent(report)}; -: not within "
        f"{report.horizon_days} days"
    )
    if report.growth:
        caption += f"; growth is taken to be {report.growth}"
    if len(kept) < len(pairs):
        caption += f"; the first {len(kept)} of {len(pairs)}, -o wide shows all"
    return view.Table("When it runs out", columns, rows, caption)


def _quality(
    report: "ForecastReport", known: "Sequence[Outlook]", types: ResourceTypes, rows_max: int | None
) -> view.Table:
    columns = (
        view.Column("what", priority=9, key="subject"),
        view.Column("resource", priority=9),
        view.Column("measure", priority=8),
        view.Column("days", "right", priority=5),
        view.Column("season", priority=4),
        view.Column("tried", "right", priority=5, key="origins"),
        view.Column("within the interval", "right", priority=8, key="inside"),
        view.Column("mean error", "right", priority=7, key="error"),
        view.Column("plain guess", "right", priority=6, key="naive_error"),
        view.Column("of it", "right", priority=6, key="error_percent"),
    )
    ordered = _ordered(known)
    kept = ordered if rows_max is None else ordered[:rows_max]
    rows = tuple(_quality_row(each, types) for each in kept)
    share = f"{100 * report.inside / report.hours:.0f}%" if report.hours else "none"
    caption = (
        f"forecasts of past days, each from what was known then; {share} of {plural(report.hours, 'hour')} "
        f"were within their interval, {_percent(report)} were to be; a plain guess says: as the day before"
    )
    return view.Table("How good such forecasts were", columns, rows, caption)


def _quality_row(outlook: "Outlook", types: ResourceTypes) -> tuple[view.Cell, ...]:
    tested = outlook.backtest
    cells: tuple[view.Cell, ...] = (nothing_cell(),) * 5
    if tested is not None:
        share = 100 * tested.inside / max(tested.hours, 1)
        errors = (
            nothing_cell() if each is None else amount_cell(types, outlook.resource, each.value)
            for each in (tested.error, tested.naive_error)
        )
        cells = (
            view.Cell(f"{tested.origins}x, {tested.distance_days}d", value=str(tested.origins)),
            view.Cell(f"{share:.0f}%", value=f"{share:.2f}%") if tested.hours else nothing_cell(),
            *errors,
            nothing_cell() if tested.error_percent is None else view.Cell(f"{tested.error_percent:.0f}%"),
        )
    return (
        view.Cell(outlook.subject),
        view.Cell(outlook.resource),
        view.Cell(outlook.measure),
        view.Cell(str(outlook.days)),
        view.Cell(", ".join(outlook.seasons)) if outlook.seasons else nothing_cell(),
        *cells,
    )


def _chart(outlook: "Outlook", types: ResourceTypes, report: "ForecastReport") -> view.Chart:
    kind = types[outlook.resource]
    history = tuple((_seconds(each.at), each.peak.value) for each in outlook.history)
    band = tuple(
        (_seconds(each.at), each.low.value, each.likely.value, each.high.value) for each in outlook.band
    )
    marks = tuple(
        view.Mark(f"{each.bound} {kind.readable(each.amount.value)}", each.amount.value)
        for each in outlook.bounds
    )
    ends = [outlook.history[0].at] if outlook.history else []
    ends += [outlook.band[0].at, outlook.band[-1].at]
    highest = max([high for _, _, _, high in band] + [amount for _, amount in history])
    return view.Chart(
        _name(outlook),
        history,
        band,
        marks,
        tuple(view.Mark(_day(each), _seconds(each)) for each in ends),
        f"at most {kind.readable(highest)}",
        f"peaks of days; from {_day(report.as_of)} on with an interval of {_percent(report)}",
    )


def _seconds(at: str) -> int:
    return int(datetime.fromisoformat(at).timestamp())


def _unknown(outlooks: "Sequence[Outlook]") -> view.Findings:
    by_reason: dict[tuple[str, str], list[str]] = {}
    for each in outlooks:
        by_reason.setdefault((each.why, each.remedy), []).append(_name(each))
    return view.Findings(
        "Unknown",
        tuple(
            view.Finding("info", "", f"{several(names)}: {why}", remedy)
            for (why, remedy), names in by_reason.items()
        ),
    )
