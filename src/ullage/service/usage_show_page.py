"""The page of `usage show`: subjects by kind, each resource with its percentiles beside request and limit."""

from fractions import Fraction
from typing import TYPE_CHECKING, Final

from ullage.model.resources import Amount, ResourceTypes
from ullage.model.usage import UsageSummary, kind_of
from ullage.render import view
from ullage.service.clock import told_time
from ullage.service.words import (
    amount_cell,
    amount_or_nothing,
    findings_block,
    nothing_cell,
    plural,
    resources_in_order,
    several,
)

if TYPE_CHECKING:
    from ullage.service.asked import Asked
    from ullage.service.usage_show import ShowQuestion, SubjectUsage, UsageReport

ROWS_SHOWN: Final = 40
ALIKE_SHOWN: Final = 3
SHOWN: Final = ("50", "95", "99")
MACHINES: Final = frozenset(("node", "group", "cluster"))
"""They are held against what they have: more runs on them than what was promised there."""
OVER: Final = frozenset(("usage-over-request", "usage-over-limit"))
_TITLES: Final = {"drives": "Drives", "cluster": "Cluster"}


def usage_show_page(
    report: "UsageReport",
    types: ResourceTypes,
    asked: "Asked",
    question: "ShowQuestion",
    *,
    shortened: bool = False,
) -> view.Page:
    """Return the page of usage; shortened, it leaves out most rows of a large cluster."""
    blocks: list[view.Block] = []
    if report.findings:
        rest = "-o wide shows all"
        blocks.append(
            findings_block(
                "What is wrong with use", report.findings, ALIKE_SHOWN if shortened else None, rest
            )
        )
    kinds = list(dict.fromkeys(kind_of(each.status.subject) for each in report.subjects))
    tables = [_table(kind, report, types, ROWS_SHOWN if shortened else None) for kind in kinds]
    return view.Page(
        title=f"Usage of {report.cluster}",
        verdict=view.Verdict(_verdict(report)),
        blocks=(*blocks, *tables),
        not_simulated=report.not_simulated,
        next_command=_following(asked, question),
        about=f"cluster {report.cluster}, revision {report.revision}, policy {report.policy}",
        main=len(blocks) if tables else None,
    )


def _following(asked: "Asked", question: "ShowQuestion") -> str:
    import shlex

    command = asked.command("advise requests")
    return f"{command} --usage {shlex.quote(question.usage)}" if question.usage else command


def _verdict(report: "UsageReport") -> str:
    if not report.subjects:
        return "nothing of what is meant was observed"
    last = max(each.last_seconds for each in report.subjects)
    if not last:
        return "nothing usable was observed: all points were dropped"
    over = list(
        dict.fromkeys(each.subject.partition("/")[2] for each in report.findings if each.code in OVER)
    )
    parts = [f"{plural(len(report.subjects), 'subject')} observed until {told_time(last)}"]
    parts.append(f"above request or limit: {several(over)}" if over else "nobody is above request or limit")
    return "; ".join(parts)


def _table(kind: str, report: "UsageReport", types: ResourceTypes, rows_max: int | None) -> view.Table:
    mine = [each for each in report.subjects if kind_of(each.status.subject) == kind]
    rows = [row for each in mine for row in _rows(each, types)]
    caption = "share: p95 of the request"
    if kind in MACHINES:
        caption = "request: what is committed, limit: allocatable; share: p95 of the limit"
    partly = [each for each in mine if each.promised.pods < each.promised.all_pods]
    if partly:
        seen, every = (sum(getattr(each.promised, name) for each in partly) for name in ("pods", "all_pods"))
        caption += (
            f"; of {plural(len(partly), kind)} {seen} of {every} pods were observed, and only they count"
        )
    if rows_max is not None and len(rows) > rows_max:
        caption += f"; the first {rows_max} of {len(rows)} rows, -o wide shows all"
        rows = rows[:rows_max]
    columns = (
        view.Column(kind, priority=9, key="subject"),
        view.Column("resource", priority=9),
        view.Column("request", "right", priority=8),
        view.Column("limit", "right", priority=6),
        view.Column("mean", "right", priority=4),
        *(view.Column(f"p{name}", "right", priority=9 if name == "95" else 3) for name in SHOWN),
        view.Column("max", "right", priority=7),
        view.Column("share", "right", priority=8),
        view.Column("confidence", "right", priority=2),
        view.Column("points", "right", wide_only=True, priority=1),
        view.Column("most used", "right", wide_only=True, priority=1),
    )
    return view.Table(_TITLES.get(kind, f"{kind.capitalize()}s"), columns, tuple(rows), caption)


def _rows(each: "SubjectUsage", types: ResourceTypes) -> list[tuple[view.Cell, ...]]:
    subject = each.status.subject
    shown = subject.partition("/")[2] or subject
    names = resources_in_order({*each.status.usage, *each.status.maxusage})
    return [(view.Cell(shown, value=subject), *_cells(each, name, types)) for name in names]


def _cells(each: "SubjectUsage", resource: str, types: ResourceTypes) -> tuple[view.Cell, ...]:
    summary = each.status.usage.get(resource, UsageSummary())
    most = each.status.maxusage.get(resource, UsageSummary()).max
    request, limit = each.promised.request, each.promised.limit
    of_machine = kind_of(each.status.subject) in MACHINES

    def cell(amount: Amount | None, *, judged: bool = False) -> view.Cell:
        if amount is None:
            return nothing_cell()
        tone: view.Tone = "plain"
        if judged and resource in limit and amount.value > limit[resource]:
            tone = "bad"
        elif judged and not of_machine and request.of(resource) and amount.value > request[resource]:
            tone = "warn"
        return amount_cell(types, resource, amount.value, tone=tone)

    return (
        view.Cell(resource),
        amount_or_nothing(types, request, resource),
        amount_or_nothing(types, limit, resource),
        cell(summary.mean),
        *(cell(summary.percentiles.get(name), judged=True) for name in SHOWN),
        cell(summary.max, judged=True),
        _share(each, resource, summary),
        nothing_cell() if summary.confidence is None else _confidence(summary.confidence),
        nothing_cell() if summary.count is None else view.Cell(str(summary.count)),
        cell(most, judged=True),
    )


def _share(each: "SubjectUsage", resource: str, summary: UsageSummary) -> view.Cell:
    """Return p95 as a share of the request; of machines, of what they have."""
    of_machine = kind_of(each.status.subject) in MACHINES
    whole = (each.promised.limit if of_machine else each.promised.request).of(resource)
    part = summary.percentiles.get("95")
    if part is None or not whole:
        return nothing_cell()
    share = view.Share(part.value, whole)
    tone: view.Tone = "warn" if part.value > whole else "plain"
    return view.Cell(share.percent, tone=tone, value=f"{part.value / whole:.4f}")


def _confidence(share: Fraction) -> view.Cell:
    return view.Cell(view.Share(share.numerator, share.denominator).percent, value=f"{float(share):.6f}")
