"""The scheduler as a process: it lets go of its Lease when it ends, and who takes over looks anew."""

import asyncio
import urllib.request

import msgspec
import pytest
from prometheus_client.parser import text_string_to_metric_families

from kube_cluster import KubeCluster, free_port_numbers, pod, until
from plane.proxy import Proxy
from ullage.kube.events import Events
from ullage.kube.scheduler.actions import Actions
from ullage.kube.scheduler.running import UNREADABLE_SECONDS, tell_unreadable
from ullage.sources.kubernetes.api.client import ApiClient
from ullage.sources.kubernetes.api.mirror import Mirror
from ullage.sources.kubernetes.items import POD
from ullage.sources.kubernetes.kubeconfig import find_access

RULE = "requiredDuringSchedulingIgnoredDuringExecution"
LEADS = '"leads"'


def figures(port: int) -> dict[str, float]:
    """Return what a process tells Prometheus."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
        families = list(text_string_to_metric_families(answer.read().decode()))
    return {sample.name: sample.value for family in families for sample in family.samples}


def lists(port: int) -> int:
    """Return how often a process has listed a kind of objects."""
    return int(figures(port)["ullage_lists_total"])


def test_who_takes_over_lists_anew_how_room_was_given_away_and_goes_on(kube_cluster: KubeCluster):
    kube_cluster.nodes(1)
    ports = free_port_numbers(2)
    first = kube_cluster.start("scheduler", "--port", str(ports[0]), ready=LEADS)
    second = kube_cluster.start("scheduler", "--port", str(ports[1]))
    before = lists(ports[1])
    assert lists(ports[0]) == before
    kube_cluster.plane.create(pod("default/before"))
    kube_cluster.wait_until_placed("default/before")
    assert not second.said(LEADS)
    first.stop()
    assert first.process.returncode == 0
    second.wait_until_it_says(LEADS)
    kube_cluster.plane.create(pod("default/after"))
    kube_cluster.wait_until_placed("default/after")
    kinds = {"Plan", "Pod", "PersistentVolumeClaim", "PersistentVolume", "CSIStorageCapacity"}
    disks = {"AvailableCapacityReservation", "AvailableCapacity", "LogicalVolumeGroup"}
    assert lists(ports[1]) == before + len(kinds | disks)


def test_only_pods_that_name_one_of_its_names_are_placed(kube_cluster: KubeCluster):
    kube_cluster.nodes(1)
    kube_cluster.plane.create(pod("default/theirs", "ullage"))
    kube_cluster.start("scheduler", "--scheduler-name", "one", "--scheduler-name", "two")
    kube_cluster.plane.create_many([pod("default/one", "one"), pod("default/two", "two")])
    placed = kube_cluster.wait_until_placed("default/one", "default/two")
    assert placed.keys() == {"default/one", "default/two"}


def test_prometheus_is_told_what_was_bound_and_who_waits(kube_cluster: KubeCluster):
    kube_cluster.nodes(1)
    (port,) = free_port_numbers(1)
    kube_cluster.start("scheduler", "--port", str(port), ready=LEADS)
    pods = {"small": "1", "huge": "100", "vast": "200"}
    kube_cluster.plane.create_many([pod(f"default/{name}", cpu=cpu) for name, cpu in pods.items()])
    kube_cluster.wait_until_placed("default/small")
    wanted = {
        "ullage_scheduler_pods_bound_total": 1,
        "ullage_scheduler_pods_waiting": 2,
        "ullage_scheduler_pods_nominated": 0,
        "ullage_scheduler_pods_evicted_total": 0,
        "ullage_scheduler_binds_failed_total": 0,
    }
    until(lambda: wanted.items() <= figures(port).items(), f"the figures are {wanted}")
    assert figures(port)["ullage_scheduler_cycles_total"] >= 1


def test_a_pod_that_cannot_be_read_is_told_so_once(kube_cluster: KubeCluster):
    """No API server has such a pod today: one of tomorrow may."""
    made = kube_cluster.plane.create(pod("default/odd", "one"))
    odd = {**made, "spec": {**made["spec"], "affinity": {"nodeAffinity": {RULE: 3}}}}
    mirror = Mirror()
    mirror.put(POD, msgspec.json.encode(odd))

    async def tell(server: Proxy) -> None:
        client = ApiClient(find_access(kubeconfig=str(server.kubeconfig())))
        actions = Actions(client, Events(client, component="test", identity="test"))
        try:
            async with asyncio.timeout(2 * UNREADABLE_SECONDS + 1):
                await tell_unreadable(mirror, actions, ("one", "two"))
        finally:
            await client.close()

    with Proxy(kube_cluster.plane) as proxy:
        with pytest.raises(TimeoutError):
            asyncio.run(tell(proxy))
        assert proxy.count("PATCH", "odd/status") == 1
    assert kube_cluster.why("default/odd").startswith("it cannot be read: ")
