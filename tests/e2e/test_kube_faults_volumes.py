"""Disks while replicas of the scheduler die, are paused and see things late: none is given away twice."""

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from baremetal_driver import RESERVATIONS, claim, drives, kinds, mounted, storage_classes
from kube_cluster import KubeCluster, pod, stays, until
from plane.proxy import Proxy
from plane.settings import CONTROLLERS, KWOK

pytestmark = pytest.mark.faults

LEADS = '"leads"'
IMPORTANT = {"priorityClassName": "important"}
LEASE_SECONDS = 40
LATE_SECONDS = 90.0


@pytest.fixture
def cluster(plane_program: Path) -> Iterator[KubeCluster]:
    """A cluster with csi-baremetal's kinds, whose driver does nothing."""
    with KubeCluster(plane_program, (KWOK, CONTROLLERS)) as running:
        running.plane.create_many([*kinds(), *storage_classes()])
        running.namespaces("web")
        kind = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
        running.plane.create({**kind, "metadata": {"name": "important"}, "value": 1000})
        yield running


def reserved(cluster: KubeCluster) -> dict[str, Any]:
    """Return which capacities are held by which reservation, and on which node."""
    return {
        each["metadata"]["name"]: (
            each["spec"]["NodeRequests"]["Reserved"],
            [request["Reservations"] for request in each["spec"]["ReservationRequests"]],
        )
        for each in cluster.plane.items(RESERVATIONS)
    }


def test_a_leader_that_was_paused_before_it_wrote_again_leaves_the_reservation_of_its_successor(cluster):
    cluster.nodes(2)
    cluster.plane.create_many([*drives("n0", HDD=[100]), *drives("n1", HDD=[100])])
    with Proxy(cluster.plane) as proxy:
        first = cluster.start("scheduler", ready=LEADS, server=proxy.server)
        second = cluster.start("scheduler")
        busy = proxy.refuse(429, "", "/availablecapacityreservations($|/)", headers={"Retry-After": "5"})
        cluster.plane.create(claim("web/data", "hdd", 50))
        cluster.plane.create(pod("web/p", cpu="1", spec=mounted("data")))
        until(lambda: busy.used == 1, "the first is told to wait")
        first.signal(signal.SIGSTOP)
        cluster.plane.patch("/api/v1/nodes/n0", {"spec": {"unschedulable": True}})
        second.wait_until_it_says(LEADS, LEASE_SECONDS)
        until(lambda: bool(reserved(cluster)), "the second has reserved")
        before = reserved(cluster)
        assert before["web-p"][0] == ["n1"]
        asked = len(proxy.asked)
        first.signal(signal.SIGCONT)
        first.wait_until_it_says("leads no more")
        stays(lambda: reserved(cluster) == before, "it is that of the second", 6.0)
        assert not [each for each in proxy.asked[asked:] if "availablecapacityreservations/" in each.target]


def test_who_takes_over_gives_no_disk_away_that_was_reserved_and_is_not_seen_yet(cluster):
    cluster.nodes(1)
    cluster.plane.create_many(drives("n0", HDD=[100]))
    with Proxy(cluster.plane) as proxy:
        first = cluster.start("scheduler", ready=LEADS)
        proxy.delay(LATE_SECONDS, "GET", r"/availablecapacityreservations\?.*watch=true", times=None)
        second = cluster.start("scheduler", server=proxy.server)
        cluster.plane.create_many([claim("web/p", "hdd", 50), claim("web/q", "hdd", 50)])
        cluster.plane.create(pod("web/p", cpu="100m", spec=mounted("p")))
        until(lambda: bool(reserved(cluster)), "the first has reserved")
        first.signal(signal.SIGKILL)
        cluster.plane.create(pod("web/q", cpu="100m", spec={**IMPORTANT, **mounted("q")}))
        second.wait_until_it_says(LEADS, LEASE_SECONDS)
        cluster.wait_until_told("web/q", "disk")
        stays(lambda: reserved(cluster).keys() == {"web-p"}, "one of them has the drive")


def late(proxy: Proxy) -> None:
    proxy.delay(LATE_SECONDS, "GET", r"/pods\?.*watch=true", times=None)


def refused(proxy: Proxy) -> None:
    proxy.refuse(503, "GET", r"/pods\?.*watch=true", times=None)


@pytest.mark.parametrize("hinder", [late, refused])
def test_a_reservation_stays_though_the_operator_cannot_see_its_pod(cluster, hinder):
    cluster.nodes(1)
    cluster.plane.create_many(drives("n0", HDD=[100]))
    with Proxy(cluster.plane) as proxy:
        cluster.start("operator", ready=LEADS, server=proxy.server)
        cluster.start("scheduler", ready=LEADS)
        hinder(proxy)
        proxy.cut_all()
        cluster.plane.create(claim("web/data", "hdd", 50))
        cluster.plane.create(pod("web/p", cpu="1", spec=mounted("data")))
        until(lambda: bool(reserved(cluster)), "a disk is reserved")
        stays(lambda: bool(reserved(cluster)), "it is still wanted", 14.0)


def test_a_pod_that_waits_for_its_volumes_makes_way_for_an_important_one(cluster):
    cluster.nodes(1)
    cluster.plane.create_many(drives("n0", HDD=[100]))
    cluster.start("scheduler", ready=LEADS)
    cluster.plane.create(claim("web/data", "hdd-group", 5))
    cluster.plane.create(pod("web/low", cpu="3", spec=mounted("data")))
    until(lambda: bool(reserved(cluster)), "a disk is reserved")
    cluster.plane.create(pod("web/high", cpu="3", spec=IMPORTANT))
    cluster.wait_until_placed("web/high")
    until(lambda: not reserved(cluster), "the disk is given back")
    assert "web/low" in cluster.pods()
    assert "web/low" not in cluster.placed()
