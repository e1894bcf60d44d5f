"""What the API server does to workloads before any scheduler sees them, and what protects running ones."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Literal

from ullage.model.constraints import LabelSelector, Record, Requirement, Toleration
from ullage.model.resources import NOTHING, Resources


class Namespace(Record, frozen=True):
    """A name space of workloads with its labels, which affinity may select by."""

    name: str
    labels: Mapping[str, str] = {}

    @property
    def key(self) -> str:
        """Namespaces are known by name."""
        return self.name


class LimitRangeItem(Record, frozen=True):
    """Bounds and defaults for one kind of thing: Container, Pod or PersistentVolumeClaim."""

    kind: str
    min: Resources = NOTHING
    max: Resources = NOTHING
    default_limits: Resources = NOTHING
    default_requests: Resources = NOTHING
    limit_request_ratio_max: Mapping[str, Fraction] = {}


class LimitRange(Record, frozen=True):
    """The bounds and defaults of a namespace."""

    name: str
    namespace: str = ""
    items: tuple[LimitRangeItem, ...] = ()

    @property
    def key(self) -> str:
        """Limit ranges are known by namespace and name."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class ResourceQuota(Record, frozen=True):
    """A hard bound on what a namespace may ask for in sum.

    `hard` and `used` hold quantities by the names that Kubernetes gives them (requests.cpu, limits.memory,
    pods, count/deployments.apps, requests.storage, …); `used` is None where the source does not tell.
    """

    name: str
    namespace: str = ""
    hard: Mapping[str, str] = {}
    used: Mapping[str, str] | None = None
    scopes: tuple[str, ...] = ()
    scope_selector: tuple[Requirement, ...] = ()

    @property
    def key(self) -> str:
        """Resource quotas are known by namespace and name."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class PriorityClass(Record, frozen=True):
    """A named priority; the global default is that of workloads that name none."""

    name: str
    value: int = 0
    global_default: bool = False
    preempts: bool = True

    @property
    def key(self) -> str:
        """Priority classes are known by name."""
        return self.name


class RuntimeClass(Record, frozen=True):
    """A container runtime: what it takes besides, and which nodes have it."""

    name: str
    overhead: Resources = NOTHING
    node_selector: Mapping[str, str] = {}
    tolerations: tuple[Toleration, ...] = ()

    @property
    def key(self) -> str:
        """Runtime classes are known by name."""
        return self.name


class PodGroup(Record, frozen=True):
    """How many workloads of a gang are placed together at least; up to 1 they are placed one by one."""

    name: str
    namespace: str = ""
    members_min: int = 0

    @property
    def key(self) -> str:
        """Pod groups are known by namespace and name."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class DisruptionBudget(Record, frozen=True):
    """How many of the selected workloads may be evicted at a time (PodDisruptionBudget).

    `min_available` and `max_unavailable` are numbers or percentages as written, empty where not stated;
    `disruptions_allowed` is what the cluster itself last counted.
    """

    name: str
    namespace: str = ""
    selector: LabelSelector | None = None
    min_available: str = ""
    max_unavailable: str = ""
    disruptions_allowed: int | None = None

    @property
    def key(self) -> str:
        """Budgets are known by namespace and name."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class Autoscaler(Record, frozen=True):
    """Who changes a workload by its use: how many of it run (horizontal), or what it asks for (vertical).

    `target` is the kind and name of what it changes; `resources` are those by whose use, as a share of the
    request, it counts. A vertical one whose `mode` is Off only recommends.
    """

    name: str
    namespace: str = ""
    kind: Literal["HorizontalPodAutoscaler", "VerticalPodAutoscaler"] = "HorizontalPodAutoscaler"
    target: str = ""
    resources: tuple[str, ...] = ()
    mode: str = ""

    @property
    def key(self) -> str:
        """Autoscalers are known by namespace, kind and name."""
        inside = f"{self.kind}/{self.name}"
        return f"{self.namespace}/{inside}" if self.namespace else inside
