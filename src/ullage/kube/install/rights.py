"""What each process may do: one table of rights, turned into roles, bindings and service accounts.

Nothing here is given in advance: a rule stands for something that a process does, and says what. Rights on
single objects (its Lease, its Secret) are roles of the namespace, by name; only `create` knows no names.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from ullage.kube.install.choices import (
    CERTIFICATE_SECRET,
    EXTENDER,
    OPERATOR,
    SCHEDULER,
    WEBHOOK_CONFIGURATION,
    Document,
    component_name,
    metadata,
)
from ullage.sources.kubernetes.baremetal import GROUP as BAREMETAL
from ullage.sources.kubernetes.object_kinds import NOS, OWN_GROUP

RBAC: Final = "rbac.authorization.k8s.io"
_WATCH: Final = ("list", "watch")


class Right(NamedTuple):
    """What may be done to which resources of a group, and what for; `names` are single objects."""

    group: str
    resources: tuple[str, ...]
    verbs: tuple[str, ...]
    purpose: str
    names: tuple[str, ...] = ()

    def rule(self) -> Document:
        """Return the right as a rule of a role."""
        written: Document = {
            "apiGroups": [self.group],
            "resources": list(self.resources),
            "verbs": list(self.verbs),
        }
        return {**written, "resourceNames": list(self.names)} if self.names else written


_COUNTING: Final = (
    Right(
        "",
        ("nodes", "persistentvolumeclaims", "persistentvolumes", "pods"),
        _WATCH,
        "what runs where, and what it asks for",
    ),
    Right(NOS, ("compositeelasticquotas", "elasticquotas"), _WATCH, "quotas of nos"),
    Right(
        BAREMETAL,
        (
            "availablecapacities",
            "availablecapacityreservations",
            "drives",
            "logicalvolumegroups",
            "nodes",
            "volumes",
        ),
        _WATCH,
        "local disks of csi-baremetal",
    ),
    Right(OWN_GROUP, ("capacitypolicies", "plans", "quotas", "resourcetypes"), _WATCH, "rules and promises"),
)
"""What every process watches: all that is counted."""
_CHOOSING: Final = (
    Right("", ("namespaces",), _WATCH, "which pods are meant by rules between pods"),
    Right(
        "storage.k8s.io",
        ("csidrivers", "csinodes", "csistoragecapacities", "storageclasses"),
        _WATCH,
        "which volumes fit where",
    ),
    Right("policy", ("poddisruptionbudgets",), _WATCH, "who may be evicted"),
    Right("scheduling.k8s.io", ("podgroups",), _WATCH, "who starts together"),
    Right("scheduling.x-k8s.io", ("podgroups",), _WATCH, "who starts together, as coscheduling writes it"),
)
"""What those watch besides who choose nodes for pods: the scheduler, and the extender by the same rules."""
CLUSTER_READING: Final[Mapping[str, tuple[Right, ...]]] = {
    OPERATOR: (*_COUNTING, Right(OWN_GROUP, ("nodecapacities",), _WATCH, "what is written about nodes")),
    SCHEDULER: (*_COUNTING, *_CHOOSING),
    EXTENDER: (*_COUNTING, *_CHOOSING),
}
_EVENTS: Final = Right("events.k8s.io", ("events",), ("create",), "says why")
_PLACING: Final = (
    Right("", ("pods",), ("get",), "whether a binding was made whose answer was lost"),
    Right("", ("pods/binding", "pods/eviction"), ("create",), "pods start, or make room"),
    Right("", ("pods/status",), ("patch",), "why a pod waits, for which node, or that there is room by now"),
    Right("", ("persistentvolumeclaims",), ("patch",), "the node that a claim is to be served on"),
    Right("", ("persistentvolumes",), ("get", "patch"), "the claim that a free volume is for"),
    Right(
        BAREMETAL, ("availablecapacityreservations",), ("create", "delete", "patch"), "disks of a chosen node"
    ),
    _EVENTS,
)
"""Who gives pods their nodes does the same things, whoever has chosen the node."""
_CLUSTER_WRITING: Final[Mapping[str, tuple[Right, ...]]] = {
    OPERATOR: (
        Right("", ("pods",), ("patch",), "the label that says whether a pod is over quota"),
        Right(NOS, ("compositeelasticquotas/status", "elasticquotas/status"), ("patch",), "what quotas use"),
        Right(OWN_GROUP, ("capacitypolicies/status", "quotas/status"), ("patch",), "what holds, and why"),
        Right(OWN_GROUP, ("nodecapacities",), ("create", "delete"), "one for each node"),
        Right(OWN_GROUP, ("nodecapacities/status",), ("patch",), "the room of each node"),
        Right(OWN_GROUP, ("plans",), ("create", "delete", "get"), "the end of promises, and of old steps"),
        Right(BAREMETAL, ("availablecapacityreservations",), ("delete",), "reservations that nobody needs"),
        Right(
            "admissionregistration.k8s.io",
            ("validatingwebhookconfigurations",),
            ("get", "patch"),
            "the certificate that the API server trusts the webhook by",
            (WEBHOOK_CONFIGURATION,),
        ),
        _EVENTS,
    ),
    SCHEDULER: _PLACING,
    EXTENDER: _PLACING,
}
_LEASES: Final = "coordination.k8s.io"


def _leading(component: str) -> tuple[Right, ...]:
    return (
        Right(_LEASES, ("leases",), ("create",), "one replica leads"),
        Right(_LEASES, ("leases",), ("get", "update"), "one replica leads", (component_name(component),)),
    )


_NAMESPACE_RIGHTS: Final[Mapping[str, tuple[Right, ...]]] = {
    OPERATOR: (
        *_leading(OPERATOR),
        Right("", ("secrets",), ("create",), "the certificate of the webhook"),
        Right("", ("secrets",), ("get", "update"), "the certificate of the webhook", (CERTIFICATE_SECRET,)),
    ),
    SCHEDULER: _leading(SCHEDULER),
    EXTENDER: _leading(EXTENDER),
}


def cluster_rights(component: str) -> tuple[Right, ...]:
    """Return what a process may do anywhere."""
    return (*CLUSTER_READING[component], *_CLUSTER_WRITING[component])


def namespace_rights(component: str) -> tuple[Right, ...]:
    """Return what a process may do in the namespace of the installation alone."""
    return _NAMESPACE_RIGHTS[component]


def rights(component: str, namespace: str) -> list[Document]:
    """Return a service account with its roles and their bindings."""
    name = component_name(component)
    account = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": metadata(name, component, namespace),
        "automountServiceAccountToken": False,
    }
    made = [
        account,
        _role("ClusterRole", name, component, "", cluster_rights(component)),
        _binding("ClusterRole", name, component, "", namespace),
    ]
    inside = namespace_rights(component)
    if inside:
        made += [
            _role("Role", name, component, namespace, inside),
            _binding("Role", name, component, namespace, namespace),
        ]
    return made


def _role(kind: str, name: str, component: str, namespace: str, given: Iterable[Right]) -> Document:
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": kind,
        "metadata": metadata(name, component, namespace),
        "rules": [each.rule() for each in given],
    }


def _binding(role: str, name: str, component: str, namespace: str, account_in: str) -> Document:
    subject: dict[str, Any] = {"kind": "ServiceAccount", "name": name, "namespace": account_in}
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": f"{role}Binding",
        "metadata": metadata(name, component, namespace),
        "roleRef": {"apiGroup": RBAC, "kind": role, "name": name},
        "subjects": [subject],
    }
