"""How many pods each kind asks for, and under which names."""

import pytest

from sources.kubernetes.kube import asked, container, thing
from ullage.sources.kubernetes.items import Kind
from ullage.sources.kubernetes.pod_sets import has_no_pods, known_kind

TEMPLATE = {"spec": {"containers": [container()]}}
RAY = {
    "headGroupSpec": {"template": TEMPLATE},
    "workerGroupSpecs": [
        {"groupName": "small", "replicas": 3, "template": TEMPLATE},
        {"groupName": "large", "replicas": 2, "numOfHosts": 4, "template": TEMPLATE},
        {"groupName": "idle", "minReplicas": 1, "template": TEMPLATE},
    ],
}
RAY_PODS = {"x-head": 1, "x-worker-small": 3, "x-worker-large": 8, "x-worker-idle": 1}
KUBEFLOW = {"Master": {"template": TEMPLATE}, "Worker": {"replicas": 7, "template": TEMPLATE}}
KUBEFLOW_PODS = {"x-master": 1, "x-worker": 7}


def job(**fields):
    return {**fields, "template": TEMPLATE}


# Each row: apiVersion, kind, spec, and the pods by name.
COUNTS = {
    "a deployment has one replica by default": ("apps/v1", "Deployment", job(), {"x": 1}),
    "null is the default": ("apps/v1", "Deployment", job(replicas=None), {"x": 1}),
    "a deployment may be scaled to nothing": ("apps/v1", "Deployment", job(replicas=0), {"x": 0}),
    "a stateful set": ("apps/v1", "StatefulSet", job(replicas=3), {"x": 3}),
    "a replica set": ("apps/v1", "ReplicaSet", job(replicas=3), {"x": 3}),
    "a replication controller": ("v1", "ReplicationController", job(replicas=3), {"x": 3}),
    "a rollout": ("argoproj.io/v1alpha1", "Rollout", job(replicas=3), {"x": 3}),
    "a job runs one pod at a time": ("batch/v1", "Job", job(completions=9), {"x": 1}),
    "a job runs as many as its parallelism": ("batch/v1", "Job", job(parallelism=4, completions=9), {"x": 4}),
    "a job runs no more than there is to do": (
        "batch/v1",
        "Job",
        job(parallelism=4, completions=2),
        {"x": 2},
    ),
    "a job without completions is a queue": ("batch/v1", "Job", job(parallelism=4), {"x": 4}),
    "a suspended job": ("batch/v1", "Job", job(parallelism=0), {"x": 0}),
    "a cron job is one run of its job": (
        "batch/v1",
        "CronJob",
        {"jobTemplate": {"spec": job(parallelism=2)}},
        {"x": 2},
    ),
    "a job set multiplies": (
        "jobset.x-k8s.io/v1alpha2",
        "JobSet",
        {
            "replicatedJobs": [
                {"name": "driver", "template": {"spec": job()}},
                {"name": "workers", "replicas": 3, "template": {"spec": job(parallelism=4, completions=4)}},
            ]
        },
        {"x-driver": 1, "x-workers": 12},
    ),
    "leaders and workers": (
        "leaderworkerset.x-k8s.io/v1",
        "LeaderWorkerSet",
        {
            "replicas": 3,
            "leaderWorkerTemplate": {"size": 5, "leaderTemplate": TEMPLATE, "workerTemplate": TEMPLATE},
        },
        {"x-leader": 3, "x-worker": 12},
    ),
    "workers lead themselves without a leader's template": (
        "leaderworkerset.x-k8s.io/v1",
        "LeaderWorkerSet",
        {"leaderWorkerTemplate": {"size": 5, "workerTemplate": TEMPLATE}},
        {"x-worker": 5},
    ),
    "a Ray cluster": ("ray.io/v1", "RayCluster", RAY, RAY_PODS),
    "a Ray job": ("ray.io/v1", "RayJob", {"rayClusterSpec": RAY}, RAY_PODS),
    "a Ray service": ("ray.io/v1", "RayService", {"rayClusterConfig": RAY}, RAY_PODS),
    "a PyTorch job": ("kubeflow.org/v1", "PyTorchJob", {"pytorchReplicaSpecs": KUBEFLOW}, KUBEFLOW_PODS),
    "a TensorFlow job": ("kubeflow.org/v1", "TFJob", {"tfReplicaSpecs": KUBEFLOW}, KUBEFLOW_PODS),
    "an MPI job": ("kubeflow.org/v2beta1", "MPIJob", {"mpiReplicaSpecs": KUBEFLOW}, KUBEFLOW_PODS),
}


@pytest.mark.parametrize("rule", COUNTS)
def test_the_pods_of_a_kind(rule):
    api_version, kind, spec, expected = COUNTS[rule]
    found = asked(thing(api_version, kind, spec=spec)).batches
    assert {batch.workload.name: batch.replicas for batch in found} == expected
    assert {(batch.workload.kind, batch.workload.owner) for batch in found} == {(kind, f"{kind}/x")}


@pytest.mark.parametrize(
    ("around", "expected"),
    [({}, 1), ({"replicas": 4}, 4), ({"parallelism": 3}, 3), ({"parallelism": 3, "replicas": 2}, 2)],
)
def test_an_unknown_kind_may_use_the_usual_words(around, expected):
    item = thing("example.com/v1", "Thing", spec={"template": TEMPLATE, **around})
    (found,) = asked(item, pod_template="spec.template").batches
    assert found.replicas == expected


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (Kind("apps", "Pod"), Kind("", "Pod")),
        (Kind("", "Deployment"), Kind("apps", "Deployment")),
        (Kind("extensions", "DaemonSet"), Kind("apps", "DaemonSet")),
        (Kind("", "Job"), Kind("batch", "Job")),
        (Kind("example.com", "Deployment"), Kind("example.com", "Deployment")),
        (Kind("", "Service"), Kind("", "Service")),
    ],
)
def test_kinds_of_kubernetes_are_known_under_its_other_groups(given, meant):
    assert known_kind(given) == meant


def test_kinds_that_ask_for_no_pods():
    assert has_no_pods(Kind("", "Service"))
    assert has_no_pods(Kind("policy", "Anything"))
    assert not has_no_pods(Kind("", "Pod"))
    assert not has_no_pods(Kind("example.com", "Service"))
