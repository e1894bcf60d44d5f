"""How many gigabytes of GPU memory a whole GPU counts for, node by node.

A policy that names `gpu-memory` for the node, its group or the cluster decides; else what the node says of
its GPUs, in the memory of its devices, its labels or their model; else the default. The hard thing is one
that waits: nobody knows its node yet, so it counts by the largest GPU there is until a node is chosen.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Final

from ullage.engine.columns import RulesByPlace
from ullage.engine.requests import WHOLE_GPU
from ullage.model.cluster import Node, Snapshot
from ullage.model.policy import effective_settings
from ullage.model.settings import rules_for

SETTING: Final = "gpu-memory"
MEMORY_LABEL: Final = "nvidia.com/gpu.memory"
MODEL_LABEL: Final = "nvidia.com/gpu.product"
MEBIBYTES_MAX: Final = 1 << 40
_GIBIBYTE: Final = 1 << 30
_MEBIBYTE: Final = 1 << 20
_IN_MODEL: Final = re.compile(r"([0-9]{1,5})\s?GB", re.IGNORECASE)


class GpuSizes:
    """The sizes of whole GPUs on the nodes of a snapshot, in gigabytes."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._policy = snapshot.policy
        self._rules = RulesByPlace(snapshot)
        self._own = frozenset(name for layer in snapshot.policy.layers for name in layer.nodes)
        self._stated: dict[tuple[str, str], bool] = {}
        self._found: dict[str, int] = {}

    def of(self, node: Node) -> int:
        """Return what a whole GPU of a node counts for."""
        found = self._found.get(node.name)
        if found is None:
            measured = 0 if self._is_stated(node) else measured_gigabytes(node)
            found = self._found[node.name] = measured or self._rules.of(node).gpu_memory_gigabytes
        return found

    def of_name(self, name: str) -> int:
        """Return what a whole GPU counts for on the node of a name; of none, or one that is not there."""
        node = self._snapshot.nodes.get(name) if name else None
        return self.waiting if node is None else self.of(node)

    @cached_property
    def waiting(self) -> int:
        """What a whole GPU counts for where no node is chosen yet: as the largest of those that are there."""
        sizes = [self.of(node) for node in self._snapshot.nodes if has_gpus(node)]
        default = rules_for(self._policy, self._snapshot.resource_types).gpu_memory_gigabytes
        return max(sizes, default=default)

    def _is_stated(self, node: Node) -> bool:
        """Whether a policy names the size for a node, its group or the cluster."""
        place = (node.group, node.name if node.name in self._own else "")
        stated = self._stated.get(place)
        if stated is None:
            stated = self._stated[place] = SETTING in effective_settings(self._policy, *place)
        return stated


def has_gpus(node: Node) -> bool:
    """Whether a node that is not offline has whole GPUs."""
    return node.state != "offline" and node.capacity.of(WHOLE_GPU) > 0


def measured_gigabytes(node: Node) -> int:
    """Return what a node says of the memory of its GPUs, the largest of them, rounded up; 0 where nothing."""
    gpus = [device for device in node.devices if device.resource == WHOLE_GPU]
    for sizes in (
        (-(-device.memory_bytes // _GIBIBYTE) for device in gpus),
        _of_label(node.labels),
        _of_models([*(device.model for device in gpus), node.labels.get(MODEL_LABEL, "")]),
    ):
        largest = max(sizes, default=0)
        if largest:
            return largest
    return 0


def _of_label(labels: Mapping[str, str]) -> Iterator[int]:
    text = labels.get(MEMORY_LABEL, "")
    if text.isascii() and text.isdigit() and len(text) <= len(str(MEBIBYTES_MAX)):
        yield -(-int(text) * _MEBIBYTE // _GIBIBYTE)


def _of_models(models: Iterable[str]) -> Iterator[int]:
    """Yield the sizes that names of models end with; of a slice that of the slice, which is named last."""
    for model in models:
        sizes = _IN_MODEL.findall(model)
        if sizes:
            yield int(sizes[-1])
