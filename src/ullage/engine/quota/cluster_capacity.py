"""What a cluster can promise in all: the sum over its nodes, with the GPU memory of their GPUs."""

from typing import Final

import numpy as np

from ullage.engine.columns import Columns
from ullage.engine.quota.gpu_sizes import GpuSizes
from ullage.engine.requests import gpu_gigabytes
from ullage.model.quantity import INT64_MAX
from ullage.model.resources import GPU_MEMORY

ANY_SIZE: Final = 1


def cluster_capacity(columns: Columns) -> dict[str, int]:
    """Return by resource what nodes that are not offline can promise, the largest number without a bound."""
    rows = [row for row, node in enumerate(columns.nodes) if node.state != "offline"]
    total: dict[str, int] = {}
    for name, column in columns.resource_index.items():
        bounded = bool(np.all(columns.bounded[rows, column]))
        total[name] = sum(columns.limit[rows, column].tolist()) if bounded else INT64_MAX
    gpus = [name for name in total if gpu_gigabytes(name, ANY_SIZE) is not None]
    if gpus and GPU_MEMORY not in total:
        total[GPU_MEMORY] = _gpu_memory(columns, rows, gpus)
    return total


def _gpu_memory(columns: Columns, rows: list[int], gpus: list[str]) -> int:
    gigabytes = 0
    sizes = GpuSizes(columns.snapshot)
    for name in gpus:
        column = columns.resource_index[name]
        for row in rows:
            if columns.limit[row, column]:
                size = sizes.of(columns.nodes[row])
                gigabytes += int(columns.limit[row, column]) * (gpu_gigabytes(name, size) or 0)
    return min(gigabytes, INT64_MAX)
