"""One node: the arithmetic of each resource term by term, its disks, and what runs on it."""

import shlex
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from ullage.render.view import BarRow, Bars, Page, Segment, Terms, Tone
from ullage.service.asked import read_cluster
from ullage.service.explain import explain_node
from ullage.service.used import usage_of
from ullage.service.words import findings_block
from ullage.web.pages.kept import kept_status
from ullage.web.pages.links import Links
from ullage.web.pages.observed import UseMarks, marks_of, of_node
from ullage.web.pages.shell import draw, shell_of, terminal

if TYPE_CHECKING:
    from ullage.engine.usage.book import Book
    from ullage.model.resources import ResourceTypes
    from ullage.service.asked import Asked
    from ullage.service.status import NodeStatus


DISKS: Final = "Disks"


def page(asked: "Asked", parameters: Mapping[str, str], body: bytes) -> bytes:  # noqa: ARG001 - as all pages
    """Return everything about a node."""
    shell = shell_of(parameters)
    name = parameters.get("node", "")
    snapshot = read_cluster(asked)
    book = of_node(asked, snapshot, name)
    found = explain_node(snapshot, name, asked, book=book).page()
    _, report = kept_status(asked)
    status = next(each for each in report.nodes if each.name == name)
    bars = {row.label: row for row in node_bars(status, snapshot.resource_types).rows}
    mine = [each for each in report.findings if each.subject == f"node/{name}"]
    sums = [block for block in found.blocks if isinstance(block, Terms)]
    return draw(
        "node",
        shell,
        links=Links(shell, snapshot, facts_of(found)),
        page=found,
        node=status,
        findings=findings_block("", mine),
        use=[] if book is None else node_marks(book, status, snapshot.resource_types),
        sums=[(block, bars.get(block.title)) for block in sums],
        rest=[block for block in found.blocks if not isinstance(block, Terms)],
        legend=node_bars(status, snapshot.resource_types).legend,
        command=terminal(shell, f"explain {shlex.quote(f'node/{name}')}"),
    )


def facts_of(page: Page) -> dict[str, str]:
    """Return where facts of a node are explained: its drives where its disks are told."""
    has_disks = any(block.title == DISKS for block in page.blocks)
    return dict.fromkeys(("drives", "volume groups"), "#disks") if has_disks else {}


def node_marks(book: "Book", node: "NodeStatus", types: "ResourceTypes") -> list[UseMarks]:
    """Return what a node uses of each resource, beside what is committed there and what it has."""
    return marks_of(usage_of(book, f"node/{node.name}"), node.committed, node.capacity, types)


def node_bars(node: "NodeStatus", types: "ResourceTypes") -> Bars:
    """Return a bar for each bounded resource of a node; what is free of a closed node is blocked."""
    return Bars("", tuple(_rows(node, types)))


def _rows(node: "NodeStatus", types: "ResourceTypes") -> Iterator[BarRow]:
    is_open = node.state == "ready"
    for name, limit in node.limit.items():
        show = types[name].readable
        parts: tuple[tuple[str, int, Tone], ...] = (
            ("reserve", node.reserve.of(name), "muted"),
            ("committed", node.committed.of(name), "strong"),
            ("standby", node.standby.of(name), "warn"),
            ("free" if is_open else "blocked", node.free.of(name), "ok" if is_open else "bad"),
        )
        segments = tuple(
            Segment(word, show(part), part, tone) for word, part, tone in parts if part or word != "standby"
        )
        yield BarRow(name, segments, node.reserve.of(name) + limit, show(node.capacity.of(name)))
