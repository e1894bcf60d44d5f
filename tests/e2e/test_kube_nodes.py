"""The room of each node on a real control plane: what is answered about it, as long as it is there."""

import json
import os
import subprocess
import sys
import time

import pytest

from kube_cluster import KubeCluster, node, pod, until
from plane.proxy import Proxy

OBJECTS = "/apis/ullage.dev/v1/nodecapacities"
TERMS = ("capacity", "reserve", "allocatable", "limit", "committed", "free")
QUIET_SECONDS = 12
"""Longer than anything is put off."""


def stated(cluster: KubeCluster) -> dict[str, dict]:
    """Return what is said about each node."""
    return {each["metadata"]["name"]: each.get("status", {}) for each in cluster.plane.items(OBJECTS)}


def free(cluster: KubeCluster) -> dict[str, str]:
    return {name: each.get("free", {}).get("cpu") for name, each in stated(cluster).items()}


def answered(cluster: KubeCluster, *arguments: str) -> dict:
    environment = {**os.environ, "KUBECONFIG": str(cluster.plane.kubeconfig())}
    command = [sys.executable, "-m", "ullage", *arguments, "-c", "kube", "-o", "json"]
    done = subprocess.run(command, capture_output=True, check=True, timeout=60, env=environment)
    return json.loads(done.stdout)


def shown(cluster: KubeCluster) -> list[str]:
    """Return the first row of `kubectl get`, but for the age."""
    environment = {**os.environ, "KUBECONFIG": str(cluster.plane.kubeconfig())}
    command = [cluster.plane.program, "kubectl", "get", "ncap", "--no-headers"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment, timeout=60)
    return done.stdout.splitlines()[0].split()[:-1]


def bound(key: str, node: str, cpu: str = "1") -> dict:
    return pod(key, cpu=cpu, memory="1Gi", spec={"nodeName": node})


def policy(**cluster: object) -> dict:
    metadata = {"name": "ours"}
    return {"apiVersion": "ullage.dev/v1", "kind": "CapacityPolicy", "metadata": metadata,
            "spec": {"cluster": cluster}}  # fmt: skip


def writes(proxy: Proxy) -> list:
    return [each for each in proxy.asked if each.method != "GET" and "nodecapacities" in each.target]


@pytest.fixture
def filled(kube_cluster) -> KubeCluster:
    kube_cluster.nodes(2, cpu="4", memory="8Gi", **{"nvidia.com/gpu": "2"})
    kube_cluster.namespaces("a")
    kube_cluster.plane.create(policy(**{"cpu-ratio": "3/2", "memory-reserve": "1Gi"}))
    kube_cluster.plane.create(bound("a/p", "n0"))
    return kube_cluster


def test_a_node_has_the_numbers_that_are_answered_about_it_and_follows_its_pods(filled):
    cluster = filled
    cluster.start("operator")
    until(lambda: free(cluster) == {"n0": "5", "n1": "6"}, "nodes have their room")
    for each in answered(cluster, "status")["nodes"]:
        said = stated(cluster)[each["name"]]
        assert (said["group"], said["state"]) == (each["group"], each["state"])
        for term in TERMS:
            assert said[term] == {name: each[term][name] for name in said["capacity"]}, term
    (said, resources) = stated(cluster)["n0"], answered(cluster, "explain", "node/n0")["resources"]
    explained = {each["terms"]["resource"]: each["terms"]["free"] for each in resources}
    assert said["free"] == {name: explained[name] for name in said["free"]}
    assert shown(cluster) == ["n0", "default", "ready", "5", "6Gi", "109", "2", "False"]

    cluster.plane.create(bound("a/q", "n0", cpu="6"))
    cluster.plane.patch("/api/v1/nodes/n0", {"spec": {"unschedulable": True}})
    until(lambda: stated(cluster)["n0"]["state"] == "cordoned", "a node that is cordoned says so")
    until(lambda: free(cluster) == {"n0": "0", "n1": "6"}, "a pod takes room")
    (condition,) = stated(cluster)["n0"]["conditions"]
    assert (condition["type"], condition["status"]) == ("OverCommitted", "True")
    assert condition["message"] == "7 of cpu promised, 1 over its limit 6"
    cluster.plane.delete("/api/v1/namespaces/a/pods/q")
    until(lambda: free(cluster)["n0"] == "5", "a pod that is gone gives it back")
    cluster.plane.delete("/apis/ullage.dev/v1/capacitypolicies/ours")
    until(lambda: free(cluster) == {"n0": "3", "n1": "4"}, "all follow the policy")


def test_each_node_has_one_of_its_own_and_at_rest_nothing_is_written(filled):
    cluster = filled
    stray = {"apiVersion": "ullage.dev/v1", "kind": "NodeCapacity", "metadata": {"name": "nobody"}}
    cluster.plane.create(stray)
    with Proxy(cluster.plane) as proxy:
        operator = cluster.start("operator", server=proxy.server)
        until(lambda: free(cluster) == {"n0": "5", "n1": "6"}, "nodes have their room, and nobody else")
        assert owners(cluster) == uids(cluster)

        damage(cluster)
        until(lambda: free(cluster) == {"n0": "5", "n1": "6"}, "what somebody has changed is put right")
        until(lambda: owners(cluster) == uids(cluster), "objects belong to their nodes")

        cluster.plane.delete("/api/v1/nodes/n1")
        until(lambda: free(cluster) == {"n0": "5"}, "it goes with its node")
        cluster.plane.create(node("n1", {"cpu": "2"}))
        until(lambda: free(cluster) == {"n0": "5", "n1": "3"}, "it comes with its node")

        time.sleep(QUIET_SECONDS)
        count = len(writes(proxy))
        time.sleep(QUIET_SECONDS)
        operator.stop()
        operator = cluster.start("operator", server=proxy.server, ready='"leads"')
        time.sleep(QUIET_SECONDS / 2)
        assert writes(proxy)[count:] == []
        operator.stop()
        cluster.start("operator", "--no-node-capacity", server=proxy.server, ready='"leads"')
        until(lambda: stated(cluster) == {}, "where they are not wanted they are deleted")


def damage(cluster: KubeCluster) -> None:
    """Change by hand what the operator has written: amounts, whose it is, and all of it."""
    wrong = {"free": {"cpu": "9", "memory": None}, "state": "offline", "group": None}
    cluster.plane.patch(f"{OBJECTS}/n0/status", {"status": wrong})
    cluster.plane.patch(f"{OBJECTS}/n1", {"metadata": {"ownerReferences": None}})
    cluster.plane.create({"apiVersion": "ullage.dev/v1", "kind": "NodeCapacity", "metadata": {"name": "n7"}})


def owners(cluster: KubeCluster) -> dict[str, list[str]]:
    found = (each["metadata"] for each in cluster.plane.items(OBJECTS))
    return {each["name"]: [one["uid"] for one in each.get("ownerReferences", ())] for each in found}


def uids(cluster: KubeCluster) -> dict[str, list[str]]:
    found = (each["metadata"] for each in cluster.plane.items("/api/v1/nodes"))
    return {each["name"]: [each["uid"]] for each in found}
