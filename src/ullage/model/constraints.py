"""Where a workload may run: the placement constraints of Kubernetes, as records.

Field names on the wire are those of the Kubernetes API, so these records are read from a dump and written
to our own files in one form.
"""

from collections.abc import Mapping

import msgspec


class Record(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, gc=False):
    """A value: frozen, camelCase on the wire, defaults left out.

    It holds nothing that leads back to it, so nobody has to look through records for garbage: there may be
    hundreds of thousands of them.
    """


class Toleration(Record, frozen=True):
    """A taint that a workload does not mind."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


class Requirement(Record, frozen=True):
    """One condition on a label or field: In, NotIn, Exists, DoesNotExist, Gt, Lt."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


class NodeSelectorTerm(Record, frozen=True):
    """Conditions that all hold on a node."""

    match_expressions: tuple[Requirement, ...] = ()
    match_fields: tuple[Requirement, ...] = ()


class NodeSelector(Record, frozen=True):
    """Terms of which at least one holds."""

    node_selector_terms: tuple[NodeSelectorTerm, ...] = ()


class PreferredNodeTerm(Record, frozen=True):
    """A term that is better met, and by how much."""

    weight: int
    preference: NodeSelectorTerm = NodeSelectorTerm()


_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


class NodeAffinity(Record, frozen=True, rename={"required": _REQUIRED, "preferred": _PREFERRED}):
    """Nodes that a workload must or would rather run on."""

    required: NodeSelector | None = None
    preferred: tuple[PreferredNodeTerm, ...] = ()


class LabelSelector(Record, frozen=True):
    """Labels and conditions on labels, all of which hold."""

    match_labels: Mapping[str, str] = {}
    match_expressions: tuple[Requirement, ...] = ()


class PodAffinityTerm(Record, frozen=True):
    """Workloads that this one must be near to, or away from, within a topology."""

    topology_key: str
    label_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] = ()
    namespace_selector: LabelSelector | None = None
    match_label_keys: tuple[str, ...] = ()
    mismatch_label_keys: tuple[str, ...] = ()


class WeightedPodAffinityTerm(Record, frozen=True):
    """A term that is better met, and by how much."""

    weight: int
    pod_affinity_term: PodAffinityTerm


class PodAffinity(Record, frozen=True, rename={"required": _REQUIRED, "preferred": _PREFERRED}):
    """Terms that must all be met, and terms that are better met."""

    required: tuple[PodAffinityTerm, ...] = ()
    preferred: tuple[WeightedPodAffinityTerm, ...] = ()


class Affinity(Record, frozen=True):
    """What draws a workload to nodes and to or from other workloads."""

    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class TopologySpread(Record, frozen=True):
    """How unevenly replicas may lie over the values of a topology label."""

    max_skew: int
    topology_key: str
    when_unsatisfiable: str = "DoNotSchedule"
    label_selector: LabelSelector | None = None
    min_domains: int | None = None
    node_affinity_policy: str = "Honor"
    node_taints_policy: str = "Ignore"
    match_label_keys: tuple[str, ...] = ()


class HostPort(Record, frozen=True):
    """A port of the node itself that a workload occupies."""

    port: int
    protocol: str = "TCP"
    host_ip: str = ""


class Constraints(Record, frozen=True):
    """Everything that limits the nodes of a workload apart from resources.

    `resource_claims` are the names of those by which it asks for devices.
    """

    node_selector: Mapping[str, str] = {}
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] = ()
    topology_spread: tuple[TopologySpread, ...] = ()
    host_ports: tuple[HostPort, ...] = ()
    scheduling_gates: tuple[str, ...] = ()
    resource_claims: tuple[str, ...] = ()


UNCONSTRAINED = Constraints()
