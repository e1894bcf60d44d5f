"""Room for several pods at once by kube-scheduler with our extender: nobody goes for two, or in vain."""

import signal
from typing import Any

import pytest

from kube_cluster import KubeCluster, free_port_numbers, pod, stays, until
from kube_extended import KUBE_SCHEDULER, Extended

pytestmark = pytest.mark.slow


@pytest.fixture
def cluster(kube_extended: Extended) -> Extended:
    """Two classes of importance, and namespaces for those who have it and those who do not."""
    for name, value in (("high", 1000), ("higher", 2000)):
        kind = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
        kube_extended.plane.create({**kind, "metadata": {"name": name}, "value": value})
    kube_extended.namespaces("low", "high")
    return kube_extended


def filled(cluster: KubeCluster, nodes: int, **metadata: Any) -> None:
    """Let two pods fill each of so many nodes of 4 cpu."""
    names = cluster.nodes(nodes, cpu="4")
    for number in range(2 * nodes):
        made = pod(f"low/w{number}", KUBE_SCHEDULER, cpu="2", spec={"nodeName": names[number // 2]})
        made["metadata"] |= metadata
        cluster.plane.create(made)


def important(key: str, cpu: str = "2", name: str = "high") -> dict[str, Any]:
    return pod(key, KUBE_SCHEDULER, cpu=cpu, spec={"priorityClassName": name})


def important_ones(cluster: KubeCluster, count: int) -> None:
    cluster.plane.create_many(important(f"high/k{number}") for number in range(count))


def running(cluster: KubeCluster, namespace: str) -> list[str]:
    return [key for key in cluster.placed() if key.startswith(f"{namespace}/")]


def settles(cluster: KubeCluster, *, low: int, high: int) -> None:
    """See that so many of each run, and that it stays so."""

    def as_said() -> bool:
        return (len(running(cluster, "low")), len(running(cluster, "high"))) == (low, high)

    until(as_said, lambda: f"{low} and {high} run: {cluster.placed()}")
    stays(as_said, "nobody else goes")


@pytest.mark.parametrize("count", [2, 3])
def test_as_many_run_at_once_as_there_is_room_for(cluster, count):
    filled(cluster, 1)
    cluster.start_extender()
    important_ones(cluster, count)
    settles(cluster, low=0, high=2)
    for key in running(cluster, "high")[: count - 2]:
        cluster.plane.delete(f"/api/v1/namespaces/high/pods/{key.partition('/')[2]}")
        settles(cluster, low=0, high=2)


@pytest.mark.parametrize("count", [2, 3, 5])
def test_as_many_go_as_there_are_more_important_ones(cluster, count):
    filled(cluster, 3)
    cluster.start_extender()
    important_ones(cluster, count)
    settles(cluster, low=6 - count, high=count)


def test_a_more_important_one_that_comes_between_has_its_room_too(cluster):
    filled(cluster, 2)
    cluster.start_extender()
    important_ones(cluster, 2)
    cluster.plane.create(important("high/top", cpu="4", name="higher"))
    settles(cluster, low=0, high=3)


def test_the_replica_that_is_asked_need_not_lead(cluster):
    filled(cluster, 1)
    cluster.start_extender(port=free_port_numbers(1)[0]).wait_until_it_says('"message":"leads"')
    cluster.start_extender()
    important_ones(cluster, 3)
    settles(cluster, low=0, high=2)


def filled_with_slow_ones(cluster: KubeCluster) -> None:
    """Fill a node with pods that are slow to go."""
    filled(cluster, 1, finalizers=["example.org/slow"])


def leaving(cluster: KubeCluster) -> set[str]:
    return {key for key, each in cluster.pods().items() if each["metadata"].get("deletionTimestamp")}


def test_whom_somebody_waits_for_is_known_after_a_restart(cluster):
    filled_with_slow_ones(cluster)
    first = cluster.start_extender("--no-leader-elect")
    cluster.plane.create(important("high/k0"))
    until(lambda: len(leaving(cluster)) == 1, "one goes")
    until(lambda: cluster.pods()["high/k0"]["status"].get("nominatedNodeName"), "k0 is nominated")
    first.signal(signal.SIGKILL)
    cluster.start_extender("--no-leader-elect")
    cluster.plane.create(important("high/k1"))
    until(lambda: len(leaving(cluster)) == 2, "the other goes for the other")
    for name in ("w0", "w1"):
        cluster.plane.patch(f"/api/v1/namespaces/low/pods/{name}", {"metadata": {"finalizers": None}})
    cluster.wait_until_placed("high/k0", "high/k1")


def test_one_that_goes_away_is_waited_for_by_nobody_and_its_victim_serves_the_next(cluster):
    filled_with_slow_ones(cluster)
    cluster.start_extender()
    cluster.plane.create(important("high/k0"))
    until(lambda: len(leaving(cluster)) == 1, "one goes")
    (victim,) = leaving(cluster)
    cluster.plane.delete("/api/v1/namespaces/high/pods/k0")
    cluster.plane.create(important("high/k1"))
    stays(lambda: leaving(cluster) == {victim}, "nobody else goes")
    name = victim.partition("/")[2]
    cluster.plane.patch(f"/api/v1/namespaces/low/pods/{name}", {"metadata": {"finalizers": None}})
    cluster.wait_until_placed("high/k1")
    settles(cluster, low=1, high=1)


def test_of_two_that_are_nominated_for_one_place_one_has_it(cluster):
    filled(cluster, 1, labels={"app": "w"})
    kind = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget"}
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "w"}}}
    cluster.plane.create({**kind, "metadata": {"name": "b", "namespace": "low"}, "spec": spec})
    important_ones(cluster, 2)  # nobody answers, so both wait
    for name in ("k0", "k1"):
        where = {"status": {"nominatedNodeName": "n0"}}
        cluster.plane.patch(f"/api/v1/namespaces/high/pods/{name}/status", where)
    cluster.start_extender()
    cluster.plane.delete("/api/v1/namespaces/low/pods/w0")
    settles(cluster, low=1, high=1)
