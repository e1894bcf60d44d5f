"""Quotas and policies that cannot hold are refused when they are written, with the command line's words."""

import subprocess
import sys

import pytest

from kube_cluster import elastic_quota, until
from plane.client import ApiError

OVERLAP = """
apiVersion: ullage.dev/v1
kind: Quota
metadata: {name: second}
spec: {namespaces: [team], min: {cpu: "1"}}
"""


def own_quota(name: str, **spec) -> dict:
    return {"apiVersion": "ullage.dev/v1", "kind": "Quota", "metadata": {"name": name}, "spec": spec}


def policy(name: str, **settings: str) -> dict:
    metadata = {"name": name}
    return {
        "apiVersion": "ullage.dev/v1",
        "kind": "CapacityPolicy",
        "metadata": metadata,
        "spec": {"cluster": settings},
    }


def refusal(cluster, document: dict) -> str:
    with pytest.raises(ApiError) as refused:
        cluster.plane.create(document)
    assert refused.value.status == 422
    return str(refused.value)


def test_what_cannot_hold_is_refused_and_what_can_is_stored(kube_cluster, tmp_path):
    kube_cluster.start_operator_with_webhook()
    kube_cluster.namespaces("team")
    kube_cluster.plane.create(own_quota("first", namespaces=["team"], min={"cpu": "2"}))
    overlap = refusal(kube_cluster, own_quota("second", namespaces=["team"], min={"cpu": "1"}))
    assert "team" in overlap
    assert "memory-ratio" in refusal(kube_cluster, policy("low", **{"memory-ratio": "often"}))
    kube_cluster.plane.create(policy("good", **{"memory-ratio": "1.5"}))
    kube_cluster.plane.create(
        elastic_quota("team/own", cpu="1") | {"metadata": {"name": "own", "namespace": "default"}}
    )

    manifest = tmp_path / "second.yaml"
    manifest.write_text(OVERLAP, encoding="utf-8")
    kubeconfig = str(kube_cluster.plane.kubeconfig())
    asked = [sys.executable, "-m", "ullage", "fit", "-c", "kube", "--kubeconfig", kubeconfig, "-f", manifest]
    done = subprocess.run(asked, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1
    assert overlap.rpartition("denied the request: ")[2].strip() in done.stderr


def test_a_quota_says_whether_it_holds(kube_cluster):
    kube_cluster.namespaces("team")
    kube_cluster.plane.create(own_quota("a", namespaces=["team"], min={"cpu": "2"}))
    kube_cluster.plane.create(own_quota("b", namespaces=["team"], min={"cpu": "2"}))
    kube_cluster.start("operator")

    def verdicts() -> dict[str, str]:
        found = kube_cluster.plane.items("/apis/ullage.dev/v1/quotas")
        conditions = {
            each["metadata"]["name"]: each.get("status", {}).get("conditions", ()) for each in found
        }
        return {name: each[0]["status"] for name, each in conditions.items() if each}

    until(lambda: sorted(verdicts().values()) == ["False", "True"], f"one of two holds: {verdicts()}")
