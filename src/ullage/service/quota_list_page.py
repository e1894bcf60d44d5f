"""The page of `quota list`: the tree with its figures, who is above the min, and the sums."""

from typing import TYPE_CHECKING, Final

from ullage.model.quantity import INT64_MAX
from ullage.model.resources import ResourceTypes
from ullage.render import view
from ullage.service.words import (
    amount_cell,
    amount_or_nothing,
    listed,
    nothing_cell,
    plural,
    resources_in_order,
    several,
)

if TYPE_CHECKING:
    from ullage.service.asked import Asked
    from ullage.service.quota_list import QuotaFigures, QuotaListReport

ROWS_SHOWN: Final = 60
NAMES_SHOWN: Final = 8
INDENT: Final = "└ "
"""What stands before a child, once for each level that it lies below a root."""


def quota_list_page(
    report: "QuotaListReport", types: ResourceTypes, asked: "Asked", *, shortened: bool = False
) -> view.Page:
    """Return the page of quotas; shortened, many of them fit a few screens."""
    blocks: list[view.Block] = [_table(report, types, ROWS_SHOWN if shortened else None)]
    over = [each for each in report.quotas if each.over_quota]
    if over:
        blocks.append(_over_table(over, NAMES_SHOWN if shortened else None))
    blocks.append(_totals(report, types))
    if report.findings:
        rows = (
            view.Finding(each.severity, each.subject, each.message, each.remedy) for each in report.findings
        )
        blocks.append(view.Findings("What is wrong with quotas", tuple(rows)))
    risky = any(each.over_quota or each.claimable for each in report.quotas)
    return view.Page(
        title=f"Quotas of {report.cluster}",
        verdict=quota_list_verdict(report, types),
        blocks=tuple(blocks),
        not_simulated=report.not_simulated,
        next_command=asked.command("quota risk" if risky else f"explain quota/{report.quotas[0].name}")
        if report.quotas
        else asked.command("status"),
        about=f"cluster {report.cluster}, revision {report.revision}, policy {report.policy}",
        main=0,
    )


def quota_list_verdict(report: "QuotaListReport", types: ResourceTypes) -> view.Verdict:
    """Return in short who borrows, who is over quota, and what others could claim back."""
    parts = [plural(len(report.quotas), "quota")]
    borrowers = [
        f"{each.name} borrows {listed(types, each.borrowed.without_zeros())}"
        for each in report.quotas
        if each.borrowed.without_zeros()
    ]
    parts.append(several(borrowers) if borrowers else "nobody borrows")
    over = sum(len(each.over_quota) for each in report.quotas)
    if over:
        parts.append(f"{plural(over, 'workload')} over quota")
    exposed = [
        f"{listed(types, each.claimable)} of {each.name}"
        for each in report.quotas
        if each.claimable and not each.over_quota and not _has_children(report, each)
    ]
    if exposed:
        parts.append(f"others could claim back {several(exposed)}, which is not over quota")
    errors = sum(each.severity == "error" for each in report.findings)
    if errors:
        parts.append(f"{plural(errors, 'error')} in quotas")
    return view.Verdict("; ".join(parts))


def _has_children(report: "QuotaListReport", quota: "QuotaFigures") -> bool:
    return any(each.parent == quota.name for each in report.quotas)


def _table(report: "QuotaListReport", types: ResourceTypes, rows_max: int | None) -> view.Table:
    nested = any(each.depth for each in report.quotas)
    columns = (
        view.Column("quota", priority=9),
        view.Column("parent", wide_only=True, priority=1),
        view.Column("mode", priority=3),
        view.Column("resource", priority=9),
        view.Column("used", "right", priority=8),
        view.Column("min", "right", priority=8),
        view.Column("max", "right", priority=5),
        view.Column("borrowed", "right", priority=7),
        view.Column("lent", "right", priority=7),
        view.Column("entitlement", "right", priority=6),
        view.Column("claimable", "right", priority=3),
        view.Column("workloads", "right", priority=2),
        view.Column("over quota", "right", priority=4),
    )
    rows = [row for each in report.quotas for row in _rows(each, types)]
    caption = "used, and its share of min; lent: what others borrow, by what each leaves unused; "
    caption += "claimable: what others could claim back if all of them asked"
    modes = {each.mode for each in report.quotas}
    if "nos" in modes:
        caption += "; entitlement in mode nos: min and the guaranteed part of what is unused, up to max"
    if "fair" in modes:
        caption += "; in mode fair: the share by min, demand and weight"
    if nested:
        caption += "; a parent stands for all below it, its workloads are its own"
    if rows_max is not None and len(rows) > rows_max:
        caption += f"; the first {rows_max} of {len(rows)} rows, -o wide shows all"
        rows = rows[:rows_max]
    return view.Table("Quotas", columns, tuple(rows), caption)


def _rows(quota: "QuotaFigures", types: ResourceTypes) -> list[tuple[view.Cell, ...]]:
    shown = INDENT.rjust(2 * quota.depth) + quota.name if quota.depth else quota.name
    first = (
        view.Cell(shown, value=quota.name),
        view.Cell(quota.parent) if quota.parent else nothing_cell(),
        view.Cell(quota.mode),
    )
    last = (
        view.Cell(str(quota.workloads)),
        view.Cell(str(len(quota.over_quota)), tone="warn" if quota.over_quota else "muted"),
    )
    rows: list[tuple[view.Cell, ...]] = []
    for name in resources_in_order({*quota.used, *quota.borrowed}):
        used, most = quota.used.of(name), quota.max.get(name)
        share = view.Share(used, quota.min[name]) if quota.min.of(name) else None
        borrowed = quota.borrowed.of(name)
        kind = types[name]
        rows.append(
            (
                *first,
                view.Cell(name),
                view.Cell(
                    kind.readable(used),
                    share,
                    "bad" if most is not None and used > most else "plain",
                    value=kind.print(used),
                ),
                amount_or_nothing(types, quota.min, name),
                amount_or_nothing(types, quota.max, name),
                amount_cell(types, name, borrowed, tone="warn" if borrowed else "muted")
                if name in quota.borrowed
                else nothing_cell(),
                amount_or_nothing(types, quota.lent, name),
                amount_or_nothing(types, quota.entitlement, name),
                amount_or_nothing(types, quota.claimable, name),
                *last,
            )
        )
    if not rows:
        rows.append((*first, *(nothing_cell() for _ in range(8)), *last))
    return rows


def _over_table(quotas: "list[QuotaFigures]", names_max: int | None) -> view.Table:
    columns = (
        view.Column("quota", priority=9),
        view.Column("workloads", "right", priority=8),
        view.Column("over quota", priority=9, key="over_quota"),
    )
    rows = tuple(
        (
            view.Cell(each.name),
            view.Cell(str(len(each.over_quota))),
            view.Cell(
                several(each.over_quota, names_max or len(each.over_quota)),
                value=" ".join(each.over_quota),
            ),
        )
        for each in quotas
    )
    return view.Table("Over quota", columns, rows, "in label order, by default the oldest first")


def _totals(report: "QuotaListReport", types: ResourceTypes) -> view.Table:
    totals = report.totals
    columns = (
        view.Column("resource", priority=9),
        view.Column("capacity", "right", priority=6),
        view.Column("sum of min", "right", priority=8, key="min"),
        view.Column("used", "right", priority=8),
        view.Column("borrowed", "right", priority=7),
        view.Column("lent", "right", priority=7),
    )
    rows = []
    for name in resources_in_order(set(totals.used)):
        capacity = totals.capacity.of(name)
        guaranteed = totals.min.of(name)
        rows.append(
            (
                view.Cell(name),
                amount_cell(types, name, capacity)
                if capacity < INT64_MAX
                else view.Cell("no bound", tone="muted", value=""),
                amount_cell(types, name, guaranteed, tone="bad" if guaranteed > capacity else "plain"),
                amount_cell(types, name, totals.used.of(name)),
                amount_cell(types, name, totals.borrowed.of(name)),
                amount_cell(types, name, totals.lent.of(name)),
            )
        )
    caption = "all quotas, each counted once; what is borrowed beyond what is lent nobody is guaranteed"
    return view.Table("In all", columns, tuple(rows), caption)
