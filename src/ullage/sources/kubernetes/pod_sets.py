"""The pods that an object asks for: where the pod templates of its kind stand, how many pods each gives.

A kind that is not here is one row of POD_SETS, or `--pod-template PATH` on the command line. The hard thing
is how many run at once: that of a Job is bounded by its parallelism and by what there is to complete.
"""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from ullage.model.checks import REPLICAS_MAX
from ullage.sources.kubernetes.items import Kind
from ullage.sources.kubernetes.template_paths import Pattern, Scope, parse_pattern

Count = Callable[[Scope], int]


class PodSet(NamedTuple):
    """A template's place in an object, how many pods are made of it, and what tells them from others."""

    pattern: Pattern
    count: Count
    suffix: str = ""


def one(_: Scope) -> int:
    """A single pod."""
    return 1


def replicas(scope: Scope) -> int:
    """As many as `replicas` says, one by default."""
    return scope.number("replicas", 1, REPLICAS_MAX)


def job_pods(scope: Scope) -> int:
    """The pods of a job that run at the same time."""
    parallel = scope.number("parallelism", 1, REPLICAS_MAX)
    return min(parallel, scope.number("completions", parallel, REPLICAS_MAX))


def stated(scope: Scope) -> int:
    """What the mapping around a template says in one of the usual words, one by default."""
    return job_pods(scope) if scope.has("parallelism") and not scope.has("replicas") else replicas(scope)


def _job_set_pods(scope: Scope) -> int:
    return job_pods(scope) * replicas(scope.up(2))


def _leaders(scope: Scope) -> int:
    return replicas(scope.up(1))


def _workers(scope: Scope) -> int:
    size = scope.number("size", 1, REPLICAS_MAX)
    return max(0, size - int(scope.has("leaderTemplate"))) * replicas(scope.up(1))


def _ray_workers(scope: Scope) -> int:
    least = scope.number("minReplicas", 0, REPLICAS_MAX)
    return scope.number("replicas", least, REPLICAS_MAX) * scope.number("numOfHosts", 1, REPLICAS_MAX)


def _set(path: str, count: Count = replicas, suffix: str = "") -> PodSet:
    return PodSet(parse_pattern(path), count, suffix)


def _ray(prefix: str) -> tuple[PodSet, ...]:
    return (
        _set(f"{prefix}.headGroupSpec.template", one, "head"),
        _set(f"{prefix}.workerGroupSpecs[*].template", _ray_workers, "worker"),
    )


TEMPLATE: Final = _set("spec.template")
POD_SETS: Final[Mapping[Kind, tuple[PodSet, ...]]] = {
    Kind("", "ReplicationController"): (TEMPLATE,),
    Kind("apps", "Deployment"): (TEMPLATE,),
    Kind("apps", "ReplicaSet"): (TEMPLATE,),
    Kind("apps", "StatefulSet"): (TEMPLATE,),
    Kind("apps", "DaemonSet"): (_set("spec.template", one),),
    Kind("batch", "Job"): (_set("spec.template", job_pods),),
    Kind("batch", "CronJob"): (_set("spec.jobTemplate.spec.template", job_pods),),
    Kind("argoproj.io", "Rollout"): (TEMPLATE,),
    Kind("jobset.x-k8s.io", "JobSet"): (
        _set("spec.replicatedJobs[*].template.spec.template", _job_set_pods),
    ),
    Kind("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): (
        _set("spec.leaderWorkerTemplate.leaderTemplate", _leaders, "leader"),
        _set("spec.leaderWorkerTemplate.workerTemplate", _workers, "worker"),
    ),
    Kind("ray.io", "RayCluster"): _ray("spec"),
    Kind("ray.io", "RayJob"): _ray("spec.rayClusterSpec"),
    Kind("ray.io", "RayService"): _ray("spec.rayClusterConfig"),
    Kind("kubeflow.org", "PyTorchJob"): (_set("spec.pytorchReplicaSpecs[*].template"),),
    Kind("kubeflow.org", "TFJob"): (_set("spec.tfReplicaSpecs[*].template"),),
    Kind("kubeflow.org", "MPIJob"): (_set("spec.mpiReplicaSpecs[*].template"),),
}
"""Kinds with pod templates, by group and kind."""

OLD_GROUPS: Final = frozenset(("", "apps", "batch", "extensions"))
"""Groups between which Kubernetes' own kinds have moved, and which people mix up."""

WITHOUT_PODS: Final = frozenset(
    (
        "admissionregistration.k8s.io",
        "apiextensions.k8s.io",
        "apiregistration.k8s.io",
        "autoscaling",
        "certificates.k8s.io",
        "coordination.k8s.io",
        "discovery.k8s.io",
        "events.k8s.io",
        "flowcontrol.apiserver.k8s.io",
        "gateway.networking.k8s.io",
        "metrics.k8s.io",
        "networking.k8s.io",
        "node.k8s.io",
        "policy",
        "rbac.authorization.k8s.io",
        "resource.k8s.io",
        "scheduling.k8s.io",
        "storage.k8s.io",
    )
)
"""Groups of Kubernetes itself of which no kind asks for pods."""

WITHOUT_PODS_CORE: Final = frozenset(
    (
        "ConfigMap",
        "Endpoints",
        "Event",
        "LimitRange",
        "Namespace",
        "Node",
        "PersistentVolume",
        "ResourceQuota",
        "Secret",
        "Service",
        "ServiceAccount",
    )
)
"""Kinds of the core group that do not ask for pods."""


def known_kind(kind: Kind) -> Kind:
    """The kind that is meant: one of Kubernetes' own under another of its groups is what its name says."""
    if kind in POD_SETS or kind.group not in OLD_GROUPS:
        return kind
    for group in ("", "apps", "batch"):
        meant = Kind(group, kind.name)
        if meant in POD_SETS or meant == Kind("", "Pod"):
            return meant
    return kind


def has_no_pods(kind: Kind) -> bool:
    """Whether objects of a kind are known to ask for no pods."""
    return kind.group in WITHOUT_PODS or (not kind.group and kind.name in WITHOUT_PODS_CORE)
