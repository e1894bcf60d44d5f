"""Nodes to nodes: what a machine has, what its kubelet keeps back, where it stands and whether it works.

The hard thing is where a node belongs, which Kubernetes has many words for. Its domain (what fails
together) is the value of the first label it has of DOMAIN_LABELS; its group (what stands in for each other)
that of the group label, else of the first of GROUP_LABELS, else `default`.
"""

from collections.abc import Mapping
from typing import Final

from msgspec import Raw

from ullage.model.cluster import DEFAULT_GROUP, Device, Node, NodeState, Taint
from ullage.model.errors import InputError
from ullage.model.resources import Resources
from ullage.sources.kubernetes.amounts import Amounts
from ullage.sources.kubernetes.faults import Fault
from ullage.sources.kubernetes.wire import NULL, NodeSpec, NodeStatus, NodeWire

DOMAIN_LABELS: Final = (
    "ullage.dev/domain",
    "topology.kubernetes.io/rack",
    "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/zone",
)
GROUP_LABEL: Final = "ullage.dev/group"
GROUP_LABELS: Final = (
    "cloud.google.com/gke-nodepool",
    "eks.amazonaws.com/nodegroup",
    "kubernetes.azure.com/agentpool",
    "karpenter.sh/nodepool",
)
GPU_MODEL_LABELS: Final = {
    "nvidia.com/gpu": "nvidia.com/gpu.product",
    "amd.com/gpu": "amd.com/gpu.product-name",
}
GPU_MEMORY_LABEL: Final = "nvidia.com/gpu.memory"
"""Mebibytes of one device, as NVIDIA's feature discovery writes it."""

DEVICES_MAX: Final = 1024
"""Devices of one node: more are shares of devices, of which no records are made."""

_MIB: Final = 1 << 20
_DIGITS_MAX: Final = 12


class NodeReader:
    """The reader of nodes; nodes of one size share their amounts."""

    def __init__(self, amounts: Amounts, *, group_label: str = GROUP_LABEL) -> None:
        self._amounts = amounts
        self._group_labels = (group_label, *GROUP_LABELS)
        self._sizes: dict[tuple[bytes, bytes], tuple[Resources, Resources | None]] = {}

    def read(self, wire: NodeWire) -> Node:
        """The node; raises a Fault."""
        spec, status = wire.spec or NodeSpec(), wire.status or NodeStatus()
        if not wire.metadata.name:
            raise Fault(InputError("the object has no name", remedy="add metadata.name"), ("metadata",))
        capacity, reserve = self._size(status)
        labels = wire.metadata.labels or {}
        swap = status.node_info.swap if status.node_info is not None else None
        return Node(
            name=wire.metadata.name,
            capacity=capacity,
            reserve=reserve,
            group=_first_label(labels, self._group_labels) or DEFAULT_GROUP,
            domain=_first_label(labels, DOMAIN_LABELS),
            state=_state(spec, status),
            labels=labels,
            taints=tuple(Taint(each.key, each.value or "", each.effect) for each in spec.taints or ()),
            swap_bytes=_swap_bytes(swap.capacity) if swap is not None else None,
            devices=_devices(capacity, labels),
        )

    def _size(self, status: NodeStatus) -> tuple[Resources, Resources | None]:
        """Capacity, and what of it is not allocatable; None where the node does not say.

        A resource that allocatable leaves out is not allocatable at all: so kube-scheduler sees it.
        """
        key = bytes(status.capacity), bytes(status.allocatable)
        found = self._sizes.get(key)
        if found is None:
            capacity = self._map(status.capacity, "capacity")
            if status.allocatable == NULL:
                found = capacity, None
            else:
                allocatable = self._map(status.allocatable, "allocatable")
                capacity = Resources({**allocatable, **capacity})
                found = capacity, (capacity - allocatable).at_least_zero()
            self._sizes[key] = found
        return found

    def _map(self, raw: Raw, name: str) -> Resources:
        try:
            return self._amounts.offered(raw)
        except Fault as fault:
            raise fault.under("status", name) from None


def _first_label(labels: Mapping[str, str], names: tuple[str, ...]) -> str:
    return next((labels[name] for name in names if labels.get(name)), "")


def _state(spec: NodeSpec, status: NodeStatus) -> NodeState:
    """Whether the node takes pods; one that does not say whether it is ready is taken to be."""
    if any(each.type == "Ready" and each.status != "True" for each in status.conditions or ()):
        return "offline"
    return "cordoned" if spec.unschedulable else "ready"


def _swap_bytes(capacity: int | None) -> int | None:
    if capacity is not None and capacity < 0:
        error = InputError(f"swap capacity {capacity} is negative", remedy="use 0 or more")
        raise Fault(error, ("status", "nodeInfo", "swap", "capacity"))
    return capacity


def _devices(capacity: Resources, labels: Mapping[str, str]) -> tuple[Device, ...]:
    """One record for each whole GPU, named by its resource and number."""
    found: list[Device] = []
    for resource, model_label in GPU_MODEL_LABELS.items():
        count = capacity.of(resource)
        if count > DEVICES_MAX:
            continue
        mebibytes = labels.get(GPU_MEMORY_LABEL, "") if resource == "nvidia.com/gpu" else ""
        plain = mebibytes.isascii() and mebibytes.isdigit() and len(mebibytes) <= _DIGITS_MAX
        memory_bytes = int(mebibytes) * _MIB if plain else 0
        model = labels.get(model_label, "")
        found += [Device(f"{resource}-{index}", resource, model, memory_bytes) for index in range(count)]
    return tuple(found)
