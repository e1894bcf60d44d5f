"""The page of `quota risk`: who goes in which order, after how much, and who could claim it."""

from typing import TYPE_CHECKING, Final

from ullage.model.resources import Resources, ResourceTypes
from ullage.render import view
from ullage.service.words import canonical_map, listed, nothing_cell, plural, several

if TYPE_CHECKING:
    from ullage.service.asked import Asked
    from ullage.service.quota_risk import ClaimantStatus, QuotaRiskReport, WorkloadRisk

ROWS_SHOWN: Final = 40
OVER: Final = "over-quota"
CLAIMANTS_SHOWN: Final = 3


def quota_risk_page(
    report: "QuotaRiskReport", types: ResourceTypes, asked: "Asked", *, shortened: bool = False
) -> view.Page:
    """Return the page of risks; shortened, the first of many."""
    blocks: list[view.Block] = []
    if report.workloads:
        blocks.append(_table(report, types, ROWS_SHOWN if shortened else None))
    if report.claimants:
        blocks.append(_claimants_table(report, types))
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
        only = report.workloads[0]
        ranked = (
            f"is number {only.rank} of {only.of} to go"
            if only.rank and not only.spared_seconds
            else f"is {'above' if only.label == OVER else 'within'} the min of {only.quota}"
        )
        return f"{only.workload} {ranked}: {_when(only, types)}"
    if not report.workloads:
        who = f"nobody in namespace {namespace}" if namespace else "nobody"
        return f"{who} runs above the min of a quota: nothing can be claimed back"
    over = {each.workload for each in report.workloads if each.label == OVER}
    quotas = {each.quota for each in report.workloads if each.label == OVER}
    claimable = {each.workload for each in report.workloads if each.claimable}
    inside = len(claimable - over)
    if not over:
        told = plural(inside, "workload") if inside else "nobody"
        return f"nobody runs above the min of a quota, but {told} can be claimed back now"
    found = f"{plural(len(over), 'workload')} above the min of {plural(len(quotas), 'quota')}; "
    found += f"{len(claimable)} can be claimed back now"
    if inside:
        found += f", {inside} of them within the min of {'its' if inside == 1 else 'their'} quota"
    return found


def _when(risk: "WorkloadRisk", types: ResourceTypes) -> str:
    if not risk.claimable:
        return risk.reason
    who = several(risk.claimants)
    amounts = _either(risk.claimed_first, types)
    if risk.way == "one-claim":
        return f"it goes for one claim of {amounts} by {who}"
    if risk.way == "together":
        if len(risk.claimants) == 1:
            return f"it goes when {who} asks for all it may, and claims more than {amounts}"
        return f"it goes when {who} together claim more than {amounts}"
    if any(not amount for amount in risk.claimed_first.values()):
        return f"it goes with the first claim of {who}"
    return f"it goes when {who} {'claims' if len(risk.claimants) == 1 else 'claim'} more than {amounts}"


def _either(amounts: Resources, types: ResourceTypes) -> str:
    return " or ".join(listed(types, Resources({name: amount})) for name, amount in amounts.items())


def _amounts(types: ResourceTypes, risk: "WorkloadRisk") -> view.Cell:
    amounts = risk.claimed_first
    if not amounts:
        return nothing_cell()
    shown = " or ".join(f"{types[name].readable(each)} {name}" for name, each in amounts.items())
    exact = ",".join(f"{name}={types[name].print(each)}" for name, each in amounts.items())
    return view.Cell(f"one claim of {shown}" if risk.way == "one-claim" else shown, value=exact)


def _table(report: "QuotaRiskReport", types: ResourceTypes, rows_max: int | None) -> view.Table:
    columns = (
        view.Column("workload", priority=9),
        view.Column("quota", priority=6),
        view.Column("label", wide_only=all(each.label == OVER for each in report.workloads), priority=5),
        view.Column("goes as", "right", priority=8, key="rank"),
        view.Column("claimed by", priority=7, key="claimants"),
        view.Column("when more is claimed than", priority=8, key="claimed_first"),
        view.Column("now", priority=7, key="claimable"),
        view.Column("frees", priority=4, key="counts"),
        view.Column("priority", "right", priority=2),
        view.Column("node", wide_only=True, priority=1),
    )
    kept = report.workloads if rows_max is None else report.workloads[:rows_max]
    rows = tuple(
        (
            view.Cell(each.workload),
            view.Cell(each.quota),
            view.Cell(each.label),
            view.Cell(f"{each.rank} of {each.of}", value=str(each.rank)) if each.rank else nothing_cell(),
            _claimants(each),
            _amounts(types, each),
            view.Cell("can be claimed", value="yes", tone="warn")
            if each.claimable
            else view.Cell(each.reason, value="no"),
            view.Cell(
                listed(types, each.counts.without_zeros()),
                value=canonical_map(types, each.counts.without_zeros()),
            ),
            view.Cell(str(each.priority)),
            view.Cell(each.node),
        )
        for each in kept
    )
    caption = "claimed in small steps, of one of these: what is free, and what those before it free"
    ranks = [each.rank for each in report.workloads if each.way == "in-order"]
    if len(set(ranks)) < len(ranks):
        caption += "; where orders differ, each who claims has its own"
    ways = {each.way for each in report.workloads}
    if "together" in ways:
        caption += "; together, or for all at once: when they ask for all they may, one claim after the other"
    if any(each.spared_seconds and each.rank for each in report.workloads):
        caption += "; who is spared goes as is said once all have run for the minimum"
    if "one-claim" in ways:
        caption += "; one claim: it takes whom several small ones would not"
    if len(kept) < len(report.workloads):
        caption += f"; the first {len(kept)} of {len(report.workloads)}, -o wide shows all"
    return view.Table("Who goes, in order", columns, rows, caption)


def _claimants(risk: "WorkloadRisk") -> view.Cell:
    if not risk.claimants:
        return nothing_cell()
    told = "" if risk.way != "together" else " together" if len(risk.claimants) > 1 else ", for all at once"
    return view.Cell(f"{several(risk.claimants, CLAIMANTS_SHOWN)}{told}", value=" ".join(risk.claimants))


def _claimants_table(report: "QuotaRiskReport", types: ResourceTypes) -> view.Table:
    columns = (
        view.Column("could claim", priority=9, key="quota"),
        view.Column("mode", priority=3),
        view.Column("free for it", priority=6, key="free"),
        view.Column("within its min", priority=7, key="within_min"),
        view.Column("at most, alone", priority=8, key="at_most"),
    )
    rows = tuple(_claimant_row(each, types) for each in report.claimants)
    caption = "nobody goes while claims find what is free; what a min does not name it does not bound"
    return view.Table("Who could claim", columns, rows, caption)


def _claimant_row(claimant: "ClaimantStatus", types: ResourceTypes) -> tuple[view.Cell, ...]:
    def cell(amounts: Resources) -> view.Cell:
        return view.Cell(listed(types, amounts.without_zeros()), value=canonical_map(types, amounts))

    most = [listed(types, claimant.at_most.without_zeros())] if claimant.at_most.without_zeros() else []
    most += [f"any {name}" for name in claimant.free if name not in claimant.at_most]
    return (
        view.Cell(claimant.quota),
        view.Cell(claimant.mode),
        cell(claimant.free),
        cell(claimant.within_min),
        view.Cell(", ".join(most), value=canonical_map(types, claimant.at_most)),
    )
