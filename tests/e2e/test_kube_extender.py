"""kube-scheduler with our extender on a real control plane: quotas hold, and claim back what is theirs."""

import re
import time
import urllib.request
from random import Random
from typing import Any

import pytest

from baremetal_driver import (
    RESERVATIONS,
    BaremetalDriver,
    claim,
    double_bookings,
    drives,
    kinds,
    mounted,
    storage_classes,
)
from kube_cluster import KubeCluster, elastic_quota, free_port_numbers, gpu_pod, pod, stays, until
from kube_extended import KUBE_SCHEDULER, Extended
from plane.proxy import Proxy
from plane.settings import CONTROLLERS

GPU_MEMORY = "nos.nebuly.com/gpu-memory"
LIMITS = {"a": 40, "b": 10, "c": 30}
REFUSED = re.compile(r"ullage_extender_refused(_total)?[ {]")

pytestmark = pytest.mark.slow


@pytest.fixture
def cluster(kube_extended: Extended) -> Extended:
    return kube_extended


def quota(name: str, least: str, most: str) -> dict[str, Any]:
    return {
        "apiVersion": "ullage.dev/v1",
        "kind": "Quota",
        "metadata": {"name": name},
        "spec": {"namespaces": [name], "min": {"cpu": least}, "max": {"cpu": most}},
    }


def policy(cpu_ratio: str) -> dict[str, Any]:
    return {
        "apiVersion": "ullage.dev/v1",
        "kind": "CapacityPolicy",
        "metadata": {"name": "less"},
        "spec": {"cluster": {"cpu-ratio": cpu_ratio}},
    }


def of_b(cluster: KubeCluster) -> int:
    return sum(key.startswith("b/") for key in cluster.placed())


def test_the_example_of_quotas_through_kube_scheduler(cluster):
    cluster.nodes(1, **{"nvidia.com/gpu": "8"})
    cluster.namespaces(*LIMITS)
    cluster.plane.create_many(
        [elastic_quota(f"{name}/q", **{GPU_MEMORY: str(amount)}) for name, amount in LIMITS.items()]
    )
    cluster.start_extender("--gpu-memory-gb", "10")
    for namespace in ("a", "b"):
        keys = [f"{namespace}/{namespace}{index}" for index in range(4)]
        cluster.plane.create_many([gpu_pod(key, KUBE_SCHEDULER) for key in keys])
        cluster.wait_until_placed(*keys)
    cluster.plane.create(gpu_pod("a/first", KUBE_SCHEDULER))
    cluster.wait_until_placed("a/first")
    assert of_b(cluster) == 3
    cluster.plane.create(gpu_pod("a/second", KUBE_SCHEDULER))
    until(
        lambda: any(
            reason == "NoRightToRoom" and name == "second" and "60 of" in note
            for reason, name, note in cluster.events("a")
        ),
        "A's second claim is refused",
    )
    stays(lambda: of_b(cluster) == 3, "nobody goes for a claim that is refused")


def test_a_pod_beyond_the_max_of_its_quota_is_refused_with_our_reason(cluster):
    cluster.nodes(3)
    cluster.namespaces("team")
    cluster.plane.create(quota("team", "1", "2"))
    cluster.start_extender()
    cluster.plane.create(pod("team/small", KUBE_SCHEDULER, cpu="1500m"))
    cluster.wait_until_placed("team/small")
    cluster.plane.create(pod("team/large", KUBE_SCHEDULER, cpu="1"))
    told = cluster.wait_until_told("team/large", "quota team would use more than its max")
    assert told.startswith("0/3 nodes are available: 3 quota team would use more than its max, 500m of cpu")
    stays(lambda: "team/large" not in cluster.placed(), "it is not bound")
    cluster.plane.delete("/api/v1/namespaces/team/pods/small")
    cluster.wait_until_placed("team/large")


def refused_for_quota(cluster: Extended) -> None:
    """Let one pod run, and one be refused because of it."""
    cluster.plane.create(pod("team/small", KUBE_SCHEDULER, cpu="1500m"))
    cluster.wait_until_placed("team/small")
    cluster.plane.create(pod("team/large", KUBE_SCHEDULER, cpu="1"))
    cluster.wait_until_told("team/large", "quota team would use more than its max")


def stays_unwritten(proxy: Proxy) -> None:
    """See that nothing more is written on a pod that is bound."""
    told = proxy.count("PATCH", "/pods/large/status")
    stays(lambda: proxy.count("PATCH", "/pods/large/status") == told, "nothing more is told", 5)


def test_a_pod_that_was_refused_is_bound_soon_after_the_max_of_its_quota_is_raised(cluster):
    cluster.nodes(3)
    cluster.namespaces("team")
    cluster.plane.create(quota("team", "1", "2"))
    with Proxy(cluster.plane) as proxy:
        cluster.start_extender(server=proxy.server)
        refused_for_quota(cluster)
        cluster.plane.patch("/apis/ullage.dev/v1/quotas/team", {"spec": {"max": {"cpu": "3"}}})
        cluster.wait_until_placed("team/large")
        stays_unwritten(proxy)


def test_a_pod_outside_quotas_is_bound_soon_after_the_policy_lets_it_in(cluster):
    cluster.nodes(1, cpu="2")
    cluster.namespaces("free")
    cluster.plane.create(policy("0.5"))
    cluster.start_extender()
    cluster.plane.create(pod("free/large", KUBE_SCHEDULER, cpu="1500m"))
    cluster.wait_until_told("free/large", "cpu")
    cluster.plane.patch(
        "/apis/ullage.dev/v1/capacitypolicies/less", {"spec": {"cluster": {"cpu-ratio": "1"}}}
    )
    cluster.wait_until_placed("free/large")


def times_refused(port: int) -> float:
    """Return how often an extender has refused a pod everywhere, as its metrics say."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        text = answer.read().decode()
    return sum(float(line.split()[-1]) for line in text.splitlines() if REFUSED.match(line))


def when_quiet(port: int, seconds: float = 5.0) -> float:
    """Return how often an extender has refused, as soon as kube-scheduler has not asked for a while."""
    found, since = times_refused(port), time.monotonic()

    def is_quiet() -> bool:
        nonlocal found, since
        now = times_refused(port)
        if now != found:
            found, since = now, time.monotonic()
        return time.monotonic() - since > seconds

    until(is_quiet, "kube-scheduler does not ask any more")
    return found


def test_a_pod_is_bound_though_kube_scheduler_saw_the_room_before_we_did(cluster):
    cluster.nodes(3)
    cluster.namespaces("team")
    cluster.plane.create(quota("team", "1", "2"))
    (port,) = free_port_numbers(1)
    with Proxy(cluster.plane) as proxy:
        cluster.start_extender("--no-leader-elect", "--port", str(port), server=proxy.server)
        refused_for_quota(cluster)
        before = when_quiet(port)
        with proxy.silence():  # what the plane does is not seen by the extender
            cluster.plane.delete("/api/v1/namespaces/team/pods/small")
            until(lambda: times_refused(port) > before, "kube-scheduler asks again, and is refused")
            when_quiet(port)
        cluster.wait_until_placed("team/large")
        stays_unwritten(proxy)


def test_nobody_is_evicted_for_a_pod_whose_place_is_held_for_another(cluster):
    """The one waits for a victim that is slow to go; the other would need that place too."""
    there = {"nodeSelector": {"kubernetes.io/hostname": "n0"}}
    cluster.namespaces("a", "b", "x")
    cluster.nodes(2, cpu="8")
    cluster.plane.create_many([quota("a", "5", "8"), quota("b", "6", "8"), quota("x", "0", "16")])
    cluster.start_extender()
    slow = pod("x/slow", KUBE_SCHEDULER, cpu="5", spec=there)
    slow["metadata"]["finalizers"] = ["example.org/slow"]
    cluster.plane.create_many([slow, pod("x/stays", KUBE_SCHEDULER, cpu="3", spec=there)])
    cluster.wait_until_placed("x/slow", "x/stays")
    cluster.plane.create_many([pod(f"x/{name}", KUBE_SCHEDULER, cpu="4") for name in ("y", "z")])
    cluster.wait_until_placed("x/y", "x/z")
    cluster.plane.create(pod("a/first", KUBE_SCHEDULER, cpu="5", spec=there))
    until(lambda: cluster.pods()["x/slow"]["metadata"].get("deletionTimestamp"), "x/slow is evicted")
    stays(lambda: "a/first" not in cluster.placed(), "a/first waits, and is not looked at all the time", 3.0)
    cluster.plane.create(pod("b/second", KUBE_SCHEDULER, cpu="6", spec=there))
    told = ("NoRightToRoom", "second")
    until(lambda: any(each[:2] == told for each in cluster.events("b")), "b/second is told why it waits")
    stays(lambda: not cluster.pods()["x/stays"]["metadata"].get("deletionTimestamp"), "x/stays is let be")
    cluster.plane.patch("/api/v1/namespaces/x/pods/slow", {"metadata": {"finalizers": None}})
    cluster.wait_until_placed("a/first")
    assert "x/stays" in cluster.placed()


def test_binds_reach_the_replica_that_leads_and_another_one_leads_when_it_is_gone(cluster):
    cluster.nodes(2)
    cluster.namespaces("team")
    cluster.plane.create(quota("team", "1", "4"))
    leader = cluster.start_extender(port=free_port_numbers(1)[0])
    leader.wait_until_it_says('"message":"leads"')
    asked = cluster.start_extender()
    cluster.plane.create_many([pod(f"team/p{index}", KUBE_SCHEDULER, cpu="1") for index in range(6)])
    until(lambda: len(cluster.placed()) == 4, "as many run as the quota lets in")
    stays(lambda: len(cluster.placed()) == 4, "no more than these")
    assert not asked.said('"message":"leads"')
    leader.stop()
    cluster.plane.delete(f"/api/v1/namespaces/team/pods/{next(iter(cluster.placed())).partition('/')[2]}")
    until(lambda: len(cluster.placed()) == 4, "another one binds")
    assert asked.said('"message":"leads"')


def test_disks_are_reserved_on_the_one_node_and_nothing_is_left_behind(plane_program):
    with Extended(plane_program, CONTROLLERS) as cluster:
        cluster.plane.create_many([*kinds(), *storage_classes()])
        cluster.namespaces("web")
        for name in cluster.nodes(3):
            cluster.plane.create_many(drives(name, HDD=[100, 100]))
        cluster.start_extender()
        names = [f"p{index}" for index in range(9)]
        with BaremetalDriver(cluster.plane):
            cluster.plane.create_many(claim(f"web/{name}", "hdd-group", 60) for name in names)
            cluster.plane.create_many(
                pod(f"web/{name}", KUBE_SCHEDULER, cpu="50m", spec=mounted(name)) for name in names
            )
            until(lambda: len(cluster.placed()) == 6, "one pod for each drive", 120)
            stays(lambda: len(cluster.placed()) == 6, "no drive is shared")
            assert double_bookings(cluster.plane) == []
            until(lambda: not cluster.plane.items(RESERVATIONS), "no reservation is left")


def random_pod(random: Random, key: str, scheduler: str) -> dict[str, Any]:
    spec: dict[str, Any] = {}
    if random.random() < 0.3:
        spec["nodeSelector"] = {"kubernetes.io/hostname": f"n{random.randint(0, 3)}"}
    if random.random() < 0.3:
        term = {"labelSelector": {"matchLabels": {"app": "x"}}, "topologyKey": "kubernetes.io/hostname"}
        spec["affinity"] = {
            "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]},
        }
    labels = {"app": random.choice(("x", "y"))}
    return pod(key, scheduler, labels=labels, cpu=f"{random.randint(1, 18) * 100}m", spec=spec)


def has_place(cluster: KubeCluster, made: dict[str, Any]) -> bool:
    """Return whether a pod is placed; it is not as soon as it is told so."""
    cluster.plane.create(made)
    key = f"{made['metadata']['namespace']}/{made['metadata']['name']}"
    until(lambda: key in cluster.placed() or bool(cluster.why(key)), f"{key} has a place or is told why not")
    return key in cluster.placed()


def test_a_pod_has_a_place_exactly_if_our_scheduler_has_one_for_it(cluster):
    random = Random(7)  # noqa: S311 - nothing secret
    cluster.nodes(3, cpu="2")
    cluster.namespaces("a", "b", "free")
    cluster.plane.create_many([quota("a", "1", "2"), quota("b", "1", "1"), policy("0.9")])
    cluster.start_extender()
    cluster.start("scheduler")
    answers = []
    for number in range(30):
        namespace, seed = random.choice(("a", "b", "free")), random.randrange(1 << 30)
        found = []
        for scheduler in ("ullage", KUBE_SCHEDULER):
            key = f"{namespace}/p{number}-{scheduler}"
            found.append(has_place(cluster, random_pod(Random(seed), key, scheduler)))  # noqa: S311 - nothing secret
            stays_there = found[-1] and scheduler == KUBE_SCHEDULER and random.random() < 0.4
            if not stays_there:
                cluster.plane.delete(f"/api/v1/namespaces/{namespace}/pods/{key.partition('/')[2]}")
                until(lambda key=key: key not in cluster.pods(), f"{key} is gone")
        answers.append(tuple(found))
    assert [pair for pair in answers if pair[0] != pair[1]] == []
    assert {pair[0] for pair in answers} == {True, False}
