"""The page of `quota audit`: whether the cluster and its workloads agree, and every difference."""

from typing import TYPE_CHECKING, Final

from ullage.model.resources import ResourceTypes
from ullage.render import view
from ullage.service.words import (
    amount_cell,
    amount_or_nothing,
    findings_block,
    nothing_cell,
    plural,
    resources_in_order,
)

if TYPE_CHECKING:
    from ullage.service.asked import Asked
    from ullage.service.quota_audit import QuotaAudit, QuotaAuditReport

ALIKE_SHOWN: Final = 10


def quota_audit_page(
    report: "QuotaAuditReport", types: ResourceTypes, asked: "Asked", *, shortened: bool = False
) -> view.Page:
    """Return the page of an audit; shortened, the first of many differences."""
    blocks: list[view.Block] = []
    if report.findings:
        alike = ALIKE_SHOWN if shortened else None
        blocks.append(findings_block("Findings", report.findings, alike, "-o wide shows all"))
    blocks.append(_table(report, types))
    return view.Page(
        title=f"Audit of the quotas of {report.cluster}",
        verdict=view.Verdict(_verdict(report), "yes" if report.agrees else "no"),
        blocks=tuple(blocks),
        not_simulated=report.not_simulated,
        next_command=asked.command(_next_words(report)),
        about=f"cluster {report.cluster}, revision {report.revision}, policy {report.policy}",
        main=len(blocks) - 1,
    )


def _verdict(report: "QuotaAuditReport") -> str:
    compared = (
        f"use of {plural(report.quotas_stating, 'quota')} and {plural(report.compared, 'label')} compared"
    )
    if not report.quotas_stating and not report.compared:
        return "nothing to compare: the cluster states neither the use of its quotas nor labels"
    if report.agrees:
        return f"nothing differs: {compared}"
    differences = sum(each.severity == "error" for each in report.findings)
    return f"{plural(differences, 'difference')}: {compared}"


def _next_words(report: "QuotaAuditReport") -> str:
    for each in report.quotas:
        if each.differences:
            return f"explain quota/{each.quota}"
    return "quota list"


def _table(report: "QuotaAuditReport", types: ResourceTypes) -> view.Table:
    columns = (
        view.Column("quota", priority=9),
        view.Column("resource", priority=9),
        view.Column("counted", "right", priority=8),
        view.Column("stated", "right", priority=8),
        view.Column("workloads", "right", priority=4),
        view.Column("over quota", "right", priority=5),
        view.Column("differences", "right", priority=7),
    )
    rows = tuple(row for each in report.quotas for row in _rows(each, types))
    return view.Table("What was counted", columns, rows, "counted from the workloads, container by container")


def _rows(quota: "QuotaAudit", types: ResourceTypes) -> list[tuple[view.Cell, ...]]:
    rows: list[tuple[view.Cell, ...]] = []
    for name in resources_in_order(set(quota.used)):
        stated = nothing_cell()
        if quota.stated_used is not None:
            differs = quota.stated_used.of(name) != quota.used.of(name)
            stated = amount_or_nothing(types, quota.stated_used, name)
            if differs:
                stated = amount_cell(types, name, quota.stated_used.of(name), tone="bad")
        rows.append(
            (
                view.Cell(quota.quota),
                view.Cell(name),
                amount_cell(types, name, quota.used[name]),
                stated,
                view.Cell(str(quota.workloads)),
                view.Cell(str(quota.over_quota)),
                view.Cell(str(quota.differences), tone="bad" if quota.differences else "muted"),
            )
        )
    return rows
