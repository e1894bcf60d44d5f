"""The first page: what needs attention, how full every resource is, and where room is left."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from ullage.render import view
from ullage.render.view import BarRow, Share
from ullage.service.bars import resource_bars
from ullage.service.words import NEARLY_FULL_PERCENT, findings_block, plural, resources_in_order
from ullage.web.pages.answers import in_words
from ullage.web.pages.kept import kept_status
from ullage.web.pages.links import Links
from ullage.web.pages.shell import draw, shell_of, terminal

if TYPE_CHECKING:
    from ullage.engine.capacity.summary import Summary
    from ullage.model.resources import ResourceTypes
    from ullage.service.asked import Asked
    from ullage.service.status import NodeStatus, StatusReport

ROWS_SHOWN: Final = 12
NODES_SHOWN: Final = 8
FINDINGS_ALIKE: Final = 3
MEASURED_MAX: Final = 3
"""Resources that the tables compare; others are in the bars."""
PLENTIFUL: Final = ("pods", "ephemeral-storage")
_ALL: Final = "all"


class Figure(NamedTuple):
    """One resource in large letters: what can still be promised, and how much is promised."""

    name: str
    amount: str
    share: Share | None
    tone: str
    note: str
    address: str


class Measure(NamedTuple):
    """A resource of a set of nodes, or of one: its bar, the part that is promised, and what is left."""

    bar: BarRow
    percent: str
    left: str
    tone: str
    address: str


class Row(NamedTuple):
    """A line of a table of measures."""

    name: str
    address: str
    ready: int
    nodes: int
    measures: tuple[Measure | None, ...]


def page(asked: "Asked", parameters: Mapping[str, str], body: bytes) -> bytes:  # noqa: ARG001 - as all pages
    """Return the overview of a cluster."""
    shell = shell_of(parameters)
    snapshot, report = kept_status(asked)
    types = snapshot.resource_types
    links = Links(shell, snapshot)
    names = resources_in_order({name for name, amount in report.total.capacity.items() if amount})
    measured = measured_resources(report.total, names)
    every = parameters.get("domains") == _ALL
    alike = None if parameters.get("findings") == _ALL else FINDINGS_ALIKE
    domains = _rows(report.domains, measured, types, links, "domain")
    shown = domains if every else domains[:ROWS_SHOWN]
    bars = resource_bars("How full", report.total, names, types)
    return draw(
        "overview",
        shell,
        links=links,
        report=report,
        verdict=verdict_of(report),
        figures=tuple(_figures(report, measured, types, links)),
        findings=in_words(findings_block("", report.findings, alike, rest="")),
        findings_cut=alike is not None and _is_cut(report),
        bars=bars,
        measured=measured,
        groups=_rows(report.groups, measured, types, links, "group") if len(report.groups) > 1 else (),
        domains=shown,
        domains_more=len(domains) - len(shown),
        has_spare=any(report.total.spare.values()),
        nodes=fullest_nodes(report.nodes, measured)[:NODES_SHOWN],
        share=node_share,
        types=types,
        command=terminal(shell, "status"),
    )


def verdict_of(report: "StatusReport") -> view.Verdict:
    """Return in one line whether something needs attention."""
    counts = {
        word: sum(each.severity == word for each in report.findings) for word in ("error", "warning", "info")
    }
    words = [plural(counts["error"], "error")] if counts["error"] else []
    words += [plural(counts["warning"], "warning")] if counts["warning"] else []
    words += [plural(counts["info"], "note")] if counts["info"] else []
    return view.Verdict(", ".join(words) or "nothing needs attention", "no" if counts["error"] else "yes")


def measured_resources(whole: "Summary", names: Sequence[str]) -> tuple[str, ...]:
    """Return the resources that are worth a column each: the first that are bounded and not plentiful."""
    found = [name for name in names if whole.limit.of(name) and name not in PLENTIFUL]
    return tuple(found[:MEASURED_MAX])


def fullness_tone(part: int, whole: int) -> view.Tone:
    """Return how full sounds: over its bound, nearly there, or neither."""
    if part > whole:
        return "bad"
    return "warn" if whole and part * 100 >= whole * NEARLY_FULL_PERCENT else "plain"


def fullest_nodes(nodes: "Sequence[NodeStatus]", names: Sequence[str]) -> "list[NodeStatus]":
    """Return nodes, the fullest of any of these resources first."""
    return sorted(
        nodes, key=lambda node: (-max((node_fraction(node, name) for name in names), default=0.0), node.name)
    )


def node_share(node: "NodeStatus", name: str) -> Share | None:
    """Return what part of a node's limit is committed; None where it has no bound or nothing of it."""
    limit = node.limit.get(name)
    return Share(node.committed.of(name), limit) if limit else None


def node_fraction(node: "NodeStatus", name: str) -> float:
    """Return the same for comparing: 0 where there is nothing to fill."""
    limit = node.limit.get(name)
    return node.committed.of(name) / limit if limit else 0.0


def _figures(
    report: "StatusReport", names: Sequence[str], types: "ResourceTypes", links: Links
) -> Iterator[Figure]:
    whole = report.total
    for name in names:
        limit, committed = whole.limit.of(name), whole.committed.of(name)
        left = types[name].readable(max(0, whole.ullage.of(name)))
        share = Share(committed, limit)
        note = f"{share.percent} of {types[name].readable(limit)} promised"
        yield Figure(name, left, share, fullness_tone(committed, limit), note, links.resource(name))


def _rows(
    summaries: "Sequence[Summary]", names: Sequence[str], types: "ResourceTypes", links: Links, kind: str
) -> list[Row]:
    """Return a line for each set of nodes, the fullest first."""
    ordered = sorted(summaries, key=lambda each: (-_fraction(each, names), each.name))
    return [
        Row(
            each.name,
            links.named(kind, each.name),
            each.ready,
            each.nodes,
            tuple(_measures(each, names, types, links.named(kind, each.name))),
        )
        for each in ordered
    ]


def _fraction(summary: "Summary", names: Sequence[str]) -> float:
    parts = (summary.committed.of(name) / summary.limit.of(name) for name in names if summary.limit.of(name))
    return max(parts, default=0.0)


def _measures(
    summary: "Summary", names: Sequence[str], types: "ResourceTypes", address: str
) -> Iterator[Measure | None]:
    bars = {row.label: row for row in resource_bars("", summary, names, types).rows}
    for name in names:
        limit, committed = summary.limit.of(name), summary.committed.of(name)
        if not limit:
            yield None
            continue
        left = types[name].readable(max(0, summary.ullage.of(name)))
        tone = fullness_tone(committed, limit)
        separator = "&" if "?" in address else "?"
        where = f"{address}{separator}resource={name}" if address else ""
        yield Measure(bars[name], Share(committed, limit).percent, left, tone, where)


def _is_cut(report: "StatusReport") -> bool:
    codes = [each.code for each in report.findings]
    return any(codes.count(code) > FINDINGS_ALIKE for code in set(codes))
