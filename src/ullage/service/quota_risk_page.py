"""The page of `quota risk`: who goes in which order, after how much, and who could claim it."""

from typing import TYPE_CHECKING, Final

from ullage.model.resources import Resources, ResourceTypes
from ullage.render import view
from ullage.service.words import canonical_map, listed, nothing_cell, plural

if TYPE_CHECKING:
    from ullage.service.asked import Asked
    from ullage.service.quota_risk import QuotaRiskReport, QuotaRiskStatus, WorkloadRisk

ROWS_SHOWN: Final = 40


def quota_risk_page(
    report: "QuotaRiskReport", types: ResourceTypes, asked: "Asked", *, shortened: bool = False
) -> view.Page:
    """Return the page of risks; shortened, the first of many."""
    blocks: list[view.Block] = []
    if report.workloads:
        blocks.append(_table(report, types, ROWS_SHOWN if shortened else None))
        blocks += [_claimants(report, types)]
    quota = report.workloads[0].quota if report.workloads else ""
    return view.Page(
        title=f"Risk in {report.cluster}",
        verdict=view.Verdict(_verdict(report, types, asked.namespace)),
        blocks=tuple(blocks),
        not_simulated=report.not_simulated,
        next_command=asked.command(f"explain quota/{quota}" if quota else "quota list"),
        about=f"cluster {report.cluster}, revision {report.revision}, policy {report.policy}",
        main=0 if report.workloads else None,
    )


def _verdict(report: "QuotaRiskReport", types: ResourceTypes, namespace: str) -> str:
    if report.told:
        return f"{report.subject} {report.told}"
    if report.subject:
        (only,) = report.workloads
        place = f"{only.workload} is number {only.rank} of {only.of} to go in quota {only.quota}"
        return f"{place}: {_when(only, types)}"
    if not report.workloads:
        who = f"nobody in namespace {namespace}" if namespace else "nobody"
        return f"{who} runs above the min of a quota: nothing can be claimed back"
    claimable = sum(each.claimable for each in report.workloads)
    return (
        f"{plural(len(report.workloads), 'workload')} above the min of "
        f"{plural(len(report.quotas), 'quota')}; {claimable} can be claimed back now"
    )


def _when(risk: "WorkloadRisk", types: ResourceTypes) -> str:
    if not risk.claimable:
        return risk.reason
    first = risk.claimed_first.without_zeros()
    if len(first) < len(risk.claimed_first):
        what = "it goes with the first claim" if not first else f"{_more_than(risk.claimed_first, types)}"
    else:
        what = _more_than(first, types)
    if risk.asked_first.without_zeros() and len(risk.asked_first.without_zeros()) == len(risk.asked_first):
        what += f", and others ask for {_either(risk.asked_first, types)} beyond their demand"
    return what


def _more_than(amounts: Resources, types: ResourceTypes) -> str:
    return f"it goes when owners claim more than {_either(amounts, types)}"


def _either(amounts: Resources, types: ResourceTypes) -> str:
    return " or ".join(listed(types, Resources({name: amount})) for name, amount in amounts.items())


def _amounts(types: ResourceTypes, amounts: Resources) -> view.Cell:
    if not amounts:
        return nothing_cell()
    shown = " or ".join(f"{types[name].readable(each)} {name}" for name, each in amounts.items())
    exact = ",".join(f"{name}={types[name].print(each)}" for name, each in amounts.items())
    return view.Cell(shown, value=exact)


def _table(report: "QuotaRiskReport", types: ResourceTypes, rows_max: int | None) -> view.Table:
    fair = any(each.asked_first for each in report.workloads)
    columns = (
        view.Column("workload", priority=9),
        view.Column("quota", priority=6),
        view.Column("goes as", "right", priority=8, key="rank"),
        view.Column("priority", "right", priority=2),
        view.Column("frees", priority=4, key="counts"),
        view.Column("when more is claimed than", priority=8, key="claimed_first"),
        *([view.Column("and asked for", priority=5, key="asked_first")] if fair else []),
        view.Column("now", priority=7, key="claimable"),
        view.Column("node", wide_only=True, priority=1),
    )
    kept = report.workloads if rows_max is None else report.workloads[:rows_max]
    rows = tuple(
        (
            view.Cell(each.workload),
            view.Cell(each.quota),
            view.Cell(f"{each.rank} of {each.of}", value=str(each.rank)),
            view.Cell(str(each.priority)),
            view.Cell(
                listed(types, each.counts.without_zeros()),
                value=canonical_map(types, each.counts.without_zeros()),
            ),
            _amounts(types, each.claimed_first),
            *([_amounts(types, each.asked_first)] if fair else []),
            view.Cell("can be claimed", value="yes", tone="warn")
            if each.claimable
            else view.Cell(each.reason, value="no"),
            view.Cell(each.node),
        )
        for each in kept
    )
    caption = "claimed by owners, of one of these: what is free for claims, and what those before it free"
    if fair:
        caption += "; asked for beyond what others ask for now, until its quota is above its entitlement"
    if len(kept) < len(report.workloads):
        caption += f"; the first {len(kept)} of {len(report.workloads)}, -o wide shows all"
    return view.Table("Who goes, in order", columns, rows, caption)


def _claimants(report: "QuotaRiskReport", types: ResourceTypes) -> view.Table:
    columns = (
        view.Column("quota", priority=9),
        view.Column("free for claims", priority=6, key="free"),
        view.Column("could claim", priority=8, key="claimant"),
        view.Column("within its min", priority=7, key="within_min"),
        view.Column("at most, alone", priority=8, key="at_most"),
    )
    rows = tuple(row for each in report.quotas for row in _claimant_rows(each, types))
    caption = "nobody goes while claims find what is free; what a min does not name it does not bound"
    return view.Table("Who could claim", columns, rows, caption)


def _claimant_rows(quota: "QuotaRiskStatus", types: ResourceTypes) -> list[tuple[view.Cell, ...]]:
    def cell(amounts: Resources) -> view.Cell:
        return view.Cell(listed(types, amounts.without_zeros()), value=canonical_map(types, amounts))

    free = cell(quota.free)
    if not quota.claimants:
        return [(view.Cell(quota.quota), free, view.Cell("nobody"), nothing_cell(), nothing_cell())]
    rows: list[tuple[view.Cell, ...]] = []
    for each in quota.claimants:
        most = [listed(types, each.at_most.without_zeros())] if each.at_most.without_zeros() else []
        most += [f"any {name}" for name in quota.free if name not in each.at_most]
        rows.append(
            (
                view.Cell(quota.quota),
                free,
                view.Cell(each.quota),
                cell(each.within_min),
                view.Cell(", ".join(most), value=canonical_map(types, each.at_most)),
            )
        )
    return rows
