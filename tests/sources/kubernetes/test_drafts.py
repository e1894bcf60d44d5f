"""What pods of manifests get from classes, defaults and claims, of the manifests and of the cluster."""

import pytest

from sources.kubernetes.kube import amounts, asked, container, dumped, pod, thing
from ullage.model.cluster import Volume
from ullage.sources.kubernetes.object_kinds import known_of

GIB = 1 << 30
MAIN = container("main", {"cpu": "1"})
DEFAULT = {"annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}


def priority(name, value, **fields):
    return thing("scheduling.k8s.io/v1", "PriorityClass", name, value=value, **fields)


def kata(cpu, **fields):
    return thing("node.k8s.io/v1", "RuntimeClass", "kata", overhead={"podFixed": {"cpu": cpu}}, **fields)


def only(*items, cluster=()):
    (batch,) = asked(*items, known=known_of(dumped(*cluster))).batches
    return batch.workload


MEEK = priority("meek", 5, globalDefault=True, preemptionPolicy="Never")
# Each row: fields of a pod, classes of the manifests and of the cluster, and priority, class and preemption.
PRIORITIES = {
    "of a class of the cluster": (
        {"priorityClassName": "gold"}, [], [priority("gold", 9)], (9, "gold", True),
    ),
    "of a class of the manifests first": (
        {"priorityClassName": "gold"}, [priority("gold", 7)], [priority("gold", 9)], (7, "gold", True),
    ),
    "of the cluster's default": ({}, [], [MEEK], (5, "meek", False)),
    "of the manifests' default": ({}, [MEEK], [], (5, "meek", False)),
    "of the lowest default": ({}, [priority("low", 3, globalDefault=True)], [MEEK], (3, "low", True)),
    "its own preemption before that of the default": (
        {"preemptionPolicy": "PreemptLowerPriority"}, [], [MEEK], (5, "meek", True),
    ),
    "its own": ({"priority": 1}, [], [MEEK], (1, "", True)),
    "none": ({}, [], [priority("gold", 9)], (0, "", True)),
}  # fmt: skip


@pytest.mark.parametrize("rule", PRIORITIES)
def test_the_priority_is(rule):
    spec, own, cluster, expected = PRIORITIES[rule]
    found = only(pod("p", MAIN, **spec), *own, cluster=cluster)
    assert (found.priority, found.priority_class, found.preempts) == expected


def test_the_runtime_is_that_of_the_manifests_before_that_of_the_cluster():
    asking = pod("p", MAIN, runtimeClassName="kata")
    assert only(asking, cluster=[kata("250m")]).requests == amounts(cpu="1250m", pods="1")
    assert only(asking, kata("500m"), cluster=[kata("250m")]).requests == amounts(cpu="1500m", pods="1")


def test_a_pod_that_wants_other_nodes_than_its_runtime_is_named():
    runtime = kata("250m", scheduling={"nodeSelector": {"disk": "ssd", "arch": "arm"}})
    asking = pod("p", MAIN, runtimeClassName="kata", nodeSelector={"disk": "hdd", "arch": "arm"})
    (warning,) = asked(asking, runtime).warnings
    assert warning == (
        "team/p: RuntimeClass kata wants nodes with disk=ssd, the pod those with hdd; "
        "the API server refuses it"
    )


def test_a_claim_of_the_cluster_gives_its_size():
    spec = {"storageClassName": "fast", "resources": {"requests": {"storage": "2Gi"}}}
    claim = thing("v1", "PersistentVolumeClaim", "data", namespace="team", spec=spec)
    volume = {"name": "v", "persistentVolumeClaim": {"claimName": "data"}}
    found = only(pod("p", MAIN, volumes=[volume]), cluster=[claim])
    assert found.volumes == (Volume("v", "data", "fast", 2 * GIB),)


def storage_class(name):
    return {**thing("storage.k8s.io/v1", "StorageClass"), "metadata": {"name": name, **DEFAULT}}


def test_volumes_that_name_no_class_have_the_default_one():
    ephemeral = pod("p", MAIN, volumes=[{"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}])
    assert only(ephemeral, cluster=[storage_class("a")]).volumes[0].storage_class == "a"
    assert only(ephemeral, storage_class("b"), cluster=[storage_class("a")]).volumes[0].storage_class == "b"
    assert only(ephemeral).volumes[0].storage_class == ""


def test_so_do_claims_of_stateful_sets_and_of_manifests():
    templates = [
        {"metadata": {"name": "data"}, "spec": {}},
        {"metadata": {"name": "log"}, "spec": {"storageClassName": ""}},
    ]
    spec = {"template": {"spec": {"containers": [MAIN]}}, "volumeClaimTemplates": templates}
    database = thing("apps/v1", "StatefulSet", "db", spec=spec)
    claim = thing("v1", "PersistentVolumeClaim", "own", spec={})
    found = asked(database, claim, known=known_of(dumped(storage_class("a"))))
    assert [each.storage_class for each in found.batches[0].workload.volumes] == ["a", ""]
    assert found.objects.claims[0].storage_class == "a"


def test_sets_that_wait_in_a_cluster_get_the_same():
    template = {"spec": {"containers": [MAIN], "runtimeClassName": "kata"}}
    web = thing("apps/v1", "Deployment", "web", namespace="team", spec={"replicas": 1, "template": template})
    (found,) = dumped(web, kata("250m"), MEEK).workloads
    assert (found.requests, found.priority_class) == (amounts(cpu="1250m", pods="1"), "meek")
