"""A workload that asks for whole GPUs, by the sizes of GPUs of the nodes where it could go.

What it counts of GPU memory depends on its node. So nodes are taken in parts, one for each size, and in each
part the workload names the GPU memory that it counts for there; all else that judges it need not know.
"""

from collections.abc import Iterable
from typing import NamedTuple

import msgspec
import numpy as np

from ullage.engine.placement.rules import Fixed
from ullage.engine.placement.shapes import Shape
from ullage.engine.quota.accounts import Accounts, counted_request
from ullage.engine.quota.gpu_sizes import has_gpus
from ullage.engine.requests import WHOLE_GPU
from ullage.engine.trial import Trial
from ullage.model.cluster import Workload
from ullage.model.resources import GPU_MEMORY, Resources

OTHER_SIZE = "its GPUs are of another size"


class Part(NamedTuple):
    """A workload as it counts on nodes of one size of GPUs, and its shape on these nodes alone."""

    workload: Workload
    shape: Shape


def depends_on_node(accounts: Accounts, workload: Workload) -> bool:
    """Whether it depends on the node how much a workload counts for."""
    return (
        GPU_MEMORY in accounts.book.resources
        and workload.requests.of(WHOLE_GPU) > 0
        and GPU_MEMORY not in workload.requests
    )


def counted_as(workload: Workload, gigabytes: int) -> Workload:
    """Return a workload that names the GPU memory it counts for where GPUs have a size."""
    memory = counted_request(workload, gigabytes).of(GPU_MEMORY)
    return msgspec.structs.replace(workload, requests=Resources({**workload.requests, GPU_MEMORY: memory}))


def parts_of(trial: Trial, accounts: Accounts, workload: Workload, shape: Shape) -> list[Part]:
    """Return a workload on nodes of each size of GPUs, the smallest first; one part where all are alike."""
    if not depends_on_node(accounts, workload):
        return [Part(workload, shape)]
    rows: dict[int, list[int]] = {}
    for row in np.flatnonzero(shape.open).tolist():
        node = trial.nodes[row]
        if has_gpus(node):
            rows.setdefault(accounts.sizes.of(node), []).append(row)
    if len(rows) <= 1:
        gigabytes = next(iter(rows), accounts.sizes.waiting)
        return [Part(counted_as(workload, gigabytes), shape)]
    parts = []
    for gigabytes, places in sorted(rows.items()):
        is_open = np.zeros(len(trial.nodes), np.bool_)
        is_open[places] = True
        part = trial.compile(workload)
        part.add_rule(Fixed(is_open, OTHER_SIZE))
        part.open, part.open_everywhere = part.open & is_open, False
        parts.append(Part(counted_as(workload, gigabytes), part))
    return parts


def on_nodes(
    accounts: Accounts, workload: Workload, nodes: Iterable[tuple[str, int]]
) -> list[tuple[Workload, int]]:
    """Return replicas that have their nodes as they count there: each kind, and how many of it there are."""
    counts: dict[int, int] = {}
    for node, count in nodes:
        gigabytes = accounts.sizes.of_name(node)
        counts[gigabytes] = counts.get(gigabytes, 0) + count
    if not depends_on_node(accounts, workload):
        return [(workload, sum(counts.values()))]
    return [(counted_as(workload, gigabytes), count) for gigabytes, count in sorted(counts.items())]
