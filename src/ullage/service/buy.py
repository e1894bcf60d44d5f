"""What to buy: the cheapest mix of node types so that everything asked for fits, and k nodes may fail."""

from typing import Final, NamedTuple

import msgspec

from ullage.engine.programme import require_solver
from ullage.engine.purchase.catalog import Catalog, exact_price
from ullage.engine.purchase.offers import counts_of
from ullage.engine.purchase.purchase import Purchase, purchase
from ullage.model.cluster import Snapshot
from ullage.model.constraints import Record
from ullage.model.errors import InputError
from ullage.model.resources import Resources
from ullage.service.answer import Answer, versioned
from ullage.service.asked import Asked, check_namespace, read_cluster
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
    """So many nodes of one type, and what they cost; prices are decimal numbers in the catalog's unit."""

    item: str
    count: int
    price: str
    total: str
    capacity: Resources


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


def buy(asked: Asked, question: BuyQuestion) -> Answer:
    """Answer what to buy."""
    choice = Choice(question.paths, question.shape, question.replicas, question.pod_template)
    choice.check(standard_input=(asked.cluster, question.catalog))
    require_solver()
    snapshot = read_cluster(asked)
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
    found = purchase(
        snapshot, wanted.batches, catalog, nodes_lost=question.nodes_lost, seconds_max=question.seconds
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
    )


def _items(found: Purchase, catalog: Catalog) -> tuple[BoughtItem, ...]:
    counts = counts_of(found.offers)
    return tuple(
        BoughtItem(
            item.name,
            counts[item.name],
            exact_price(item.price_micro),
            exact_price(item.price_micro * counts[item.name]),
            item.node.capacity,
        )
        for item in catalog.items
        if item.name in counts
    )
