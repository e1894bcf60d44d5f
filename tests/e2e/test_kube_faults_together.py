"""Those who belong together while requests fail and leaders die: whole gangs, and each disk for one pod."""

import signal
from collections import Counter
from pathlib import Path

import pytest

from baremetal_driver import (
    RESERVATIONS,
    VOLUMES,
    BaremetalDriver,
    claim,
    drives,
    kinds,
    mounted,
    storage_classes,
)
from kube_cluster import KubeCluster, pod, stays, until
from kube_witness import Witness
from plane.proxy import Proxy
from plane.settings import API, CONTROLLERS, KWOK

pytestmark = pytest.mark.faults

LEADS = '"leads"'
GANG = "kueue.x-k8s.io/pod-group-name"
GANGS, MEMBERS, NODES, CORES = 6, 4, 4, 4
WHOLE = NODES * CORES // MEMBERS
SECONDS_MAX = 120


def members(cluster: KubeCluster) -> Counter[str]:
    """Return how many of each gang have a node."""
    found = cluster.pods().values()
    return Counter(each["metadata"]["labels"][GANG] for each in found if each["spec"].get("nodeName"))


@pytest.mark.parametrize("restarts", [False, True], ids=["requests fail", "the API server restarts"])
def test_gangs_run_whole_in_the_end_and_no_node_holds_more_than_it_has(
    kube_cluster: KubeCluster, restarts: bool
):
    names = kube_cluster.nodes(NODES, cpu=str(CORES))
    kube_cluster.namespaces("x")
    kube_cluster.plane.create_many(
        pod(f"x/g{gang}-{index}", cpu="1", labels={GANG: f"g{gang}"})
        for gang in range(GANGS)
        for index in range(MEMBERS)
    )
    limits = dict.fromkeys(names, CORES * 1000)
    with Proxy(kube_cluster.plane) as proxy, Witness(kube_cluster.plane, nodes=limits, namespaces={}):
        rules = [
            proxy.refuse(500, "POST", "/binding$", times=3),
            proxy.refuse(409, "POST", "/binding$", times=2),
            proxy.cut("POST", "/binding$", times=2),
            proxy.cut("POST", "/binding$", times=2, done=True),
            proxy.refuse(504, "POST", "/binding$", times=2, done=True),
        ]
        kube_cluster.start("scheduler", ready=LEADS, server=proxy.server)
        if restarts:
            until(lambda: bool(members(kube_cluster)), "some are bound")
            kube_cluster.plane.stop_part(API)
            kube_cluster.plane.start_part(API)
        wanted = [MEMBERS] * WHOLE
        until(lambda: list(members(kube_cluster).values()) == wanted, "whole gangs run", SECONDS_MAX)
        stays(lambda: list(members(kube_cluster).values()) == wanted, "they do")
        assert all(rule.used == rule.times for rule in rules)


def test_a_leader_dies_while_disks_are_reserved_and_each_is_for_one_pod_and_none_is_left(plane_program: Path):
    count = 12
    names = [f"p{number:02d}" for number in range(count)]
    with KubeCluster(plane_program, (KWOK, CONTROLLERS)) as cluster, Proxy(cluster.plane) as proxy:
        cluster.plane.create_many([*kinds(), *storage_classes()])
        cluster.namespaces("web")
        for node in cluster.nodes(3):
            cluster.plane.create_many(drives(node, HDD=[100] * 4))
        held_up = proxy.delay(SECONDS_MAX, "PATCH", "/persistentvolumeclaims/", times=None)
        first = cluster.start("scheduler", ready=LEADS, server=proxy.server)
        second = cluster.start("scheduler", server=proxy.server)
        rules = [
            proxy.refuse(500, "PATCH", "/availablecapacityreservations/"),
            proxy.refuse(403, "PATCH", "/availablecapacityreservations/"),
            proxy.refuse(429, "PATCH", "/availablecapacityreservations/"),
            proxy.cut("PATCH", "/availablecapacityreservations/", done=True),
        ]
        proxy.refuse(403, "DELETE", "/availablecapacityreservations/")
        cluster.plane.create_many(claim(f"web/{name}", "hdd", 60) for name in names)
        cluster.plane.create_many(pod(f"web/{name}", cpu="100m", spec=mounted(name)) for name in names)
        until(lambda: len(cluster.plane.items(RESERVATIONS)) == count, "all disks are reserved")
        first.signal(signal.SIGKILL)  # before any claim names its node
        held_up.times = 0
        late = [f"q{number}" for number in range(4)]
        cluster.plane.create_many(claim(f"web/{name}", "hdd", 60) for name in late)
        cluster.plane.create_many(pod(f"web/{name}", cpu="100m", spec=mounted(name)) for name in late)
        second.wait_until_it_says(LEADS)
        until(lambda: all(rule.used for rule in rules), "it reserves them for itself, and is refused")
        with BaremetalDriver(cluster.plane) as driver:
            until(lambda: len(cluster.placed()) == count, "as many run as there are disks", SECONDS_MAX)
            until(lambda: not cluster.plane.items(RESERVATIONS), "no reservation is left", SECONDS_MAX)
        assert driver.faults == []
        places = [each["spec"]["Location"] for each in cluster.plane.items(VOLUMES)]
        assert len(places) == len(set(places)) == count
