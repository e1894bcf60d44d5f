"""Volumes, storage classes, drivers and capacities, as the API writes them."""

import pytest

from sources.kubernetes.kube import dumped, node, refused, thing
from ullage.model.constraints import LabelSelector, NodeSelector, NodeSelectorTerm, Requirement
from ullage.model.storage import (
    PersistentVolume,
    StorageCapacity,
    StorageClass,
    StorageDriver,
    TopologyTerm,
)

GIB = 1 << 30
STORAGE = "storage.k8s.io/v1"
ZONE = "topology.kubernetes.io/zone"
IN_A = Requirement(ZONE, "In", ("a",))
ONLY_IN_A = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["a"]}]}


def volume(status=None, **spec):
    metadata = {"name": "pv", **spec.pop("metadata", {})}
    return {**thing("v1", "PersistentVolume", spec=spec), "metadata": metadata, "status": status}


# Each row: a volume, and what is read of it.
VOLUMES = {
    "all that counts": (
        volume(
            {"phase": "Bound"},
            capacity={"storage": "5Gi"},
            accessModes=["ReadWriteOnce"],
            volumeMode="Block",
            storageClassName="fast",
            claimRef={"kind": "PersistentVolumeClaim", "namespace": "ml", "name": "data", "uid": "1"},
            csi={"driver": "csi.example.com", "volumeHandle": "h"},
            nodeAffinity={"required": {"nodeSelectorTerms": [ONLY_IN_A]}},
        ),
        PersistentVolume(
            "pv", "fast", 5 * GIB, ("ReadWriteOnce",), "Block",
            NodeSelector((NodeSelectorTerm((IN_A,)),)), {}, "ml/data", "csi.example.com", "Bound",
        ),
    ),
    "a folder of a node has no driver": (
        volume(local={"path": "/mnt/disk"}, capacity={"storage": "1Gi"}),
        PersistentVolume("pv", size_bytes=GIB),
    ),
    "labels of zones, old and new": (
        volume(metadata={"labels": {ZONE: "a", "failure-domain.beta.kubernetes.io/zone": "a"}}),
        PersistentVolume("pv", labels={ZONE: "a", "failure-domain.beta.kubernetes.io/zone": "a"}),
    ),
    "the class of an old annotation": (
        volume(
            metadata={"annotations": {"volume.beta.kubernetes.io/storage-class": "old"}}, storageClassName="x"
        ),
        PersistentVolume("pv", "old"),
    ),
    "a disk that its driver's successor attaches": (
        volume(awsElasticBlockStore={"volumeID": "v"}), PersistentVolume("pv", driver="ebs.csi.aws.com"),
    ),
    "nulls": (
        volume(nodeAffinity={"required": None}, claimRef=None, accessModes=None, csi=None),
        PersistentVolume("pv"),
    ),
    "nulls inside a selector": (
        volume(nodeAffinity={"required": {"nodeSelectorTerms": [{**ONLY_IN_A, "matchFields": None}]}}),
        PersistentVolume("pv", node_affinity=NodeSelector((NodeSelectorTerm((IN_A,)),))),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", VOLUMES)
def test_volumes(case):
    wire, expected = VOLUMES[case]
    assert list(dumped(wire).volumes) == [expected]


DEFAULT = {"storageclass.kubernetes.io/is-default-class": "true"}


def storage_class(name="fast", annotations=None, created=None, **fields):
    metadata = {"name": name, "annotations": annotations, "creationTimestamp": created}
    return {**thing(STORAGE, "StorageClass", **fields), "metadata": metadata}


CLASSES = {
    "the least": (storage_class(provisioner="csi.example.com"), StorageClass("fast", "csi.example.com")),
    "waiting for a pod, in some zones": (
        storage_class(
            volumeBindingMode="WaitForFirstConsumer",
            allowedTopologies=[{"matchLabelExpressions": [{"key": ZONE, "values": ["a"]}]}],
        ),
        StorageClass("fast", "", "WaitForFirstConsumer", (TopologyTerm((IN_A,)),)),
    ),
    "the default": (storage_class(annotations=DEFAULT), StorageClass("fast", default=True)),
    "no default": (
        storage_class(annotations={"storageclass.kubernetes.io/is-default-class": "false"}),
        StorageClass("fast"),
    ),
    "a provisioner whose place another took": (
        storage_class(provisioner="kubernetes.io/gce-pd"),
        StorageClass("fast", "pd.csi.storage.gke.io"),
    ),
    "none at all": (
        storage_class(provisioner="kubernetes.io/no-provisioner", volumeBindingMode=None),
        StorageClass("fast", "kubernetes.io/no-provisioner"),
    ),
    "what the provisioner is told": (
        storage_class(provisioner="csi-baremetal", parameters={"storageType": "HDDLVG", "fsType": "xfs"}),
        StorageClass("fast", "csi-baremetal", parameters={"storageType": "HDDLVG", "fsType": "xfs"}),
    ),
}


@pytest.mark.parametrize("case", CLASSES)
def test_storage_classes(case):
    wire, expected = CLASSES[case]
    assert list(dumped(wire).storage_classes) == [expected]


@pytest.mark.parametrize(
    ("classes", "default"),
    [
        ([("b", "2026-01-01T00:00:00Z"), ("a", "2025-01-01T00:00:00Z")], "b"),
        ([("b", "2026-01-01T00:00:00Z"), ("a", "2026-01-01T00:00:00Z")], "a"),
        ([("b", None), ("c", None)], "b"),
    ],
)
def test_of_several_default_classes_the_newest_counts(classes, default):
    found = dumped(*(storage_class(name, DEFAULT, created) for name, created in classes))
    assert [each.name for each in found.storage_classes if each.default] == [default]


CAPACITIES = {
    "nodes of a zone": (
        {"storageClassName": "fast", "nodeTopology": {"matchLabels": {ZONE: "a"}}, "capacity": "10Gi"},
        StorageCapacity("c", "sys", "fast", LabelSelector({ZONE: "a"}), 10 * GIB),
    ),
    "every node": (
        {"nodeTopology": {}, "capacity": "1Gi", "maximumVolumeSize": "512Mi"},
        StorageCapacity("c", "sys", "", LabelSelector(), GIB, GIB // 2),
    ),
    "no node and no capacity": (
        {"nodeTopology": None, "capacity": None}, StorageCapacity("c", "sys", "", None, 0, None),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CAPACITIES)
def test_capacities(case):
    fields, expected = CAPACITIES[case]
    found = dumped(thing(STORAGE, "CSIStorageCapacity", "c", namespace="sys", **fields))
    assert list(found.storage_capacities) == [expected]


def test_drivers_say_whether_their_capacity_counts():
    found = dumped(
        thing(STORAGE, "CSIDriver", "a", spec={"storageCapacity": True}),
        thing(STORAGE, "CSIDriver", "b", spec={}),
    )
    assert list(found.storage_drivers) == [StorageDriver("a", checks_capacity=True), StorageDriver("b")]


def csi_node(name, *drivers):
    return thing(STORAGE, "CSINode", name, spec={"drivers": list(drivers)})


def test_a_node_takes_as_many_volumes_of_a_driver_as_it_says():
    found = dumped(
        csi_node(
            "n1",
            {"name": "a", "nodeID": "n1", "allocatable": {"count": 25}},
            {"name": "none", "allocatable": {"count": 0}},
            {"name": "no limit", "allocatable": None},
            {"name": "no count", "allocatable": {}},
        ),
        csi_node("gone", {"name": "a", "allocatable": {"count": 1}}),
        node("n1"),
        node("n2"),
    )
    assert found.nodes["n1"].attach_limits == {"a": 25, "none": 0}
    assert found.nodes["n2"].attach_limits == {}
    assert found.unknowns == ("not used: volume limits of unknown nodes: gone",)


# Each row: an object, and where its fault is.
WRONG = {
    "a size": (volume(capacity={"storage": "x"}), "spec.capacity.storage"),
    "a mode": (storage_class(volumeBindingMode="Later"), "volumeBindingMode"),
    "a selector": (volume(nodeAffinity={"required": {"nodeSelectorTerms": 1}}), "spec.nodeAffinity.required"),
    "a capacity": (thing(STORAGE, "CSIStorageCapacity", "c", capacity="x"), "capacity"),
    "a largest size": (
        thing(STORAGE, "CSIStorageCapacity", "c", maximumVolumeSize="-1"),
        "maximumVolumeSize",
    ),
    "a count": (
        csi_node("n1", {"name": "a"}, {"name": "b", "allocatable": {"count": -1}}),
        "spec.drivers[1].allocatable.count",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_named_with_its_path(case):
    wire, path = WRONG[case]
    assert refused(wire).startswith(f"standard input: items[0].{path}")
