"""The cluster at one moment: nodes, workloads, quotas and reservations, as one immutable snapshot.

Everything a question needs is in the snapshot; nothing is looked up later. Amounts are exact integers in
their type's internal steps. A snapshot changes only by a Delta, which gives a new snapshot and leaves the
old one valid (see table.py for how the two share their rows).
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Final, Literal

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
from ullage.model.constraints import UNCONSTRAINED, Constraints, Record
from ullage.model.drives import Drive, PlacedVolume, VolumeGroup
from ullage.model.ganeti import GanetiGroup, GanetiNode, Instance, InstancePolicy
from ullage.model.ledger_entry import LedgerEntry
from ullage.model.policy import Policy
from ullage.model.resources import NOTHING, Resources, ResourceTypes
from ullage.model.storage import Claim, PersistentVolume, StorageCapacity, StorageClass, StorageDriver
from ullage.model.table import Table

DEFAULT_GROUP: Final = "default"

NodeState = Literal["ready", "cordoned", "offline"]
"""ready takes workloads; cordoned keeps what it has and takes nothing new; offline gives nothing."""

WorkloadState = Literal["init", "ok", "error", "paused", "deleted"]
"""init waits to be placed; error is final and never retried by itself; only ok and paused hold capacity."""

HOLDING_STATES: Final = frozenset(("ok", "paused"))

FORTHCOMING: Final = "forthcoming"
"""How answers call a workload that is paused because its virtual machine is not created yet."""

TOLD_HOLDING: Final = HOLDING_STATES | {FORTHCOMING}
"""States in answers that hold capacity."""


class Taint(Record, frozen=True):
    """What keeps workloads off a node unless they tolerate it."""

    key: str
    value: str = ""
    effect: str = "NoSchedule"


class Device(Record, frozen=True):
    """One GPU or other accelerator; `resource` is the name under which whole devices are requested."""

    id: str
    resource: str = "nvidia.com/gpu"
    model: str = ""
    memory_bytes: int = 0


class Node(Record, frozen=True):
    """A machine: what it has, what of it is kept back, and the state it is in.

    `reserve` is what the source states (None: the policy's rule decides, resource by resource where the
    map does not name one). `actual` is what is really in use on the machine, system included.
    `attach_limits` says how many volumes of each storage driver it can have. `host` is what Ganeti says.
    """

    name: str
    capacity: Resources = NOTHING
    reserve: Resources | None = None
    group: str = DEFAULT_GROUP
    domain: str = ""
    state: NodeState = "ready"
    labels: Mapping[str, str] = {}
    taints: tuple[Taint, ...] = ()
    swap_bytes: int | None = None
    cpu_conversion_factor: Fraction = Fraction(1)
    actual: Resources | None = None
    devices: tuple[Device, ...] = ()
    drives: tuple[Drive, ...] = ()
    volume_groups: tuple[VolumeGroup, ...] = ()
    placed_volumes: tuple[PlacedVolume, ...] = ()
    attach_limits: Mapping[str, int] = {}
    qualities: Mapping[str, str] = {}
    host: GanetiNode | None = None

    @property
    def key(self) -> str:
        """Nodes are known by name."""
        return self.name


class Group(Record, frozen=True):
    """A set of nodes that share a policy and stand in for each other when one fails."""

    name: str
    labels: Mapping[str, str] = {}
    ganeti: GanetiGroup | None = None

    @property
    def key(self) -> str:
        """Groups are known by name."""
        return self.name


class Container(Record, frozen=True):
    """A part of a workload with its own requests and limits; a sidecar is an init part that keeps running."""

    name: str
    role: Literal["main", "init", "sidecar"] = "main"
    requests: Resources = NOTHING
    limits: Resources = NOTHING


class Outage(Record, frozen=True):
    """That a container had to be started again: how often, and how it ended the last time.

    It was `killed` if it ran out of memory.
    """

    container: str
    restarts: int = 0
    killed: bool = False
    ended_seconds: int | None = None


class Volume(Record, frozen=True):
    """Disk space that a workload asks for: by a claim of its own, or inline and gone with it.

    On a local disk it may want one of a `storage_group`, or be a `virtual_disk`: a file beside others. It
    has a `foreign_claim` where the claim that should be its own was made for another.
    """

    name: str
    claim: str = ""
    storage_class: str = ""
    size_bytes: int = 0
    inline: bool = False
    driver: str = ""
    storage_group: str = ""
    virtual_disk: bool = False
    foreign_claim: bool = False


MEMBERS_UNSAID: Final = 10_000_001
"""More than any gang has: nobody has said yet how many of it are enough."""


class Workload(Record, frozen=True):
    """Something that runs, or would like to, on one node.

    `requests` is the effective request: what the node gives up for it. A resource missing from `limits`
    is unbounded. `containers` and `overhead` are the terms that the request was made of. Workloads of one
    `gang` in a namespace are placed all together or not at all; where `gang_min` is not 0, that many of them
    are enough, and where it is MEMBERS_UNSAID, none is placed before that is said. `instance` is what Ganeti
    says of a virtual machine. `host_path` says that it reaches a folder of its node, which stays there when
    it goes elsewhere. `started_seconds` is when its node took it.
    One that is `admitted` uses the quota of its queue already, though it may have no node yet. One that is
    `promised` stands for a promise of the ledger: it does not run yet, and nobody evicts or moves it; that is
    said by those who count promises, and by no label, which anybody could set.
    """

    name: str
    namespace: str = ""
    kind: str = "Pod"
    node: str = ""
    standby: str = ""
    state: WorkloadState = "ok"
    requests: Resources = NOTHING
    limits: Resources = NOTHING
    containers: tuple[Container, ...] = ()
    overhead: Resources = NOTHING
    priority: int = 0
    owner: str = ""
    created_seconds: int | None = None
    terminating: bool = False
    labels: Mapping[str, str] = {}
    constraints: Constraints = UNCONSTRAINED
    volumes: tuple[Volume, ...] = ()
    scheduler: str = ""
    preempts: bool = True
    gang: str = ""
    gang_min: int = 0
    priority_class: str = ""
    runtime_class: str = ""
    qualities: Mapping[str, str] = {}
    instance: Instance | None = None
    host_path: bool = False
    started_seconds: int | None = None
    admitted: bool = False
    promised: bool = False
    outages: tuple[Outage, ...] = ()

    @property
    def key(self) -> str:
        """Workloads are known by namespace and name."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    @property
    def holds_capacity(self) -> bool:
        """Whether its requests are committed on its node."""
        return self.state in HOLDING_STATES and bool(self.node)

    @property
    def told_state(self) -> str:
        """Its state in answers: forthcoming where it holds its node for what is not created yet."""
        if self.instance is None or not self.instance.forthcoming or not self.holds_capacity:
            return self.state
        return FORTHCOMING


class Batch(Record, frozen=True):
    """A number of equal workloads that are asked for together; `atomic` means all or none of them."""

    workload: Workload
    replicas: int = 1
    atomic: bool = False

    @property
    def key(self) -> str:
        """Batches are known by their workload."""
        return self.workload.key


EvictsOwn = Literal["Never", "LowerPriority"]
EvictsOthers = Literal["Never", "LowerPriority", "Any"]


class Quota(Record, frozen=True):
    """What namespaces are guaranteed (`min`) and may never exceed (`max`), and its place in a tree.

    `queues` are those of Kueue, as NAMESPACE/NAME: a workload that names one counts where the queue does;
    those of them that are `stopped` take nothing in.
    `stated_used` is what the cluster itself says is used; nothing is decided by it. Whom its claims evict of
    its own workloads is `evicts_own`, and of other quotas', where it has the right to, `evicts_others`.
    """

    name: str
    kind: Literal["ElasticQuota", "CompositeElasticQuota", "Quota"] = "Quota"
    namespaces: tuple[str, ...] = ()
    min: Resources = NOTHING
    max: Resources = NOTHING
    parent: str = ""
    weight: Fraction | None = None
    lending_limit: Resources | None = None
    borrowing_limit: Resources | None = None
    queues: tuple[str, ...] = ()
    stated_used: Resources | None = None
    evicts_own: EvictsOwn = "LowerPriority"
    evicts_others: EvictsOthers = "Any"
    stopped: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """Quotas are known by name."""
        return self.name


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """The whole cluster at one revision, with the policy that applies to it.

    `unknowns` says what the source could not tell or what is not modelled: every answer repeats it. `tags`
    and `instance_policy` are those of a Ganeti cluster. `taken_seconds` is the moment that it shows, where
    that is known.
    """

    name: str = ""
    revision: int = 0
    policy: Policy = Policy()
    resource_types: ResourceTypes = ResourceTypes()
    nodes: Table[Node] = Table()
    groups: Table[Group] = Table()
    workloads: Table[Workload] = Table()
    quotas: Table[Quota] = Table()
    reservations: Table[LedgerEntry] = Table()
    claims: Table[Claim] = Table()
    volumes: Table[PersistentVolume] = Table()
    storage_classes: Table[StorageClass] = Table()
    storage_capacities: Table[StorageCapacity] = Table()
    storage_drivers: Table[StorageDriver] = Table()
    namespaces: Table[Namespace] = Table()
    limit_ranges: Table[LimitRange] = Table()
    resource_quotas: Table[ResourceQuota] = Table()
    priority_classes: Table[PriorityClass] = Table()
    runtime_classes: Table[RuntimeClass] = Table()
    disruption_budgets: Table[DisruptionBudget] = Table()
    pod_groups: Table[PodGroup] = Table()
    autoscalers: Table[Autoscaler] = Table()
    unknowns: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    instance_policy: InstancePolicy | None = None
    taken_seconds: int | None = None
