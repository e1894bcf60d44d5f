"""What to buy: the cheapest mix of nodes and drives with which everything fits, and k nodes may fail."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Final, Literal, NamedTuple

import msgspec

from ullage.engine.programme import require_solver
from ullage.engine.purchase.answer import Purchase
from ullage.engine.purchase.catalog import Catalog, DriveItem, Item, exact_price
from ullage.engine.purchase.offers import Offer, counts_of
from ullage.engine.purchase.purchase import purchase
from ullage.engine.storage.disk_requests import DiskRequests
from ullage.model.cluster import Batch, Snapshot
from ullage.model.constraints import Record
from ullage.model.errors import InputError
from ullage.model.resources import NOTHING, Resources
from ullage.service.answer import Answer, versioned
from ullage.service.asked import Asked, check_namespace, read_meant
from ullage.service.progress import listener
from ullage.service.wanted import Choice, Wanted, with_objects
from ullage.sources.catalog import read_catalog

SECONDS: Final = 10
"""How long each of the searches may take."""
NODES_LOST_MAX: Final = 3


class BuyQuestion(NamedTuple):
    """What is to fit (files, one shape, or what waits), what is for sale, and how many nodes may fail."""

    catalog: str
    paths: tuple[str, ...] = ()
    shape: str = ""
    replicas: int | None = None
    nodes_lost: int = 0
    pod_template: str = ""
    seconds: int = SECONDS


class BoughtItem(Record, frozen=True):
    """So many nodes or drives of one type, and what they cost; prices are decimals in the catalog's unit.

    A drive has a class and a size in place of a capacity.
    """

    item: str
    count: int
    price: str
    total: str
    capacity: Resources = NOTHING
    kind: Literal["node", "drive"] = "node"
    drive_class: str = ""
    size_bytes: int = 0


class BoughtDrives(Record, frozen=True):
    """So many drives of one type for a node; `new` says that the node is one of those to buy."""

    node: str
    item: str
    count: int
    new: bool


class NewNode(Record, frozen=True):
    """A node to buy, under the name that stands for it here, and the domain it is thought to go to."""

    node: str
    item: str
    domain: str
    replicas: int


class PlacedOn(Record, frozen=True):
    """How many replicas of a workload go to a node; `new` says that the node is one of those to buy."""

    node: str
    replicas: int
    new: bool


class BoughtFor(Record, frozen=True):
    """A workload that was asked for, and where it goes."""

    workload: str
    replicas: int
    placed: int
    nodes: tuple[PlacedOn, ...]
    reason: str = ""


class BuyReport(Record, frozen=True):
    """The answer to `ullage buy`.

    `bound` is what no purchase costs less than. `proof` is `bound` where the price is that, `search` where
    every cheaper mix was tried, else `none`; where nothing solves it, `bound` means that this is proven.
    `drives` says which nodes get the drives that are bought; a new node has those of its type besides.
    `placement` is `greedy` where everything goes where the policy itself would put it, `exact` where it fits
    only as `workloads` says.
    """

    cluster: str
    revision: int
    policy: str
    catalog: str
    unit: str
    solves: bool
    reason: str
    nodes_lost: int
    price: str
    bound: str
    proof: str
    mixes_tried: int
    placement: str
    items: tuple[BoughtItem, ...]
    nodes: tuple[NewNode, ...]
    workloads: tuple[BoughtFor, ...]
    losses_untried: int
    not_simulated: tuple[str, ...]
    drives: tuple[BoughtDrives, ...] = ()


def buy(asked: Asked, question: BuyQuestion) -> Answer:
    """Answer what to buy."""
    choice = Choice(question.paths, question.shape, question.replicas, question.pod_template)
    choice.check(standard_input=(asked.cluster, question.catalog))
    require_solver()
    snapshot = read_meant(asked)
    check_namespace(snapshot, asked.namespace)
    wanted = choice.wanted(snapshot, asked.namespace)
    snapshot = msgspec.structs.replace(with_objects(snapshot, wanted.objects), resource_types=wanted.types)
    return buy_of(snapshot, wanted, read_catalog(question.catalog, wanted.types), asked, question)


def buy_of(
    snapshot: Snapshot, wanted: Wanted, catalog: Catalog, asked: Asked, question: BuyQuestion
) -> Answer:
    """Answer what to buy; cluster, workloads and catalog were read already."""
    from ullage.service.buy_page import buy_page

    if not 0 <= question.nodes_lost <= NODES_LOST_MAX:
        raise InputError(
            f"{question.nodes_lost} nodes", where="--nodes-lost", remedy=f"use 0 to {NODES_LOST_MAX}"
        )
    check_catalog(snapshot, catalog)
    if question.nodes_lost and catalog.sells_drives and wants_disks(snapshot, wanted.batches):
        raise InputError(
            "what the loss of a node means for volumes on local disks is not known where drives are bought",
            where="--nodes-lost",
            remedy="leave it out, and ask `ullage check --nodes-lost` after the purchase",
        )
    found = purchase(
        snapshot,
        wanted.batches,
        catalog,
        nodes_lost=question.nodes_lost,
        seconds_max=question.seconds,
        steps=listener(),
    )
    report = buy_report(snapshot, found, wanted, catalog, question.nodes_lost)
    return Answer(
        lambda: buy_page(report, catalog, wanted.types, asked),
        lambda: versioned("BuyReport", report, wanted.types),
        found.solves,
    )


def buy_report(
    snapshot: Snapshot, found: Purchase, wanted: Wanted, catalog: Catalog, nodes_lost: int
) -> BuyReport:
    """Return every number of an answer of the engine."""
    checked = found.checked
    new = {node.name: offer for node, offer in zip(checked.nodes, found.offers, strict=False)}
    workloads = tuple(
        BoughtFor(
            each.subject,
            each.replicas,
            each.placed,
            tuple(PlacedOn(node, count, node in new) for node, count in each.nodes),
            each.refusal.reason if each.refusal else "",
        )
        for each in checked.outcomes
    )
    held: dict[str, int] = {}
    for placed in (placed for each in workloads for placed in each.nodes):
        held[placed.node] = held.get(placed.node, 0) + placed.replicas
    return BuyReport(
        cluster=snapshot.name,
        revision=snapshot.revision,
        policy=snapshot.policy.name,
        catalog=catalog.name,
        unit=catalog.unit,
        solves=found.solves,
        reason=found.reason,
        nodes_lost=nodes_lost,
        price=exact_price(found.cost_micro),
        bound=exact_price(found.bound_micro),
        proof=found.proof,
        mixes_tried=found.tried,
        placement=checked.certificate,
        items=_items(found, catalog),
        nodes=tuple(
            NewNode(name, offer.item.name, offer.domain, held.get(name, 0)) for name, offer in new.items()
        ),
        workloads=workloads,
        losses_untried=checked.survey.untried if checked.survey else 0,
        not_simulated=(
            "delivery times, and prices other than those of the catalog",
            "eviction of others, where priority would allow it",
            *wanted.notes,
            *snapshot.unknowns,
        ),
        drives=_drives(found, new),
    )


def check_catalog(snapshot: Snapshot, catalog: Catalog) -> None:
    """Refuse drives that are for nodes or groups which nobody knows."""
    groups = {node.group for node in (*snapshot.nodes, *(item.node for item in catalog.items))}
    for drive in catalog.drives:
        where = f"catalog {catalog.name}".rstrip() + f": item {drive.name}"
        unknown = next((name for name in drive.nodes if name not in snapshot.nodes), None)
        if unknown is not None:
            raise InputError(f"node {unknown} is unknown", where=where, remedy="name nodes of the cluster")
        if drive.group and drive.group not in groups:
            raise InputError(
                f"group {drive.group} has no nodes", where=where, remedy="name a group of the cluster"
            )


def wants_disks(snapshot: Snapshot, batches: Sequence[Batch]) -> bool:
    """Whether anybody would ask for a local disk: who is to be placed, or who runs and was placed anew."""
    asked = DiskRequests(snapshot)
    return any(asked.of(each) for each in chain((batch.workload for batch in batches), snapshot.workloads))


def _items(found: Purchase, catalog: Catalog) -> tuple[BoughtItem, ...]:
    counts = counts_of(found.offers, found.upgrades)
    return tuple(_bought(item, counts[item.name]) for item in catalog.everything if item.name in counts)


def _bought(item: Item | DriveItem, count: int) -> BoughtItem:
    costs = item.name, count, exact_price(item.price_micro), exact_price(item.price_micro * count)
    if isinstance(item, Item):
        return BoughtItem(*costs, item.node.capacity)
    return BoughtItem(*costs, kind="drive", drive_class=item.drive_class, size_bytes=item.size_bytes)


def _drives(found: Purchase, new: Mapping[str, Offer]) -> tuple[BoughtDrives, ...]:
    """Return which nodes get which drives: those that are there, then new ones."""
    by_node = [(each.node, each.drives, False) for each in sorted(found.upgrades)]
    by_node += [(name, offer.drives, True) for name, offer in new.items()]
    return tuple(
        BoughtDrives(node, item, count, is_new)
        for node, drives, is_new in by_node
        for item, count in sorted(Counter(each.name for each in drives).items())
    )
