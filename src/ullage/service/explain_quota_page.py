"""The page of `explain quota/Q`: both formulas with their numbers, who fills it, who lends, what may run."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from ullage.model.resources import Resources, ResourceTypes
from ullage.render import view
from ullage.service.clock import told_time
from ullage.service.words import (
    amount_cell,
    amount_or_nothing,
    canonical_map,
    fact_table,
    listed,
    nothing_cell,
    plural,
    resources_in_order,
    several,
)

if TYPE_CHECKING:
    from ullage.service.asked import Asked
    from ullage.service.explain_quota import Addend, FairTerms, NosTerms, QuotaExplanation

MEMBERS_SHOWN: Final = 40
ADDENDS_SHOWN: Final = 8
BOUNDS: Final = (
    ("max", "left under max"),
    ("borrowing_limit", "left to borrow"),
    ("sum_of_min", "left of all mins"),
    ("nodes", "room on nodes"),
)


def quota_page(
    report: "QuotaExplanation", types: ResourceTypes, asked: "Asked", *, shortened: bool = False
) -> view.Page:
    """Return the page of a quota; shortened, only the first of many members."""
    quota = report.quota
    names = resources_in_order({*quota.used, *quota.borrowed})
    blocks: list[view.Block] = [fact_table("Quota", _facts(report, types))]
    blocks += [block for name in names for block in _formulas(report, types, name)]
    blocks.append(_admissible(report, types, names))
    if report.lenders:
        blocks.append(_lenders(report, types))
    if report.parents:
        blocks.append(_parents(report, types))
    main = len(blocks)
    blocks.append(_members(report, types, MEMBERS_SHOWN if shortened else None))
    return view.Page(
        title=f"Quota {quota.name}",
        verdict=view.Verdict(_verdict(report, types)),
        blocks=tuple(blocks),
        not_simulated=report.not_simulated,
        next_command=asked.command("quota risk" if quota.over_quota or quota.claimable else "quota list"),
        about=f"cluster {report.cluster}, revision {report.revision}, policy {report.policy}",
        main=main,
    )


def _verdict(report: "QuotaExplanation", types: ResourceTypes) -> str:
    quota = report.quota
    parts = [f"quota {quota.name} uses {listed(types, quota.used)}, guaranteed {listed(types, quota.min)}"]
    if quota.borrowed.without_zeros():
        parts.append(f"it borrows {listed(types, quota.borrowed.without_zeros())}")
    if quota.lent.without_zeros():
        parts.append(f"it lends {listed(types, quota.lent.without_zeros())}")
    parts.append(f"{len(quota.over_quota)} of {plural(quota.workloads, 'workload')} over quota")
    if quota.claimable:
        parts.append(f"others could claim back {listed(types, quota.claimable)}")
    return "; ".join(parts)


def _facts(report: "QuotaExplanation", types: ResourceTypes) -> list[tuple[str, str]]:
    quota = report.quota
    facts = [("kind", quota.kind), ("mode", quota.mode)]
    if quota.namespaces:
        facts.append(("namespaces", several(quota.namespaces, ADDENDS_SHOWN)))
    if quota.queues:
        facts.append(("queues", several(quota.queues, ADDENDS_SHOWN)))
    if report.parents:
        chain = " > ".join(each.name for each in reversed(report.parents))
        facts.append(("parents", chain))
    facts.append(("min", listed(types, quota.min)))
    if report.own_min != quota.min:
        facts.append(("of it for its own workloads", listed(types, report.own_min)))
    facts.append(("max", listed(types, quota.max) if quota.max else "no bound"))
    facts.append(("label order", ", then ".join(report.order)))
    return facts


def _formulas(report: "QuotaExplanation", types: ResourceTypes, name: str) -> list[view.Terms]:
    """Return the formula of the mode that applies, then the other's."""
    found = []
    applies = report.quota.mode
    for mode in sorted(("nos", "fair"), key=lambda each: each != applies):
        title = f"{name} in mode {mode}" + (", which applies" if mode == applies else ", if it applied")
        terms = _nos(report.nos, types, name) if mode == "nos" else _fair(report, types, name)
        if terms is not None:
            found.append(view.Terms(title, *terms))
    return found


def _added(addends: "Sequence[Addend]", types: ResourceTypes, name: str) -> str:
    """Return a sum as on paper, `40 + 10 + 30`."""
    amounts = [types[name].readable(each.amounts.of(name)) for each in addends if name in each.amounts]
    shown = " + ".join(amounts[:ADDENDS_SHOWN])
    more = len(amounts) - ADDENDS_SHOWN
    return f"{shown} + {plural(more, 'other')}" if more > 0 else shown


def _nos(nos: "NosTerms", types: ResourceTypes, name: str) -> tuple[tuple[view.Term, ...], view.Term] | None:
    if name not in nos.min:
        return None
    show = types[name].readable
    least, whole, free = nos.min.of(name), nos.sum_of_min.of(name), nos.sum_of_unused.of(name)
    guaranteed = nos.guaranteed.of(name)
    formula = f"{show(least)} / ({_added(nos.mins, types, name)}) x {show(free)} = {show(guaranteed)}"
    lines = [
        view.Term("", "min", show(least)),
        view.Term("/", "sum of min", show(whole), _added(nos.mins, types, name)),
        view.Term("x", "unused", show(free), f"{_added(nos.unused, types, name)}: left of each min"),
        view.Term("=", "guaranteed", show(guaranteed), f"{formula}, rounded down"),
        view.Term("+", "min", show(least)),
    ]
    if least + guaranteed > nos.entitlement.of(name):
        lines.append(view.Term("at most", "max", show(nos.max.of(name)), "nothing runs beyond it"))
    return tuple(lines), view.Term("=", "entitlement", show(nos.entitlement.of(name)))


def _fair(
    report: "QuotaExplanation", types: ResourceTypes, name: str
) -> tuple[tuple[view.Term, ...], view.Term] | None:
    fair = report.fair
    if name not in fair.entitlement:
        return None
    whose = f"what {report.parents[0].name} is entitled to" if report.parents else _of_nodes(fair)
    show = types[name].readable
    lines = []
    if name in fair.capacity:
        lines = [
            view.Term("", "capacity", show(fair.capacity[name]), whose),
            view.Term(
                "-",
                "guaranteed",
                show(fair.sum_of_guaranteed.of(name)),
                f"{_added(fair.guaranteed, types, name)}: min(min, demand) of each",
            ),
            view.Term("=", "surplus", show(fair.surplus[name]), _weights(fair)),
        ]
    demand = show(fair.demand.of(name))
    lines += [
        view.Term("", "its guaranteed", show(fair.own_guaranteed.of(name)), f"demand {demand}"),
        view.Term("+", "its surplus", show(fair.own_surplus.of(name)), "at most what it asks for"),
    ]
    return tuple(lines), view.Term("=", "entitlement", show(fair.entitlement[name]))


def _of_nodes(fair: "FairTerms") -> str:
    if not fair.cordoned_nodes:
        return "of the cluster"
    nodes = plural(fair.cordoned_nodes, "cordoned node")
    return f"of the cluster, of {nodes} what runs there"


def _weights(fair: "FairTerms") -> str:
    if all(each.weight is None for each in fair.weights):
        return "shared by weight, which is each one's min"
    stated = [f"{each.quota} {'min' if each.weight is None else each.weight}" for each in fair.weights]
    return f"shared by weight: {several(stated, ADDENDS_SHOWN)}"


def _admissible(report: "QuotaExplanation", types: ResourceTypes, names: Sequence[str]) -> view.Table:
    found = report.admissible
    bounds = [(field, title) for field, title in BOUNDS if getattr(found, field)]
    columns = (
        view.Column("resource", priority=9),
        *(view.Column(title, "right", priority=5, key=field) for field, title in bounds),
        view.Column("admitted now", "right", priority=9, key="admitted"),
        view.Column("may claim", "right", priority=8, key="at_most"),
    )

    def bound(amounts: Resources, name: str) -> view.Cell:
        if name not in amounts:
            return view.Cell("no bound", tone="muted", value="")
        return amount_cell(types, name, amounts[name], tone="bad" if amounts[name] < 0 else "plain")

    rows = tuple(
        (
            view.Cell(name),
            *(bound(getattr(found, field), name) for field, _ in bounds),
            bound(found.admitted, name),
            bound(found.at_most, name),
        )
        for name in names
    )
    caption = "admitted now: the least of the bounds, without an eviction; may claim: by its right, of others"
    return view.Table("What would be admitted now", columns, rows, caption)


def _lenders(report: "QuotaExplanation", types: ResourceTypes) -> view.Table:
    columns = (
        view.Column("quota", priority=9),
        view.Column("lends", priority=8, key="lent"),
        view.Column("borrows", priority=8, key="borrowed"),
    )

    def cell(amounts: Resources) -> view.Cell:
        if not amounts:
            return nothing_cell()
        return view.Cell(listed(types, amounts), value=canonical_map(types, amounts))

    rows = tuple((view.Cell(each.quota), cell(each.lent), cell(each.borrowed)) for each in report.lenders)
    return view.Table("Who lends and who borrows", columns, rows, "each by its own workloads")


def _parents(report: "QuotaExplanation", types: ResourceTypes) -> view.Table:
    columns = (
        view.Column("parent", priority=9),
        view.Column("resource", priority=9),
        *(
            view.Column(word, "right", priority=7)
            for word in ("used", "min", "max", "borrowed", "lent", "entitlement")
        ),
    )
    rows = tuple(
        (
            view.Cell(each.name),
            view.Cell(name),
            *(
                amount_or_nothing(types, amounts, name)
                for amounts in (each.used, each.min, each.max, each.borrowed, each.lent, each.entitlement)
            ),
        )
        for each in report.parents
        for name in resources_in_order({*each.used, *each.borrowed})
    )
    return view.Table("Above it", columns, rows, "the nearest first, each with all below it")


def _members(report: "QuotaExplanation", types: ResourceTypes, rows_max: int | None) -> view.Table:
    names = resources_in_order({name for each in report.members for name in each.running_sum})
    columns = (
        view.Column("workload", priority=9),
        view.Column("counts", priority=4),
        *(view.Column(f"sum of {name}", "right", priority=7) for name in names),
        view.Column("label", priority=8),
        view.Column("priority", "right", priority=3),
        view.Column("created", "right", wide_only=True, key="created_seconds"),
    )
    kept = report.members if rows_max is None else report.members[:rows_max]
    rows = tuple(
        (
            view.Cell(each.workload),
            view.Cell(
                listed(types, each.counts.without_zeros()),
                value=canonical_map(types, each.counts.without_zeros()),
            ),
            *(
                amount_cell(
                    types,
                    name,
                    each.running_sum.of(name),
                    tone="warn" if each.running_sum.of(name) > report.own_min.of(name) else "plain",
                )
                for name in names
            ),
            view.Cell(each.label, tone="warn" if each.label == "over-quota" else "ok"),
            view.Cell(str(each.priority)),
            _created(each.created_seconds),
        )
        for each in kept
    )
    caption = "in label order; over quota from where the sum is above min"
    if len(kept) < len(report.members):
        caption += f"; the first {len(kept)} of {len(report.members)}, -o wide shows all"
    return view.Table("Its workloads", columns, rows, caption)


def _created(seconds: int) -> view.Cell:
    """Return when a workload was made; who does not say so counts as the oldest."""
    return view.Cell(told_time(seconds), value=str(seconds)) if seconds else nothing_cell()
