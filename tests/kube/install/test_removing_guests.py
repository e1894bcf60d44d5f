"""Uninstalling on a real API server that nothing was installed on before: what others have there stays."""

import pytest

pytestmark = pytest.mark.slow

POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "guest", "namespace": "ullage-system"},
    "spec": {
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [
            {
                "name": "main",
                "image": "none",
                "securityContext": {
                    "allowPrivilegeEscalation": False,
                    "capabilities": {"drop": ["ALL"]},
                },
            }
        ],
    },
}
NAMED = {"name": "guest", "namespace": "ullage-system"}
GUESTS = {
    "a pod": ("/api/v1", "pods", POD),
    "a map": ("/api/v1", "configmaps", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": NAMED}),
    "a lease": (
        "/apis/coordination.k8s.io/v1",
        "leases",
        {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": NAMED},
    ),
    "a quota of nos": (
        "/apis/nos.nebuly.com/v1alpha1",
        "elasticquotas",
        {
            "apiVersion": "nos.nebuly.com/v1alpha1",
            "kind": "ElasticQuota",
            "metadata": NAMED,
            "spec": {"min": {}},
        },
    ),
}


def called(answer, action):
    return {f"{each['kind']} {each['name']}" for each in answer["objects"] if each["action"] == action}


def webhook_away(cluster):
    """Let quotas in: nobody serves the webhook here."""
    cluster.delete("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/ullage")


def test_where_nothing_is_installed_there_is_nothing_to_delete(ullage):
    assert ullage("uninstall", "--apply").get("objects", []) == []


def test_a_namespace_in_which_others_have_something_stays(cluster, ullage):
    ullage("install", "--apply")
    webhook_away(cluster)
    for name, (base, plural, guest) in GUESTS.items():
        cluster.create(guest)
        answer = ullage("uninstall", "--apply")
        notes = [each["note"] for each in answer["objects"] if each["kind"] == "Namespace"]
        assert notes == [f"{guest['kind']} guest of others is in it"], name
        cluster.delete(f"{base}/namespaces/ullage-system/{plural}/guest")
    assert "Namespace ullage-system" in called(ullage("uninstall", "--apply", "--purge"), "deleted")
