"""The page of `status`: what matters first, then bars, then the tables."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ullage.engine.capacity.devices import SIZES
from ullage.engine.capacity.summary import Summary
from ullage.model.quantity import readable_bytes
from ullage.model.resources import Resources, ResourceTypes
from ullage.render import view
from ullage.service.words import amount_cell, plural, resources_in_order, share_cell

if TYPE_CHECKING:
    from ullage.service.status import DriveStatus, NodeStatus, QuotaStatus, StatusReport

_SEGMENTS: tuple[tuple[str, view.Tone], ...] = (
    ("reserve", "muted"),
    ("committed", "strong"),
    ("spare", "warn"),
    ("ullage", "ok"),
    ("blocked", "bad"),
)


def status_page(
    report: "StatusReport",
    whole: Summary,
    groups: Sequence[Summary],
    domains: Sequence[Summary],
    types: ResourceTypes,
) -> view.Page:
    """Return the page of a status report."""
    names = resources_in_order({name for name, amount in whole.capacity.items() if amount})
    blocks: list[view.Block] = []
    if report.findings:
        rows = tuple(
            view.Finding(each.severity, each.subject, each.message, each.remedy) for each in report.findings
        )
        blocks.append(view.Findings("Findings", rows))
    blocks.append(_bars(whole, names, types))
    main = len(blocks)
    blocks.append(_node_table(report.nodes, names, types))
    if len(groups) > 1:
        blocks.append(_summary_table("Groups", "group", groups, names, types))
    if domains:
        blocks.append(_summary_table("Domains", "domain", domains, names, types))
    if report.quotas:
        blocks.append(_quota_table(report.quotas, types))
    if report.devices:
        blocks.append(_device_table(report.devices))
    if report.drives:
        blocks.append(_drive_table(report.drives))
    first = report.nodes[0].name if report.nodes else "NAME"
    return view.Page(
        title=f"Status of {report.cluster}",
        verdict=view.Verdict(_verdict(report, whole, types), "info"),
        blocks=tuple(blocks),
        not_simulated=report.not_simulated,
        next_command=f"ullage explain node/{first} -c {report.cluster}",
        about=f"cluster {report.cluster}, revision {report.revision}, policy {report.policy}",
        main=main,
    )


def _verdict(report: "StatusReport", whole: Summary, types: ResourceTypes) -> str:
    parts = [f"{whole.ready} of {plural(whole.nodes, 'node')} ready"]
    for name in ("cpu", "memory"):
        limit = whole.limit.of(name)
        if limit:
            percent = view.Share(whole.committed.of(name), limit).percent
            left = types[name].readable(max(0, whole.ullage.of(name)))
            parts.append(f"{name} {percent} committed, {left} can still be promised")
    waiting = report.workloads.get("init", 0)
    if waiting:
        parts.append(f"{plural(waiting, 'workload')} waiting")
    return "; ".join(parts)


def _bars(whole: Summary, names: Sequence[str], types: ResourceTypes) -> view.Bars:
    rows: list[view.BarRow] = []
    for name in names:
        if name not in whole.limit:
            continue
        show = types[name].readable
        amounts = {
            "reserve": whole.reserve.of(name),
            "committed": whole.committed.of(name),
            "spare": whole.spare.of(name),
            "ullage": max(0, whole.ullage.of(name)),
            "blocked": whole.blocked.of(name),
        }
        segments = tuple(
            view.Segment(word, show(amounts[word]), amounts[word], tone) for word, tone in _SEGMENTS
        )
        rows.append(
            view.BarRow(
                name, segments, whole.reserve.of(name) + whole.limit.of(name), show(whole.capacity.of(name))
            )
        )
    return view.Bars(
        "How full",
        tuple(rows),
        "reserve is kept back, ullage can still be promised, blocked lies on closed nodes",
    )


def _node_table(nodes: "Sequence[NodeStatus]", names: Sequence[str], types: ResourceTypes) -> view.Table:
    columns = [
        view.Column("node", priority=9),
        view.Column("state", priority=5),
        view.Column("group", priority=2),
        view.Column("domain", priority=2),
    ]
    for place, name in enumerate(names):
        columns.append(view.Column(name, "right", priority=max(1, 8 - place), key=f"{name} committed"))
    columns.append(view.Column("workloads", "right", priority=1))
    columns += [view.Column(f"{name} free", "right", wide_only=True) for name in names]
    columns += [view.Column(f"{name} limit", "right", wide_only=True) for name in names]
    rows = []
    for node in nodes:
        tone: view.Tone = "plain" if node.state == "ready" else "warn"
        used = [_use_cell(node, name, types) for name in names]
        free = [_amount_or_none(node.free, name, types) for name in names]
        limit = [_amount_or_none(node.limit, name, types) for name in names]
        rows.append(
            (
                view.Cell(node.name),
                view.Cell(node.state, tone=tone),
                view.Cell(node.group),
                view.Cell(node.domain),
                *used,
                view.Cell(str(node.workloads)),
                *free,
                *limit,
            )
        )
    return view.Table("Nodes", tuple(columns), tuple(rows), "committed, and its share of the node's limit")


def _use_cell(node: "NodeStatus", name: str, types: ResourceTypes) -> view.Cell:
    if name not in node.capacity:
        return view.Cell("-", tone="muted", value="")
    return share_cell(types, name, node.committed.of(name), node.limit.get(name))


def _amount_or_none(amounts: Resources, name: str, types: ResourceTypes) -> view.Cell:
    return (
        amount_cell(types, name, amounts[name]) if name in amounts else view.Cell("-", tone="muted", value="")
    )


def _summary_table(
    title: str, word: str, summaries: Sequence[Summary], names: Sequence[str], types: ResourceTypes
) -> view.Table:
    shown = [name for name in names if any(each.limit.of(name) for each in summaries)]
    columns = [view.Column(word, priority=9), view.Column("ready", "right", priority=5)]
    for place, name in enumerate(shown):
        columns.append(view.Column(name, "right", priority=max(1, 8 - place), key=f"{name} committed"))
    columns += [
        view.Column(f"{name} ullage", "right", priority=max(1, 6 - place)) for place, name in enumerate(shown)
    ]
    rows = []
    for each in summaries:
        used = [
            share_cell(types, name, each.committed.of(name), each.limit.of(name))
            if each.capacity.of(name)
            else view.Cell("-", tone="muted", value="")
            for name in shown
        ]
        left = [_amount_or_none(each.ullage, name, types) for name in shown]
        rows.append((view.Cell(each.name), view.Cell(f"{each.ready}/{each.nodes}"), *used, *left))
    return view.Table(title, tuple(columns), tuple(rows))


def _quota_table(quotas: "Sequence[QuotaStatus]", types: ResourceTypes) -> view.Table:
    columns = (
        view.Column("quota", priority=9),
        view.Column("namespaces", priority=1),
        view.Column("resource", priority=9),
        view.Column("used", "right", priority=8),
        view.Column("min", "right", priority=7),
        view.Column("max", "right", priority=6),
        view.Column("borrowed", "right", priority=5),
    )
    rows = []
    for quota in quotas:
        for name in resources_in_order(set(quota.used)):
            guaranteed = quota.min.get(name)
            borrowed = quota.borrowed.of(name)
            rows.append(
                (
                    view.Cell(quota.name),
                    view.Cell(", ".join(quota.namespaces)),
                    view.Cell(name),
                    share_cell(types, name, quota.used.of(name), guaranteed),
                    _amount_or_none(quota.min, name, types),
                    _amount_or_none(quota.max, name, types),
                    amount_cell(types, name, borrowed, tone="warn" if borrowed else "muted"),
                )
            )
    return view.Table("Quotas", columns, tuple(rows), "used, and its share of the guaranteed min")


def _device_table(devices: Sequence[Any]) -> view.Table:
    columns = (
        view.Column("model", priority=9),
        view.Column("resource", priority=1),
        view.Column("nodes", "right", priority=4),
        view.Column("devices", "right", priority=5),
        view.Column("free", "right", priority=8),
        *(view.Column(f"{size}-device pods", "right", priority=6, key=f"starts {size}") for size in SIZES),
    )
    rows = tuple(
        (
            view.Cell(each["model"]),
            view.Cell(each["resource"]),
            view.Cell(str(each["nodes"])),
            view.Cell(str(each["devices"])),
            view.Cell(str(each["free"])),
            *(view.Cell(str(each["starts"][str(size)])) for size in SIZES),
        )
        for each in devices
    )
    return view.Table("Devices", columns, rows, "how many workloads of each size still start on one node")


def _drive_table(drives: "Sequence[DriveStatus]") -> view.Table:
    columns = (
        view.Column("node", priority=9),
        view.Column("class", priority=8),
        view.Column("drives", "right", priority=6),
        view.Column("size", "right", priority=5),
        view.Column("offering", "right", priority=7),
        view.Column("offered size", "right", priority=6),
    )
    rows = tuple(
        (
            view.Cell(each.node),
            view.Cell(each.drive_class),
            view.Cell(str(each.drives)),
            view.Cell(readable_bytes(each.size_bytes), value=str(each.size_bytes)),
            view.Cell(str(each.offering)),
            view.Cell(readable_bytes(each.offering_bytes), value=str(each.offering_bytes)),
        )
        for each in drives
    )
    return view.Table(
        "Drives", columns, rows, "a drive offers space when it is healthy, online, clean and not the system's"
    )
