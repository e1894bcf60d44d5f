"""Fluent builders of records: `cluster(node("n1", cpu="4", memory="16Gi").holding(pod("a", cpu="1")))`.

Amounts are given as people write them. A keyword names a resource with `_` for `-`; `gpu` is
`nvidia.com/gpu`, and any other qualified name goes into `more={"example.com/licences": "3"}`.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from ullage.model.checks import check_snapshot, unique
from ullage.model.cluster import Batch, Container, Device, Node, Quota, Snapshot, Taint, Volume, Workload
from ullage.model.constraints import UNCONSTRAINED, Constraints, Toleration
from ullage.model.delta import TABLE_FACTS
from ullage.model.drives import Drive, DriveClass, VolumeGroup
from ullage.model.ledger_entry import LedgerEntry
from ullage.model.policy import Layer, Policy
from ullage.model.quantity import parse_amount
from ullage.model.resources import NOTHING, Resources, ResourceTypes
from ullage.model.storage import Claim, PersistentVolume

GPU = "nvidia.com/gpu"
BUILT_IN_TYPES = ResourceTypes()


def resources(
    more: Mapping[str, str] | None = None, types: ResourceTypes = BUILT_IN_TYPES, **amounts: str | int
) -> Resources:
    """`resources(cpu="500m", memory="1Gi", ephemeral_storage="10Gi", gpu=2)`."""
    named = {GPU if name == "gpu" else name.replace("_", "-"): str(text) for name, text in amounts.items()}
    return types.parse({**named, **(more or {})})


def size(text: str | int) -> int:
    """Bytes of a quantity."""
    return parse_amount(str(text))


class NodeBuilder:
    """A node and what it holds; every method returns a new builder."""

    def __init__(self, record: Node, workloads: tuple[Workload, ...] = ()) -> None:
        self.record = record
        self.workloads = workloads

    def with_(self, **fields: Any) -> "NodeBuilder":
        """Set fields of the record by name."""
        return NodeBuilder(msgspec.structs.replace(self.record, **fields), self.workloads)

    def holding(self, *workloads: Workload) -> "NodeBuilder":
        """Put workloads on this node."""
        placed = (msgspec.structs.replace(each, node=self.record.name) for each in workloads)
        return NodeBuilder(self.record, (*self.workloads, *placed))

    def reserving(self, more: Mapping[str, str] | None = None, **amounts: str | int) -> "NodeBuilder":
        """State what the source says is kept back for the system."""
        return self.with_(reserve=resources(more, **amounts))

    def using(self, more: Mapping[str, str] | None = None, **amounts: str | int) -> "NodeBuilder":
        """State what is really in use on the machine."""
        return self.with_(actual=resources(more, **amounts))

    def in_group(self, name: str) -> "NodeBuilder":
        return self.with_(group=name)

    def in_domain(self, name: str) -> "NodeBuilder":
        return self.with_(domain=name)

    def cordoned(self) -> "NodeBuilder":
        return self.with_(state="cordoned")

    def offline(self) -> "NodeBuilder":
        return self.with_(state="offline")

    def with_swap(self, amount: str | int) -> "NodeBuilder":
        return self.with_(swap_bytes=size(amount))

    def labelled(self, labels: Mapping[str, str]) -> "NodeBuilder":
        return self.with_(labels={**self.record.labels, **labels})

    def tainted(self, key: str, value: str = "", effect: str = "NoSchedule") -> "NodeBuilder":
        return self.with_(taints=(*self.record.taints, Taint(key, value, effect)))

    def with_gpus(self, count: int, model: str = "L4", memory: str = "24Gi") -> "NodeBuilder":
        """Add devices, and their number to the capacity."""
        first = len(self.record.devices)
        added = tuple(
            Device(f"{self.record.name}-gpu{first + index}", GPU, model, size(memory))
            for index in range(count)
        )
        return self.with_(
            devices=(*self.record.devices, *added), capacity=self.record.capacity + Resources({GPU: count})
        )

    def with_drive(self, uuid: str, drive_class: DriveClass, amount: str, **fields: Any) -> "NodeBuilder":
        added = Drive(uuid, drive_class, size(amount), **fields)
        return self.with_(drives=(*self.record.drives, added))

    def with_volume_group(
        self, name: str, drive_class: DriveClass, amount: str, free: str | None = None, **fields: Any
    ) -> "NodeBuilder":
        left = amount if free is None else free
        added = VolumeGroup(name, drive_class, size(amount), size(left), **fields)
        return self.with_(volume_groups=(*self.record.volume_groups, added))


def node(name: str, more: Mapping[str, str] | None = None, **amounts: str | int) -> NodeBuilder:
    """A ready node with a capacity."""
    return NodeBuilder(Node(name, resources(more, **amounts)))


def workload(name: str, more: Mapping[str, str] | None = None, **parts: Any) -> Workload:
    """A workload; fields of the record are taken by name, every other keyword is a requested amount."""
    fields = {key: parts.pop(key) for key in list(parts) if key in Workload.__struct_fields__}
    namespace, slash, short = name.rpartition("/")
    if slash:
        fields["namespace"] = namespace
    return Workload(short, **{"requests": resources(more, **parts), **fields})


pod = workload


def waiting(name: str, more: Mapping[str, str] | None = None, **parts: Any) -> Workload:
    """A workload that asks to be placed."""
    return workload(name, more, state="init", **parts)


def batch(replicas: int, each: Workload, *, atomic: bool = False) -> Batch:
    return Batch(each, replicas, atomic)


def container(
    name: str,
    role: str = "main",
    limits: Mapping[str, str] | None = None,
    more: Mapping[str, str] | None = None,
    **amounts: str | int,
) -> Container:
    return Container(
        name, role, resources(more, **amounts), BUILT_IN_TYPES.parse(limits) if limits else NOTHING
    )


def quota(
    name: str,
    minimum: Mapping[str, str] | None = None,
    maximum: Mapping[str, str] | None = None,
    **fields: Any,
) -> Quota:
    """A quota over the namespace of its own name unless `namespaces` is given."""
    return Quota(
        name,
        **{
            "namespaces": (name,),
            "min": BUILT_IN_TYPES.parse(minimum or {}),
            "max": BUILT_IN_TYPES.parse(maximum or {}),
            **fields,
        },
    )


def claim(name: str, amount: str, **fields: Any) -> Claim:
    namespace, _, short = name.rpartition("/")
    return Claim(short, namespace, size_bytes=size(amount), **fields)


def persistent_volume(name: str, amount: str, **fields: Any) -> PersistentVolume:
    return PersistentVolume(name, size_bytes=size(amount), **fields)


def volume(name: str, amount: str, **fields: Any) -> Volume:
    return Volume(name, size_bytes=size(amount), **fields)


def entry(
    reservation: str, capacity: str, more: Mapping[str, str] | None = None, **parts: Any
) -> LedgerEntry:
    """A promise that holds; fields of the record by name, every other keyword an amount."""
    fields = {key: parts.pop(key) for key in list(parts) if key in LedgerEntry.__struct_fields__}
    held = {"request": "r1", "owner": "someone", "state": "RESERVED", "resources": resources(more, **parts)}
    return LedgerEntry(reservation=reservation, capacity=capacity, **{**held, **fields})


def tolerating(*keys: str, constraints: Constraints = UNCONSTRAINED) -> Constraints:
    """Constraints that do not mind taints of these keys."""
    added = tuple(Toleration(key, "Exists") for key in keys)
    return msgspec.structs.replace(constraints, tolerations=(*constraints.tolerations, *added))


def policy(
    groups: Mapping[str, Mapping[str, str]] | None = None,
    nodes: Mapping[str, Mapping[str, str]] | None = None,
    *,
    name: str = "test",
    **cluster_settings: str,
) -> Policy:
    """A policy of one user layer: `policy(memory_ratio="1.5", nodes={"n1": {"swap": "8Gi"}})`."""
    settings = {key.replace("_", "-"): text for key, text in cluster_settings.items()}
    return Policy(name, (Layer(name, cluster=settings, groups=groups or {}, nodes=nodes or {}),))


def cluster(*parts: Any, **fields: Any) -> Snapshot:
    """A checked snapshot of nodes, what they hold, and any other rows."""
    rows: dict[type, list[Any]] = {facts.row_type: [] for facts in TABLE_FACTS.values()}
    for part in parts:
        if isinstance(part, NodeBuilder):
            rows[Node].append(part.record)
            rows[Workload] += part.workloads
        else:
            rows[type(part)].append(part)
    tables = {table: unique(rows[facts.row_type], facts.singular) for table, facts in TABLE_FACTS.items()}
    return check_snapshot(Snapshot(**{**tables, **fields}))
