"""What a cluster can promise in all: the sum over its nodes, with the GPU memory of their GPUs.

The hard thing is a node that is cordoned: what runs there goes on, and nobody can have the rest.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from ullage.engine.columns import Columns, Integers
from ullage.engine.quota.gpu_sizes import GpuSizes
from ullage.engine.requests import gpu_gigabytes, with_gpu_memory
from ullage.model.quantity import INT64_MAX
from ullage.model.resources import GPU_MEMORY, Resources

ANY_SIZE: Final = 1


def cluster_capacity(columns: Columns) -> dict[str, int]:
    """Return by resource what nodes that are not offline can promise, the largest number without a bound.

    A node counts whole whether it is cordoned or not: mins are agreed on for longer than a cordon lasts.
    """
    return _total(columns, columns.limit, columns.bounded)


def shared_capacity(columns: Columns) -> dict[str, int]:
    """Return by resource what quotas divide among them, the largest number without a bound.

    A node that is cordoned counts with what runs on it, at most its limit: the rest can be lent to nobody.
    """
    is_cordoned = np.fromiter((node.state == "cordoned" for node in columns.nodes), np.bool_)[:, np.newaxis]
    held = np.where(columns.bounded, np.minimum(columns.promised, columns.limit), columns.promised)
    return _total(columns, np.where(is_cordoned, held, columns.limit), columns.bounded | is_cordoned)


def _total(columns: Columns, amounts: Integers, bounded: npt.NDArray[np.bool_]) -> dict[str, int]:
    """Return the sum over nodes that are not offline."""
    rows = [row for row, node in enumerate(columns.nodes) if node.state != "offline"]
    total: dict[str, int] = {}
    for name, column in columns.resource_index.items():
        is_bounded = bool(np.all(bounded[rows, column]))
        total[name] = min(sum(amounts[rows, column].tolist()), INT64_MAX) if is_bounded else INT64_MAX
    gpus = [name for name in total if gpu_gigabytes(name, ANY_SIZE) is not None]
    if gpus and GPU_MEMORY not in total:
        total[GPU_MEMORY] = _gpu_memory(columns, amounts, rows, gpus)
    return total


def _gpu_memory(columns: Columns, amounts: Integers, rows: list[int], gpus: list[str]) -> int:
    gigabytes = 0
    sizes = GpuSizes(columns.snapshot)
    for name in gpus:
        column = columns.resource_index[name]
        for row in rows:
            if amounts[row, column]:
                size = sizes.of(columns.nodes[row])
                gigabytes += int(amounts[row, column]) * (gpu_gigabytes(name, size) or 0)
    return min(gigabytes, INT64_MAX)


def node_room(columns: Columns) -> dict[str, int]:
    """Return what the nodes that take workloads have left in all, GPU memory included."""
    total: dict[str, int] = {}
    free, bounded = columns.free, columns.bounded
    sizes = GpuSizes(columns.snapshot)
    for row, node in enumerate(columns.nodes):
        if node.state != "ready":
            continue
        left = {
            name: int(free[row, column]) if bounded[row, column] else INT64_MAX
            for name, column in columns.resource_index.items()
            if name in node.capacity
        }
        for name, amount in with_gpu_memory(Resources(left), sizes.of(node)).items():
            total[name] = min(INT64_MAX, total.get(name, 0) + amount)
    return total
