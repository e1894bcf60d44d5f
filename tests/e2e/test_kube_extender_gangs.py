"""Gangs, and those who wait for others to leave, through kube-scheduler with our extender on a real plane."""

import urllib.request
from typing import Any

import pytest

from kube_cluster import elastic_quota, free_port_numbers, pod, stays, until
from kube_extended import KUBE_SCHEDULER, Extended

GANG = 8
ABSENT_CLAIM = {"resourceClaims": [{"name": "one", "resourceClaimName": "absent"}]}
"""What kube-scheduler waits for, and we leave to it."""

IMPORTANT = {"priorityClassName": "important"}

pytestmark = pytest.mark.slow


@pytest.fixture
def cluster(kube_extended: Extended) -> Extended:
    kube_extended.namespaces("web", "other")
    kube_extended.plane.create(
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": "important"},
            "value": 1000,
        }
    )
    return kube_extended


def member(index: int, of: int = GANG, **spec: Any) -> dict[str, Any]:
    made = pod(
        f"web/g{index}", KUBE_SCHEDULER, labels={"kueue.x-k8s.io/pod-group-name": "g"}, cpu="1", spec=spec
    )
    made["metadata"]["annotations"] = {"kueue.x-k8s.io/pod-group-total-count": str(of)}
    return made


def running(cluster: Extended) -> int:
    """Return how many of the gang run."""
    return sum(key.startswith("web/g") for key in cluster.placed())


def held(port: int) -> float:
    """Return for how many pods an extender holds a place, as its metrics say."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        lines = answer.read().decode().splitlines()
    return sum(float(line.split()[-1]) for line in lines if line.startswith("ullage_extender_held"))


def test_a_gang_that_has_room_runs_whole(cluster):
    cluster.nodes(4, cpu="2")
    cluster.start_extender()
    cluster.plane.create_many([member(index) for index in range(GANG - 1)])
    until(lambda: cluster.why("web/g0"), "it is told what it waits for")
    stays(lambda: running(cluster) == 0, "nobody runs before all are there")
    cluster.plane.create(member(GANG - 1))
    until(lambda: running(cluster) == GANG, "all run")


def test_places_are_held_for_a_gang_and_a_more_important_pod_has_them_all_the_same(cluster):
    cluster.nodes(4, cpu="2")
    (port,) = free_port_numbers(1)
    cluster.start_extender("--port", str(port))
    last = f"web/g{GANG - 1}"
    cluster.plane.create_many([member(index) for index in range(GANG - 1)])
    cluster.plane.create(member(GANG - 1, **ABSENT_CLAIM))
    until(lambda: held(port) == 1, "all but the one that kube-scheduler keeps back wait to be bound")
    cluster.plane.create(pod("other/equal", KUBE_SCHEDULER, cpu="1"))
    until(lambda: cluster.why("other/equal"), "what is held for the gang is not for others")
    assert cluster.placed() == {}
    cluster.plane.create(pod("other/first", KUBE_SCHEDULER, cpu="1", spec=IMPORTANT))
    cluster.wait_until_placed("other/first")
    cluster.plane.delete("/api/v1/namespaces/other/pods/equal")
    cluster.plane.delete(f"/api/v1/namespaces/web/pods/g{GANG - 1}")
    until(lambda: last not in cluster.pods(), "the last one is gone")
    cluster.plane.create(member(GANG - 1))
    until(lambda: cluster.why(last), "it has no place")
    stays(lambda: running(cluster) == 0, "nobody of the gang runs where seven could")
    cluster.plane.delete("/api/v1/namespaces/other/pods/first")
    until(lambda: running(cluster) == GANG, "all run")


def test_a_gang_that_comes_among_others_runs_whole_or_not_at_all(cluster):
    cluster.nodes(4, cpu="2")
    cluster.start_extender()
    made: list[dict[str, Any]] = []
    for index in range(GANG):
        made.append(member(index))
        if index % 2:
            made.append(pod(f"other/o{index}", KUBE_SCHEDULER, cpu="1"))
    cluster.plane.create_many(made)
    until(
        lambda: all(key in cluster.placed() or cluster.why(key) for key in cluster.pods()),
        "each has a place or is told why not",
    )
    until(lambda: running(cluster) in {0, GANG}, "all of the gang run, or nobody")
    stays(lambda: running(cluster) in {0, GANG}, "that does not change", 5)
    for key in [key for key in cluster.pods() if key.startswith("other/")]:
        cluster.plane.delete(f"/api/v1/namespaces/other/pods/{key.partition('/')[2]}")
    until(lambda: running(cluster) == GANG, "all run as soon as they have room")


def test_less_important_pods_go_for_a_gang_as_a_whole(cluster):
    cluster.nodes(2, cpu="2")
    cluster.start_extender()
    low = [f"other/low{index}" for index in range(4)]
    cluster.plane.create_many([pod(key, KUBE_SCHEDULER, cpu="1") for key in low])
    cluster.wait_until_placed(*low)
    cluster.plane.create_many([member(index, 4, **IMPORTANT) for index in range(4)])
    until(lambda: running(cluster) == 4, "all run")


def test_a_replica_that_does_not_lead_has_the_leader_hold_the_places(cluster):
    cluster.nodes(4, cpu="2")
    leader = cluster.start_extender(port=free_port_numbers(1)[0])
    leader.wait_until_it_says('"message":"leads"')
    asked = cluster.start_extender()
    cluster.plane.create_many([member(index) for index in range(GANG)])
    until(lambda: running(cluster) == GANG, "all run")
    assert not asked.said('"message":"leads"')


def test_two_who_wait_for_others_to_leave_do_not_keep_each_other_out(cluster):
    """In mode nos all quotas together are bounded: who waits, and whom it waits for, count once."""
    cluster.namespaces("a", "b", "x")
    cluster.nodes(2, cpu="6")
    for name, least in (("a", "5"), ("b", "6"), ("x", "0")):
        cluster.plane.create(elastic_quota(f"{name}/q", cpu=least))
    cluster.start_extender()

    def on(name: str, key: str, cpu: str) -> dict[str, Any]:
        return pod(key, KUBE_SCHEDULER, cpu=cpu, spec={"nodeSelector": {"kubernetes.io/hostname": name}})

    slow = on("n1", "x/slow", "6")
    slow["metadata"]["finalizers"] = ["example.org/slow"]
    cluster.plane.create_many([slow, on("n0", "x/quick", "5")])
    cluster.wait_until_placed("x/slow", "x/quick")
    cluster.plane.create(on("n1", "b/second", "6"))
    until(lambda: cluster.pods()["x/slow"]["metadata"].get("deletionTimestamp"), "x/slow is evicted")
    cluster.plane.create(on("n0", "a/first", "5"))
    cluster.wait_until_placed("a/first")
    assert "x/slow" in cluster.pods()
    assert "b/second" not in cluster.placed()
    cluster.plane.patch("/api/v1/namespaces/x/pods/slow", {"metadata": {"finalizers": None}})
    cluster.wait_until_placed("b/second")


def test_a_gang_that_runs_on_several_nodes_goes_whole_for_a_more_important_pod(cluster):
    cluster.nodes(2, cpu="2")
    cluster.start_extender()
    cluster.plane.create_many([member(index, 4) for index in range(4)])
    until(lambda: running(cluster) == 4, "all run")
    cluster.plane.create(pod("other/big", KUBE_SCHEDULER, cpu="2", spec=IMPORTANT))
    cluster.wait_until_placed("other/big")
    until(lambda: running(cluster) == 0, "nobody of the gang runs on")
