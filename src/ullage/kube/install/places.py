"""Where objects of each kind live in the API, and which of them an installation may have."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from ullage.kube.install.choices import Document
from ullage.sources.kubernetes.api.client import segment

DEFINITION: Final = "CustomResourceDefinition"
NAMESPACE: Final = "Namespace"


class Place(NamedTuple):
    """The list of a kind: its group and version, and its plural."""

    version: str
    plural: str
    namespaced: bool = True

    @property
    def base(self) -> str:
        """Return the path under which the version of the group lies."""
        return f"/apis/{self.version}" if "/" in self.version else f"/api/{self.version}"

    @property
    def everywhere(self) -> str:
        """Return the path of the list over all namespaces."""
        return f"{self.base}/{self.plural}"


PLACES: Final[Mapping[str, Place]] = {
    "ValidatingWebhookConfiguration": Place(
        "admissionregistration.k8s.io/v1", "validatingwebhookconfigurations", namespaced=False
    ),
    "PodDisruptionBudget": Place("policy/v1", "poddisruptionbudgets"),
    "Deployment": Place("apps/v1", "deployments"),
    "Service": Place("v1", "services"),
    "ConfigMap": Place("v1", "configmaps"),
    "RoleBinding": Place("rbac.authorization.k8s.io/v1", "rolebindings"),
    "Role": Place("rbac.authorization.k8s.io/v1", "roles"),
    "ClusterRoleBinding": Place("rbac.authorization.k8s.io/v1", "clusterrolebindings", namespaced=False),
    "ClusterRole": Place("rbac.authorization.k8s.io/v1", "clusterroles", namespaced=False),
    "ServiceAccount": Place("v1", "serviceaccounts"),
    "Secret": Place("v1", "secrets"),
    "Lease": Place("coordination.k8s.io/v1", "leases"),
    DEFINITION: Place("apiextensions.k8s.io/v1", "customresourcedefinitions", namespaced=False),
    NAMESPACE: Place("v1", "namespaces", namespaced=False),
}
"""In the order in which they are taken away: first what stops others, last what others stand on."""


class Identity(NamedTuple):
    """What tells one object from all others."""

    kind: str
    namespace: str
    name: str

    @property
    def path(self) -> str:
        """Return where it lives."""
        place = PLACES[self.kind]
        inside = f"/namespaces/{segment(self.namespace)}" if place.namespaced else ""
        return f"{place.base}{inside}/{place.plural}/{segment(self.name)}"

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"


def identity(document: Document, kind: str = "") -> Identity:
    """Return which object a document is; items of a list do not say their kind."""
    named = document["metadata"]
    return Identity(kind or document["kind"], named.get("namespace", ""), named["name"])
