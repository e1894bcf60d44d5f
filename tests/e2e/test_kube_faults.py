"""The scheduler while everything around it fails: nothing twice, nothing beyond its bounds, all in the end.

A witness looks at every state of the cluster; see tests/kube_witness.py and tests/kube_crowd.py.
"""

import threading
import time
from pathlib import Path

import pytest

from kube_cluster import KubeCluster
from kube_crowd import PODS, check_placements, crowd, prepared, wait_until_settled
from kube_witness import Witness
from plane.proxy import Proxy
from plane.settings import API

BEGUN = 40
SHORT_SECONDS, LONG_SECONDS = 1.0, 8.0
CUTS = 8


@pytest.fixture
def proxy(kube_cluster: KubeCluster):
    with Proxy(kube_cluster.plane) as running:
        yield running


def start_behind(cluster: KubeCluster, proxy: Proxy, *arguments: str):
    """Start a scheduler that sees the API server through the proxy."""
    return cluster.start("scheduler", *arguments, server=proxy.server)


def begun(witness: Witness, count: int = BEGUN) -> None:
    witness.wait(lambda: len(witness.bound) >= count, f"{count} pods are bound", 60)


@pytest.mark.parametrize("away_seconds", [SHORT_SECONDS, LONG_SECONDS])
def test_the_api_server_dies_in_the_middle_and_comes_back(
    kube_cluster: KubeCluster, plane_program: Path, away_seconds: float
):
    with prepared(kube_cluster) as witness:
        kube_cluster.plane.create_many(crowd())
        kube_cluster.start("scheduler")
        begun(witness)
        kube_cluster.plane.stop_part(API)
        time.sleep(away_seconds)
        kube_cluster.plane.start_part(API)
        wait_until_settled(witness)
        check_placements(kube_cluster, witness, plane_program)
        assert not witness.gone


def test_watches_are_cut_every_second(kube_cluster: KubeCluster, proxy: Proxy, plane_program: Path):
    with prepared(kube_cluster) as witness:
        start_behind(kube_cluster, proxy)
        creating = threading.Thread(target=kube_cluster.plane.create_many, args=(crowd(),))
        creating.start()
        for _ in range(CUTS):
            time.sleep(1)
            proxy.cut_all()
        creating.join()
        wait_until_settled(witness)
        check_placements(kube_cluster, witness, plane_program)
        assert not witness.gone


def test_requests_are_refused_lost_and_answered_late(
    kube_cluster: KubeCluster, proxy: Proxy, plane_program: Path
):
    with prepared(kube_cluster) as witness:
        kube_cluster.plane.create_many(crowd())
        proxy.refuse(503, "GET", r"/api/v1/pods\?limit", times=2)
        proxy.refuse(410, "GET", r"/api/v1/pods\?.*watch=true", times=2)
        rules = [
            proxy.refuse(409, "POST", "/binding$", times=10),
            proxy.refuse(429, "POST", "/binding$", times=20, headers={"Retry-After": "1"}),
            proxy.refuse(503, "POST", "/binding$", times=10),
            proxy.refuse(503, "POST", "/binding$", times=10, done=True),
            proxy.refuse(504, "POST", "/binding$", times=10, done=True),
            proxy.refuse(500, "POST", "/binding$", times=10),
            proxy.cut("POST", "/binding$", times=10),
            proxy.cut("POST", "/binding$", times=10, done=True),
        ]
        start_behind(kube_cluster, proxy)
        wait_until_settled(witness)
        assert [rule.used for rule in rules] == [rule.times for rule in rules]
        check_placements(kube_cluster, witness, plane_program)
        assert not witness.gone


def test_an_api_server_that_is_slow_is_waited_for(
    kube_cluster: KubeCluster, proxy: Proxy, plane_program: Path
):
    with prepared(kube_cluster) as witness:
        kube_cluster.plane.create_many(crowd(PODS // 3))
        proxy.delay(0.5, "POST", "/binding$", times=None)
        proxy.delay(0.5, "GET", "", times=20)
        start_behind(kube_cluster, proxy)
        wait_until_settled(witness, PODS // 3)
        check_placements(kube_cluster, witness, plane_program)
        assert not witness.gone


def test_a_network_that_swallows_everything_for_a_while_is_waited_for(
    kube_cluster: KubeCluster, proxy: Proxy, plane_program: Path
):
    with prepared(kube_cluster) as witness:
        kube_cluster.plane.create_many(crowd())
        start_behind(kube_cluster, proxy)
        begun(witness)
        with proxy.silence():
            time.sleep(LONG_SECONDS)
        wait_until_settled(witness)
        check_placements(kube_cluster, witness, plane_program)
        assert not witness.gone
