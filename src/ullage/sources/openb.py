"""The columns of Alibaba's GPU cluster trace (openb): nodes and pods without placements.

The hard part is its GPUs: `gpu_milli` is a share of one GPU, and `num_gpu` how many; their product is
`ullage.dev/gpu-milli`, of which each device of a node gives 1000. The trace does not say where a pod ran, so
every pod waits to be placed, whatever its phase was; its phase and times are kept as qualities.
"""

from typing import Final

from ullage.model.cluster import Device, Node, Workload
from ullage.model.constraints import (
    UNCONSTRAINED,
    Affinity,
    Constraints,
    NodeAffinity,
    NodeSelector,
    NodeSelectorTerm,
    Requirement,
)
from ullage.model.resources import GPU_MILLI, Resources
from ullage.sources.csv_rows import Line

NODE_COLUMNS: Final = frozenset({"sn", "cpu_milli", "memory_mib", "gpu", "model"})
POD_COLUMNS: Final = frozenset({"name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli"})
MODEL_LABEL: Final = "nvidia.com/gpu.product"
WHOLE_GPU_MILLI: Final = 1000
GPUS_MAX: Final = 1024
MEMORY_MIB_MAX: Final = 1 << 40
UNPLACED: Final = "the trace does not say on which node a pod ran: all of them wait to be placed"
_KEPT: Final = ("qos", "pod_phase", "scheduled_time", "deletion_time")


def read_node(line: Line) -> Node:
    """Return a node of the trace, a device for each of its GPUs."""
    name, model = line.required("sn"), line.text("model")
    gpus = line.whole("gpu")
    if gpus > GPUS_MAX:
        raise line.error("gpu", f"{gpus} GPUs in one node", f"use at most {GPUS_MAX}")
    capacity = {"cpu": line.whole("cpu_milli"), "memory": _memory_bytes(line)}
    if gpus:
        capacity[GPU_MILLI] = gpus * WHOLE_GPU_MILLI
    return Node(
        name,
        Resources(capacity),
        labels={MODEL_LABEL: model} if model else {},
        devices=tuple(Device(f"{name}-gpu{number}", GPU_MILLI, model) for number in range(gpus)),
    )


def read_pod(line: Line) -> Workload:
    """Return a pod of the trace, waiting to be placed."""
    gpus, share = line.whole("num_gpu"), line.whole("gpu_milli")
    if gpus > GPUS_MAX:
        raise line.error("num_gpu", f"{gpus} GPUs for one pod", f"use at most {GPUS_MAX}")
    if share > WHOLE_GPU_MILLI or (gpus > 1 and share != WHOLE_GPU_MILLI):
        raise line.error(
            "gpu_milli", f"{share} of each of {gpus} GPUs", "use a share of one, or 1000 of each"
        )
    requests = {"cpu": line.whole("cpu_milli"), "memory": _memory_bytes(line)}
    if gpus * share:
        requests[GPU_MILLI] = gpus * share
    return Workload(
        line.required("name"),
        state="init",
        requests=Resources(requests),
        created_seconds=line.whole("creation_time"),
        constraints=_on_models(line.text("gpu_spec")),
        qualities={column: line.text(column) for column in _KEPT if line.text(column)},
    )


def _memory_bytes(line: Line) -> int:
    mebibytes = line.whole("memory_mib")
    if mebibytes > MEMORY_MIB_MAX:
        raise line.error("memory_mib", f"{mebibytes} MiB", f"use at most {MEMORY_MIB_MAX}")
    return mebibytes << 20


def _on_models(models: str) -> Constraints:
    """Return the constraint that `V100M16|V100M32` stands for: a node with GPUs of one of these models."""
    if not models:
        return UNCONSTRAINED
    wanted = Requirement(MODEL_LABEL, "In", tuple(filter(None, models.split("|"))))
    return Constraints(affinity=Affinity(NodeAffinity(NodeSelector((NodeSelectorTerm((wanted,)),)))))
