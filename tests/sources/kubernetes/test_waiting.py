"""Deployments and their like beside nodes: expanded once, and never beside their own pods."""

import pytest

from sources.kubernetes.kube import container, dumped, node, pod, thing

TEMPLATE = {"spec": {"containers": [container("main", {"cpu": "1"})]}}


def owned(kind, name):
    return {"ownerReferences": [{"kind": kind, "name": name, "controller": True}]}


def a_set(kind="Deployment", api_version="apps/v1", **spec):
    return thing(api_version, kind, "web", namespace="team", spec={"template": TEMPLATE, **spec})


def test_a_set_without_pods_waits():
    found = dumped(node(), a_set(replicas=2)).workloads
    assert sorted(found.keys()) == ["team/web-0", "team/web-1"]
    assert {(each.state, each.owner) for each in found} == {("init", "Deployment/web")}


def test_a_set_that_asks_beyond_all_measure_waits_too():
    template = {"spec": {"containers": [container("main", {"cpu": "1"}, {"cpu": "1E"})]}}
    (found,) = dumped(node(), a_set(replicas=1, template=template)).workloads
    assert found.requests.of("cpu") == 1000


@pytest.mark.parametrize(
    ("owner", "count"),
    [(("ReplicaSet", "web-5d8f"), 1), (("ReplicaSet", "web-api-5d8f"), 3), (("StatefulSet", "web"), 3)],
)
def test_a_deployment_with_pods_is_not_counted_twice(owner, count):
    running = pod("p", nodeName="n1", metadata=owned(*owner))
    assert len(dumped(node(), a_set(replicas=2), running).workloads) == count


def test_what_another_set_made_is_passed_over():
    made = a_set("ReplicaSet", replicas=2)
    made["metadata"] |= owned("Deployment", "up")
    assert not dumped(node(), made).workloads
