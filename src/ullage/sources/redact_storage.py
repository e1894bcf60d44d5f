"""Claims, volumes and storage classes with pseudonyms, so that each claim still finds its volume.

The hard part is names inside names: a volume says whose it is by namespace and name of the claim, and the
names of storage classes and drivers stand in claims, volumes, classes, nodes and quotas alike.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from ullage.engine.storage.local_class import LOCAL_CLASSES, PROVISIONER, STORAGE_TYPE
from ullage.model.storage import (
    Claim,
    PersistentVolume,
    StorageCapacity,
    StorageClass,
    StorageDriver,
    TopologyTerm,
)
from ullage.sources.redact_constraints import ConstraintRedactor

BUILT_IN_DRIVERS: Final = "kubernetes.io/"
"""How the names of drivers begin that are Kubernetes' own; some of them mean something to a scheduler."""


class StorageRedactor:
    """Redacts what is known of disk space."""

    def __init__(self, constraints: ConstraintRedactor) -> None:
        self._constraints = constraints
        self._name = self.name = constraints.names.of

    def class_name(self, name: str) -> str:
        """Return the name of a storage class; those of csi-baremetal say nothing of their owner."""
        return name if name.upper() in LOCAL_CLASSES else self._name("class", name)

    def driver_name(self, name: str) -> str:
        """Return the name of a driver or provisioner."""
        is_known = name == PROVISIONER or name.startswith(BUILT_IN_DRIVERS)
        return name if is_known else self._name("driver", name)

    def storage_group(self, name: str) -> str:
        """Return the name of a group of drives that claims may want."""
        return self._name("storage-group", name)

    def attach_limits(self, limits: Mapping[str, int]) -> Mapping[str, int]:
        """Return how many volumes of each driver a node takes."""
        return {self.driver_name(driver): most for driver, most in limits.items()}

    def claim_key(self, key: str) -> str:
        """Return the key of a claim: the pseudonyms of its namespace and its name."""
        namespace, slash, name = key.rpartition("/")
        return f"{self._name('namespace', namespace)}{slash}{self._name('claim', name)}"

    def claim(self, claim: Claim) -> Claim:
        """Return a claim with pseudonyms."""
        return msgspec.structs.replace(
            claim,
            name=self._name("claim", claim.name),
            namespace=self._name("namespace", claim.namespace),
            storage_class=self.class_name(claim.storage_class),
            volume=self._name("pv", claim.volume),
            selector=self._constraints.selector(claim.selector),
            selected_node=self._name("node", claim.selected_node),
            storage_group=self.storage_group(claim.storage_group),
            controller=self._name("uid", claim.controller),
        )

    def volume(self, volume: PersistentVolume) -> PersistentVolume:
        """Return a volume with pseudonyms."""
        return msgspec.structs.replace(
            volume,
            name=self._name("pv", volume.name),
            storage_class=self.class_name(volume.storage_class),
            node_affinity=self._constraints.node_selector(volume.node_affinity),
            labels=self._constraints.labels(volume.labels),
            claim=self.claim_key(volume.claim),
            driver=self.driver_name(volume.driver),
        )

    def storage_class(self, row: StorageClass) -> StorageClass:
        """Return a storage class with pseudonyms."""
        return msgspec.structs.replace(
            row,
            name=self.class_name(row.name),
            provisioner=self.driver_name(row.provisioner),
            allowed_topologies=tuple(
                TopologyTerm(tuple(self._constraints.requirement(each) for each in term.requirements))
                for term in row.allowed_topologies
            ),
            parameters=self._parameters(row.parameters),
        )

    def _parameters(self, parameters: Mapping[str, str]) -> Mapping[str, str]:
        """Return parameters: only which disks are meant stays, all else may name what is the owner's own."""
        return {
            key if key == STORAGE_TYPE else self._name("parameter", key): self.class_name(value)
            if key == STORAGE_TYPE
            else self._name("value", value)
            for key, value in parameters.items()
        }

    def capacity(self, row: StorageCapacity) -> StorageCapacity:
        """Return a capacity with pseudonyms."""
        return msgspec.structs.replace(
            row,
            name=self._name("capacity", row.name),
            namespace=self._name("namespace", row.namespace),
            storage_class=self.class_name(row.storage_class),
            topology=self._constraints.selector(row.topology),
        )

    def driver(self, row: StorageDriver) -> StorageDriver:
        """Return a driver with a pseudonym."""
        return msgspec.structs.replace(row, name=self.driver_name(row.name))
