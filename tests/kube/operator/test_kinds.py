"""What the operator does not read changes nothing of what it counts, writes and gives back."""

import json

import pytest

from ullage.engine.capacity.summary import summarise_groups
from ullage.engine.columns import Columns
from ullage.engine.ledger.supply import supply_of
from ullage.engine.quota.following import FollowedQuotas
from ullage.kube.following import FOLLOWED, FOR_PLACING, Following
from ullage.kube.operator.nodes import status_of
from ullage.kube.operator.running import KINDS
from ullage.sources.kubernetes.items import NODE, POD, Kind
from ullage.sources.kubernetes.kubeconfig import Access, ClusterEntry, UserEntry
from ullage.sources.kubernetes.pod_groups import COSCHEDULING_GROUP

STORAGE = "storage.k8s.io"
CSI = {"name": "csi.example.com"}
MANY = {"namespace": "a"}


def asks(name: str, **more) -> dict:
    container = {"name": "main", "resources": {"requests": {"cpu": "1"}}}
    labels = {"scheduling.x-k8s.io/pod-group": "together", "app": "x"}
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
    return {
        "metadata": {"name": name, "labels": labels, **MANY},
        "spec": {"containers": [container], "volumes": volumes, **more},
    }


OBJECTS = [
    (Kind("", "Namespace"), {"metadata": {"name": "a", "labels": {"team": "a"}}}),
    (Kind(STORAGE, "StorageClass"), {
        "metadata": {"name": "fast", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
        "provisioner": CSI["name"], "volumeBindingMode": "WaitForFirstConsumer",
    }),
    (Kind(STORAGE, "CSIDriver"), {"metadata": CSI, "spec": {"storageCapacity": True}}),
    (Kind(STORAGE, "CSIStorageCapacity"), {
        "metadata": {"name": "c", **MANY}, "storageClassName": "fast", "capacity": "1Gi", "nodeTopology": {},
    }),
    (Kind(STORAGE, "CSINode"), {
        "metadata": {"name": "n1"},
        "spec": {"drivers": [{**CSI, "nodeID": "n1", "allocatable": {"count": 1}}]},
    }),
    (Kind("policy", "PodDisruptionBudget"), {
        "metadata": {"name": "b", **MANY},
        "spec": {"selector": {"matchLabels": {"app": "x"}}, "minAvailable": 9}, "status": {},
    }),
    (COSCHEDULING_GROUP, {"metadata": {"name": "together", **MANY}, "spec": {"minMember": 9}}),
    (Kind("nos.nebuly.com", "ElasticQuota"), {
        "metadata": {"name": "q", **MANY}, "spec": {"min": {"cpu": "1"}},
    }),
    (Kind("", "PersistentVolumeClaim"), {
        "metadata": {"name": "data", **MANY},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }),
    (NODE, {"metadata": {"name": "n1"}, "status": {"capacity": {"cpu": "4"}, "allocatable": {"cpu": "4"}}}),
    (POD, asks("runs", nodeName="n1")),
    (POD, asks("too", nodeName="n1")),
    (POD, asks("waits")),
]  # fmt: skip


def followed(kinds) -> Columns:
    following = Following(Access("x", ClusterEntry(server="http://127.0.0.1:1"), UserEntry()), None)
    for kind in kinds:
        following.begin(kind)
        for each in (json.dumps(content).encode() for of, content in OBJECTS if of == kind):
            following.put(kind, each)
        following.end(kind)
    assert following.mirror.unreadable == []
    return following.advance(following.take())


def written(columns: Columns) -> list:
    """Return all that the operator makes of a cluster."""
    quotas = FollowedQuotas(columns)
    return [
        quotas.labels(),
        quotas.figures(),
        summarise_groups(columns),
        [status_of(columns, row) | {"conditions": []} for row in range(len(columns.nodes))],
        supply_of(columns, ()),
    ]


def test_what_only_others_read_changes_nothing_that_the_operator_writes():
    everything, counted = followed(FOLLOWED), followed(KINDS)
    assert everything.snapshot.workloads != counted.snapshot.workloads
    assert written(everything) == written(counted)
    assert [label.label for label in written(counted)[0]] == ["in-quota", "over-quota"]


@pytest.mark.parametrize("kind", sorted(FOR_PLACING))
def test_each_kind_that_is_not_read_is_there_in_the_example(kind):
    assert kind.group == "scheduling.k8s.io" or kind in {of for of, _ in OBJECTS}
