"""Uninstalling on a real API server takes what was installed, and nothing that people have put there."""

import pytest

pytestmark = pytest.mark.slow

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
QUOTA = {"apiVersion": "ullage.dev/v1", "kind": "Quota", "metadata": {"name": "ours"}, "spec": {}}


def called(answer, action):
    return {f"{each['kind']} {each['name']}" for each in answer["objects"] if each["action"] == action}


def names(listed):
    return {each["metadata"]["name"] for each in listed["items"]}


def webhook_away(cluster):
    """Let quotas in: nobody serves the webhook here."""
    cluster.delete("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/ullage")


def test_nothing_is_deleted_unless_that_is_said(ullage):
    installed = ullage("install", "--apply")["objects"]
    told = ullage("uninstall")
    assert told["applied"] is False
    assert len(told["objects"]) == len(installed)
    assert {each["action"] for each in ullage("install", "--apply")["objects"]} == {"unchanged"}


def test_kinds_with_objects_stay_until_they_are_purged(cluster, ullage):
    ullage("install", "--apply")
    webhook_away(cluster)
    cluster.create(QUOTA)
    cluster.create({"apiVersion": "ullage.dev/v1", "kind": "NodeCapacity", "metadata": {"name": "n1"}})
    answer = ullage("uninstall", "--apply")
    assert "CustomResourceDefinition quotas.ullage.dev" in called(answer, "kept")
    assert "CustomResourceDefinition elasticquotas.nos.nebuly.com" in called(answer, "kept")
    assert "CustomResourceDefinition plans.ullage.dev" in called(answer, "deleted")
    assert "CustomResourceDefinition nodecapacities.ullage.dev" in called(answer, "deleted")
    cluster.wait_for(DEFINITIONS, lambda found: "nodecapacities.ullage.dev" not in names(found))
    assert cluster.get("/apis/ullage.dev/v1/quotas/ours")
    assert "Deployment ullage-operator" in called(answer, "deleted")
    ullage("uninstall", "--apply", "--purge")
    cluster.wait_for(DEFINITIONS, lambda found: not found["items"])


def test_what_processes_left_behind_goes_too(cluster, ullage):
    ullage("install", "--apply")
    for kind, version, name in (
        ("Secret", "v1", "ullage-webhook-certificate"),
        ("Lease", "coordination.k8s.io/v1", "ullage-operator"),
    ):
        metadata = {"name": name, "namespace": "ullage-system"}
        cluster.create({"apiVersion": version, "kind": kind, "metadata": metadata})
    answer = ullage("uninstall", "--apply", "--purge")
    assert called(answer, "deleted") >= {
        "Secret ullage-webhook-certificate",
        "Lease ullage-operator",
        "Namespace ullage-system",
    }
