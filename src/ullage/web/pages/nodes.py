"""All nodes: a map of how full they are, and a table; filtered, sorted, in pages."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from ullage.service.words import resources_in_order
from ullage.web.pages.heat import steps_of, tiles_of
from ullage.web.pages.kept import kept_status
from ullage.web.pages.links import Links
from ullage.web.pages.overview import PLENTIFUL, measured_resources, node_fraction, node_share
from ullage.web.pages.shell import Shell, draw, shell_of, terminal

if TYPE_CHECKING:
    from ullage.service.asked import Asked
    from ullage.service.status import NodeStatus

PAGE_NODES: Final = 100
COLUMNS_MAX: Final = 4
NAME, STATE, WORKLOADS, DOWN = "name", "state", "workloads", "down"
_FILTERS: Final = ("q", "resource", "group", "domain", "state", "sort", "order")


class Sort(NamedTuple):
    """By what the table is sorted, and the addresses that sort it otherwise."""

    shell: Shell
    key: str
    down: bool
    filters: Mapping[str, str]

    @property
    def direction(self) -> str:
        """The direction in the words of ARIA."""
        return "descending" if self.down else "ascending"

    def address(self, key: str) -> str:
        """Return where the table is sorted by a column; once more turns it round."""
        starts_down = key not in {NAME, STATE}
        down = not self.down if key == self.key else starts_down
        wanted = {**self.filters, "sort": key, "order": DOWN if down else "up"}
        return self.shell.address("/nodes", **wanted) + "#table"

    def sign(self, key: str) -> str:
        """Return the arrow beside the column that the table is sorted by."""
        if key != self.key:
            return ""
        return " ↓" if self.down else " ↑"


def page(asked: "Asked", parameters: Mapping[str, str], body: bytes) -> bytes:  # noqa: ARG001 - as all pages
    """Return the nodes of a cluster."""
    shell = shell_of(parameters)
    snapshot, report = kept_status(asked)
    links = Links(shell, snapshot)
    names = resources_in_order({name for name, amount in report.total.limit.items() if amount})
    filters = {key: parameters[key] for key in _FILTERS if parameters.get(key)}
    resource = parameters.get("resource", "")
    shaded = (resource,) if resource in names else measured_resources(report.total, names)
    columns = [name for name in names if name not in PLENTIFUL or name == resource][:COLUMNS_MAX]
    key = parameters.get("sort", NAME)
    is_down = parameters.get("order", "up") == DOWN
    found = _sorted(filtered(report.nodes, parameters), key, shaded, down=is_down)
    number = _page_number(parameters.get("page", "1"), len(found))
    first = (number - 1) * PAGE_NODES
    return draw(
        "nodes",
        shell,
        links=links,
        report=report,
        types=snapshot.resource_types,
        filters={key: parameters.get(key, "") for key in _FILTERS},
        names=names,
        columns=columns,
        groups=[each.name for each in report.groups if each.name],
        domains=[each.name for each in report.domains],
        states=sorted({each.state for each in report.nodes}),
        resource=resource if resource in names else "",
        steps=steps_of(found, shaded),
        tiles=tiles_of(found, shaded, lambda name: links.domain(name) if name else ""),
        found=found,
        nodes=found[first : first + PAGE_NODES],
        first=first,
        pages=_pages(shell, filters, number, len(found)),
        share=node_share,
        sort=Sort(shell, key, is_down, filters),
        command=terminal(asked, "status --by node"),
    )


def filtered(nodes: "Sequence[NodeStatus]", parameters: Mapping[str, str]) -> "list[NodeStatus]":
    """Return the nodes that a filter leaves: names by a part of them, the rest exactly."""
    part = parameters.get("q", "").strip().lower()
    wanted = {key: parameters[key] for key in ("group", "domain", "state") if parameters.get(key)}
    return [
        node
        for node in nodes
        if part in node.name.lower() and all(getattr(node, key) == value for key, value in wanted.items())
    ]


def _sorted(nodes: "list[NodeStatus]", key: str, shaded: Sequence[str], *, down: bool) -> "list[NodeStatus]":
    """Return nodes by a column; equal ones by name, whichever way."""
    nodes = sorted(nodes, key=lambda node: node.name)
    if key == NAME:
        return nodes[::-1] if down else nodes
    if key == STATE:
        return sorted(nodes, key=lambda node: node.state, reverse=down)
    if key == WORKLOADS:
        return sorted(nodes, key=lambda node: node.workloads, reverse=down)
    names = shaded if key == "fullest" else (key,)
    return sorted(nodes, key=lambda node: max(node_fraction(node, name) for name in names), reverse=down)


def _page_number(text: str, found: int) -> int:
    last = max(1, -(-found // PAGE_NODES))
    return min(max(1, int(text)), last) if text.isdecimal() and len(text) < 9 else 1


def _pages(shell: Shell, filters: Mapping[str, str], number: int, found: int) -> list[tuple[str, str]]:
    """Return the way to the page before and the page after, as words with addresses."""
    ways = []
    if number > 1:
        ways.append(("Previous", shell.address("/nodes", **filters, page=str(number - 1)) + "#table"))
    if number * PAGE_NODES < found:
        ways.append(("Next", shell.address("/nodes", **filters, page=str(number + 1)) + "#table"))
    return ways
