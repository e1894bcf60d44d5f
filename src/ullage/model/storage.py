"""Where claimed disk space may be: volumes, classes, capacities and drivers, as Kubernetes describes them."""

from collections.abc import Mapping
from typing import Literal

from ullage.model.constraints import LabelSelector, NodeSelector, Record, Requirement

BindingMode = Literal["Immediate", "WaitForFirstConsumer"]


class Claim(Record, frozen=True):
    """A PersistentVolumeClaim: disk space promised to whoever names it.

    `volume` is the PersistentVolume it is bound to; a claim that waits for its first consumer has none. One
    that is being deleted takes no new workloads. Only drives of its `storage_group` serve it. `controller`
    is the identifier of the object that it was made for.
    """

    name: str
    namespace: str = ""
    storage_class: str = ""
    size_bytes: int = 0
    bound: bool = False
    volume: str = ""
    access_modes: tuple[str, ...] = ()
    volume_mode: str = "Filesystem"
    selector: LabelSelector | None = None
    selected_node: str = ""
    terminating: bool = False
    storage_group: str = ""
    controller: str = ""

    @property
    def key(self) -> str:
        """Claims are known by namespace and name."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class PersistentVolume(Record, frozen=True):
    """Disk space that exists; `claim` is the key of the claim that has it, `driver` who attaches it."""

    name: str
    storage_class: str = ""
    size_bytes: int = 0
    access_modes: tuple[str, ...] = ()
    volume_mode: str = "Filesystem"
    node_affinity: NodeSelector | None = None
    labels: Mapping[str, str] = {}
    claim: str = ""
    driver: str = ""
    phase: str = "Available"

    @property
    def key(self) -> str:
        """Volumes are known by name."""
        return self.name


class TopologyTerm(Record, frozen=True):
    """Labels that a node must have one of the values of, for a class to provide volumes there."""

    requirements: tuple[Requirement, ...] = ()


class StorageClass(Record, frozen=True):
    """A kind of disk space: who provides it, when a volume is bound, and on which nodes it can be.

    `parameters` are the provisioner's own: for csi-baremetal `storageType` says which disks are meant.
    """

    name: str
    provisioner: str = ""
    binding: BindingMode = "Immediate"
    allowed_topologies: tuple[TopologyTerm, ...] = ()
    default: bool = False
    parameters: Mapping[str, str] = {}

    @property
    def key(self) -> str:
        """Classes are known by name."""
        return self.name


class StorageCapacity(Record, frozen=True):
    """What a class can still provide on the nodes that a selector chooses (CSIStorageCapacity)."""

    name: str
    namespace: str = ""
    storage_class: str = ""
    topology: LabelSelector | None = None
    capacity_bytes: int = 0
    volume_bytes_max: int | None = None

    @property
    def key(self) -> str:
        """Capacities are known by namespace and name."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class StorageDriver(Record, frozen=True):
    """A CSI driver: whether its published capacities are to be checked before a node is chosen."""

    name: str
    checks_capacity: bool = False

    @property
    def key(self) -> str:
        """Drivers are known by name."""
        return self.name
