"""Use beside what was promised, in answers of other questions: of nodes, of workloads, and of a crowded node.

Nothing of it is in an answer unless usage was asked for.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Final

from ullage.engine.columns import Columns
from ullage.engine.placement.limit_ranges import containers_of
from ullage.engine.usage.book import Book
from ullage.engine.usage.contention import RULES, Claimant, portions
from ullage.engine.usage.hollow import Recent, uses_of
from ullage.engine.usage.summary import status_of
from ullage.model.cluster import Container, Workload
from ullage.model.constraints import Record
from ullage.model.resources import Amount, Resources
from ullage.model.usage import UsageSummary

CONTENDED: Final = ("cpu", "memory")
Summaries = Mapping[str, UsageSummary]


class UsedPart(Record, frozen=True):
    """What a container used, or a whole pod where nobody looked inside, beside its request and limit."""

    container: str
    requests: Resources
    limits: Resources
    usage: Summaries
    maxusage: Mapping[str, UsageSummary] = {}


class UsedHolding(Record, frozen=True):
    """What a workload on a node used, beside what it was promised and may have."""

    workload: str
    requests: Resources
    limits: Resources
    usage: Summaries


class PortionStatus(Record, frozen=True):
    """What a workload wants at most, and what it would get of a node by each rule."""

    workload: str
    demand: Amount
    request: Amount
    limit: Amount | None
    priority: int
    equal: Amount
    by_request: Amount
    by_limit: Amount
    by_priority: Amount


class ContentionStatus(Record, frozen=True):
    """What happens when everybody wants at once the most it used: what there is, and who gets what of it."""

    resource: str
    supply: Amount
    demand: Amount
    short: bool
    portions: tuple[PortionStatus, ...]


def usage_of(book: Book, subject: str) -> Summaries:
    """Return what is known of the use of a subject, by resource."""
    status = status_of(book, subject)
    return {} if status is None else status.usage


def used_holdings(
    book: Book, workloads: Iterable[Workload], names: Collection[str]
) -> tuple[UsedHolding, ...]:
    """Return workloads whose use of named resources is known, with that."""
    found = []
    for each in workloads:
        known = usage_of(book, f"pod/{each.namespace}/{each.name}")
        usage = {name: summary for name, summary in known.items() if name in names}
        if usage:
            found.append(UsedHolding(each.key, each.requests, each.limits, usage))
    return tuple(found)


def used_parts(book: Book, workload: Workload) -> tuple[UsedPart, ...]:
    """Return what the containers of a workload used, and the workload as a whole."""
    key = f"{workload.namespace}/{workload.name}"
    parts: list[tuple[str, str, Container | Workload]] = [
        (f"container/{key}/{each.name}", each.name, each) for each in containers_of(workload)
    ]
    found = []
    for subject, name, asking in (*parts, (f"pod/{key}", "", workload)):
        status = status_of(book, subject)
        if status is not None:
            found.append(UsedPart(name, asking.requests, asking.limits, status.usage, status.maxusage))
    return tuple(found)


def contention_on(columns: Columns, book: Book, row: int) -> tuple[ContentionStatus, ...]:
    """Return who would get what of a node's processors and memory if all wanted the most they used.

    What the node has for workloads is shared. Whoever was not observed wants what it asks for.
    """
    node = columns.nodes[row]
    here = [each for each in columns.snapshot.workloads if each.node == node.name and each.holds_capacity]
    recent = Recent(book)
    wanted: dict[str, dict[str, int]] = {name: {} for name in CONTENDED}
    for each in here:
        for use in uses_of(recent, each):
            if use.resource in wanted:
                of_resource = wanted[use.resource]
                of_resource[each.key] = of_resource.get(each.key, 0) + use.most
    found = []
    for name in CONTENDED:
        column = columns.resource_index.get(name)
        if column is None or not wanted[name]:
            continue
        supply = int(columns.capacity[row, column]) - int(columns.reserve[row, column])
        found.append(_contention(name, supply, here, wanted[name]))
    return tuple(found)


def _contention(
    name: str, supply: int, workloads: Iterable[Workload], wanted: Mapping[str, int]
) -> ContentionStatus:
    claimants = [
        Claimant(
            each.key,
            wanted.get(each.key, each.requests.of(name)),
            each.requests.of(name),
            each.limits.get(name),
            each.priority,
        )
        for each in workloads
    ]
    demand = sum(each.demand for each in claimants)
    shared = portions(claimants, supply)
    assert len(RULES) == 4  # noqa: S101 - a portion names each of them
    return ContentionStatus(
        name,
        Amount(name, supply),
        Amount(name, demand),
        demand > supply,
        tuple(
            PortionStatus(
                each.claimant.name,
                Amount(name, each.claimant.demand),
                Amount(name, each.claimant.request),
                None if each.claimant.limit is None else Amount(name, each.claimant.limit),
                each.claimant.priority,
                *(Amount(name, given) for given in each.given),
            )
            for each in shared
        ),
    )
