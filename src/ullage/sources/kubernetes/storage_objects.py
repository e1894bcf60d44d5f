"""Where disk space is and who provides it: volumes, storage classes, drivers and what they have left.

The hard thing is disks of drivers that were once part of Kubernetes itself: they still stand in old volumes
and classes under their old names, and are served, counted and limited by the drivers that took their place.
"""

from collections.abc import Mapping
from typing import Final

import msgspec
from msgspec import Raw

from ullage.model.constraints import LabelSelector, NodeSelector, Requirement
from ullage.model.errors import InputError
from ullage.model.storage import (
    BindingMode,
    PersistentVolume,
    StorageCapacity,
    StorageClass,
    StorageDriver,
    TopologyTerm,
)
from ullage.sources.kubernetes.amounts import Amounts
from ullage.sources.kubernetes.faults import Fault
from ullage.sources.kubernetes.wire import NULL, Named, Time, Wire

CLASS_ANNOTATION: Final = "volume.beta.kubernetes.io/storage-class"
"""How claims and volumes named their class before there was a field for it; it still counts first."""
DEFAULT_ANNOTATIONS: Final = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)
SUCCESSORS: Final[Mapping[str, str]] = {
    "kubernetes.io/aws-ebs": "ebs.csi.aws.com",
    "kubernetes.io/azure-disk": "disk.csi.azure.com",
    "kubernetes.io/azure-file": "file.csi.azure.com",
    "kubernetes.io/cinder": "cinder.csi.openstack.org",
    "kubernetes.io/gce-pd": "pd.csi.storage.gke.io",
    "kubernetes.io/portworx-volume": "pxd.portworx.com",
    "kubernetes.io/vsphere-volume": "csi.vsphere.vmware.com",
}
"""The drivers that took the place of those that were part of Kubernetes."""


class Described(Named):
    """Metadata of an object that others select by its labels."""

    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    creation_timestamp: Time | None = None


class _Attached(Wire):
    driver: str = ""


class _Reference(Wire):
    name: str | None = None
    namespace: str | None = None


class _VolumeAffinity(Wire):
    required: NodeSelector | None = None


class _VolumeSpec(Wire):
    storage_class_name: str | None = None
    capacity: Raw = NULL
    access_modes: tuple[str, ...] | None = None
    volume_mode: str | None = None
    node_affinity: _VolumeAffinity | None = None
    claim_ref: _Reference | None = None
    csi: _Attached | None = None
    aws_elastic_block_store: Raw = NULL
    azure_disk: Raw = NULL
    azure_file: Raw = NULL
    cinder: Raw = NULL
    gce_persistent_disk: Raw = NULL
    portworx_volume: Raw = NULL
    vsphere_volume: Raw = NULL


class _Phase(Wire):
    phase: str | None = None


class VolumeObject(Wire):
    """A PersistentVolume."""

    metadata: Described
    spec: _VolumeSpec | None = None
    status: _Phase | None = None


class _TopologyValues(Wire):
    key: str
    values: tuple[str, ...] | None = None


class _Topology(Wire):
    match_label_expressions: list[_TopologyValues] | None = None


class ClassObject(Wire):
    """A StorageClass."""

    metadata: Described
    provisioner: str = ""
    parameters: dict[str, str] | None = None
    volume_binding_mode: BindingMode | None = None
    allowed_topologies: list[_Topology] | None = None


class _DriverSpec(Wire):
    storage_capacity: bool | None = None


class DriverObject(Wire):
    """A CSIDriver."""

    metadata: Named
    spec: _DriverSpec | None = None


class CapacityObject(Wire):
    """A CSIStorageCapacity."""

    metadata: Named
    storage_class_name: str = ""
    node_topology: LabelSelector | None = None
    capacity: Raw = NULL
    maximum_volume_size: Raw = NULL


class _Allocatable(Wire):
    count: int | None = None


class _NodeDriver(Wire):
    name: str
    allocatable: _Allocatable | None = None


class _NodeDrivers(Wire):
    drivers: list[_NodeDriver] | None = None


class DriversOfNode(Wire):
    """A CSINode."""

    metadata: Named
    spec: _NodeDrivers | None = None


def read_volume(wire: VolumeObject, amounts: Amounts) -> PersistentVolume:
    """A PersistentVolume; raises a Fault."""
    spec, metadata = wire.spec or _VolumeSpec(), wire.metadata
    try:
        size_bytes = amounts.storage_bytes(spec.capacity)
    except Fault as fault:
        raise fault.under("spec", "capacity") from None
    holder = spec.claim_ref
    return PersistentVolume(
        name=metadata.name,
        storage_class=(metadata.annotations or {}).get(CLASS_ANNOTATION) or spec.storage_class_name or "",
        size_bytes=size_bytes,
        access_modes=spec.access_modes or (),
        volume_mode=spec.volume_mode or "Filesystem",
        node_affinity=spec.node_affinity.required if spec.node_affinity is not None else None,
        labels=metadata.labels or {},
        claim=f"{holder.namespace or ''}/{holder.name}" if holder is not None and holder.name else "",
        driver=_driver(spec),
        phase=(wire.status.phase if wire.status is not None else None) or "Available",
    )


def _driver(spec: _VolumeSpec) -> str:
    """Who attaches a volume; nobody where it is a folder of a node or comes over the network."""
    if spec.csi is not None:
        return spec.csi.driver
    built_in = {
        "aws-ebs": spec.aws_elastic_block_store,
        "azure-disk": spec.azure_disk,
        "azure-file": spec.azure_file,
        "cinder": spec.cinder,
        "gce-pd": spec.gce_persistent_disk,
        "portworx-volume": spec.portworx_volume,
        "vsphere-volume": spec.vsphere_volume,
    }
    return next((SUCCESSORS[f"kubernetes.io/{name}"] for name, raw in built_in.items() if raw != NULL), "")


def read_storage_class(wire: ClassObject) -> StorageClass:
    """A StorageClass, marked as a default one where it says so."""
    annotations = wire.metadata.annotations or {}
    return StorageClass(
        name=wire.metadata.name,
        provisioner=SUCCESSORS.get(wire.provisioner, wire.provisioner),
        binding=wire.volume_binding_mode or "Immediate",
        allowed_topologies=tuple(
            TopologyTerm(
                tuple(
                    Requirement(each.key, "In", each.values or ())
                    for each in term.match_label_expressions or ()
                )
            )
            for term in wire.allowed_topologies or ()
        ),
        default=any(annotations.get(each) == "true" for each in DEFAULT_ANNOTATIONS),
        parameters=wire.parameters or {},
    )


def read_driver(wire: DriverObject) -> StorageDriver:
    """A CSIDriver."""
    return StorageDriver(wire.metadata.name, bool(wire.spec is not None and wire.spec.storage_capacity))


def read_capacity(wire: CapacityObject, amounts: Amounts, namespace: str) -> StorageCapacity:
    """A CSIStorageCapacity; raises a Fault."""
    return StorageCapacity(
        name=wire.metadata.name,
        namespace=wire.metadata.namespace or namespace,
        storage_class=wire.storage_class_name,
        topology=wire.node_topology,
        capacity_bytes=amounts.one_size_bytes(wire.capacity, "capacity") or 0,
        volume_bytes_max=amounts.one_size_bytes(wire.maximum_volume_size, "maximumVolumeSize"),
    )


def read_attach_limits(wire: DriversOfNode) -> dict[str, int]:
    """How many volumes of each driver a node takes; a driver that does not say has no limit."""
    limits = {}
    for index, each in enumerate((wire.spec.drivers if wire.spec is not None else None) or ()):
        count = each.allocatable.count if each.allocatable is not None else None
        if count is not None and count < 0:
            error = InputError(f"count {count} is negative", remedy="use 0 or more")
            raise Fault(error, ("spec", "drivers", index, "allocatable", "count"))
        if count is not None:
            limits[each.name] = count
    return limits


VOLUME: Final = msgspec.json.Decoder(VolumeObject)
STORAGE_CLASS: Final = msgspec.json.Decoder(ClassObject)
STORAGE_DRIVER: Final = msgspec.json.Decoder(DriverObject)
STORAGE_CAPACITY: Final = msgspec.json.Decoder(CapacityObject)
DRIVERS_OF_NODE: Final = msgspec.json.Decoder(DriversOfNode)
