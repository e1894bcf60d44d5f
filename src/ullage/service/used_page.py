"""Tables of use beside request and limit, for the pages of other questions."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from ullage.model.resources import Amount, Resources, ResourceTypes
from ullage.model.usage import LASTING, UsageSummary
from ullage.render import view
from ullage.service.words import (
    amount_cell,
    amount_or_nothing,
    nothing_cell,
    plural,
    resources_in_order,
    share_cell,
)

if TYPE_CHECKING:
    from ullage.service.explain import NodeExplanation
    from ullage.service.used import ContentionStatus, PortionStatus, UsedPart

DAY_SECONDS: Final = 86_400


def used_table(
    title: str,
    word: str,
    rows: Iterable[tuple[str, Resources, Resources, Mapping[str, UsageSummary]]],
    types: ResourceTypes,
) -> view.Table:
    """Return what each used of each resource, against its request and its limit."""
    columns = (
        view.Column(word, priority=9),
        view.Column("resource", priority=9),
        view.Column("mean", "right", priority=3),
        view.Column("95 %", "right", priority=7, key="percentile 95"),
        view.Column("most", "right", priority=8, key="max"),
        view.Column("request", "right", priority=8),
        view.Column("limit", "right", priority=6),
        view.Column("points", "right", priority=2),
        view.Column("days", "right", priority=2),
        view.Column("confidence", "right", wide_only=True),
    )
    cells = []
    for name, requests, limits, usage in rows:
        for resource in resources_in_order(set(usage)):
            summary = usage[resource]
            if summary.max is not None:
                cells.append(_used_row((name, resource), requests, limits, summary, types))
    return view.Table(title, columns, tuple(cells), "95 %: what was enough 95 % of the time")


def _used_row(
    names: tuple[str, str],
    requests: Resources,
    limits: Resources,
    summary: UsageSummary,
    types: ResourceTypes,
) -> tuple[view.Cell, ...]:
    name, resource = names
    lasting = summary.percentiles.get(LASTING)
    return (
        view.Cell(name),
        view.Cell(resource),
        _amount(types, summary.mean),
        _against(types, lasting, requests.of(resource), limits.get(resource)),
        _against(types, summary.max, requests.of(resource), limits.get(resource)),
        amount_or_nothing(types, requests, resource),
        amount_or_nothing(types, limits, resource),
        view.Cell(str(summary.count or 0)),
        view.Cell(f"{(summary.window_seconds or 0) / DAY_SECONDS:.1f}"),
        nothing_cell() if summary.confidence is None else view.Cell(f"{float(summary.confidence):.0%}"),
    )


def _against(types: ResourceTypes, amount: Amount | None, request: int, limit: int | None) -> view.Cell:
    """Return an amount, its tone by whether it is above the request or the limit."""
    if amount is None:
        return nothing_cell()
    tone: view.Tone = "plain"
    if limit is not None and amount.value > limit:
        tone = "bad"
    elif amount.value > request:
        tone = "warn"
    return amount_cell(types, amount.resource, amount.value, tone=tone)


def _amount(types: ResourceTypes, amount: Amount | None) -> view.Cell:
    return nothing_cell() if amount is None else amount_cell(types, amount.resource, amount.value)


def used_cell(types: ResourceTypes, summary: UsageSummary | None, whole: int) -> view.Cell:
    """Return what is used as a rule, as a share of a whole."""
    lasting = None if summary is None else summary.as_a_rule
    return nothing_cell() if lasting is None else share_cell(types, lasting.resource, lasting.value, whole)


def node_use_blocks(report: "NodeExplanation", types: ResourceTypes) -> list[view.Block]:
    """Return what a node and its workloads use, and who gets what; nothing where usage was not asked for."""
    blocks: list[view.Block] = []
    if report.usage:
        terms = {each.terms.resource: each.terms for each in report.resources}
        promised = Resources({name: terms[name].promised.value for name in report.usage})
        capacity = Resources({name: terms[name].capacity.value for name in report.usage})
        rows = [(report.node.name, promised, capacity, report.usage)]
        table = used_table(f"Use of {report.node.name}", "node", rows, types)
        blocks.append(_renamed(table, {"request": "promised", "limit": "capacity"}))
    if report.used:
        holding = [(each.workload, each.requests, each.limits, each.usage) for each in report.used]
        blocks.append(used_table("Use of its workloads", "workload", holding, types))
    return [*blocks, *contention_blocks(report.contention, types)]


def _renamed(table: view.Table, titles: Mapping[str, str]) -> view.Table:
    columns = tuple(
        msgspec.structs.replace(each, title=titles.get(each.title, each.title)) for each in table.columns
    )
    return msgspec.structs.replace(table, columns=columns)


def pod_use_blocks(used: "Sequence[UsedPart]", types: ResourceTypes) -> list[view.Block]:
    """Return what the containers of a pod use; nothing where usage was not asked for."""
    if not used:
        return []
    rows = [(each.container or "the whole pod", each.requests, each.limits, each.usage) for each in used]
    return [used_table("What it uses", "container", rows, types)]


def contention_blocks(found: "Sequence[ContentionStatus]", types: ResourceTypes) -> list[view.Block]:
    """Return who gets what where it is not enough for all, and in words where it is."""
    blocks: list[view.Block] = []
    enough = []
    for each in found:
        show = types[each.resource].readable
        if each.short:
            blocks.append(_portion_table(each, types))
        else:
            who = plural(len(each.portions), "workload")
            wanted = f"{show(each.demand.value)} of {show(each.supply.value)}"
            enough.append(f"{each.resource}: {who} would want {wanted}, enough for all")
    if enough:
        blocks.append(view.Text("If all wanted the most they used", tuple(enough)))
    return blocks


def _portion_table(found: "ContentionStatus", types: ResourceTypes) -> view.Table:
    show = types[found.resource].readable
    columns = (
        view.Column("workload", priority=9),
        view.Column("wants", "right", priority=9, key="demand"),
        view.Column("request", "right", priority=5),
        view.Column("limit", "right", priority=4),
        view.Column("priority", "right", priority=5),
        view.Column("equal", "right", priority=6),
        view.Column("by request", "right", priority=8),
        view.Column("by limit", "right", priority=6),
        view.Column("by priority", "right", priority=7),
    )
    rows = tuple(_portion_row(each, types) for each in found.portions)
    title = f"Who gets what if all want the most {found.resource} they used"
    caption = f"{show(found.demand.value)} would be wanted of {show(found.supply.value)}"
    return view.Table(title, columns, rows, caption)


def _portion_row(portion: "PortionStatus", types: ResourceTypes) -> tuple[view.Cell, ...]:
    wanted = portion.demand.value
    given = (portion.equal, portion.by_request, portion.by_limit, portion.by_priority)
    return (
        view.Cell(portion.workload),
        _amount(types, portion.demand),
        _amount(types, portion.request),
        _amount(types, portion.limit),
        view.Cell(str(portion.priority)),
        *(
            amount_cell(types, each.resource, each.value, tone="warn" if each.value < wanted else "plain")
            for each in given
        ),
    )
