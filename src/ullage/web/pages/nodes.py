"""All nodes: a map of how full they are, and a table; filtered, sorted, in pages."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from ullage.service.words import resources_in_order
from ullage.web.pages.heat import SHADES, shade_of, share_of, steps_of, tiles_of
from ullage.web.pages.kept import kept_status
from ullage.web.pages.links import Links
from ullage.web.pages.overview import PLENTIFUL, measured_resources, node_fraction, node_share
from ullage.web.pages.paging import DOWN, Listing, Sort, paging
from ullage.web.pages.shell import draw, shell_of, terminal

if TYPE_CHECKING:
    from ullage.service.asked import Asked
    from ullage.service.status import NodeStatus

PAGE_NODES: Final = 100
COLUMNS_MAX: Final = 4
NAME, STATE, WORKLOADS = "name", "state", "workloads"
FILTERS: Final = ("q", "resource", "full", "group", "domain", "state", "sort", "order")


def page(asked: "Asked", parameters: Mapping[str, str], body: bytes) -> bytes:  # noqa: ARG001 - as all pages
    """Return the nodes of a cluster."""
    shell = shell_of(parameters)
    snapshot, report = kept_status(asked)
    links = Links(shell, snapshot)
    names = resources_in_order({name for name, amount in report.total.limit.items() if amount})
    filters = {key: parameters[key] for key in FILTERS if parameters.get(key)}
    listing = Listing(shell, "/nodes", filters, "table")
    resource = parameters.get("resource", "")
    shaded = (resource,) if resource in names else measured_resources(report.total, names)
    columns = [name for name in names if name not in PLENTIFUL or name == resource][:COLUMNS_MAX]
    key = parameters.get("sort", NAME)
    is_down = parameters.get("order", "up") == DOWN
    kept = filtered(report.nodes, parameters)
    found = _sorted(of_shade(kept, shaded, parameters.get("full", "")), key, shaded, down=is_down)
    part = paging(listing, parameters.get("page", ""), len(found), PAGE_NODES)
    return draw(
        "nodes",
        shell,
        links=links,
        report=report,
        types=snapshot.resource_types,
        filters={key: parameters.get(key, "") for key in FILTERS},
        shades=SHADES,
        names=names,
        columns=columns,
        groups=[each.name for each in report.groups if each.name],
        domains=[each.name for each in report.domains],
        states=sorted({each.state for each in report.nodes}),
        resource=resource if resource in names else "",
        steps=steps_of(found, shaded),
        tiles=tiles_of(found, shaded, lambda name: links.domain(name) if name else ""),
        found=found,
        nodes=found[part.first : part.end],
        paging=part,
        listing=listing,
        share=node_share,
        sort=Sort(listing, key, is_down, frozenset((NAME, STATE))),
        command=terminal(shell, "status --by node"),
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


def of_shade(nodes: "list[NodeStatus]", shaded: Sequence[str], shade: str) -> "list[NodeStatus]":
    """Return the nodes of one shade of the map; all of them where none is named."""
    return [node for node in nodes if shade_of(node, share_of(node, shaded)) == shade] if shade else nodes


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
