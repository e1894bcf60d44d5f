"""A small csi-baremetal for tests: its objects on nodes, and what its controller does when volumes are made.

It does in the order of the real one: a claim that names its node gets the capacity that is reserved for it
there; a drive becomes a volume group if need be; then the Volume, the smaller capacity, the reservation less
that request, and the PersistentVolume. It trusts the reservation and checks nothing, as the real one does, so
it takes note of what a reservation should not have let happen.
"""

import contextlib
import threading
from collections.abc import Iterable, Mapping
from typing import Any, Self

from plane.client import ApiError, Client
from plane.plane import Plane

VERSION = "csi-baremetal.dell.com/v1"
API = f"/apis/{VERSION}"
CAPACITIES, GROUPS = f"{API}/availablecapacities", f"{API}/logicalvolumegroups"
RESERVATIONS, VOLUMES = f"{API}/availablecapacityreservations", f"{API}/volumes"
CLAIMS, PERSISTENT = "/api/v1/persistentvolumeclaims", "/api/v1/persistentvolumes"
SELECTED = "volume.kubernetes.io/selected-node"
MEBIBYTE, GIBIBYTE, EXTENT = 1 << 20, 1 << 30, 4 << 20
POLL_SECONDS = 0.05
LETTERS_OF_CLASS = {"HDD": "hdd", "SSD": "ssd", "HDDLVG": "hdd-group", "SSDLVG": "ssd-group"}
"""Storage classes by what csi-baremetal calls a type of storage."""


def kinds() -> list[dict[str, Any]]:
    """Return the definition of the driver's Volume, which nobody installs but the driver."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return [
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "volumes.csi-baremetal.dell.com"},
            "spec": {
                "group": "csi-baremetal.dell.com",
                "scope": "Namespaced",
                "names": {"kind": "Volume", "plural": "volumes", "listKind": "VolumeList"},
                "versions": [version],
            },
        }
    ]


def storage_classes() -> list[dict[str, Any]]:
    return [
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": name},
            "provisioner": "csi-baremetal",
            "parameters": {"storageType": storage_type},
            "volumeBindingMode": "WaitForFirstConsumer",
        }
        for storage_type, name in LETTERS_OF_CLASS.items()
    ]


def drives(node: str, **gibibytes: Iterable[int]) -> list[dict[str, Any]]:
    """Return the clean drives of a node and their capacities: `drives("n0", HDD=[100, 100])`."""
    made = []
    for drive_class, sizes in gibibytes.items():
        for index, size in enumerate(sizes):
            name = f"{node}-{drive_class.lower()}-{index}"
            spec = {
                "UUID": name, "Type": drive_class, "Size": size * GIBIBYTE, "NodeId": node, "Health": "GOOD",
                "Status": "ONLINE", "Usage": "IN_USE", "IsClean": True,
            }  # fmt: skip
            offer = {
                "Location": name, "NodeId": node, "storageClass": drive_class, "Size": size * GIBIBYTE,
            }  # fmt: skip
            made.append(_object("Drive", name, spec))
            made.append(_object("AvailableCapacity", f"ac-{name}", offer))
    return made


def claim(key: str, storage_class: str, gibibytes: int) -> dict[str, Any]:
    namespace, _, name = key.partition("/")
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": storage_class,
            "resources": {"requests": {"storage": f"{gibibytes}Gi"}},
        },
    }


def mounted(*claims: str) -> dict[str, Any]:
    """Return fields of a pod's spec that has these claims."""
    return {"volumes": [{"name": each, "persistentVolumeClaim": {"claimName": each}} for each in claims]}


class BaremetalDriver:
    """The driver's controller in a thread, for a context; on nodes that are `refused` it makes nothing."""

    def __init__(self, plane: Plane) -> None:
        self._client = Client(plane.server, plane.token(), str(plane.folder / "apiserver.crt"))
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.faults: list[str] = []
        self.refused: set[str] = set()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()
        self._client.close()

    def _run(self) -> None:
        while not self._stopped.wait(POLL_SECONDS):
            for each in self._client.items(CLAIMS):
                node = each["metadata"].get("annotations", {}).get(SELECTED)
                if node and not each["spec"].get("volumeName") and not self._stopped.is_set():
                    # what failed is tried again, as the real provisioner does
                    with contextlib.suppress(ApiError):
                        self._provision(each, node)

    def _provision(self, claimed: Mapping[str, Any], node: str) -> None:
        namespace, uid = claimed["metadata"]["namespace"], claimed["metadata"]["uid"]
        if node in self.refused:
            path = f"/api/v1/namespaces/{namespace}/persistentvolumeclaims/{claimed['metadata']['name']}"
            self._client.patch(path, {"metadata": {"annotations": {SELECTED: None}}})
            return
        name = f"pvc-{uid}"
        volumes = {each["metadata"]["name"]: each for each in self._client.items(VOLUMES)}
        volume = volumes.get(name) or self._create_volume(claimed, name, node)
        if volume is not None:
            self._create_persistent(claimed, name, volume["spec"]["NodeId"])

    def _create_volume(self, claimed: Mapping[str, Any], name: str, node: str) -> Any:
        namespace, claim_name = claimed["metadata"]["namespace"], claimed["metadata"]["name"]
        found = [
            (reservation, request)
            for reservation in self._client.items(RESERVATIONS)
            if reservation["spec"]["Status"] == "RESERVED" and reservation["spec"]["Namespace"] == namespace
            for request in reservation["spec"]["ReservationRequests"]
            if request["CapacityRequest"]["Name"] == claim_name
        ]
        if not found:
            return None
        reservation, request = found[0]
        offers = [self._client.get(f"{CAPACITIES}/{each}") for each in request["Reservations"]]
        offer = next((each for each in offers if each["spec"]["NodeId"] == node), None)
        if offer is None:
            return None
        wanted = request["CapacityRequest"]["StorageClass"]
        if wanted.endswith("LVG") and offer["spec"]["storageClass"] != wanted:
            offer = self._convert(offer, wanted)
        has = offer["spec"]["Size"]
        asked = request["CapacityRequest"]["Size"]
        takes = -(-asked // EXTENT) * EXTENT if wanted.endswith("LVG") else has
        if takes > has or asked > takes:
            self.faults.append(f"{claim_name} takes {asked} of {offer['metadata']['name']}, which has {has}")
        spec = {
            "Id": name, "NodeId": node, "Size": takes, "Location": offer["spec"]["Location"],
            "StorageClass": offer["spec"]["storageClass"], "CSIStatus": "CREATED",
        }  # fmt: skip
        volume = self._client.create(_object("Volume", name, spec, namespace))
        self._write(CAPACITIES, offer, {**offer["spec"], "Size": has - takes})
        left = [each for each in reservation["spec"]["ReservationRequests"] if each is not request]
        if left:
            self._write(RESERVATIONS, reservation, {**reservation["spec"], "ReservationRequests": left})
        else:
            self._client.delete(f"{RESERVATIONS}/{reservation['metadata']['name']}")
        return volume

    def _convert(self, offer: Mapping[str, Any], wanted: str) -> Any:
        """Make a volume group of a drive; its capacity keeps its name."""
        spec = offer["spec"]
        size = (spec["Size"] - MEBIBYTE) // EXTENT * EXTENT
        name = f"group-of-{spec['Location']}"
        group = {
            "Name": name, "Node": spec["NodeId"], "Locations": [spec["Location"]], "Size": size,
            "Status": "CREATED", "Health": "GOOD",
        }  # fmt: skip
        self._client.create(_object("LogicalVolumeGroup", name, group))
        changed = {**spec, "Size": size, "Location": name, "storageClass": wanted}
        return self._write(CAPACITIES, offer, changed)

    def _write(self, collection: str, document: Mapping[str, Any], spec: Mapping[str, Any]) -> Any:
        path = f"{collection}/{document['metadata']['name']}"
        return self._client.request("PUT", path, {**document, "spec": spec})

    def _create_persistent(self, claimed: Mapping[str, Any], name: str, node: str) -> None:
        metadata = claimed["metadata"]
        host = {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}
        self._client.create(
            {
                "apiVersion": "v1",
                "kind": "PersistentVolume",
                "metadata": {"name": name},
                "spec": {
                    "accessModes": ["ReadWriteOnce"],
                    "storageClassName": claimed["spec"]["storageClassName"],
                    "capacity": claimed["spec"]["resources"]["requests"],
                    "csi": {"driver": "csi-baremetal", "volumeHandle": name},
                    "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [host]}]}},
                    "claimRef": {
                        "apiVersion": "v1",
                        "kind": "PersistentVolumeClaim",
                        "name": metadata["name"],
                        "namespace": metadata["namespace"],
                        "uid": metadata["uid"],
                    },
                },
            }
        )


def double_bookings(plane: Plane) -> list[str]:
    """Return the drives and groups that hold more than they can, and whole drives that are shared."""
    sizes = {each["metadata"]["name"]: each["spec"]["Size"] for each in plane.items(f"{API}/drives")}
    groups = {each["metadata"]["name"]: each["spec"] for each in plane.items(GROUPS)}
    wrong = [
        f"drive {drive} is in {len(of_drive)} groups"
        for drive in sizes
        if len(of_drive := [name for name, spec in groups.items() if drive in spec["Locations"]]) > 1
    ]
    sizes |= {name: spec["Size"] for name, spec in groups.items()}
    taken: dict[str, list[int]] = {}
    for each in plane.items(VOLUMES):
        taken.setdefault(each["spec"]["Location"], []).append(each["spec"]["Size"])
    in_groups = {drive for spec in groups.values() for drive in spec["Locations"]}
    for place, volumes in taken.items():
        if sum(volumes) > sizes[place] or min(volumes) <= 0:
            wrong.append(f"{place} of {sizes[place]} has volumes of {volumes}")
        if place not in groups and (len(volumes) > 1 or place in in_groups):
            wrong.append(f"drive {place} is shared")
    return wrong


def _object(kind: str, name: str, spec: Mapping[str, Any], namespace: str = "") -> dict[str, Any]:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": VERSION, "kind": kind, "metadata": metadata, "spec": dict(spec)}
