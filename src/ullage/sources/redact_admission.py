"""Namespaces, quotas, classes and budgets with pseudonyms, so that they still apply to the same workloads.

The hard part is a ResourceQuota: its keys may name storage classes, and its scopes priority classes.
"""

from collections.abc import Mapping
from typing import Final

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
from ullage.model.constraints import Requirement
from ullage.sources.redact_constraints import ConstraintRedactor
from ullage.sources.redact_storage import StorageRedactor

SYSTEM_CLASSES: Final = "system-"
"""How the names of priority classes begin that every cluster has."""
PRIORITY_SCOPE: Final = "PriorityClass"
STORAGE_CLASS_SUFFIX: Final = ".storageclass.storage.k8s.io"


class AdmissionRedactor:
    """Redacts what admission looks up."""

    def __init__(self, constraints: ConstraintRedactor, storage: StorageRedactor) -> None:
        self._constraints = constraints
        self._storage = storage
        self._name = constraints.names.of

    def priority_name(self, name: str) -> str:
        """Return the name of a priority class; every cluster has those of the system."""
        return name if name.startswith(SYSTEM_CLASSES) else self._name("priority", name)

    def runtime_name(self, name: str) -> str:
        """Return the name of a runtime class."""
        return self._name("runtime", name)

    def namespace(self, row: Namespace) -> Namespace:
        """Return a namespace with pseudonyms."""
        return Namespace(self._name("namespace", row.name), self._constraints.labels(row.labels))

    def limit_range(self, row: LimitRange) -> LimitRange:
        """Return the bounds of a namespace with pseudonyms."""
        return msgspec.structs.replace(
            row, name=self._name("limits", row.name), namespace=self._name("namespace", row.namespace)
        )

    def resource_quota(self, row: ResourceQuota) -> ResourceQuota:
        """Return a resource quota with pseudonyms."""
        return msgspec.structs.replace(
            row,
            name=self._name("quota", row.name),
            namespace=self._name("namespace", row.namespace),
            hard=self._quantities(row.hard),
            used=None if row.used is None else self._quantities(row.used),
            scope_selector=tuple(self._scope(each) for each in row.scope_selector),
        )

    def _quantities(self, quantities: Mapping[str, str]) -> Mapping[str, str]:
        return {self._quota_key(key): text for key, text in quantities.items()}

    def _quota_key(self, key: str) -> str:
        """Return the name of what a quota bounds, without the name of a storage class."""
        owner, slash, bounded = key.partition("/")
        if not slash or not owner.endswith(STORAGE_CLASS_SUFFIX):
            return key
        name = self._storage.class_name(owner.removesuffix(STORAGE_CLASS_SUFFIX))
        return f"{name}{STORAGE_CLASS_SUFFIX}/{bounded}"

    def _scope(self, scope: Requirement) -> Requirement:
        if scope.key != PRIORITY_SCOPE:
            return scope
        values = tuple(self.priority_name(value) for value in scope.values)
        return msgspec.structs.replace(scope, values=values)

    def priority_class(self, row: PriorityClass) -> PriorityClass:
        """Return a priority class with a pseudonym."""
        return msgspec.structs.replace(row, name=self.priority_name(row.name))

    def runtime_class(self, row: RuntimeClass) -> RuntimeClass:
        """Return a runtime class with pseudonyms."""
        return msgspec.structs.replace(
            row,
            name=self.runtime_name(row.name),
            node_selector=self._constraints.labels(row.node_selector),
            tolerations=self._constraints.tolerations(row.tolerations),
        )

    def budget(self, row: DisruptionBudget) -> DisruptionBudget:
        """Return a disruption budget with pseudonyms."""
        return msgspec.structs.replace(
            row,
            name=self._name("budget", row.name),
            namespace=self._name("namespace", row.namespace),
            selector=self._constraints.selector(row.selector),
        )

    def pod_group(self, row: PodGroup) -> PodGroup:
        """Return a pod group with pseudonyms; workloads name it as their gang."""
        return msgspec.structs.replace(
            row, name=self._name("gang", row.name), namespace=self._name("namespace", row.namespace)
        )

    def autoscaler(self, row: Autoscaler) -> Autoscaler:
        """Return an autoscaler with pseudonyms; what it changes may be the owner of workloads."""
        return msgspec.structs.replace(
            row,
            name=self._name("autoscaler", row.name),
            namespace=self._name("namespace", row.namespace),
            target=self._name("owner", row.target),
        )
