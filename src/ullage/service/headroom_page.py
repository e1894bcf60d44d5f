"""The pages of `headroom`: how many more of each or of each size, what binds, and how many on each node."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from ullage.model.resources import ResourceTypes
from ullage.render import view
from ullage.service.words import canonical_map, listed, nothing_cell, plural, worth_naming

if TYPE_CHECKING:
    from ullage.service.asked import Asked
    from ullage.service.headroom import HeadroomReport, SetHeadroom, WorkloadHeadroom
    from ullage.service.headroom_tiered import TieredReport

NODES_SHOWN: Final = 40
COLUMNS_SHOWN: Final = 6
"""Workloads that have a column of their own in the table of nodes."""
REASONS_SHOWN: Final = 3


def headroom_page(
    report: "HeadroomReport", types: ResourceTypes, asked: "Asked", *, shortened: bool = False
) -> view.Page:
    """Return the page of a headroom report; shortened, a large cluster fits a few screens."""
    blocks: list[view.Block] = [_workload_table(report, types)]
    by_node = _node_table(report.workloads, NODES_SHOWN if shortened else None)
    blocks += [by_node] if by_node is not None else []
    return view.Page(
        title=f"Headroom of {report.cluster}",
        verdict=view.Verdict(_verdict(report), "yes" if report.fits else "no"),
        blocks=tuple(blocks),
        not_simulated=report.not_simulated,
        next_command=asked.command(_next_words(report)),
        about=f"cluster {report.cluster}, revision {report.revision}, policy {report.policy}, "
        f"placement {report.placement}",
        main=0,
    )


def _verdict(report: "HeadroomReport") -> str:
    if report.sets is not None:
        return _verdict_of_sets(report.sets)
    if len(report.workloads) == 1:
        (only,) = report.workloads
        if not only.more:
            return f"no {only.workload} fits: {_binds(only)}"
        return f"{_count(only.more, bounded=only.bounded)} more {only.workload} on {_nodes(only)}"
    parts = [f"{_count(each.more, bounded=each.bounded)} {each.workload}" for each in report.workloads]
    more = len(parts) - REASONS_SHOWN
    shown = ", or ".join(parts[:REASONS_SHOWN])
    others = f", and {plural(more, 'other')}" if more > 0 else ""
    return f"more that fit, each alone: {shown}{others}"


def _verdict_of_sets(sets: "SetHeadroom") -> str:
    named = " + ".join(f"{count} x {key}" for key, count in list(sets.replicas.items())[:REASONS_SHOWN])
    more = len(sets.replicas) - REASONS_SHOWN
    what = f"set{'' if sets.more == 1 and sets.bounded else 's'} of {named}"
    what += f" and {plural(more, 'other')}" if more > 0 else ""
    if not sets.missing:
        return f"{_count(sets.more, bounded=sets.bounded)} {what}"
    return f"{sets.more or 'no'} {what}; the next lacks a place for {sets.missing}: {sets.reason}"


def _count(count: int, *, bounded: bool) -> str:
    return str(count) if bounded else f"at least {count}"


def _nodes(found: "WorkloadHeadroom") -> str:
    return plural(len(found.nodes), "node")


def _next_words(report: "HeadroomReport") -> str:
    nodes = [each.nodes[0].node for each in report.workloads if each.nodes]
    return f"explain node/{nodes[0]}" if nodes else "status"


def _binds(found: "WorkloadHeadroom") -> str:
    """Return what keeps the next one away: its namespace first, then the most frequent of the nodes."""
    parts = [found.refusal] if found.refusal else []
    if not found.bounded:
        return "nothing: counting was stopped"
    tally: Mapping[str, int] = found.reasons
    parts += [f"{reason} on {count}" for reason, count in list(tally.items())[:REASONS_SHOWN]]
    more = len(tally) - REASONS_SHOWN
    return ", ".join(parts) + (f" and {plural(more, 'other reason')}" if more > 0 else "")


def _workload_table(report: "HeadroomReport", types: ResourceTypes) -> view.Table:
    columns = [
        view.Column("workload", priority=9),
        view.Column("each takes", priority=4, key="requests"),
        *([view.Column("per set", "right", priority=8)] if report.sets is not None else []),
        view.Column("more", "right", priority=8),
        view.Column("nodes", "right", priority=6),
        view.Column("what binds then", priority=7, key="binds"),
    ]
    rows = []
    for each in report.workloads:
        in_set = report.sets.replicas[each.workload] if report.sets is not None else 0
        rows.append(
            (
                view.Cell(each.workload),
                view.Cell(
                    listed(types, worth_naming(each.requests)), value=canonical_map(types, each.requests)
                ),
                *([view.Cell(str(in_set))] if report.sets is not None else []),
                view.Cell(
                    _count(each.more, bounded=each.bounded),
                    value=str(each.more),
                    tone="plain" if each.more else "bad",
                ),
                view.Cell(str(len(each.nodes))),
                view.Cell(_binds(each)),
            )
        )
    caption = "each counted alone, on all that is free now"
    return view.Table("How many more", tuple(columns), tuple(rows), caption)


def _node_table(workloads: "Sequence[WorkloadHeadroom]", rows_max: int | None) -> view.Table | None:
    """Return how many more each node takes; the nodes that take most first."""
    shown = workloads[:COLUMNS_SHOWN]
    counts = [{each.node: each.replicas for each in found.nodes} for found in shown]
    names = {name for column in counts for name in column}
    if not names:
        return None
    ordered = sorted(names, key=lambda name: ([-column.get(name, 0) for column in counts], name))
    kept = ordered if rows_max is None else ordered[:rows_max]
    rows = tuple(
        (
            view.Cell(name),
            *(view.Cell(str(column[name])) if name in column else nothing_cell() for column in counts),
        )
        for name in kept
    )
    columns = (view.Column("node", priority=9), *(view.Column(each.workload, "right") for each in shown))
    notes = []
    if len(kept) < len(ordered):
        notes.append(f"the first {len(kept)} of {len(ordered)}, -o wide shows all")
    if len(shown) < len(workloads):
        notes.append(f"the first {len(shown)} of {len(workloads)} workloads, -o json has all")
    return view.Table("By node", columns, rows, "; ".join(notes))


def tiered_page(
    report: "TieredReport", types: ResourceTypes, asked: "Asked", *, shortened: bool = False
) -> view.Page:
    """Return the page of sizes that shrink; shortened, many sizes fit a few screens."""
    starts = " or ".join(canonical_map(types, worth_naming(each)) for each in report.starts)
    binds = ", ".join(
        f"{reason} on {count}" for reason, count in list(report.reasons.items())[:REASONS_SHOWN]
    )
    why = report.refusal or binds or "no two nodes are there for it"
    sizes = plural(len(report.tiers), "size")
    many = _count(report.more, bounded=report.bounded)
    text = (
        f"{many} more in {sizes}, from {starts} down"
        if report.more
        else f"nothing fits, from {starts} down: {why}"
    )
    return view.Page(
        title=f"Tiered headroom of {report.cluster}",
        verdict=view.Verdict(text, "yes" if report.more else "no"),
        blocks=(_tier_table(report, types, why, NODES_SHOWN if shortened else None),),
        not_simulated=report.not_simulated,
        next_command=asked.command("status" if report.more else "check"),
        about=f"cluster {report.cluster}, revision {report.revision}, policy {report.policy}, "
        f"placement {report.placement}",
        main=0,
    )


def _tier_table(report: "TieredReport", types: ResourceTypes, why: str, rows_max: int | None) -> view.Table:
    columns = (
        view.Column("each takes", priority=9, key="requests"),
        view.Column("more", "right", priority=8),
        view.Column("nodes", "right", priority=6),
    )
    kept = report.tiers if rows_max is None else report.tiers[:rows_max]
    rows = tuple(
        (
            view.Cell(listed(types, worth_naming(each.requests)), value=canonical_map(types, each.requests)),
            view.Cell(str(each.more)),
            view.Cell(str(each.nodes)),
        )
        for each in kept
    )
    caption = f"the largest first, on what those before it left; no more then: {why}" if rows else ""
    if len(kept) < len(report.tiers):
        caption += f"; the first {len(kept)} of {len(report.tiers)}, -o wide shows all"
    return view.Table("How many more of each size", columns, rows, caption)
