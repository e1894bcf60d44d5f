"""What Prometheus is shown of the operator: quotas, groups of nodes, and how the work goes.

Amounts are in whole units (cores, bytes, gigabytes of GPU memory), as the exposition format asks for.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from ullage.kube.metrics import Metrics
from ullage.kube.operator.capacity import TERMS, CapacityKeeper
from ullage.kube.operator.nodes import NodeKeeper
from ullage.kube.operator.quotas import QuotaKeeper
from ullage.kube.operator.statuses import Statuses
from ullage.kube.operator.writing import Writing
from ullage.model.resources import ResourceTypes
from ullage.render.metrics import ByLabels

_QUOTA_TEXTS: Final = {
    "used": "What its workloads have.",
    "min": "What is guaranteed.",
    "borrowed": "What it has beyond min.",
    "entitlement": "What it may claim at present.",
}
_GROUP_TEXTS: Final = {
    "allocatable": "Capacity without what is kept back for the system.",
    "limit": "What may be promised: allocatable times the ratio.",
    "committed": "What is promised.",
    "free": "What is not promised yet.",
    "spare": "What is kept free for the nodes that may be lost.",
    "ullage": "What can still be promised: free without spare.",
}
Row = tuple[str, Mapping[str, int]]


class Looks:
    """How often was looked, and when everything was last as it should be."""

    def __init__(self) -> None:
        self.succeeded_at = 0.0

    def succeeded(self) -> None:
        """Take note that nothing failed in this look."""
        self.succeeded_at = time.time()


def show_work(
    metrics: Metrics, quotas: QuotaKeeper, statuses: Statuses, writing: Writing, looks: Looks
) -> None:
    """Show what was written, and what failed."""
    metrics.counter("labels_written", "Labels of pods.", lambda: quotas.labels_written)
    metrics.counter("statuses_written", "Statuses of objects.", lambda: statuses.written)
    metrics.counter("write_failures", "Writes that were refused or got no answer.", lambda: writing.failures)
    metrics.gauge(
        "last_success_timestamp_seconds",
        "When everything was last as it should be.",
        lambda: looks.succeeded_at,
    )


def show_quotas(metrics: Metrics, quotas: QuotaKeeper, types: ResourceTypes) -> None:
    """Show the figures of every quota."""
    for term, text in _QUOTA_TEXTS.items():

        def rows(term: str = term) -> Iterator[Row]:
            for each in quotas.figures:
                yield each.quota.name, each.quota.min if term == "min" else getattr(each, term)

        _show(metrics, "quota", term, text, _amounts(rows, types))


def show_groups(metrics: Metrics, capacity: CapacityKeeper, types: ResourceTypes) -> None:
    """Show the room of every group of nodes."""
    for term in TERMS:

        def rows(term: str = term) -> Iterator[Row]:
            for each in capacity.summaries():
                yield each.name, getattr(each, term)

        _show(metrics, "group", term, _GROUP_TEXTS[term], _amounts(rows, types))
    metrics.gauge(
        "group_nodes",
        "How many nodes a group has.",
        lambda: {(each.name,): float(each.nodes) for each in capacity.summaries()},
        ("group",),
    )
    metrics.gauge(
        "group_nodes_over_committed",
        "How many nodes have promised more than they may.",
        lambda: {(name,): float(count) for name, count in capacity.over_committed().items()},
        ("group",),
    )


def show_nodes(metrics: Metrics, nodes: NodeKeeper) -> None:
    """Show how far the figures of nodes are written."""
    metrics.counter("node_capacities_written", "NodeCapacities written or deleted.", lambda: nodes.written)
    metrics.gauge(
        "node_capacities_waiting", "Nodes that are to be looked at again.", lambda: float(nodes.waiting)
    )


def _show(metrics: Metrics, of: str, term: str, text: str, read: Callable[[], ByLabels]) -> None:
    metrics.gauge(f"{of}_{term}", text, read, (of, "resource"))


def _amounts(rows: Callable[[], Iterable[Row]], types: ResourceTypes) -> Callable[[], ByLabels]:
    """Return what reads the amounts of rows in whole units."""

    def read() -> ByLabels:
        return {
            (row, resource): amount / 10 ** types[resource].internal_scale_exponent
            for row, amounts in rows()
            for resource, amount in amounts.items()
        }

    return read
