"""Kubernetes objects as the API writes them, cut down to the fields that are read.

msgspec skips every other field without making an object of it. What replicas have in common, and what most
of them leave alone (resources, affinity, labels, …), stays the text it was written in (`Raw`): pods of one
template repeat it byte for byte, so its text is the key under which its value is made once; see interned.py.
A field that may be absent may be null as well, because hand-written YAML says so.
"""

from datetime import datetime
from typing import Annotated

import msgspec
from msgspec import Raw

from ullage.model.cluster import EvictsOthers, EvictsOwn
from ullage.model.constraints import LabelSelector, Toleration

NULL = Raw(b"null")
"""What a field holds that nobody wrote."""
Time = Annotated[datetime, msgspec.Meta(tz=True)]
"""A moment; without its time zone it would be none."""
_ALWAYS = Raw(b'"Always"')


class Wire(msgspec.Struct, rename="camel", gc=False):
    """A part of an object; other fields are ignored."""


class Owner(Wire):
    """Who an object belongs to."""

    kind: str = ""
    name: str = ""
    controller: bool | None = None


class Metadata(Wire):
    """What every object has; `annotations` matter on nodes, and on pods that are in a group of Kueue's."""

    name: str | None = None
    uid: str | None = None
    generate_name: str | None = None
    namespace: str | None = None
    labels: Raw = NULL
    annotations: Raw = NULL
    creation_timestamp: Time | None = None
    deletion_timestamp: Time | None = None
    owner_references: list[Owner] | None = None


class ContainerWire(Wire):
    """A container of a pod; all of it is text that replicas share."""

    name: Raw
    resources: Raw = NULL
    ports: Raw = NULL
    restart_policy: Raw = NULL


def is_sidecar(container: ContainerWire) -> bool:
    """Whether an init container keeps running beside the others."""
    return container.restart_policy == _ALWAYS


class ClaimReference(Wire):
    """The claim behind a volume."""

    claim_name: str


class StorageRequest(Wire):
    """Requests of a claim; `storage` is the only one there is."""

    requests: Raw = NULL


class ClaimSpec(Wire):
    """What a claim asks for."""

    storage_class_name: str | None = None
    resources: StorageRequest | None = None
    volume_name: str | None = None
    access_modes: tuple[str, ...] | None = None
    volume_mode: str | None = None
    selector: LabelSelector | None = None


class ClaimTemplate(Wire):
    """A claim that does not exist yet."""

    metadata: Metadata | None = None
    spec: ClaimSpec | None = None


class EphemeralVolume(Wire):
    """A volume with a claim that lives as long as its pod."""

    volume_claim_template: ClaimTemplate | None = None


class InlineVolume(Wire):
    """A volume that its driver makes for one pod."""

    driver: str = ""
    volume_attributes: dict[str, str] | None = None


class HostPathVolume(Wire):
    """A folder of the node."""

    path: str | None = None


class VolumeWire(Wire):
    """A volume of a pod; only those that take disk space, or are of the node, have one of these fields."""

    name: str
    persistent_volume_claim: ClaimReference | None = None
    ephemeral: EphemeralVolume | None = None
    csi: InlineVolume | None = None
    host_path: HostPathVolume | None = None


class SchedulingGroup(Wire):
    """The group of pods that a pod is placed with, all together or none."""

    pod_group_name: str | None = None


class PodSpec(Wire):
    """What a pod asks for."""

    containers: list[ContainerWire] | None = None
    init_containers: list[ContainerWire] | None = None
    node_name: str | None = None
    scheduler_name: str | None = None
    priority: int | None = None
    priority_class_name: str | None = None
    preemption_policy: str | None = None
    runtime_class_name: str | None = None
    scheduling_group: SchedulingGroup | None = None
    resource_claims: Raw = NULL
    host_network: Raw = NULL
    overhead: Raw = NULL
    resources: Raw = NULL
    node_selector: Raw = NULL
    affinity: Raw = NULL
    tolerations: Raw = NULL
    topology_spread_constraints: Raw = NULL
    scheduling_gates: Raw = NULL
    volumes: list[VolumeWire] | None = None


class ContainerStatus(Wire):
    """What a container was given, which differs from its spec while it is being resized, and how it ended."""

    name: Raw
    allocated_resources: Raw = NULL
    resources: Raw = NULL
    restart_count: int | None = None
    last_state: Raw = NULL
    state: Raw = NULL


class PodStatus(Wire):
    """How a pod is doing."""

    phase: str | None = None
    start_time: Time | None = None
    conditions: Raw = NULL
    container_statuses: list[ContainerStatus] | None = None
    init_container_statuses: list[ContainerStatus] | None = None


class PodWire(Wire):
    """A pod, or the template of one."""

    metadata: Metadata | None = None
    spec: PodSpec | None = None
    status: PodStatus | None = None


class Condition(Wire):
    """One thing that is said about a node or pod."""

    type: str
    status: str = ""
    reason: str | None = None
    last_heartbeat_time: Time | None = None


class NodeMetadata(Wire):
    """What is known of a node apart from its work."""

    name: str
    uid: str = ""
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class TaintWire(Wire):
    """What keeps pods off a node."""

    key: str
    effect: str
    value: str | None = None


class NodeSpec(Wire):
    """What is wanted of a node."""

    unschedulable: bool | None = None
    taints: list[TaintWire] | None = None


class NodeSwap(Wire):
    """The swap space of a node."""

    capacity: int | None = None


class NodeInfo(Wire):
    """What the node's kubelet says about its machine."""

    swap: NodeSwap | None = None


class NodeStatus(Wire):
    """How a node is doing."""

    capacity: Raw = NULL
    allocatable: Raw = NULL
    conditions: list[Condition] | None = None
    node_info: NodeInfo | None = None


class NodeWire(Wire):
    """A node."""

    metadata: NodeMetadata
    spec: NodeSpec | None = None
    status: NodeStatus | None = None


class Named(Wire):
    """Metadata of an object that is known by its name alone."""

    name: str
    namespace: str | None = None


class ClaimStatus(Wire):
    """How a claim is doing."""

    phase: str | None = None
    capacity: Raw = NULL


class Controller(Wire):
    """Whom a claim was made for, where it says that this is who controls it."""

    uid: str = ""
    controller: bool | None = None


class ClaimMetadata(Named):
    """What is known of a claim apart from its disk space."""

    uid: str = ""
    resource_version: str = ""
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    deletion_timestamp: Time | None = None
    owner_references: list[Controller] | None = None


class ClaimWire(Wire):
    """A PersistentVolumeClaim."""

    metadata: ClaimMetadata
    spec: ClaimSpec | None = None
    status: ClaimStatus | None = None


class QuotaSpec(Wire):
    """What a quota guarantees and allows; from `queues` on a Quota of our own says more than elastic ones."""

    min: Raw = NULL
    max: Raw = NULL
    namespaces: list[str] | None = None
    queues: list[str] | None = None
    parent: str | None = None
    weight: Raw = NULL
    lending_limit: Raw = NULL
    borrowing_limit: Raw = NULL
    evicts_own: EvictsOwn | None = None
    evicts_others: EvictsOthers | None = None


class QuotaStatus(Wire):
    """What an elastic quota says is used."""

    used: Raw = NULL


class QuotaWire(Wire):
    """An ElasticQuota, a CompositeElasticQuota, or a Quota of our own."""

    metadata: Named
    spec: QuotaSpec | None = None
    status: QuotaStatus | None = None


class Overhead(Wire):
    """What a runtime takes for itself, per pod."""

    pod_fixed: Raw = NULL


class RuntimeScheduling(Wire):
    """Which nodes have a runtime."""

    node_selector: dict[str, str] | None = None
    tolerations: tuple[Toleration, ...] | None = None


class RuntimeClassWire(Wire):
    """A RuntimeClass."""

    metadata: Named
    overhead: Overhead | None = None
    scheduling: RuntimeScheduling | None = None


class PriorityClassWire(Wire):
    """A PriorityClass."""

    metadata: Named
    value: int
    global_default: bool | None = None
    preemption_policy: str | None = None


class NodeMetricsWire(Wire):
    """What a node really uses, as the metrics API says."""

    metadata: Named
    usage: Raw = NULL
