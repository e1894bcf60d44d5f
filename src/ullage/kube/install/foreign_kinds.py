"""The definitions of kinds of nos and csi-baremetal, for clusters that do not have them yet.

They are not ours: where a cluster has one it stays as it is. Fields of csi-baremetal that nobody here reads
are kept, because its driver writes them; what is read has the forms that the driver's own definitions have.
"""

from collections.abc import Mapping
from typing import Any, Final

from ullage.kube.install.choices import Document
from ullage.kube.install.definitions import Column, Names, definition
from ullage.kube.install.own_kinds import QUOTA_TEXTS
from ullage.kube.install.schemas import (
    AMOUNTS,
    CONDITIONS,
    LIST_ITEMS_MAX,
    NAME,
    USED,
    described,
    object_schema,
    record_schema,
)
from ullage.sources.kubernetes.baremetal import GROUP as BAREMETAL
from ullage.sources.kubernetes.baremetal import CapacitySpec, DriveSpec, GroupSpec
from ullage.sources.kubernetes.baremetal_volumes import CapacityRequest, ReservationRequest, ReservationSpec
from ullage.sources.kubernetes.object_kinds import NOS

ELASTIC_QUOTA: Final = Names(NOS, "ElasticQuota", "elasticquotas", ("eq", "eqs"))
COMPOSITE: Final = Names(NOS, "CompositeElasticQuota", "compositeelasticquotas", ("ceq", "ceqs"))
CAPACITY: Final = Names(BAREMETAL, "AvailableCapacity", "availablecapacities", ("ac", "acs"))
RESERVATION: Final = Names(
    BAREMETAL, "AvailableCapacityReservation", "availablecapacityreservations", ("acr", "acrs")
)
DRIVE: Final = Names(BAREMETAL, "Drive", "drives")
VOLUME_GROUP: Final = Names(BAREMETAL, "LogicalVolumeGroup", "logicalvolumegroups", ("lvg", "lvgs"))
FOREIGN: Final = (ELASTIC_QUOTA, COMPOSITE, CAPACITY, RESERVATION, DRIVE, VOLUME_GROUP)
NOS_VERSION: Final = "v1alpha1"
ELASTIC_FIELDS: Final = ("min", "max")
COMPOSITE_FIELDS: Final = ("min", "max", "namespaces")
_KEEPS_MORE: Final = "x-kubernetes-preserve-unknown-fields"

_DRIVE_TEXTS: Final = {
    "Type": "HDD, SSD or NVME.",
    "Size": "Its size in bytes.",
    "Health": "GOOD, SUSPECT, BAD or UNKNOWN.",
    "Status": "ONLINE or OFFLINE.",
    "Usage": "IN_USE, or how far its removal has got.",
    "NodeId": "The driver's identifier of its node.",
    "Path": "Its device file.",
    "IsSystem": "Whether the operating system is on it.",
    "IsClean": "Whether nothing is on it.",
    "UUID": "The driver's identifier of it.",
    "VID": "Who made it.",
    "PID": "Its model.",
}
_GROUP_TEXTS: Final = {
    "Name": "What LVM calls it.",
    "Node": "The driver's identifier of its node.",
    "Locations": "The drives that it is made of.",
    "Size": "Its size in bytes.",
    "Health": "GOOD, SUSPECT, BAD or UNKNOWN.",
    "Status": "CREATING, CREATED, FAILED and the like.",
    "VolumeRefs": "The volumes in it.",
}
_CAPACITY_TEXTS: Final = {
    "Location": "The drive or volume group that offers it.",
    "Size": "What is left of it, in bytes.",
    "storageClass": "HDD, SSD, NVME, HDDLVG, SSDLVG, NVMELVG or SYSLVG.",
}
_RESERVATION_TEXTS: Final = {
    "Namespace": "The namespace of the pod that it is for.",
    "Status": "REQUESTED, RESERVED, REJECTED or CANCELLED.",
    "ReservationRequests": "One for each volume of the pod.",
}
_REQUEST_TEXTS: Final = {
    "CapacityRequest": "What the volume needs.",
    "Reservations": "The names of the capacities that are kept for it.",
}
_VOLUME_TEXTS: Final = {
    "Name": "The claim, or the volume of the pod.",
    "StorageClass": "The class of capacity that it needs.",
    "Size": "How many bytes it needs.",
}


def foreign_definitions() -> list[Document]:
    """Return the definitions of kinds of others that are read and written here."""
    return [
        _quota(ELASTIC_QUOTA, ELASTIC_FIELDS, "What a namespace is guaranteed and may never exceed."),
        _quota(COMPOSITE, COMPOSITE_FIELDS, "One quota over several namespaces."),
        _capacity(),
        _reservation(),
        _drive(),
        _volume_group(),
    ]


def _quota(names: Names, fields: tuple[str, ...], text: str) -> Document:
    forms = {
        "min": AMOUNTS,
        "max": AMOUNTS,
        "namespaces": {"type": "array", "maxItems": LIST_ITEMS_MAX, "items": NAME},
    }
    spec = {
        "type": "object",
        "properties": {name: described(QUOTA_TEXTS[name], forms[name]) for name in fields},
    }
    status = {
        "type": "object",
        "properties": {"used": described("What its workloads have.", USED), "conditions": CONDITIONS},
    }
    columns = (
        Column("Min", "string", ".spec.min", "What is guaranteed."),
        Column("Used", "string", ".status.used", "What its workloads have."),
        Column("Max", "string", ".spec.max", "What is never exceeded.", 1),
    )
    schema = object_schema(text, spec, status)
    return definition(names, schema, columns, namespaced=True, version=NOS_VERSION)


def _capacity() -> Document:
    columns = (
        Column("Size", "string", ".spec.Size", "What is left, in bytes."),
        Column("Storage class", "string", ".spec.storageClass", "Of which class."),
        Column("Location", "string", ".spec.Location", "The drive or volume group."),
        Column("Node", "string", ".spec.NodeId", "The driver's identifier of the node."),
    )
    text = "What a drive or volume group still offers."
    return _of_driver(CAPACITY, text, record_schema(CapacitySpec, _CAPACITY_TEXTS), columns)


def _reservation() -> Document:
    volume = {**record_schema(CapacityRequest, _VOLUME_TEXTS), _KEEPS_MORE: True}
    request = record_schema(ReservationRequest, _REQUEST_TEXTS, {"CapacityRequest": volume})
    items = {"type": "array", "maxItems": LIST_ITEMS_MAX, "items": {**request, _KEEPS_MORE: True}}
    spec = record_schema(ReservationSpec, _RESERVATION_TEXTS, {"ReservationRequests": items})
    columns = (
        Column("Namespace", "string", ".spec.Namespace", "The namespace of the pod."),
        Column("Status", "string", ".spec.Status", "How far it has got."),
    )
    return _of_driver(RESERVATION, "What is kept for the volumes of one pod.", spec, columns)


def _drive() -> Document:
    columns = (
        Column("Serial number", "string", ".spec.SerialNumber", "Its serial number."),
        Column("Health", "string", ".spec.Health", "Its health."),
        Column("Type", "string", ".spec.Type", "HDD, SSD or NVME."),
        Column("Node", "string", ".spec.NodeId", "The driver's identifier of the node."),
        Column("Size", "string", ".spec.Size", "Its size in bytes."),
        Column("Usage", "string", ".spec.Usage", "How it is used.", 1),
        Column("Status", "string", ".spec.Status", "Whether it is there.", 1),
    )
    return _of_driver(DRIVE, "A drive of a node.", record_schema(DriveSpec, _DRIVE_TEXTS), columns)


def _volume_group() -> Document:
    columns = (
        Column("Health", "string", ".spec.Health", "Its health."),
        Column("Node", "string", ".spec.Node", "The driver's identifier of the node."),
        Column("Size", "string", ".spec.Size", "Its size in bytes."),
        Column("Locations", "string", ".spec.Locations", "The drives that it is made of."),
    )
    text = "A volume group of LVM on drives of a node."
    return _of_driver(VOLUME_GROUP, text, record_schema(GroupSpec, _GROUP_TEXTS), columns)


def _of_driver(names: Names, text: str, spec: Mapping[str, Any], columns: tuple[Column, ...]) -> Document:
    schema = object_schema(text, {**spec, _KEEPS_MORE: True})
    return definition(names, schema, columns, has_status=False)
