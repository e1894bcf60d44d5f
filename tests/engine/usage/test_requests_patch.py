"""Patches that kubectl takes, one for each owner that can be patched."""

import pytest

from builders import BUILT_IN_TYPES, cluster, node, pod, resources
from ullage.engine.usage.advice import advise
from ullage.engine.usage.owners import Owner
from ullage.engine.usage.requests import Rules
from ullage.engine.usage.requests_patch import after_patch, patch_of, removes_limits, why_no_patch
from ullage.model.cluster import Container
from usage_builders import DAY, book, every

MIB = 1 << 20
START = 98 * DAY
PARTS = (
    Container("seed", "init", resources(cpu="1", memory="1Gi")),
    Container("proxy", "sidecar", resources(cpu="1", memory="1Gi")),
    Container("c", "main", resources(cpu="2", memory="4Gi"), resources(cpu="4", memory="4Gi")),
)


def patch(owner="StatefulSet/web", labels=None, rules=None, memory=1000):
    streams = {}
    for name in ("proxy", "c"):
        streams["container/n/w/" + name, "memory"] = every(3600, [memory * MIB] * 336, START)
        streams["container/n/w/" + name, "cpu"] = every(3600, [100] * 336, START)
    made = pod("w", namespace="n", owner=owner, labels=labels or {}, containers=PARTS)
    snapshot = cluster(node("n1", cpu="64", memory="256Gi").holding(made))
    (found,) = advise(snapshot, book(streams), rules or Rules())
    return patch_of(found, BUILT_IN_TYPES)


RESOURCES = {"cpu": "100m", "memory": "1152Mi"}


def test_a_patch_names_containers_and_only_what_changes_of_them():
    assert patch() == {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "web", "namespace": "n"},
        "spec": {
            "template": {
                "spec": {
                    "initContainers": [{"name": "proxy", "resources": {"requests": RESOURCES}}],
                    "containers": [{"name": "c", "resources": {"requests": RESOURCES}}],
                }
            }
        },
    }


def test_the_deployment_behind_a_replica_set_is_patched():
    found = patch("ReplicaSet/web-7d9f4c6b8", {"pod-template-hash": "7d9f4c6b8"})
    assert (found["kind"], found["metadata"]["name"]) == ("Deployment", "web")


def test_the_template_of_a_cron_job_is_deeper():
    found = patch("Job/web-28612345")
    assert (found["apiVersion"], found["kind"]) == ("batch/v1", "CronJob")
    assert found["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"][0]["name"] == "c"


def test_a_limit_that_is_removed_is_null():
    found = patch(rules=Rules(removes_cpu_limits=True))
    (part,) = found["spec"]["template"]["spec"]["containers"]
    assert part["resources"]["limits"] == {"cpu": None}
    assert removes_limits([found])
    assert not removes_limits([patch()])


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("Job", "the template of a Job cannot be changed"),
        ("Pod", "a pod that nobody made"),
        ("Rollout", "no kind of Kubernetes"),
        ("Strange", "Strange is no kind that is known here"),
    ],
)
def test_what_cannot_be_patched_is_told(kind, said):
    assert said in why_no_patch(Owner("n", kind, "x"))
    assert patch(f"{kind}/x" if kind != "Pod" else "") is None


def test_who_does_not_replace_its_pods_is_told():
    assert "delete them one by one" in after_patch(Owner("n", "ReplicaSet", "x"))
    assert not after_patch(Owner("n", "Deployment", "x"))


def test_nothing_to_change_is_no_patch():
    assert patch(rules=Rules(only_growth=True), memory=100) is None
