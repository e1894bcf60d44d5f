"""The page of `explain pod/P`: what keeps it waiting, node by node, which rules bind, and what would help."""

from collections import Counter
from collections.abc import Collection
from typing import TYPE_CHECKING, Final

from ullage.engine.placement.binding_rules import BindingRule
from ullage.model.cluster import FORTHCOMING, TOLD_HOLDING
from ullage.model.resources import Resources, ResourceTypes
from ullage.model.verdict import Severity, Terms
from ullage.render import view
from ullage.service.explain_pod import FINAL_STATES, NodeJudged, PodExplanation
from ullage.service.fit_quotas import against
from ullage.service.used_page import pod_use_blocks
from ullage.service.wanted import PODS
from ullage.service.words import amount_cell, canonical_map, listed, nothing_cell, plural, several

if TYPE_CHECKING:
    from ullage.service.asked import Asked

NODES_SHOWN: Final = 20
REASONS_TOLD: Final = 5
FREE: Final = 5
"""Where `free` stands among the cells of a sum."""


def pod_page(
    report: PodExplanation, types: ResourceTypes, asked: "Asked", *, shortened: bool = False
) -> view.Page:
    """Return the page of a workload; shortened, only the nodes that come nearest."""
    rows_max = NODES_SHOWN if shortened else len(report.nodes)
    blocks: list[view.Block] = [_node_table(report, types, rows_max)]
    blocks += pod_use_blocks(report.used, types)
    rules = [each for each in report.rules if each.nodes or _runs(report)]
    if rules:
        blocks.append(view.Findings("Rules that bind it", tuple(_rule(each, report) for each in rules)))
    if report.verdict is not None:
        blocks.append(_sum_table(report, types))
    helps = [*([report.remedy] if report.remedy else []), *(each.text for each in report.remedies)]
    if helps:
        title = "What would help"
        blocks.append(view.Findings(title, tuple(view.Finding("info", "", text) for text in helps)))
    return view.Page(
        title=f"{report.workload_kind} {report.workload}",
        verdict=_verdict(report),
        blocks=tuple(blocks),
        not_simulated=report.not_simulated,
        next_command=asked.command(_next_words(report)),
        about=f"cluster {report.cluster}, revision {report.revision}, policy {report.policy}",
        main=0,
    )


def _runs(report: PodExplanation) -> bool:
    """Whether it holds a node; one that waits may name a node too."""
    return report.state in TOLD_HOLDING and bool(report.node)


def _held_there(report: PodExplanation) -> str:
    """Say that it runs on its node, or that its place there is promised to it."""
    if report.state != FORTHCOMING:
        return f"runs on node {report.node}"
    standby = f", its standby on {report.standby}" if report.standby else ""
    return f"is forthcoming: reserved on node {report.node}{standby}, not created yet"


def _verdict(report: PodExplanation) -> view.Verdict:
    every = len(report.nodes)
    if report.state in FINAL_STATES:
        return view.Verdict(f"{report.workload} is over, in state {report.state}: it will not be placed")
    if _runs(report):
        others = [each for each in report.nodes if each.node != report.node]
        taking = sum(each.takes for each in others)
        where = f"{report.workload} {_held_there(report)}"
        refused = _tally(others)
        return view.Verdict(f"{where}; {taking}/{len(others)} other nodes would take it{refused}")
    taken = f"{report.taking}/{every} nodes take it"
    if report.held_back:
        return view.Verdict(f"{report.workload} waits: {report.held_back}; without that {taken}", "no")
    ways = _ways(report)
    if ways:
        return view.Verdict(f"{report.workload} waits: {taken} as they are; {'; '.join(ways)}", "yes")
    if report.taking:
        who = report.scheduler or "the scheduler"
        chosen = f"{taken}, {report.first_choice} first; {who} should place it soon"
        return view.Verdict(f"{report.workload} waits: {chosen}", "yes")
    return view.Verdict(f"{report.workload} waits: {taken}{_tally(report.nodes)}", "no")


def _ways(report: PodExplanation) -> list[str]:
    """Return how its quota lets it run where there is no room, or no share, as things stand."""
    ways = []
    if report.waits_for:
        be = "is" if len(report.waits_for) == 1 else "are"
        ways.append(f"it runs once {several(report.waits_for)} {be} gone")
    if report.evicts:
        ways.append(f"its quota lets it take the place of {several(report.evicts)}{against(report.breaks)}")
    return ways


def _tally(nodes: Collection[NodeJudged]) -> str:
    """Return what keeps it off how many of these nodes, most first."""
    counts = Counter(each.reason for each in nodes if each.reason)
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    told = several([f"{count} {reason}" for reason, count in ordered], REASONS_TOLD)
    return f": {told}" if told else ""


def _rule(rule: BindingRule, report: PodExplanation) -> view.Finding:
    closes = f" (keeps it off {plural(rule.nodes, 'node')})" if rule.nodes else ""
    severity: Severity = "warning" if rule.nodes and not _runs(report) else "info"
    return view.Finding(severity, rule.reason, f"{rule.text}{closes}")


def _node_table(report: PodExplanation, types: ResourceTypes, rows_max: int) -> view.Table:
    columns = (
        view.Column("node", priority=9),
        view.Column("takes it", priority=8, key="takes"),
        view.Column("why not", priority=7, key="reason"),
        view.Column("missing", priority=6),
    )
    rows = tuple(_node_row(each, report, types) for each in report.nodes[:rows_max])
    asks = {
        name: amount for name, amount in report.requests.items() if amount and (name, amount) != (PODS, 1)
    }
    facts = [f"asks for {listed(types, Resources(asks))}", f"priority {report.priority}"]
    if report.owner:
        facts.append(f"made by {report.owner}")
    if _runs(report):
        facts.append("judged as if it had left its node")
    hidden = len(report.nodes) - len(rows)
    if hidden > 0:
        near = "first" if report.taking else "nearest"
        facts.append(f"the {len(rows)} {near} of {len(report.nodes)} nodes, -o wide shows all")
    return view.Table("Nodes", columns, rows, "; ".join(facts))


def _node_row(judged: NodeJudged, report: PodExplanation, types: ResourceTypes) -> tuple[view.Cell, ...]:
    word = "yes" if judged.takes else "no"
    here = judged.node == report.node and _runs(report)
    if here:
        word = "reserved there" if report.state == FORTHCOMING else "it is there"
    elif judged.node == report.first_choice:
        word = "yes, first"
    missing = nothing_cell()
    if judged.missing:
        missing = view.Cell(listed(types, judged.missing), value=canonical_map(types, judged.missing))
    return (
        view.Cell(judged.node),
        view.Cell(word, tone="ok" if judged.takes else "plain", value="yes" if judged.takes else "no"),
        view.Cell(judged.reason) if judged.reason else nothing_cell(),
        missing,
    )


def _sum_table(report: PodExplanation, types: ResourceTypes) -> view.Table:
    """Return the sums of the node that would be chosen, or that comes nearest."""
    verdict = report.verdict
    assert verdict is not None  # noqa: S101 - the caller has looked
    short = {each.resource: -each.missing.value for each in verdict.shortfalls}
    held = any(each.standby is not None for each in verdict.terms)
    titles = [*("resource", "capacity", "reserve", "limit", "committed", "free", "asked", "left")]
    if held:
        titles.insert(titles.index("free"), "standby")
    columns = [
        view.Column(title, "right" if place else "left", priority=9 - place // 4)
        for place, title in enumerate(titles)
    ]
    rows = []
    for each in verdict.terms:
        cells = _sum_row(each, report, types, short.get(each.resource))
        standby = 0 if each.standby is None else each.standby.value
        more = (amount_cell(types, each.resource, standby),) if held else ()
        rows.append((*cells[:FREE], *more, *cells[FREE:]))
    word = "the first choice" if verdict.admitted and report.taking else "the nearest"
    taken = "committed - standby; standby is held for failover" if held else "committed"
    caption = f"free = limit - {taken}; left = free - asked"
    return view.Table(f"On node {verdict.node}, {word}", tuple(columns), tuple(rows), caption)


def _sum_row(
    terms: Terms, report: PodExplanation, types: ResourceTypes, short: int | None
) -> tuple[view.Cell, ...]:
    name = terms.resource
    asked = report.requests.of(name)
    cells = [view.Cell(name), amount_cell(types, name, terms.capacity.value)]
    cells.append(amount_cell(types, name, terms.reserve.value))
    if terms.limit is None or terms.free is None:
        unbound = view.Cell("no bound", tone="muted")
        left = unbound if short is None else amount_cell(types, name, short, tone="bad")
        committed = amount_cell(types, name, terms.committed.value)
        return (*cells, unbound, committed, unbound, amount_cell(types, name, asked), left)
    rest = terms.free.value - asked if short is None else short
    return (
        *cells,
        amount_cell(types, name, terms.limit.value),
        amount_cell(types, name, terms.committed.value),
        amount_cell(types, name, terms.free.value),
        amount_cell(types, name, asked),
        amount_cell(types, name, rest, tone="bad" if rest < 0 else "plain"),
    )


def _next_words(report: PodExplanation) -> str:
    if _runs(report):
        return f"explain node/{report.node}"
    return f"explain node/{report.nodes[0].node}" if report.nodes else "status"
