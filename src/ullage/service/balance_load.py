"""What balancing by load knows of use: from what was observed, or from what the source says of nodes."""

from typing import Final

from ullage.engine.balance.by_load import Loads
from ullage.model.cluster import Snapshot
from ullage.model.errors import InputError
from ullage.service.asked import Asked

MEMORY: Final = "memory"


def read_loads(snapshot: Snapshot, asked: Asked, usage: str) -> Loads:
    """Return memory in use by workload and node; without usage, as the nodes themselves report it."""
    from ullage.engine.usage.loads import memory_in_use

    book = None
    if usage or not any(node.actual is not None and MEMORY in node.actual for node in snapshot.nodes):
        from ullage.service.observed import read_usage

        book = read_usage(usage, asked, snapshot)
    found = memory_in_use(snapshot, book)
    if not found.observed_workloads and not found.observed_nodes:
        raise InputError(
            "the use of no node and no workload of the cluster is known",
            where=usage or "--usage",
            remedy="see that its names are those of the cluster",
        )
    return Loads(found.workloads, found.beyond)
