"""Objects of a small cluster, several states of each: whatever one kind says of another is in it.

Names are few, so that any two objects drawn at random are likely to speak of each other.
"""

import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from ullage.sources.kubernetes.items import Kind, kind_of

BAREMETAL = "csi-baremetal.dell.com/v1"
IDENTIFIER = "nodes.csi-baremetal.dell.com/uuid"
DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
NODES = ("n1", "n2", "n3")
NAMESPACES = ("team", "team-a")
GIB = 1 << 30


class Stored(NamedTuple):
    """An object as the API server has it; `bad` is one that cannot be read."""

    kind: Kind
    key: str
    text: bytes
    bad: bool = False


def stored(version: str, kind: str, name: str, *, bad: bool = False, **fields: Any) -> Stored:
    """Return an object; `namespace` and `metadata` are its own."""
    namespace = fields.pop("namespace", "")
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    metadata |= {"resourceVersion": "7", **fields.pop("metadata", {})}
    document = {"apiVersion": version, "kind": kind, "metadata": metadata, **fields}
    key = f"{namespace}/{name}" if namespace else name
    return Stored(kind_of(version, kind), key, msgspec.json.encode(document), bad)


def pod(namespace: str, name: str, *, bad: bool = False, **fields: Any) -> Stored:
    """Return a pod; what is neither metadata nor status is of its spec."""
    requests = {"cpu": fields.pop("cpu", "1")}
    given = {each: fields.pop(each) for each in ("metadata", "status") if each in fields}
    containers = [{"name": "main", "resources": {"requests": requests}}]
    spec = {"containers": containers, "priority": 0, **fields}
    return stored("v1", "Pod", name, namespace=namespace, bad=bad, spec=spec, **given)


def _claim_volume(name: str) -> dict[str, Any]:
    return {"name": "data", "persistentVolumeClaim": {"claimName": name}}


def _ephemeral(**spec: Any) -> dict[str, Any]:
    return {"name": "own", "ephemeral": {"volumeClaimTemplate": {"spec": spec}}}


def _pods() -> Iterator[Stored]:
    space = {"resources": {"requests": {"storage": "1Gi"}}}
    gang = {"metadata": {"labels": {"scheduling.x-k8s.io/pod-group": "g"}}}
    for namespace, name in (("team", "a"), ("team", "a-b"), ("team-a", "b")):
        yield pod(namespace, name)
        yield pod(namespace, name, metadata={"uid": "u", "creationTimestamp": None})
        for node in (*NODES, "lost"):
            yield pod(namespace, name, nodeName=node, status={"phase": "Running"})
        yield pod(namespace, name, nodeName="n1", cpu="2", status={"phase": "Running"})
        yield pod(namespace, name, nodeName="lost", status={"phase": "Succeeded"})
        yield pod(namespace, name, volumes=[_claim_volume("c")])
        yield pod(namespace, name, nodeName="n2", volumes=[_claim_volume("c"), _ephemeral(**space)])
        yield pod(namespace, name, volumes=[_ephemeral(**space)])
        yield pod(namespace, name, volumes=[_ephemeral(storageClassName="fast", **space)])
        for uid in ("u", "v"):
            yield pod(namespace, name, metadata={"uid": uid}, volumes=[_ephemeral(**space)])
        yield pod(namespace, name, metadata={"uid": "v"}, nodeName="n2", volumes=[_ephemeral(**space)])
        yield pod(namespace, name, resourceClaims=[{"name": "gpu", "resourceClaimName": "one"}])
        yield pod(namespace, name, **gang)
        yield pod(namespace, name, nodeName="n1", **gang)
        yield pod(namespace, name, schedulingGroup={"podGroupName": "g"}, cpu="1500m")
        yield pod(namespace, name, bad=True, cpu="much")
        yield pod(namespace, name, bad=True, containers=[])
        yield pod(namespace, name, bad=True, nodeName=["n1"])
        yield pod(namespace, name, bad=True, priority=1 << 63)


def _nodes() -> Iterator[Stored]:
    room = {"cpu": "8", "memory": "32Gi", "pods": "110"}
    for name in NODES:
        for labels in ({}, {"ullage.dev/group": "blue"}, {IDENTIFIER: "id-1"}, {IDENTIFIER: "id-2"}):
            metadata = {"labels": labels, "uid": f"uid-{name}"}
            yield stored("v1", "Node", name, metadata=metadata, status={"capacity": room})
        spec = {"unschedulable": True, "taints": [{"key": "k", "effect": "NoSchedule", "value": None}]}
        status = {"capacity": room, "conditions": [{"type": "Ready", "status": None}]}
        yield stored("v1", "Node", name, spec=spec, status=status)
        yield stored("v1", "Node", name, status={"capacity": {**room, "nvidia.com/gpu": "2"}})
        yield stored("v1", "Node", name, bad=True, status={"capacity": {"cpu": "-1"}})
        for count in (None, 5):
            drivers = [{"name": "d", **({"allocatable": {"count": count}} if count else {})}]
            yield stored("storage.k8s.io/v1", "CSINode", name, spec={"drivers": drivers})
        for count in (-1, 1 << 63):
            drivers = [{"name": "d", "allocatable": {"count": count}}]
            yield stored("storage.k8s.io/v1", "CSINode", name, bad=True, spec={"drivers": drivers})


def _claims() -> Iterator[Stored]:
    storage = "storage.k8s.io/v1"
    for namespace, name in itertools.product(NAMESPACES, ("c", "a-own")):
        for spec in (
            {},
            {"storageClassName": ""},
            {"storageClassName": "fast", "volumeName": "v1"},
            {"resources": {"requests": {"storage": "3Gi"}}, "volumeName": "v2"},
        ):
            yield stored("v1", "PersistentVolumeClaim", name, namespace=namespace, spec=spec)
        asked = {"resources": {"requests": {"storage": "much"}}}
        yield stored("v1", "PersistentVolumeClaim", name, namespace=namespace, bad=True, spec=asked)
        bound = {"phase": "Bound", "capacity": {"storage": "4Gi"}}
        yield stored("v1", "PersistentVolumeClaim", name, namespace=namespace, status=bound)
        owner = {"ownerReferences": [{"uid": "v"}, {"uid": "u", "controller": True}]}
        yield stored("v1", "PersistentVolumeClaim", name, namespace=namespace, metadata=owner, spec={})
    for name in ("fast", "slow"):
        for default, year in itertools.product(("true", "false"), (2024, 2025)):
            metadata = {
                "annotations": {DEFAULT_CLASS: default},
                "creationTimestamp": f"{year}-01-01T00:00:00Z",
            }
            yield stored(storage, "StorageClass", name, provisioner="p", metadata=metadata)
    for name, size in itertools.product(("v1", "v2"), ("1Gi", "2Gi")):
        reference = {"namespace": "team", "name": "c"}
        spec = {"capacity": {"storage": size}, "claimRef": reference if size == "1Gi" else None}
        yield stored("v1", "PersistentVolume", name, spec=spec)
    for size in ("1Gi", "5Gi"):
        yield stored(storage, "CSIStorageCapacity", "x", namespace="team", capacity=size)
    for checks in (True, False):
        yield stored(storage, "CSIDriver", "d", spec={"storageCapacity": checks})


def _admission() -> Iterator[Stored]:
    for namespace, labels in itertools.product(NAMESPACES, ({}, {"team": "x"})):
        yield stored("v1", "Namespace", namespace, metadata={"labels": labels})
    for cpu in ("1", "2"):
        hard = {"requests.cpu": cpu}
        bound = {"min": {"cpu": cpu}}
        yield stored("v1", "ResourceQuota", "q", namespace="team", spec={"hard": hard})
        ranges = {"limits": [{"type": "Container", "max": {"cpu": cpu}}]}
        yield stored("v1", "LimitRange", "l", namespace="team", spec=ranges)
        yield stored("policy/v1", "PodDisruptionBudget", "b", namespace="team", spec={"minAvailable": cpu})
        yield stored("scheduling.k8s.io/v1", "PriorityClass", "p", value=int(cpu))
        yield stored("kueue.x-k8s.io/v1beta1", "WorkloadPriorityClass", "p", value=int(cpu))
        yield stored("node.k8s.io/v1", "RuntimeClass", "r", overhead={"podFixed": {"cpu": cpu}})
        for kind, name in itertools.product(("ElasticQuota", "CompositeElasticQuota"), ("q", "q-composite")):
            yield stored("nos.nebuly.com/v1alpha1", kind, name, namespace="team", spec=bound)
        yield stored("ullage.dev/v1", "Quota", "q", spec={**bound, "namespaces": ["team"]})
    yield stored("ullage.dev/v1", "Quota", "q", bad=True, spec={"weight": "heavy"})
    yield stored(
        "policy/v1", "PodDisruptionBudget", "b", namespace="team", bad=True, spec={"minAvailable": "x"}
    )
    for namespace, least in itertools.product(NAMESPACES, (1, 2, 3)):
        yield stored(
            "scheduling.x-k8s.io/v1", "PodGroup", "g", namespace=namespace, spec={"minMember": least}
        )
        policy = {"schedulingPolicy": {"gang": {"minCount": least + 1}}}
        yield stored("scheduling.k8s.io/v1", "PodGroup", "g", namespace=namespace, spec=policy)
    yield stored("scheduling.k8s.io/v1", "PodGroup", "g", namespace="team", bad=True, spec={"minMember": -1})


def _disks() -> Iterator[Stored]:
    for name, node in itertools.product(("d1", "d2"), ("id-1", "id-2", "uid-n3", "nowhere")):
        spec = {"Type": "HDD", "Size": GIB * 100, "NodeId": node, "UUID": name, "IsClean": True}
        yield stored(BAREMETAL, "Drive", name, spec=spec)
    for name, node in itertools.product(("g1", "g2"), ("id-1", "n2")):
        spec = {"Name": "vg", "Node": node, "Locations": ["d1"], "Size": GIB * 90}
        yield stored(BAREMETAL, "LogicalVolumeGroup", name, spec=spec)
    for name, location, size in itertools.product(("c1", "c2"), ("d1", "g1"), (0, GIB * 80)):
        spec = {"Location": location, "Size": size, "storageClass": "HDD"}
        yield stored(BAREMETAL, "AvailableCapacity", name, spec=spec)
    for name, location in itertools.product(("v1", "c"), ("d1", "d2", "g1")):
        for spec in ({}, {"Ephemeral": True, "Owners": ["a"]}, {"Ephemeral": True, "Owners": ["b"]}):
            whole = {"Id": name, "Location": location, "Size": GIB, **spec}
            yield stored(BAREMETAL, "Volume", name, namespace="team", spec=whole)
    for name, namespace in itertools.product(("team-a-b", "team-a"), ("", "team")):
        request = {"CapacityRequest": {"Name": "own", "StorageClass": "HDD", "Size": GIB}}
        for status, held in (("RESERVED", ["c1", "c2"]), ("REQUESTED", []), ("CANCELLED", ["c1"])):
            spec = {"Namespace": namespace, "Status": status}
            spec["ReservationRequests"] = [{**request, "Reservations": held}]
            yield stored(BAREMETAL, "AvailableCapacityReservation", name, spec=spec)
    for name, host in itertools.product(("b1", "b2"), NODES):
        yield stored(BAREMETAL, "Node", name, spec={"UUID": "id-2", "Addresses": {"Hostname": host}})
    yield stored(BAREMETAL, "Drive", "d1", bad=True, spec={"Size": "large"})


POOL = tuple(itertools.chain(_pods(), _nodes(), _claims(), _admission(), _disks()))
BY_KIND: dict[Kind, list[Stored]] = {}
for _each in POOL:
    BY_KIND.setdefault(_each.kind, []).append(_each)
