"""The pages of `explain`: sums as on paper for a node, facts and holders for a resource."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from ullage.model.cluster import FORTHCOMING, TOLD_HOLDING
from ullage.model.drives import Drive, VolumeGroup
from ullage.model.quantity import readable_bytes
from ullage.model.resources import ALIASES, RESERVED_DOMAIN, Amount, ResourceTypes
from ullage.model.verdict import Terms
from ullage.render import view
from ullage.service.bars import resource_bars
from ullage.service.disks_list_page import disk_table
from ullage.service.used_page import node_use_blocks
from ullage.service.words import (
    FIRST_RESOURCES,
    amount_cell,
    amount_or_nothing,
    fact_table,
    nothing_cell,
    plural,
    resources_in_order,
    several,
    share_cell,
)

if TYPE_CHECKING:
    from ullage.service.asked import Asked
    from ullage.service.explain import Explained, Holding, NodeExplanation, ResourceExplanation

NODES_SHOWN: Final = 20
COPIED: Final = frozenset(("storage-space", "ganeti.org/spindles"))
_RESERVE_ORIGINS: Final = {
    "policy": "set by the policy",
    "stated": "stated by the source",
    "profile": "the profile's rule",
    "none": "nothing is kept back",
}


def node_page(report: "NodeExplanation", types: ResourceTypes, asked: "Asked") -> view.Page:
    """Return the page of a node."""
    by_name = {each.terms.resource: each for each in report.resources}
    names = resources_in_order({name for name, each in by_name.items() if _matters(each.terms)})
    blocks: list[view.Block] = []
    if len(report.resources) > 1:
        blocks.append(fact_table("Node", _node_facts(report)))
    holding = [each for each in report.workloads if each.state in TOLD_HOLDING]
    blocks += [
        _sum(
            by_name[name],
            types,
            sum(bool(each.requests.of(name)) for each in holding),
            copies=report.node.host is not None and name in COPIED,
        )
        for name in names
    ]
    if report.disks:
        blocks.append(disk_table(report.disks, by_node=False))
    blocks += node_use_blocks(report, types)
    blocks.append(_holding_table(f"Runs on {report.node.name}", report.workloads, names, types))
    return view.Page(
        title=f"Node {report.node.name}",
        verdict=view.Verdict(_node_verdict(report, types), "info"),
        blocks=tuple(blocks),
        not_simulated=report.not_simulated,
        next_command=asked.command(f"policy show node/{report.node.name}"),
        about=f"cluster {report.cluster}, revision {report.revision}, policy {report.policy}",
        main=len(blocks) - 1,
    )


def _matters(terms: Terms) -> bool:
    return bool(terms.capacity.value or terms.promised.value)


def _node_verdict(report: "NodeExplanation", types: ResourceTypes) -> str:
    coming = sum(each.state == FORTHCOMING for each in report.workloads)
    also = f", {coming} of them forthcoming" if coming else ""
    count = plural(len(report.workloads), "workload")
    parts = [f"node {report.node.name} is {report.node.state} with {count}{also}"]
    for each in report.resources:
        terms = each.terms
        told = terms.resource in FIRST_RESOURCES or len(report.resources) == 1
        if told and terms.limit is not None and terms.free is not None:
            percent = view.Share(terms.committed.value, terms.limit.value).percent or "0%"
            free = types[terms.resource].readable(terms.free.value)
            held = terms.standby
            standby = f"{types[held.resource].readable(held.value)} held for failover, " if held else ""
            parts.append(f"{terms.resource} {percent} committed, {standby}{free} free")
    return "; ".join(parts)


def _node_facts(report: "NodeExplanation") -> list[tuple[str, str]]:
    node = report.node
    facts = [("state", node.state), ("group", node.group)]
    if node.domain:
        facts.append(("domain", node.domain))
    facts.append(("swap", _swap(report)))
    if node.cpu_conversion_factor != 1:
        facts.append(("cpu factor", str(node.cpu_conversion_factor)))
    if node.taints:
        facts.append(("taints", several([f"{each.key}:{each.effect}" for each in node.taints], 5)))
    if node.devices:
        models = sorted({device.model or "unknown model" for device in node.devices})
        facts.append(("devices", f"{len(node.devices)} ({', '.join(models)})"))
    if node.drives:
        facts.append(("drives", _drives(node.drives)))
    if node.volume_groups:
        facts.append(("volume groups", several([_volume_group(each) for each in node.volume_groups], 6)))
    if node.qualities:
        facts.append(("qualities", _qualities(node.qualities)))
    if node.actual is None:
        facts.append(("actual use", "unknown: the source does not tell"))
    return facts


def _swap(report: "NodeExplanation") -> str:
    if report.swap_bytes is None:
        return "unknown: neither the source nor the policy tells"
    return f"{readable_bytes(report.swap_bytes)}, {report.swap_rule or 'stated by the source'}"


def _qualities(qualities: Mapping[str, str]) -> str:
    return ", ".join(f"{name}={text}" for name, text in sorted(qualities.items()))


def _drives(drives: Sequence[Drive]) -> str:
    counts = Counter(_drive(drive) for drive in drives)
    return several([f"{count} x {what}" if count > 1 else what for what, count in counts.items()], 6)


def _drive(drive: Drive) -> str:
    trouble = "" if drive.health == "GOOD" and drive.status == "ONLINE" else f" {drive.health}"
    system = " (system)" if drive.system else ""
    return f"{readable_bytes(drive.size_bytes)} {drive.drive_class}{trouble}{system}"


def _volume_group(group: VolumeGroup) -> str:
    return f"{group.name} {readable_bytes(group.free_bytes)} free of {readable_bytes(group.size_bytes)}"


def _sum(explained: "Explained", types: ResourceTypes, holding: int, *, copies: bool = False) -> view.Terms:
    """Return the sum of one resource, from its capacity to what is free.

    On Ganeti nodes disks are kept back for `copies` of those whose standby they are.
    """
    terms = explained.terms
    show = types[terms.resource].readable
    reserve = _RESERVE_ORIGINS[terms.reserve_origin]
    if terms.reserve_origin in {"policy", "profile"} and explained.reserve_rule:
        reserve = explained.reserve_rule
    elif copies and terms.reserve_origin == "stated":
        reserve = "copies of disks it is the standby for, and what else is in use"
    ratio = explained.ratio_rule or "no over-commit"
    lines = [
        view.Term("", "capacity", show(terms.capacity.value)),
        view.Term("-", "reserve", show(terms.reserve.value), reserve),
        view.Term("=", "allocatable", show(terms.allocatable.value)),
        view.Term("x", "ratio", terms.ratio, ratio),
    ]
    if terms.limit is None or terms.free is None:
        result = view.Term("=", "free", "no bound", "one workload gets at most the node's capacity")
        lines.append(
            view.Term("", "committed", show(terms.committed.value), _committed(explained, show, holding))
        )
        return view.Terms(terms.resource, tuple(lines), result)
    lines.append(view.Term("=", "limit", show(terms.limit.value)))
    lines.append(
        view.Term("-", "committed", show(terms.committed.value), _committed(explained, show, holding))
    )
    over = terms.committed.value - terms.limit.value
    note = f"over-committed by {show(over)}" if over > 0 else ""
    if terms.standby is not None:
        lines.append(_standby(explained, terms.standby, show))
        short = over + terms.standby.value
        note = note or (f"short by {show(short)} of what failover needs" if short > 0 else "")
    return view.Terms(terms.resource, tuple(lines), view.Term("=", "free", show(terms.free.value), note))


def _standby(explained: "Explained", standby: Amount, show: Callable[[int], str]) -> view.Term:
    """Return what is held for failover, and which node's failure would need it."""
    why = f"held free for failover: needed if {explained.standby_for} fails"
    return view.Term("-", "standby", show(standby.value), why)


def _committed(explained: "Explained", show: Callable[[int], str], holding: int) -> str:
    """Say what the committed amount is made of, and what is really in use."""
    terms = explained.terms
    promised = f"promised to {plural(holding, 'workload')}"
    if terms.actual is None:
        return promised
    in_use = f"{show(terms.actual.value)} really in use"
    if not explained.counts_actual:
        return f"{promised}; {in_use}"
    if terms.committed.value > terms.promised.value:
        return f"{in_use}, less the reserve; only {show(terms.promised.value)} {promised}"
    return f"{promised}; {in_use} is less"


def _holding_table(
    title: str, holdings: "Sequence[Holding]", names: Sequence[str], types: ResourceTypes
) -> view.Table:
    shown = [name for name in names if any(each.requests.of(name) for each in holdings)]
    qualified = any(each.qualities for each in holdings)
    columns = (
        view.Column("workload", priority=9),
        view.Column("kind", priority=1),
        view.Column("state", priority=2),
        *(view.Column(name, "right", priority=max(3, 8 - place)) for place, name in enumerate(shown)),
        *([view.Column("qualities", priority=2)] if qualified else []),
    )
    rows = tuple(
        (
            view.Cell(each.workload),
            view.Cell(each.kind),
            view.Cell(each.state),
            *(amount_or_nothing(types, each.requests, name) for name in shown),
            *([view.Cell(_qualities(each.qualities))] if qualified else []),
        )
        for each in holdings
    )
    return view.Table(title, columns, rows)


def resource_page(report: "ResourceExplanation", types: ResourceTypes, asked: "Asked") -> view.Page:
    """Return the page of a resource."""
    name = report.type.name
    fullest = sorted(report.nodes, key=_fullness)
    blocks: list[view.Block] = [fact_table("What it is", _type_facts(report))]
    if fullest:
        blocks += [
            _resource_bars(report, types),
            _node_terms_table(fullest[:NODES_SHOWN], len(fullest), types),
            _largest_table(report, types),
        ]
    return view.Page(
        title=f"Resource {name}",
        verdict=view.Verdict(_resource_verdict(report, types), "info"),
        blocks=tuple(blocks),
        not_simulated=report.not_simulated,
        next_command=asked.command(f"explain node/{fullest[0].node}" if fullest else "status"),
        about=f"cluster {report.cluster}, revision {report.revision}, policy {report.policy}",
        main=2 if fullest else 0,
    )


def _fullness(terms: Terms) -> tuple[Fraction, str]:
    limit = terms.capacity.value if terms.limit is None else terms.limit.value
    standby = 0 if terms.standby is None else terms.standby.value
    return -Fraction(terms.committed.value + standby, max(1, limit)), terms.node


def _resource_verdict(report: "ResourceExplanation", types: ResourceTypes) -> str:
    name, whole = report.type.name, report.total
    if not report.nodes:
        return f"{name}: no node of this cluster has it, and nothing asks for it"
    show = types[name].readable
    having = sum(bool(each.capacity.value) for each in report.nodes)
    parts = [f"{name}: {show(whole.capacity.of(name))} on {plural(having, 'node')}"]
    if whole.limit.of(name):
        percent = view.Share(whole.committed.of(name), whole.limit[name]).percent
        left = show(max(0, whole.ullage.of(name)))
        parts.append(f"{percent} committed, {left} can still be promised")
    else:
        parts.append(f"{show(whole.committed.of(name))} committed, without a bound")
    return "; ".join(parts)


def _type_facts(report: "ResourceExplanation") -> list[tuple[str, str]]:
    kind = report.type
    also = [f"{RESERVED_DOMAIN}/{kind.name}"] if "/" not in kind.name else []
    also += [alias for alias, name in ALIASES.items() if name == kind.name]
    step = f"10^-{kind.internal_scale_exponent}" if kind.internal_scale_exponent else "1"
    facts = [
        ("name", kind.name),
        ("also written", ", ".join(also) or "-"),
        ("units", kind.units or "a plain count"),
        ("counted in steps of", step),
        ("compressible", "yes: too little slows down" if kind.is_compressible else "no: too little fails"),
        ("default request", kind.default_request or "0"),
    ]
    if kind.quantization != 1:
        facts.append(("handed out in steps of", kind.print(kind.quantization)))
    return facts


def _resource_bars(report: "ResourceExplanation", types: ResourceTypes) -> view.Bars:
    return resource_bars("In the whole cluster", report.total, [report.type.name], types)


def _node_terms_table(nodes: Sequence[Terms], every: int, types: ResourceTypes) -> view.Table:
    held = any(each.standby is not None for each in nodes)
    columns = (
        view.Column("node", priority=9),
        view.Column("committed", "right", priority=8),
        *([view.Column("standby", "right", priority=6)] if held else []),
        view.Column("free", "right", priority=7),
        view.Column("limit", "right", priority=6),
        view.Column("capacity", "right", priority=3),
        view.Column("reserve", "right", priority=4),
        view.Column("ratio", "right", priority=4),
        view.Column("actual", "right", priority=2),
    )
    rows = tuple(
        (
            view.Cell(each.node),
            share_cell(types, each.resource, each.committed.value, each.limit.value if each.limit else None),
            *([_held(types, each)] if held else []),
            _amount(types, each.free),
            _amount(types, each.limit),
            _amount(types, each.capacity),
            _amount(types, each.reserve),
            view.Cell(each.ratio),
            nothing_cell() if each.actual is None else _amount(types, each.actual),
        )
        for each in nodes
    )
    some = f"the {len(nodes)} fullest of {every} nodes; -o json has all" if every > len(nodes) else ""
    return view.Table("Nodes, the fullest first", columns, rows, some)


def _held(types: ResourceTypes, terms: Terms) -> view.Cell:
    return nothing_cell() if terms.standby is None else _amount(types, terms.standby)


def _amount(types: ResourceTypes, amount: Amount | None) -> view.Cell:
    if amount is None:
        return view.Cell("no bound", tone="muted")
    return amount_cell(types, amount.resource, amount.value)


def _largest_table(report: "ResourceExplanation", types: ResourceTypes) -> view.Table:
    name = report.type.name
    committed = report.total.promised.of(name)
    rows = tuple(
        (
            view.Cell(each.workload),
            view.Cell(each.node),
            share_cell(types, name, each.requests[name], committed),
        )
        for each in report.largest
    )
    columns = (
        view.Column("workload", priority=9),
        view.Column("node", priority=5),
        view.Column("promised", "right", priority=8),
    )
    caption = f"of {plural(report.workloads, 'workload')}, with their share of all that is promised"
    return view.Table("Who holds most", columns, rows, caption if rows else "")
