"""The page of `buy`: what to buy and for how much, where everything goes, and how sure that is."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from ullage.engine.purchase.catalog import PRICE_STEPS, Catalog, show_price
from ullage.model.quantity import print_bytes, print_decimal
from ullage.model.resources import Resources, ResourceTypes
from ullage.render import view
from ullage.service.words import SHOWN_LAST, canonical_map, listed, nothing_cell, plural, several

if TYPE_CHECKING:
    from ullage.service.asked import Asked
    from ullage.service.buy import BoughtDrives, BoughtFor, BoughtItem, BuyReport

NODES_SHOWN: Final = 4
NO_MIX: Final = "no mix of the catalog is enough"
NONE_FOUND: Final = "no mix of the catalog that was tried is enough; that there is none is not proven"


def buy_page(report: "BuyReport", catalog: Catalog, types: ResourceTypes, asked: "Asked") -> view.Page:
    """Return the page of a buy report."""
    blocks: list[view.Block] = []
    findings = _findings(report)
    if findings:
        blocks.append(view.Findings("Worth knowing" if report.solves else "Why not", findings))
    main = len(blocks)
    if report.items or not report.workloads:
        blocks.append(_item_table(report, catalog, types))
    if report.drives:
        blocks.append(_drive_table(report.drives))
    if report.workloads:
        blocks.append(_workload_table(report.workloads))
    return view.Page(
        title=f"What to buy for {report.cluster}",
        verdict=view.Verdict(_verdict(report, catalog), "yes" if report.solves else "no"),
        blocks=tuple(blocks),
        not_simulated=report.not_simulated,
        next_command=asked.command("fit" if report.items else "status"),
        about=f"cluster {report.cluster}, revision {report.revision}, policy {report.policy}",
        main=main,
    )


def _verdict(report: "BuyReport", catalog: Catalog) -> str:
    replicas = sum(each.replicas for each in report.workloads)
    failing = f", and any {plural(report.nodes_lost, 'node')} may fail" if report.nodes_lost else ""
    if not report.solves:
        return NO_MIX if report.proof == "bound" else NONE_FOUND
    if not report.items:
        fits = "fits" if replicas == 1 else "fit"
        what = f"{plural(replicas, 'replica')} {fits}" if replicas else "nothing waits"
        return f"nothing need be bought: {what}{failing}"
    parts = [f"{each.count} x {each.item}" for each in report.items]
    goods = parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
    return f"buy {goods}: {catalog.show(_micro(report.price))}, {_proof(report)}{failing}"


def _proof(report: "BuyReport") -> str:
    """Return how near to the cheapest a purchase is known to be."""
    if report.proof == "bound":
        return "proven cheapest"
    if report.proof == "search":
        return f"no cheaper mix holds ({report.mixes_tried} tried)"
    bound = max(1, _micro(report.bound))
    above = -(-(_micro(report.price) - bound) * 100 // bound)
    return f"at most {above} % above the bound"


def _micro(price: str) -> int:
    whole, _, decimals = price.partition(".")
    return int(whole) * PRICE_STEPS + int(decimals.ljust(len(str(PRICE_STEPS)) - 1, "0"))


def _findings(report: "BuyReport") -> tuple[view.Finding, ...]:
    rows = []
    if not report.solves:
        remedy = "add larger types, or more of them, to the catalog, or ask for less"
        rows.append(view.Finding("error", "", report.reason, remedy))
    if report.solves and report.placement == "exact":
        message = "everything fits only as shown below: placed one by one, some would be left out"
        more = "drive" if report.drives and not report.nodes else "node"
        rows.append(view.Finding("warning", "", message, f"place it as shown, or buy one {more} more"))
    if report.losses_untried:
        message = f"{report.losses_untried} kinds of loss were not tried"
        rows.append(view.Finding("warning", "", message, "ask for fewer nodes lost"))
    return tuple(rows)


def _item_table(report: "BuyReport", catalog: Catalog, types: ResourceTypes) -> view.Table:
    columns = (
        view.Column("item", priority=9),
        view.Column("count", "right", priority=9),
        view.Column("price", "right", priority=8),
        view.Column("total", "right", priority=8),
        view.Column("each has", priority=5, key="capacity"),
        view.Column("domains", priority=4),
        view.Column("replicas", "right", priority=3),
    )
    rows = []
    for each in report.items:
        nodes = [node for node in report.nodes if node.item == each.item]
        domains = Counter(node.domain for node in nodes if node.domain)
        rows.append(
            (
                view.Cell(each.item),
                view.Cell(str(each.count)),
                view.Cell(show_price(_micro(each.price)), value=each.price),
                view.Cell(show_price(_micro(each.total)), value=each.total),
                _each_has(each, types),
                view.Cell(_domains(domains)) if domains else nothing_cell(),
                view.Cell(str(sum(node.replicas for node in nodes)))
                if each.kind == "node"
                else nothing_cell(),
            )
        )
    bound = f"no purchase costs less than {catalog.show(_micro(report.bound))}"
    free = any(not item.node.domain for item in catalog.items)
    spread = "; where workloads leave the choice, new nodes go to the domains with the fewest nodes"
    caption = f"{bound}{spread}" if free and any(each.domain for each in report.nodes) else bound
    return view.Table("What to buy", columns, tuple(rows), caption if rows else "")


def _each_has(item: "BoughtItem", types: ResourceTypes) -> view.Cell:
    if item.kind == "drive":
        size = min(print_decimal(item.size_bytes), print_bytes(item.size_bytes), key=len)
        return view.Cell(f"{size} {item.drive_class}", value=f"{item.drive_class}:{item.size_bytes}")
    return view.Cell(listed(types, _worth_naming(item.capacity)), value=canonical_map(types, item.capacity))


def _worth_naming(capacity: Resources) -> Resources:
    """Return what a node has without what every node has enough of."""
    named = {name: amount for name, amount in capacity.items() if name not in SHOWN_LAST}
    return Resources(named or capacity)


def _domains(domains: Counter[str]) -> str:
    return several([f"{name} x{count}" if count > 1 else name for name, count in sorted(domains.items())])


def _drive_table(drives: "Sequence[BoughtDrives]") -> view.Table:
    """Return which drives go into which nodes; nodes that get the same are one row."""
    by_node: dict[str, list[BoughtDrives]] = {}
    for each in drives:
        by_node.setdefault(each.node, []).append(each)
    alike: dict[tuple[str, bool], list[str]] = {}
    for node, mine in by_node.items():
        goods = ", ".join(f"{each.count} x {each.item}" for each in mine)
        alike.setdefault((goods, mine[0].new), []).append(node)
    columns = (
        view.Column("drives for each", priority=9),
        view.Column("nodes", priority=8),
        view.Column("new"),
    )
    rows = tuple(
        (
            view.Cell(goods),
            view.Cell(several(nodes, NODES_SHOWN), value=", ".join(nodes)),
            view.Cell("yes" if is_new else "no"),
        )
        for (goods, is_new), nodes in alike.items()
    )
    return view.Table("Which nodes get the drives", columns, rows)


def _workload_table(workloads: "Sequence[BoughtFor]") -> view.Table:
    columns = (
        view.Column("workload", priority=9),
        view.Column("placed", "right", priority=8),
        view.Column("on new nodes", "right", priority=7),
        view.Column("nodes", priority=6),
    )
    rows = tuple(
        (
            view.Cell(each.workload),
            view.Cell(f"{each.placed}/{each.replicas}", tone="bad" if each.reason else "plain"),
            view.Cell(str(sum(placed.replicas for placed in each.nodes if placed.new))),
            view.Cell(
                several([_on(placed.node, placed.replicas) for placed in each.nodes], NODES_SHOWN),
                value=", ".join(f"{placed.node} x{placed.replicas}" for placed in each.nodes),
            )
            if each.nodes
            else nothing_cell(),
        )
        for each in workloads
    )
    return view.Table("What goes where", columns, rows)


def _on(node: str, replicas: int) -> str:
    return f"{node} x{replicas}" if replicas > 1 else node
