"""Helm and kustomize on a real API server: they install, and leave to people what is theirs."""

import os
import subprocess

import pytest

from deployed import BASE, CHART, ROOT
from helm.build import HelmAbsentError, helm_program
from kube_cluster import until

pytestmark = pytest.mark.slow

DEPLOYMENTS = "/apis/apps/v1/namespaces/ullage-system/deployments"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
HELM_SECONDS_MAX = 120
CROSSED = """
apiVersion: ullage.dev/v1
kind: Quota
metadata: {name: research}
spec: {min: {nvidia.com/gpu: 4}, max: {nvidia.com/gpu: 3}}
"""


@pytest.fixture
def helm(cluster, tmp_path):
    try:
        program = helm_program()
    except HelmAbsentError as reason:
        pytest.skip(str(reason))

    def run(*arguments):
        done = subprocess.run(
            [program, *arguments, "--kubeconfig", str(cluster.kubeconfig())],
            env={**os.environ, "HOME": str(tmp_path)},
            capture_output=True,
            text=True,
            timeout=HELM_SECONDS_MAX,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def names(cluster, path):
    return {item["metadata"]["name"] for item in cluster.items(path)}


def test_helm_installs_upgrades_and_leaves_our_kinds_behind(cluster, helm, ullage):
    said = helm("install", "any", str(ROOT / CHART), "--namespace", "ullage-system", "--create-namespace")
    assert "runs in ullage-system: operator, scheduler" in said
    assert names(cluster, DEPLOYMENTS) == {"ullage-operator", "ullage-scheduler"}
    for words in (("install", "--apply"), ("uninstall", "--apply"), ("uninstall", "--apply", "--purge")):
        assert "is managed by Helm" in ullage(*words)
    helm("upgrade", "any", str(ROOT / CHART), "--namespace", "ullage-system", "--set", "replicas=3")
    assert cluster.get(f"{DEPLOYMENTS}/ullage-operator")["spec"]["replicas"] == 3
    helm("uninstall", "any", "--namespace", "ullage-system")
    assert names(cluster, DEPLOYMENTS) == set()
    assert "quotas.ullage.dev" in names(cluster, DEFINITIONS)
    purged = ullage("uninstall", "--apply", "--purge")["objects"]
    assert {"deleted"} == {each["action"] for each in purged if each["name"].endswith(".ullage.dev")}
    until(
        lambda: not any(name.endswith(".ullage.dev") for name in names(cluster, DEFINITIONS)),
        "a server takes its time to delete definitions",
    )


def test_helm_takes_over_what_another_installation_left_behind(cluster, helm, ullage):
    ullage("install", "--apply", "--component", "scheduler")
    quota = {"apiVersion": "ullage.dev/v1", "kind": "Quota", "metadata": {"name": "research"}, "spec": {}}
    cluster.create(quota)
    ullage("uninstall", "--apply")
    assert "quotas.ullage.dev" in names(cluster, DEFINITIONS), "it has an object"
    taking_over = ("--take-ownership", "--force-conflicts")
    helm("install", "any", str(ROOT / CHART), "--namespace", "other", "--create-namespace", *taking_over)
    assert names(cluster, "/apis/ullage.dev/v1/quotas") == {"research"}
    helm("uninstall", "any", "--namespace", "other")
    cluster.delete("/apis/ullage.dev/v1/quotas/research")


def test_what_kustomize_installed_is_what_install_knows(cluster, kubectl, ullage):
    applied = kubectl(
        "apply", "--server-side", "--field-manager=ullage", "--force-conflicts", "-k", str(ROOT / BASE)
    )
    assert applied.returncode == 0, applied.stderr
    answer = ullage("install", "--apply")
    assert {each["action"] for each in answer["objects"]} <= {"unchanged", "kept"}
    assert names(cluster, DEPLOYMENTS) == {"ullage-operator", "ullage-scheduler"}


def test_a_quota_that_nobody_can_judge_is_not_stored(kubectl, ullage):
    assert isinstance(ullage("install", "--apply"), dict)
    refused = kubectl("apply", "-f", "-", given=CROSSED)
    assert refused.returncode
    assert 'failed calling webhook "validate.ullage.dev"' in refused.stderr
