"""The page of `advise ratio`: what is advised for each group and why, and the risk at every ratio."""

from fractions import Fraction
from math import log10
from typing import TYPE_CHECKING, Final

from ullage.model.resources import ResourceTypes
from ullage.render import view
from ullage.service.words import nothing_cell, plural

if TYPE_CHECKING:
    from ullage.service.advise_ratio import GroupAdvice, RatioReport
    from ullage.service.asked import Asked

MEMORY: Final = "memory"
FLOOR: Final = 6
"""Charts show risks from a millionth on."""
HEIGHT: Final = 1000
POINTS_AFTER: Final = 4
"""So many ratios beyond the advised one are shown."""


def ratio_page(report: "RatioReport", types: ResourceTypes, asked: "Asked", usage: str) -> view.Page:
    """Return the page of a report."""
    blocks: list[view.Block] = [_advice_table(report, types)]
    for group in report.groups:
        if group.curve and not group.lacking:
            blocks += [_curve_table(group, report), _chart(group, report)]
        if group.peaked:
            blocks.append(_peaked_table(group, types))
    return view.Page(
        title=f"Memory ratios of {report.cluster}",
        verdict=view.Verdict(_verdict(report, types), "yes" if report.within else "no"),
        blocks=tuple(blocks),
        not_simulated=report.not_simulated,
        next_command=_next(report, asked, usage),
        about=f"cluster {report.cluster}, revision {report.revision}, policy {report.policy}, "
        f"seed {report.seed}",
        main=0,
    )


def _verdict(report: "RatioReport", types: ResourceTypes) -> str:
    if not report.groups:
        return "there is no group of nodes"
    return "; ".join(f"{each.group}: {_told(each, report, types)}" for each in report.groups)


def _told(group: "GroupAdvice", report: "RatioReport", types: ResourceTypes) -> str:
    if group.lacking:
        return f"memory-ratio 1, as too little is known: {group.lacking}"
    what = f"memory-ratio {group.ratio}"
    if group.risk is not None and group.risk > report.risk:
        return f"{what}, and even that is too much: over in {percent(group.risk)} of the time"
    gain = group.gain.value
    if gain > 0:
        what += f", {types[MEMORY].readable(gain)} more to promise"
    elif gain < 0:
        what += f", {types[MEMORY].readable(-gain)} less to promise"
    return what


def percent(share: float) -> str:
    """Return a probability for people: two digits that count."""
    if share == 0:
        return "0%"
    if share < 10**-FLOOR:
        return "<0.0001%"
    if share >= 1:
        return "100%"
    text = f"{100 * share:.2g}"
    return f"{float(text):.6f}".rstrip("0").rstrip(".") + "%"


def _next(report: "RatioReport", asked: "Asked", usage: str) -> str:
    for each in report.groups:
        if not each.lacking and each.ratio != each.current_ratio:
            return f"ullage policy set group/{each.group} memory-ratio={each.ratio} --policy " + (
                asked.policy if asked.policy.endswith((".yaml", ".yml", ".json")) else "FILE"
            )
    return asked.command(f"balance --by-load --usage {usage}" if usage else "status")


def _advice_table(report: "RatioReport", types: ResourceTypes) -> view.Table:
    memory = types[MEMORY]
    columns = (
        view.Column("group", priority=9),
        view.Column("nodes", "right", priority=5),
        view.Column("ratio now", "right", priority=7, key="current_ratio"),
        view.Column("risk now", "right", priority=7, key="current_risk"),
        view.Column("advised", "right", priority=9, key="ratio"),
        view.Column("risk then", "right", priority=8, key="risk"),
        view.Column("with swap", "right", priority=4, key="ratio_with_swap"),
        view.Column("more to promise", "right", priority=8, key="gain"),
        view.Column("typical", "right", priority=3),
        view.Column("more of it", "right", priority=6, key="more"),
        view.Column("evidence", priority=5),
    )
    rows = []
    for each in report.groups:
        known = f"{plural(each.days, 'day')} of {each.parts}, {each.slot_hours} h apart"
        rows.append(
            (
                view.Cell(each.group),
                view.Cell(str(each.nodes)),
                view.Cell(each.current_ratio or "unlimited", tone="bad" if each.is_too_high else "plain"),
                _risk_cell(each.current_risk, report.risk),
                view.Cell(each.ratio, tone="strong"),
                _risk_cell(each.risk, report.risk),
                view.Cell(each.ratio_with_swap),
                view.Cell(memory.readable(each.gain.value), value=memory.print(each.gain.value)),
                view.Cell(memory.readable(each.typical.value), value=memory.print(each.typical.value)),
                view.Cell(str(each.more)),
                view.Cell(each.lacking or known),
            )
        )
    bound = "memory and swap" if report.with_swap else "memory"
    caption = (
        f"risk: an upper bound of the share of node-time in which a node filled to the ratio uses more than "
        f"its {bound}; advised is the highest ratio with at most {percent(report.risk)}"
    )
    return view.Table("How far to over-commit memory", columns, tuple(rows), caption)


def _risk_cell(risk: float | None, bound: float) -> view.Cell:
    if risk is None:
        return nothing_cell()
    return view.Cell(percent(risk), value=repr(risk), tone="plain" if risk <= bound else "bad")


def _curve_table(group: "GroupAdvice", report: "RatioReport") -> view.Table:
    columns = (
        view.Column("ratio", "right", priority=9),
        view.Column("seen over memory", "right", priority=7, key="seen"),
        view.Column("risk", "right", priority=9),
        view.Column("seen over memory and swap", "right", priority=5, key="seen_with_swap"),
        view.Column("risk with swap", "right", priority=6, key="risk_with_swap"),
    )
    last = max(Fraction(group.ratio), Fraction(group.ratio_with_swap)) + Fraction(POINTS_AFTER, 20)
    rows = tuple(
        (
            view.Cell(each.ratio, tone="strong" if each.ratio == group.ratio else "plain"),
            view.Cell(percent(each.seen), value=repr(each.seen)),
            _risk_cell(each.risk, report.risk),
            view.Cell(percent(each.seen_with_swap), value=repr(each.seen_with_swap)),
            _risk_cell(each.risk_with_swap, report.risk),
        )
        for each in group.curve
        if Fraction(each.ratio) <= last
    )
    growth = f"; use grows by {percent(group.growth_a_day)} a day" if group.growth_a_day > 0 else ""
    caption = f"seen: in nodes composed of what ran; risk: with what other days may bring{growth}"
    return view.Table(f"Risk by ratio: {group.group}", columns, rows, caption)


def _height(risk: float) -> int:
    """Return a risk as a height on a scale of powers of ten."""
    return round(HEIGHT * (FLOOR + log10(max(risk, 10**-FLOOR))) / FLOOR)


def _chart(group: "GroupAdvice", report: "RatioReport") -> view.Chart:
    points = [(round(100 * Fraction(each.ratio)), each) for each in group.curve]
    swap = report.with_swap
    risks = tuple((at, _height(each.risk_with_swap if swap else each.risk)) for at, each in points)
    ticks = [points[0], points[-1], *(each for each in points if each[1].ratio == group.ratio)]
    return view.Chart(
        f"Risk against ratio: {group.group}",
        risks,
        (),
        (view.Mark(f"stated risk {percent(report.risk)}", _height(report.risk)),),
        tuple(view.Mark(each.ratio, at) for at, each in sorted(set(ticks), key=lambda tick: tick[0])),
        "risk 100%",
        f"each sixth of the height is ten times the risk, from a millionth on; advised: {group.ratio}",
    )


def _peaked_table(group: "GroupAdvice", types: ResourceTypes) -> view.Table:
    memory = types[MEMORY]
    columns = (
        view.Column("who", priority=9, key="name"),
        view.Column("used then", "right", priority=8, key="used"),
        view.Column("on the mean", "right", priority=6, key="mean"),
        view.Column("promised", "right", priority=7),
    )
    rows = tuple(
        (
            view.Cell(each.name),
            *(
                view.Cell(memory.readable(amount.value), value=memory.print(amount.value))
                for amount in (each.used, each.mean, each.promised)
            ),
        )
        for each in group.peaked
    )
    binds = ""
    if group.next_ratio is not None and group.next_risk is not None and not group.lacking:
        binds = f"ratio {group.next_ratio} would be over in {percent(group.next_risk)} of the time; "
    caption = f"{binds}all together used most at {group.worst_at}"
    return view.Table(f"Who peaked together: {group.group}", columns, rows, caption)
