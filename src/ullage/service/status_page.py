"""The page of `status`: what matters first, then bars, then the tables; or one part of it alone."""

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from ullage.engine.capacity.devices import SIZES
from ullage.model.cluster import FORTHCOMING
from ullage.model.quantity import readable_bytes
from ullage.model.resources import Resources, ResourceTypes
from ullage.render import view
from ullage.service.bars import resource_bars
from ullage.service.used_page import used_cell
from ullage.service.words import (
    FIRST_RESOURCES,
    SHOWN_LAST,
    amount_cell,
    amount_or_nothing,
    findings_block,
    nothing_cell,
    plural,
    resources_in_order,
    share_cell,
)

if TYPE_CHECKING:
    from ullage.engine.capacity.summary import Summary
    from ullage.service.asked import Asked
    from ullage.service.status import (
        DeviceStatus,
        DriveStatus,
        NodeStatus,
        QuotaStatus,
        StatusReport,
        WorkloadStatus,
    )

_TERMS: Final = (
    *("capacity", "reserve", "allocatable", "limit", "promised", "committed"),
    *("standby", "free", "blocked", "spare", "ullage"),
)
ROWS_SHOWN: Final = 40
FINDINGS_SHOWN: Final = 4
"""Findings of one kind that a shortened page shows."""
WAITING: Final = "pending"
"""The code of the finding that workloads wait."""


def status_page(
    report: "StatusReport", types: ResourceTypes, asked: "Asked", by: str = "", *, shortened: bool = False
) -> view.Page:
    """Return the page of a status report, or of one part; shortened, a large cluster fits a few screens."""
    whole = report.total
    names = resources_in_order({name for name, amount in whole.capacity.items() if amount})
    brief = shortened and not by
    parts = _parts(report, names, types, ROWS_SHOWN if brief else len(report.nodes))
    if report.listed:
        parts["workload"] = _workload_table(report.listed, types, asked.namespace)
    if report.findings:
        alike = FINDINGS_SHOWN if brief else len(report.findings)
        parts = {"finding": findings_block("Findings", report.findings, alike), **parts}
    if brief:
        parts = {word: _capped(block, f"--by {word}") for word, block in parts.items()}
    elif shortened and by == "workload" and by in parts:
        parts[by] = _capped(parts[by], "-o wide")
    blocks = list(parts.values())
    if by:
        blocks = [parts.get(by) or view.Text("", (f"there are no {by}s here",))]
    if by == "resource" and not shortened:
        blocks.append(_term_table(whole, names, types))
    tables = [number for number, block in enumerate(blocks) if isinstance(block, view.Table)]
    nodes = parts["node"]
    return view.Page(
        title=f"Status of {report.cluster}",
        verdict=view.Verdict(_verdict(report, types), "info"),
        blocks=tuple(blocks),
        not_simulated=report.not_simulated,
        next_command=asked.command(_next_words(report)),
        about=f"cluster {report.cluster}, revision {report.revision}, policy {report.policy}",
        main=blocks.index(nodes) if nodes in blocks else (tables[0] if tables else None),
    )


def _parts(
    report: "StatusReport", names: Sequence[str], types: ResourceTypes, nodes_max: int
) -> dict[str, view.Block]:
    """Return the blocks by the word that asks for them, in their order."""
    parts: dict[str, view.Block] = {}
    parts["resource"] = resource_bars("How full", report.total, names, types)
    parts["node"] = _node_table(report.nodes, names, types, nodes_max)
    if len(report.groups) > 1:
        parts["group"] = _summary_table("group", report.groups, names, types, report.total.spare)
    if report.domains:
        parts["domain"] = _summary_table("domain", report.domains, names, types, report.total.spare)
    if report.quotas:
        parts["quota"] = _quota_table(report.quotas, types)
    if report.devices:
        parts["device"] = _device_table(report.devices)
    if report.drives:
        parts["drive"] = _drive_table(report.drives)
    return parts


def _next_words(report: "StatusReport") -> str:
    """Return the question that the worst finding leads to, else how the fullest node comes about."""
    for finding in report.findings:
        if finding.subject.startswith("node/") and finding.severity != "info":
            return f"explain {finding.subject}"
        if finding.code == WAITING:
            return "fit"
    if not report.nodes:
        return "snapshot show"
    fullest = min(report.nodes, key=lambda node: (-_fullness(node), node.name))
    return f"explain node/{fullest.name}"


def _verdict(report: "StatusReport", types: ResourceTypes) -> str:
    whole = report.total
    parts = [f"{whole.ready} of {plural(whole.nodes, 'node')} ready"]
    for name in ("cpu", "memory"):
        limit = whole.limit.of(name)
        if limit:
            percent = view.Share(whole.committed.of(name), limit).percent
            left = types[name].readable(max(0, whole.ullage.of(name)))
            held = whole.standby.of(name)
            standby = f"{types[name].readable(held)} held for failover, " if held else ""
            parts.append(f"{name} {percent} promised, {standby}{left} can still be promised")
    waiting = report.workloads.get("init", 0)
    if waiting:
        parts.append(f"{plural(waiting, 'workload')} waiting")
    coming = report.workloads.get(FORTHCOMING, 0)
    if coming:
        parts.append(f"{plural(coming, 'instance')} forthcoming: promised, not created yet")
    return "; ".join(parts)


def _capped(block: view.Block, option: str) -> view.Block:
    """Return a table with its first rows only, and how to see the others."""
    if not isinstance(block, view.Table) or len(block.rows) <= ROWS_SHOWN:
        return block
    caption = f"{block.caption}; the first {ROWS_SHOWN} of {len(block.rows)}, {option} shows all"
    return view.Table(block.title, block.columns, block.rows[:ROWS_SHOWN], caption)


def _term_table(whole: "Summary", names: Sequence[str], types: ResourceTypes) -> view.Table:
    """Return every term of the cluster's sums, exact; standby only where something is held for failover."""
    terms = [term for term in _TERMS if term != "standby" or whole.standby]
    columns = (
        view.Column("resource", priority=9),
        *(view.Column(term, "right", priority=5) for term in terms),
    )
    rows = tuple(
        (
            view.Cell(name),
            *(amount_or_nothing(types, getattr(whole, term), name) for term in terms),
        )
        for name in names
    )
    return view.Table("Terms", columns, rows)


def _node_table(
    nodes: "Sequence[NodeStatus]", names: Sequence[str], types: ResourceTypes, nodes_max: int
) -> view.Table:
    columns = [
        view.Column("node", priority=9),
        view.Column("state", priority=5),
        view.Column("group", priority=2),
        view.Column("domain", priority=3),
    ]
    for place, name in enumerate(names):
        columns.append(view.Column(name, "right", name in SHOWN_LAST, max(2, 8 - place), f"{name} committed"))
    used = [name for name in names if any(name in node.usage for node in nodes)]
    columns += [view.Column(f"{name} used", "right", priority=7) for name in used]
    held = [name for name in names if any(node.standby.of(name) for node in nodes)]
    columns += [view.Column(f"{name} standby", "right", priority=6) for name in held]
    columns.append(view.Column("workloads", "right", priority=2))
    columns += [view.Column(f"{name} free", "right", wide_only=True) for name in names]
    columns += [view.Column(f"{name} limit", "right", wide_only=True) for name in names]
    shown = nodes
    if len(nodes) > nodes_max:
        shown = sorted(nodes, key=lambda node: (-_fullness(node), node.name))[:nodes_max]
    rows = []
    for node in shown:
        tone: view.Tone = "plain" if node.state == "ready" else "warn"
        committed = [
            share_cell(types, name, node.committed.of(name), node.limit.get(name))
            if name in node.capacity
            else nothing_cell()
            for name in names
        ]
        rows.append(
            (
                view.Cell(node.name),
                view.Cell(node.state, tone=tone),
                view.Cell(node.group),
                view.Cell(node.domain),
                *committed,
                *(used_cell(types, node.usage.get(name), node.capacity.of(name)) for name in used),
                *(amount_or_nothing(types, node.standby, name) for name in held),
                view.Cell(str(node.workloads)),
                *(amount_or_nothing(types, node.free, name) for name in names),
                *(amount_or_nothing(types, node.limit, name) for name in names),
            )
        )
    caption = "committed, and its share of the node's limit"
    if used:
        caption += "; used: 95 % of the time at most, and its share of the capacity"
    if held:
        caption += "; standby is held free for failover"
    if len(shown) < len(nodes):
        caption += f"; the {len(shown)} fullest of {len(nodes)} nodes, --by node shows all"
    return view.Table("Nodes", tuple(columns), tuple(rows), caption)


def _fullness(node: "NodeStatus") -> Fraction:
    """Return the share of memory or cpu that is committed or held for failover, whichever is larger."""
    return max(
        Fraction(node.committed.of(name) + node.standby.of(name), node.limit[name])
        if node.limit.of(name)
        else Fraction(int(bool(node.committed.of(name)) and name in node.limit))
        for name in FIRST_RESOURCES
    )


def _summary_table(
    word: str, summaries: "Sequence[Summary]", names: Sequence[str], types: ResourceTypes, spare: Resources
) -> view.Table:
    shown = [name for name in names if any(each.limit.of(name) for each in summaries)]
    columns = [view.Column(word, priority=9), view.Column("ready", "right", priority=5)]
    for place, name in enumerate(shown):
        priority = max(1, 8 - 2 * place)
        last = name in SHOWN_LAST
        columns.append(view.Column(name, "right", last, priority, f"{name} committed"))
        columns.append(view.Column(f"{name} ullage", "right", last, priority))
    rows = []
    for each in summaries:
        cells = [view.Cell(each.name), view.Cell(f"{each.ready}/{each.nodes}")]
        for name in shown:
            present = bool(each.capacity.of(name))
            used = share_cell(types, name, each.committed.of(name), each.limit.get(name))
            cells += [used if present else nothing_cell(), _ullage_cell(each, name, types)]
        rows.append(tuple(cells))
    return view.Table(
        f"{word.capitalize()}s",
        tuple(columns),
        tuple(rows),
        f"committed, its share of the limit, and {_left_words(word, spare)}",
    )


def _left_words(word: str, spare: Resources) -> str:
    """Return what the ullage of a table is: of a domain, which has no spare of its own, all that is free."""
    if word == "domain" and any(spare.values()):
        return "what is free, of which groups keep spare for lost nodes"
    return "what can still be promised"


def _ullage_cell(summary: "Summary", name: str, types: ResourceTypes) -> view.Cell:
    if not summary.capacity.of(name) or name not in summary.ullage:
        return nothing_cell()
    left = summary.ullage[name]
    return amount_cell(types, name, left, tone="bad" if left < 0 else "plain")


def _quota_table(quotas: "Sequence[QuotaStatus]", types: ResourceTypes) -> view.Table:
    columns = (
        view.Column("quota", priority=9),
        view.Column("namespaces", priority=1),
        view.Column("resource", priority=9),
        view.Column("used", "right", priority=8),
        view.Column("min", "right", priority=7),
        view.Column("max", "right", priority=6),
        view.Column("borrowed", "right", priority=5),
        view.Column("lent", "right", priority=4),
        view.Column("entitlement", "right", priority=3),
        view.Column("claimable", "right", priority=2),
    )
    rows = []
    for quota in quotas:
        for name in resources_in_order(set(quota.used)):
            borrowed = quota.borrowed.of(name)
            most = quota.max.get(name)
            used = quota.used.of(name)
            share = view.Share(used, quota.min[name]) if quota.min.of(name) else None
            tone: view.Tone = "bad" if most is not None and used > most else "plain"
            kind = types[name]
            rows.append(
                (
                    view.Cell(quota.name),
                    view.Cell(", ".join(quota.namespaces)),
                    view.Cell(name),
                    view.Cell(kind.readable(used), share, tone, value=kind.print(used)),
                    amount_or_nothing(types, quota.min, name),
                    amount_or_nothing(types, quota.max, name),
                    amount_cell(types, name, borrowed, tone="warn" if borrowed else "muted"),
                    amount_or_nothing(types, quota.lent, name),
                    amount_or_nothing(types, quota.entitlement, name),
                    amount_or_nothing(types, quota.claimable, name),
                )
            )
    caption = (
        "used, and its share of the guaranteed min; lent: what others borrow of it; "
        "entitlement: up to where it may claim; claimable: what others could claim of it"
    )
    return view.Table("Quotas", columns, tuple(rows), caption)


def _device_table(devices: "Sequence[DeviceStatus]") -> view.Table:
    columns = (
        view.Column("model", priority=9),
        view.Column("resource", wide_only=len({each.resource for each in devices}) == 1, priority=1),
        view.Column("nodes", "right", priority=4),
        view.Column("devices", "right", priority=5),
        view.Column("free", "right", priority=8),
        *(view.Column(f"start {size}", "right", priority=6, key=f"starts {size}") for size in SIZES),
    )
    rows = tuple(
        (
            view.Cell(each.model),
            view.Cell(each.resource),
            view.Cell(str(each.nodes)),
            view.Cell(str(each.devices)),
            view.Cell(str(each.free), view.Share(each.free, each.devices) if each.devices else None),
            *(view.Cell(str(each.starts[str(size)])) for size in SIZES),
        )
        for each in devices
    )
    sizes = ", ".join(str(size) for size in SIZES[:-1])
    caption = f"start: how many workloads of {sizes} or {SIZES[-1]} devices on one node still start"
    return view.Table("Devices", columns, rows, caption)


def _drive_table(drives: "Sequence[DriveStatus]") -> view.Table:
    columns = (
        view.Column("node", priority=9),
        view.Column("class", priority=8),
        view.Column("drives", "right", priority=6),
        view.Column("failing", "right", priority=7),
        view.Column("size", "right", priority=5),
        view.Column("offering", "right", priority=7),
        view.Column("offered size", "right", priority=6),
    )
    shown = [each for each in drives if each.drives > each.system]
    rows = tuple(
        (
            view.Cell(each.node),
            view.Cell(each.drive_class),
            view.Cell(str(each.drives)),
            view.Cell(str(each.failing), tone="warn" if each.failing else "muted"),
            view.Cell(readable_bytes(each.size_bytes), value=str(each.size_bytes)),
            view.Cell(str(each.offering)),
            view.Cell(readable_bytes(each.offering_bytes), value=str(each.offering_bytes)),
        )
        for each in shown
    )
    hidden = sum(each.drives for each in drives) - sum(each.drives for each in shown)
    system = f"; {plural(hidden, 'system drive')} not shown" if hidden else ""
    caption = f"a drive offers space when it is healthy, online, clean and not the system's{system}"
    return view.Table("Drives", columns, rows, caption)


def _workload_table(
    workloads: "Sequence[WorkloadStatus]", types: ResourceTypes, namespace: str
) -> view.Table:
    names = resources_in_order({name for each in workloads for name in each.requests})
    used = [name for name in names if any(name in each.usage for each in workloads)]
    columns = (
        view.Column("workload", priority=9),
        view.Column("kind", priority=1),
        view.Column("state", priority=6),
        view.Column("node", priority=7),
        view.Column("priority", "right", priority=2),
        *(view.Column(name, "right", priority=max(1, 8 - place)) for place, name in enumerate(names)),
        *(view.Column(f"{name} used", "right", priority=7) for name in used),
        *(view.Column(f"{name} limit", "right", priority=4) for name in used),
    )
    rows = tuple(
        (
            view.Cell(each.name if namespace or not each.namespace else f"{each.namespace}/{each.name}"),
            view.Cell(each.kind),
            view.Cell(each.state, tone="bad" if each.state == "error" else "plain"),
            view.Cell(each.node) if each.node else nothing_cell(),
            view.Cell(str(each.priority)),
            *(amount_or_nothing(types, each.requests, name) for name in names),
            *(used_cell(types, each.usage.get(name), each.requests.of(name)) for name in used),
            *(amount_or_nothing(types, each.limits, name) for name in used),
        )
        for each in workloads
    )
    title = f"Workloads of namespace {namespace}" if namespace else "Workloads"
    caption = "what each requests"
    if used:
        caption += "; used: 95 % of the time at most, and its share of the request"
    return view.Table(title, columns, rows, caption)
