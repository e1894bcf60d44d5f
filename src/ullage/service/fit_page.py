"""The page of `fit`: yes or no, who goes where, why others do not, and the arithmetic behind it."""

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Final, NamedTuple

from ullage.engine.capacity.admission import ABSENT
from ullage.engine.columns import Columns
from ullage.engine.placement.fit import BESIDE_OTHERS
from ullage.model.resources import ResourceTypes
from ullage.model.settings import UNLIMITED, print_fraction
from ullage.model.verdict import Terms
from ullage.render import view
from ullage.service.fit_disks import disk_blocks
from ullage.service.fit_quotas import evicting, quota_blocks
from ullage.service.words import (
    amount_cell,
    canonical_map,
    listed,
    nothing_cell,
    plural,
    several,
    worth_naming,
)

if TYPE_CHECKING:
    from ullage.service.asked import Asked
    from ullage.service.fit import FitReport, NodeCount, OutcomeReport

SUMS_MAX: Final = 4
ROWS_SHOWN: Final = 40
REFUSALS_SHOWN: Final = 10


class _Row(NamedTuple):
    """One resource of one node beside what was asked of it; a limit or free of None has no bound."""

    resource: str
    capacity: int
    reserve: int
    ratio: str
    limit: int | None
    promised: int
    actual: int | None
    committed: int
    standby: int
    free: int | None
    held: int
    asked: int
    left: int | None


def fit_page(report: "FitReport", columns: Columns, asked: "Asked", *, shortened: bool = False) -> view.Page:
    """Return the page of a fit report; shortened, many workloads fit a few screens."""
    types = columns.snapshot.resource_types
    refused = [each for each in report.outcomes if each.refusal is not None]
    blocks: list[view.Block] = []
    if refused:
        told = refused[:REFUSALS_SHOWN] if shortened else refused
        rows = [_finding(each) for each in told]
        if len(told) < len(refused):
            more = f"{len(refused) - len(told)} more do not fit"
            rows.append(view.Finding("error", "", more, "-o wide shows all"))
        blocks.append(view.Findings("Why not", tuple(rows)))
    blocks.append(_outcome_table(report.outcomes, types, ROWS_SHOWN if shortened else len(report.outcomes)))
    main = len(blocks) - 1
    blocks += disk_blocks(report.outcomes, columns, ROWS_SHOWN if shortened else None)
    blocks += quota_blocks(report.outcomes, report.payers, types, ROWS_SHOWN if shortened else None)
    placed = [each for each in report.outcomes if each.refusal is None and each.action != "keep"]
    for each in [*refused, *placed][:SUMS_MAX]:
        blocks += _sums(each, columns)
    return view.Page(
        title=f"Fit into {report.cluster}",
        verdict=view.Verdict(_verdict(report), "yes" if report.fits else "no"),
        blocks=tuple(blocks),
        not_simulated=report.not_simulated,
        next_command=asked.command(_next_words(report)),
        about=f"cluster {report.cluster}, revision {report.revision}, policy {report.policy}",
        main=main,
    )


def empty_page(report: "FitReport", types: ResourceTypes, asked: "Asked") -> view.Page:
    """Return the page of a cluster in which nothing waits; its table has a head alone."""
    where = f"namespace {asked.namespace} of {report.cluster}" if asked.namespace else report.cluster
    how = "ask about workloads with -f FILE or --shape cpu=4,memory=8Gi"
    return view.Page(
        title=f"Fit into {report.cluster}",
        verdict=view.Verdict(f"nothing waits in {where}; {how}", "yes"),
        blocks=(_outcome_table((), types, 0),),
        next_command=asked.command("fit --shape cpu=4,memory=8Gi"),
        about=f"cluster {report.cluster}, revision {report.revision}, policy {report.policy}",
    )


def _verdict(report: "FitReport") -> str:
    replicas = sum(each.replicas for each in report.outcomes)
    placed = sum(each.placed for each in report.outcomes)
    nodes = plural(len({each.node for outcome in report.outcomes for each in outcome.nodes}), "node")
    first = report.outcomes[0].workload
    count = len(report.outcomes)
    queues = report.queues_missing or report.queues_unseen
    if report.fits:
        who = f"{first} fits" if count == 1 else f"all {count} workloads fit"
        told = f"queue {queues[0]} exists" if len(queues) == 1 else f"queues {several(queues)} exist"
        where = f"{plural(replicas, 'replica')} on {nodes}{evicting(report.outcomes)}"
        return f"{who}: {where}{f', if {told}' if queues else ''}"
    short = sum(each.refusal is not None for each in report.outcomes)
    who = f"{first} does not fit" if count == 1 else f"{short} of {count} workloads do not fit"
    undone = ", because all or none was asked for" if report.atomic else ""
    if report.queues_missing:
        names = f"queue {queues[0]} does" if len(queues) == 1 else f"queues {several(queues)} do"
        undone = f", because {names} not exist{' and all or none was asked for' if report.atomic else ''}"
    return f"{who}: {placed} of {replicas} placed{undone}{evicting(report.outcomes)}"


def _next_words(report: "FitReport") -> str:
    for outcome in report.outcomes:
        if outcome.refusal is not None and outcome.refusal.shortfalls:
            return f"explain node/{outcome.refusal.shortfalls[0].node}"
    nodes = [each.node for outcome in report.outcomes for each in outcome.nodes]
    return f"explain node/{nodes[0]}" if nodes else "status"


def _finding(outcome: "OutcomeReport") -> view.Finding:
    refusal = outcome.refusal
    assert refusal is not None  # noqa: S101 - only refused outcomes are shown here
    missing = f"{refusal.count} of {outcome.replicas} without a place: " if outcome.replicas > 1 else ""
    message = f"{missing}{refusal.reason}{_proof(outcome)}"
    return view.Finding("error", outcome.workload, message, refusal.remedy)


def _proof(outcome: "OutcomeReport") -> str:
    """Return how sure a refusal is; nothing where no search was asked for, or none is needed."""
    if not outcome.certificate_note:
        return ""
    if outcome.certificate != "impossible":
        return f"; not proven: {outcome.certificate_note}"
    kinds = {each.kind for each in outcome.refusal.remedies} if outcome.refusal is not None else set()
    beside = f" {BESIDE_OTHERS}" if outcome.certificate_note == BESIDE_OTHERS else ""
    evicting = " without evicting anyone" if "evict" in kinds else ""
    waiting = " before anyone is gone" if "wait" in kinds else ""
    return f"; impossible{beside}{evicting}{waiting}, proven"


def _outcome_table(outcomes: "Sequence[OutcomeReport]", types: ResourceTypes, rows_max: int) -> view.Table:
    columns = (
        view.Column("workload", priority=9),
        view.Column("kind", priority=1),
        view.Column("action", priority=2),
        view.Column("state", priority=7),
        view.Column("placed", "right", priority=8),
        view.Column("each asks for", priority=5, key="requests"),
        view.Column("nodes", priority=6),
    )
    rows = tuple(
        (
            view.Cell(each.workload),
            view.Cell(each.kind),
            view.Cell(each.action),
            view.Cell(each.state, tone="bad" if each.state == "error" else "plain"),
            view.Cell(f"{each.placed}/{each.replicas}"),
            view.Cell(listed(types, worth_naming(each.requests)), value=canonical_map(types, each.requests)),
            view.Cell(_nodes(each.nodes), value=_every_node(each.nodes)) if each.nodes else nothing_cell(),
        )
        for each in outcomes[:rows_max]
    )
    hidden = len(outcomes) > rows_max
    caption = f"the first {rows_max} of {len(outcomes)}, -o wide shows all" if hidden else ""
    searched = [each.workload for each in outcomes if each.certificate == "exact"]
    if searched:
        caption = "; ".join(filter(None, (caption, f"placed by exact search: {several(searched)}")))
    return view.Table("Workloads", columns, rows, caption)


def _nodes(nodes: "Sequence[NodeCount]") -> str:
    return several([f"{each.node} x{each.replicas}" if each.replicas > 1 else each.node for each in nodes])


def _every_node(nodes: "Sequence[NodeCount]") -> str:
    return ", ".join(f"{each.node} x{each.replicas}" for each in nodes)


def _sums(outcome: "OutcomeReport", columns: Columns) -> list[view.Block]:
    """Return the sums of the node that is nearest, or that was chosen first."""
    refusal, verdict = outcome.refusal, outcome.verdict
    if verdict is not None and verdict.admitted == (refusal is None):
        node = verdict.node
        short = {each.resource: -each.missing.value for each in verdict.shortfalls}
        rows = [_row(terms, outcome, short.get(terms.resource)) for terms in verdict.terms]
        told = {terms.resource for terms in verdict.terms}
        rows += [row for row in _rows_of_refusal(outcome, columns) if row.resource not in told]
    elif refusal is not None and refusal.shortfalls:
        node = refusal.shortfalls[0].node
        rows = _rows_of_refusal(outcome, columns)
    else:
        return []
    word = "the first choice" if refusal is None else "the nearest"
    title = f"{outcome.workload} on node {node}, {word}"
    return [_sum_table(title, rows, columns.snapshot.resource_types)] if rows else []


def _row(terms: Terms, outcome: "OutcomeReport", short: int | None) -> _Row:
    """Return the terms of one resource beside what is asked; `short` is what is left where that is short."""
    held, asked = outcome.held.of(terms.resource), outcome.requests.of(terms.resource)
    free = None if terms.free is None else terms.free.value
    left = None if free is None else free + held - asked
    return _Row(
        terms.resource,
        terms.capacity.value,
        terms.reserve.value,
        terms.ratio,
        None if terms.limit is None else terms.limit.value,
        terms.promised.value,
        None if terms.actual is None else terms.actual.value,
        terms.committed.value,
        0 if terms.standby is None else terms.standby.value,
        free,
        held,
        asked,
        left if short is None else short,
    )


def _rows_of_refusal(outcome: "OutcomeReport", columns: Columns) -> list[_Row]:
    """Return what is short on the nearest node; without its verdict, promises are not told apart."""
    rows = []
    for short in outcome.refusal.shortfalls if outcome.refusal else ():
        figures = columns.figures(columns.node_index[short.node])
        bounds = figures.get(short.resource, ABSENT).bounds
        ratio = bounds.ratio if bounds.capacity else Fraction(1)
        rows.append(
            _Row(
                short.resource,
                bounds.capacity,
                bounds.reserve,
                UNLIMITED if ratio is None else print_fraction(ratio),
                bounds.limit,
                short.committed.value,
                None,
                short.committed.value,
                0 if short.standby is None else short.standby.value,
                short.free.value,
                outcome.held.of(short.resource),
                short.requested.value,
                -short.missing.value,
            )
        )
    return rows


def _sum_table(title: str, rows: Sequence[_Row], types: ResourceTypes) -> view.Table:
    with_ratio = any(row.ratio != "1" for row in rows)
    with_held = any(row.held for row in rows)
    with_actual = any(row.committed != row.promised for row in rows)
    with_standby = any(row.standby for row in rows)
    columns = [
        view.Column("resource", priority=9),
        view.Column("capacity", "right", priority=5),
        view.Column("reserve", "right", priority=5),
        *([view.Column("ratio", "right", priority=4)] if with_ratio else []),
        view.Column("limit", "right", priority=6),
        *(view.Column(word, "right", priority=4) for word in ("promised", "actual") if with_actual),
        view.Column("committed", "right", priority=7),
        *([view.Column("standby", "right", priority=7)] if with_standby else []),
        view.Column("free", "right", priority=8),
        *([view.Column("held", "right", priority=8)] if with_held else []),
        view.Column("asked", "right", priority=8),
        view.Column("left", "right", priority=8),
    ]
    cells = []
    for row in rows:
        bounded = [_bounded(types, row.resource, value) for value in (row.limit, row.free)]
        left = _bounded(types, row.resource, row.left)
        if row.left is not None and row.left < 0:
            left = amount_cell(types, row.resource, row.left, tone="bad")
        cells.append(
            (
                view.Cell(row.resource),
                amount_cell(types, row.resource, row.capacity),
                amount_cell(types, row.resource, row.reserve),
                *([view.Cell(row.ratio)] if with_ratio else []),
                bounded[0],
                *(_use_cells(types, row) if with_actual else ()),
                amount_cell(types, row.resource, row.committed),
                *([amount_cell(types, row.resource, row.standby)] if with_standby else []),
                bounded[1],
                *([amount_cell(types, row.resource, row.held)] if with_held else []),
                amount_cell(types, row.resource, row.asked),
                left,
            )
        )
    limit = "ratio x (capacity - reserve)" if with_ratio else "capacity - reserve"
    rest = "free + held - asked" if with_held else "free - asked"
    use = "committed = promised, or actual - reserve where that is more; " if with_actual else ""
    held = "standby is held for failover; " if with_standby else ""
    taken = "committed - standby" if with_standby else "committed"
    caption = f"limit = {limit}; {use}{held}free = limit - {taken}; left = {rest}"
    return view.Table(title, tuple(columns), tuple(cells), caption)


def _use_cells(types: ResourceTypes, row: _Row) -> tuple[view.Cell, view.Cell]:
    """Return what is promised and what is really in use."""
    actual = nothing_cell() if row.actual is None else amount_cell(types, row.resource, row.actual)
    return amount_cell(types, row.resource, row.promised), actual


def _bounded(types: ResourceTypes, resource: str, value: int | None) -> view.Cell:
    return view.Cell("no bound", tone="muted") if value is None else amount_cell(types, resource, value)
