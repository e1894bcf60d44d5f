"""Our own documents as they stand in a file: one record per kind, camelCase, `apiVersion: ullage.dev/v1`.

They differ from the model only in form: tables are lists, and a workload of a set also says how many of it
are wanted. schema.py makes the published JSON Schema from these records, so they are the format.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Final, Literal, TypeAlias

import msgspec

from ullage.model.admission import (
    Autoscaler,
    DisruptionBudget,
    LimitRange,
    Namespace,
    PodGroup,
    PriorityClass,
    ResourceQuota,
    RuntimeClass,
)
from ullage.model.cluster import Batch, EvictsOthers, EvictsOwn, Group, Node, Quota, Workload, WorkloadState
from ullage.model.constraints import Record
from ullage.model.ganeti import InstancePolicy
from ullage.model.ledger_entry import LedgerEntry
from ullage.model.policy import Policy
from ullage.model.resources import NOTHING, Resources, ResourceTypes
from ullage.model.storage import Claim, PersistentVolume, StorageCapacity, StorageClass, StorageDriver

ApiVersion = Literal["ullage.dev/v1"]
KINDS: Final = ("Snapshot", "Delta", "WorkloadSet", "Policy", "ResourceTypes")
NO_TYPES: Final = ResourceTypes()
SettingValue: TypeAlias = str | int | float


class Header(msgspec.Struct, rename="camel"):
    """What every document is looked at for first: whose it is, and of which kind."""

    api_version: str | None = None
    kind: str | None = None


class TypesHeader(msgspec.Struct, rename="camel"):
    """The resource types of a document: read before the rest, because amounts depend on them."""

    resource_types: ResourceTypes = NO_TYPES


class RequirementSpec:
    """`resourceRequirementSpec: [request: [cpu: 2.5], limit: [cpu: 4]]`, as the resource model writes it."""

    __slots__ = ("limit", "request")

    def __init__(self, request: Resources | None = None, limit: Resources = NOTHING) -> None:
        self.request = request
        self.limit = limit


class CapacitySpec:
    """`resourceCapacitySpec: [total: [cpu: 12, memory: 128Gi]]`: what is allocatable on a node."""

    __slots__ = ("total",)

    def __init__(self, total: Resources = NOTHING) -> None:
        self.total = total


class NodeEntry(Node, frozen=True, kw_only=True):
    """A node of a snapshot; `resourceCapacitySpec` may stand for capacity and reserve."""

    resource_capacity_spec: CapacitySpec | None = None


class SnapshotDocument(Record, frozen=True, kw_only=True):
    """A whole cluster, with the policy that was applied to it."""

    api_version: ApiVersion
    kind: Literal["Snapshot"]
    name: str = ""
    revision: int = 0
    policy: Policy = Policy()
    resource_types: ResourceTypes = NO_TYPES
    nodes: tuple[NodeEntry, ...] = ()
    groups: tuple[Group, ...] = ()
    workloads: tuple[Workload, ...] = ()
    quotas: tuple[Quota, ...] = ()
    reservations: tuple[LedgerEntry, ...] = ()
    claims: tuple[Claim, ...] = ()
    volumes: tuple[PersistentVolume, ...] = ()
    storage_classes: tuple[StorageClass, ...] = ()
    storage_capacities: tuple[StorageCapacity, ...] = ()
    storage_drivers: tuple[StorageDriver, ...] = ()
    namespaces: tuple[Namespace, ...] = ()
    limit_ranges: tuple[LimitRange, ...] = ()
    resource_quotas: tuple[ResourceQuota, ...] = ()
    priority_classes: tuple[PriorityClass, ...] = ()
    runtime_classes: tuple[RuntimeClass, ...] = ()
    disruption_budgets: tuple[DisruptionBudget, ...] = ()
    pod_groups: tuple[PodGroup, ...] = ()
    autoscalers: tuple[Autoscaler, ...] = ()
    unknowns: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    instance_policy: InstancePolicy | None = None
    taken_seconds: int | None = None


class DeltaDocument(Record, frozen=True, kw_only=True):
    """Rows put into a snapshot and keys dropped from it; `revision` is the one it applies to."""

    api_version: ApiVersion
    kind: Literal["Delta"]
    revision: int | None = None
    resource_types: ResourceTypes = NO_TYPES
    nodes: tuple[Node, ...] = ()
    groups: tuple[Group, ...] = ()
    workloads: tuple[Workload, ...] = ()
    quotas: tuple[Quota, ...] = ()
    reservations: tuple[LedgerEntry, ...] = ()
    claims: tuple[Claim, ...] = ()
    volumes: tuple[PersistentVolume, ...] = ()
    storage_classes: tuple[StorageClass, ...] = ()
    storage_capacities: tuple[StorageCapacity, ...] = ()
    storage_drivers: tuple[StorageDriver, ...] = ()
    namespaces: tuple[Namespace, ...] = ()
    limit_ranges: tuple[LimitRange, ...] = ()
    resource_quotas: tuple[ResourceQuota, ...] = ()
    priority_classes: tuple[PriorityClass, ...] = ()
    runtime_classes: tuple[RuntimeClass, ...] = ()
    disruption_budgets: tuple[DisruptionBudget, ...] = ()
    pod_groups: tuple[PodGroup, ...] = ()
    autoscalers: tuple[Autoscaler, ...] = ()
    dropped: Mapping[str, tuple[str, ...]] = {}


class WorkloadEntry(Workload, frozen=True, kw_only=True):
    """A workload of a set: it waits to be placed, `replicas` times, all or none of them if `atomic`.

    `resourceRequirementSpec` may stand for requests and limits.
    """

    state: WorkloadState = "init"
    replicas: int = 1
    atomic: bool = False
    resource_requirement_spec: RequirementSpec | None = None


class WorkloadSetDocument(Record, frozen=True, kw_only=True):
    """Workloads that are asked for together; `atomic` wants all of them or none."""

    api_version: ApiVersion
    kind: Literal["WorkloadSet"]
    name: str = ""
    atomic: bool = False
    resource_types: ResourceTypes = NO_TYPES
    workloads: tuple[WorkloadEntry, ...] = ()


class TraceEntry(WorkloadEntry, frozen=True, kw_only=True):
    """A workload of a trace; where it is `atomic`, its replicas come, start and go as one."""

    start_seconds: int = 0
    duration_seconds: int | None = None
    leaves_seconds: int | None = None


class TraceDocument(Record, frozen=True, kw_only=True):
    """Workloads with the times at which they come."""

    api_version: ApiVersion
    kind: Literal["Trace"]
    name: str = ""
    resource_types: ResourceTypes = NO_TYPES
    workloads: tuple[TraceEntry, ...] = ()


class PolicyFields(Record, frozen=True, kw_only=True):
    """The policy of a snapshot as it was written, with whatever is in it."""

    policy: Mapping[str, Any] = {}


class PolicyDocument(Record, frozen=True, kw_only=True):
    """Settings for the cluster, for groups and for nodes, over those of the policy it inherits."""

    api_version: ApiVersion
    kind: Literal["Policy"]
    name: str = ""
    description: str = ""
    inherits: str = ""
    cluster: Mapping[str, SettingValue] = {}
    groups: Mapping[str, Mapping[str, SettingValue]] = {}
    nodes: Mapping[str, Mapping[str, SettingValue]] = {}


class ResourceTypesDocument(Record, frozen=True, kw_only=True):
    """Resource types that users add to the built-in ones."""

    api_version: ApiVersion
    kind: Literal["ResourceTypes"]
    resource_types: ResourceTypes = NO_TYPES


class ObjectName(Record, frozen=True, kw_only=True):
    """What an object is called."""

    name: str


class QuotaSpec(Record, frozen=True, kw_only=True):
    """What a quota covers, guarantees and allows, and its place in a tree; see the quotas of a Snapshot."""

    namespaces: tuple[str, ...] = ()
    queues: tuple[str, ...] = ()
    min: Resources = NOTHING
    max: Resources = NOTHING
    parent: str = ""
    weight: Fraction | None = None
    lending_limit: Resources | None = None
    borrowing_limit: Resources | None = None
    evicts_own: EvictsOwn = "LowerPriority"
    evicts_others: EvictsOthers = "Any"


class QuotaDocument(Record, frozen=True, kw_only=True):
    """A quota as an object of Kubernetes: among the objects of a cluster, or beside a Snapshot."""

    api_version: ApiVersion
    kind: Literal["Quota"]
    metadata: ObjectName
    spec: QuotaSpec = QuotaSpec()


class BareFields(msgspec.Struct, rename="camel"):
    """Which of the resource model's three forms a document holds, before any of them is read."""

    resource_requirement_spec: Any = None
    resource_capacity_spec: Any = None
    resource_types: Any = None


class BareSpec(msgspec.Struct, rename="camel"):
    """A document that holds nothing but one of the resource model's three forms."""

    resource_requirement_spec: RequirementSpec | None = None
    resource_capacity_spec: CapacitySpec | None = None
    resource_types: ResourceTypes | None = None


class WorkloadSet(msgspec.Struct, frozen=True, kw_only=True):
    """The content of a WorkloadSet document, with the registry its amounts were read by."""

    name: str = ""
    atomic: bool = False
    batches: tuple[Batch, ...] = ()
    resource_types: ResourceTypes = NO_TYPES


DOCUMENTS: Final[Mapping[str, type[Record]]] = {
    "Snapshot": SnapshotDocument,
    "Delta": DeltaDocument,
    "WorkloadSet": WorkloadSetDocument,
    "Policy": PolicyDocument,
    "ResourceTypes": ResourceTypesDocument,
}
