"""The page of `advise requests`: what changes, on what evidence, what is gained, and why others stay."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from ullage.model.resources import Amount, ResourceTypes
from ullage.render import view
from ullage.service.advise_requests import shape_text
from ullage.service.words import (
    FIRST_RESOURCES,
    amount_cell,
    listed,
    nothing_cell,
    plural,
    several,
)

if TYPE_CHECKING:
    from ullage.service.advise_requests import (
        ContainerStatus,
        RequestsQuestion,
        RequestsReport,
        SizedStatus,
        WorkloadStatus,
    )
    from ullage.service.asked import Asked

ROWS_SHOWN: Final = 40
DAY_SECONDS: Final = 86_400
Row = tuple["WorkloadStatus", "ContainerStatus", "SizedStatus"]


def requests_page(
    report: "RequestsReport",
    types: ResourceTypes,
    asked: "Asked",
    question: "RequestsQuestion",
    *,
    shortened: bool = False,
) -> view.Page:
    """Return the page of advice; shortened, the largest changes only."""
    rows = sorted(_rows(report), key=_weight)
    blocks: list[view.Block] = [_change_table(rows, report, types, ROWS_SHOWN if shortened else len(rows))]
    notes = tuple(_notes(report))
    if notes:
        blocks.append(view.Findings("Before you follow it", notes))
    if any(each.changes for each in report.workloads):
        blocks.append(_room_table(report, types))
    kept = _kept_table(report)
    blocks += [kept] if kept is not None else []
    usage = f" --usage {question.usage}" if question.usage else ""
    words = f"advise requests{usage} --patch" if rows else f"usage show{usage}"
    return view.Page(
        title=f"Requests of {report.cluster}",
        verdict=view.Verdict(_verdict(report, types), "yes" if report.fits else "no"),
        blocks=tuple(blocks),
        not_simulated=report.not_simulated,
        next_command=asked.command(words),
        about=f"cluster {report.cluster}, revision {report.revision}, policy {report.policy}",
        main=0,
    )


def _rows(report: "RequestsReport") -> Iterator[Row]:
    for workload in report.workloads:
        for container in workload.containers:
            for sized in container.resources:
                if sized.verdict != "keep":
                    yield workload, container, sized


def _weight(row: Row) -> tuple[bool, int, int, str, str]:
    """What must grow comes first, then processors and memory by how much is saved in all."""
    workload, container, sized = row
    change = (sized.request.value - sized.advised_request.value) * workload.pods
    order = FIRST_RESOURCES.index(sized.resource) if sized.resource in FIRST_RESOURCES else 9
    return sized.verdict != "grow", order, -abs(change), workload.workload, container.container


def _verdict(report: "RequestsReport", types: ResourceTypes) -> str:
    changing = sum(each.changes for each in report.workloads)
    every = plural(len(report.workloads), "workload")
    if not changing:
        return f"none of {every} is advised to change"
    parts = [f"{changing} of {every} can be right-sized"]
    if report.freed:
        parts.append(f"{listed(types, report.freed)} less is asked for then")
    if report.grown:
        parts.append(f"{listed(types, report.grown)} more where it must grow")
    homeless = [each.workload for each in report.outgrown if not each.to_node]
    if homeless:
        parts.append(f"{several(homeless)} would find no place")
    else:
        parts.append("everything still fits")
    return "; ".join(parts)


def _change_table(
    rows: Sequence[Row], report: "RequestsReport", types: ResourceTypes, rows_max: int
) -> view.Table:
    percentile = f"{float(report.cpu_percentile):g} %"
    alone = all(len(workload.containers) == 1 for workload, _, _ in rows)
    columns = (
        view.Column("workload", priority=9),
        view.Column("container", wide_only=alone, priority=8),
        view.Column("resource", priority=9),
        view.Column("most used", "right", priority=7, key="max"),
        view.Column(percentile, "right", priority=5, key="percentile"),
        view.Column("request", "right", priority=8),
        view.Column("advised", "right", priority=9, key="advised request"),
        view.Column("limit", "right", priority=4),
        view.Column("advised limit", "right", priority=6),
        view.Column("pods", "right", priority=2),
        view.Column("gives back", "right", priority=7, key="freed"),
        view.Column("points", "right", priority=2),
        view.Column("days", "right", priority=2),
        view.Column("why", wide_only=True),
    )
    shown = tuple(_change_row(each, types) for each in rows[:rows_max])
    facts = [
        f"memory: the most used plus {float(report.memory_margin):g} %",
        f"cpu: what is enough {percentile} of the time",
    ]
    if len(shown) < len(rows):
        facts.append(f"the first {len(shown)} of {len(rows)}, -o wide shows all")
    return view.Table("Changes", columns, shown, "; ".join(facts))


def _change_row(row: Row, types: ResourceTypes) -> tuple[view.Cell, ...]:
    workload, container, sized = row
    seen = sized.evidence
    grows = sized.verdict == "grow"
    change = (sized.request.value - sized.advised_request.value) * workload.pods
    tone: view.Tone = "warn" if grows else "plain"
    return (
        view.Cell(workload.workload),
        view.Cell(container.container),
        view.Cell(sized.resource),
        _amount(types, seen.max),
        _amount(types, seen.percentile),
        _amount(types, sized.request),
        _amount(types, sized.advised_request, tone),
        _amount(types, sized.limit),
        _amount(types, sized.advised_limit, "strong" if sized.advised_limit != sized.limit else "plain"),
        view.Cell(str(workload.pods)),
        amount_cell(types, sized.resource, change, tone=tone),
        view.Cell(str(seen.points)),
        view.Cell(f"{(seen.window_seconds + seen.step_seconds) / DAY_SECONDS:.1f}"),
        view.Cell("; ".join(sized.reasons)),
    )


def _amount(types: ResourceTypes, amount: Amount | None, tone: view.Tone = "plain") -> view.Cell:
    if amount is None:
        return nothing_cell()
    return amount_cell(types, amount.resource, amount.value, tone=tone)


def _notes(report: "RequestsReport") -> Iterator[view.Finding]:
    for each in report.outgrown:
        if each.to_node:
            text = f"{each.workload} outgrows node {each.from_node} and fits on {each.to_node}"
            yield view.Finding("info", "", text)
        else:
            text = f"{each.workload} outgrows node {each.from_node} and finds no other place: {each.reason}"
            yield view.Finding("error", "", text, "add room before its request is raised")
    for workload in report.workloads:
        for note in workload.notes:
            yield view.Finding("warning", workload.workload, note)
        if workload.no_patch:
            yield view.Finding("info", workload.workload, f"no patch: {workload.no_patch}")


def _room_table(report: "RequestsReport", types: ResourceTypes) -> view.Table:
    names = [name for name in FIRST_RESOURCES if name in report.before.free]
    columns = (
        view.Column("room", priority=9),
        view.Column("now", "right", priority=8),
        view.Column("then", "right", priority=9),
    )
    before, after = report.before, report.after
    rows = [
        (
            view.Cell(f"{name} {word}"),
            amount_cell(types, name, now.of(name)),
            amount_cell(types, name, then.of(name)),
        )
        for name in names
        for word, now, then in (
            ("free", before.free, after.free),
            ("that can still be promised", before.ullage, after.ullage),
        )
    ]
    rows.append(
        (
            view.Cell(f"more of {shape_text(report, types)}"),
            view.Cell(str(before.more)),
            view.Cell(str(after.more)),
        )
    )
    if report.waiting:
        rows.append(
            (
                view.Cell(f"of {plural(report.waiting, 'workload')} that wait, with a place"),
                view.Cell(str(before.waiting_placed)),
                view.Cell(str(after.waiting_placed)),
            )
        )
    return view.Table("Room when it is followed", columns, tuple(rows))


def _kept_table(report: "RequestsReport") -> view.Table | None:
    """Return why nothing is advised, each reason once, with who it is about."""
    found: dict[str, list[str]] = {}
    for workload in report.workloads:
        if workload.skipped:
            found.setdefault(workload.skipped, []).append(workload.workload)
        for container in workload.containers:
            for sized in container.resources:
                if sized.verdict == "keep" and sized.reasons:
                    what = f"{workload.workload} {sized.resource}"
                    found.setdefault(sized.reasons[-1], []).append(what)
    if not found:
        return None
    ordered = sorted(found.items(), key=lambda pair: (-len(pair[1]), pair[0]))
    columns = (
        view.Column("why nothing is advised", priority=9, key="reason"),
        view.Column("times", "right", priority=7),
        view.Column("of", priority=8),
    )
    rows = tuple(
        (view.Cell(why), view.Cell(str(len(who))), view.Cell(several(who, 2))) for why, who in ordered
    )
    return view.Table("Left as it is", columns, rows)
