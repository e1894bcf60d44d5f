"""Quotas and policies that cannot hold are refused when they are written, with the command line's words."""

import subprocess
import sys

import pytest
import yaml

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


# What is written, as it stands in a file: each is wrong by itself.
WRONG = {
    "a min above its max": 'spec: {namespaces: [a], min: {cpu: "3"}, max: {cpu: "1"}}',
    "its own parent": 'spec: {parent: x, min: {cpu: "1"}}',
    "a weight below 0": 'spec: {namespaces: [a], weight: "-1"}',
    "a weight that is no number": "spec: {namespaces: [a], weight: much}",
    "a negative amount": 'spec: {namespaces: [a], min: {cpu: "-1"}}',
    "a negative bound": 'spec: {namespaces: [a], min: {cpu: "1"}, borrowingLimit: {cpu: "-2"}}',
    "an amount that is none": "spec: {namespaces: [a], min: {cpu: lots}}",
    "a suffix that is none": "spec: {namespaces: [a], min: {memory: 1Gib}}",
    "more than can be counted": "spec: {namespaces: [a], min: {cpu: 1E}}",
    "a resource that is none": "spec: {namespaces: [a], min: {kubernetes.io/seats: 1}}",
    "a queue that is none": "spec: {queues: [main]}",
}
FOREIGN = {
    "a composite of nothing": ("CompositeElasticQuota", 'spec: {namespaces: [], min: {cpu: "1"}}'),
    "a composite that names nothing": ("CompositeElasticQuota", 'spec: {min: {cpu: "1"}}'),
    "a quota of nos": ("ElasticQuota", 'spec: {min: {cpu: "2"}, max: {cpu: "1"}}'),
}


def test_what_is_refused_is_refused_in_the_words_of_the_command_line(kube_cluster, tmp_path):
    kube_cluster.start_operator_with_webhook()
    kube_cluster.namespaces("team")
    texts = {name: ("ullage.dev/v1", "Quota", "{name: x}", spec) for name, spec in WRONG.items()}
    texts |= {
        name: ("nos.nebuly.com/v1alpha1", kind, "{name: x, namespace: team}", spec)
        for name, (kind, spec) in FOREIGN.items()
    }
    manifest = tmp_path / "x.yaml"
    asked = [sys.executable, "-m", "ullage", "fit", "-c", "demo", "-f", manifest]
    for name, (version, kind, metadata, spec) in texts.items():
        text = f"apiVersion: {version}\nkind: {kind}\nmetadata: {metadata}\n{spec}\n"
        said = refusal(kube_cluster, yaml.safe_load(text)).rpartition("denied the request: ")[2].strip()
        manifest.write_text(text, encoding="utf-8")
        done = subprocess.run(asked, capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 1, name
        assert done.stderr.strip().endswith(f": {said}"), name


def test_a_parent_is_not_deleted_before_its_children(kube_cluster):
    kube_cluster.start_operator_with_webhook()
    kube_cluster.plane.create(own_quota("above", min={"cpu": "4"}))
    until_known = own_quota("below", parent="above", min={"cpu": "2"})
    until(lambda: _is_created(kube_cluster, until_known), "the webhook knows the parent")
    path = "/apis/ullage.dev/v1/quotas"
    until(lambda: "status" in kube_cluster.plane.get(f"{path}/below"), "the operator knows the child")
    kept = "below: parent 'above' is no quota"
    assert kept in _deletion(kube_cluster, f"{path}/above")
    assert _deletion(kube_cluster, f"{path}/below") == ""
    until(lambda: _deletion(kube_cluster, f"{path}/above") == "", "it may go")


def _is_created(cluster, document: dict) -> bool:
    try:
        cluster.plane.create(document)
    except ApiError:
        return False
    return True


def _deletion(cluster, path: str) -> str:
    try:
        cluster.plane.delete(path)
    except ApiError as error:
        return str(error)
    return ""


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
