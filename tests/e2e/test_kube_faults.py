"""The scheduler while everything around it fails: nothing twice, nothing beyond its bounds, all in the end.

A witness looks at every state of the cluster; see tests/kube_witness.py and tests/kube_crowd.py. A process
that ends by itself is started again; see tests/kube_lasting.py.
"""

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kube_cluster import KubeCluster
from kube_crowd import PODS, check_placements, crowd, prepared, wait_until_settled
from kube_lasting import kept_running
from kube_witness import Witness
from plane.proxy import Proxy
from plane.settings import API

pytestmark = pytest.mark.faults

BEGUN = 40
SHORT_SECONDS, LONG_SECONDS = 1.0, 8.0
FEW = PODS // 3
WATCHED_BYTES = 20_000
"""So much of a watch passes before it is cut: a few pods."""


@pytest.fixture
def proxy(kube_cluster: KubeCluster) -> Iterator[Proxy]:
    with Proxy(kube_cluster.plane) as running:
        yield running


def begun(witness: Witness, count: int = BEGUN) -> None:
    witness.wait(lambda: len(witness.bound) >= count, f"{count} pods are bound", 60)


def check_all(cluster: KubeCluster, witness: Witness, program: Path, pods: int = PODS) -> None:
    """Wait until everything is done, and look whether it is right."""
    wait_until_settled(witness, pods)
    check_placements(cluster, witness, program)
    assert not witness.gone


@pytest.mark.parametrize("away_seconds", [SHORT_SECONDS, LONG_SECONDS])
def test_the_api_server_dies_in_the_middle_and_comes_back(
    kube_cluster: KubeCluster, plane_program: Path, away_seconds: float
):
    with prepared(kube_cluster) as witness:
        kube_cluster.plane.create_many(crowd())
        with kept_running(kube_cluster, "scheduler"):
            begun(witness)
            kube_cluster.plane.stop_part(API)
            time.sleep(away_seconds)
            kube_cluster.plane.start_part(API)
            check_all(kube_cluster, witness, plane_program)


def test_watches_are_cut_all_the_time_and_now_and_then_everything_is(
    kube_cluster: KubeCluster, proxy: Proxy, plane_program: Path
):
    cuts = proxy.cut("GET", r"/pods\?.*watch=true", times=None, after_bytes=WATCHED_BYTES)
    with prepared(kube_cluster) as witness, kept_running(kube_cluster, "scheduler", proxy):
        creating = threading.Thread(target=kube_cluster.plane.create_many, args=(crowd(),))
        creating.start()
        for _ in range(2):
            time.sleep(LONG_SECONDS / 2)
            proxy.cut_all()
        creating.join()
        check_all(kube_cluster, witness, plane_program)
        assert cuts.used > 2


def test_requests_are_refused_and_answers_lost(kube_cluster: KubeCluster, proxy: Proxy, plane_program: Path):
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
        with kept_running(kube_cluster, "scheduler", proxy):
            check_all(kube_cluster, witness, plane_program)
        assert [rule.used for rule in rules] == [rule.times for rule in rules]


def test_an_api_server_that_is_slow_is_waited_for(
    kube_cluster: KubeCluster, proxy: Proxy, plane_program: Path
):
    with prepared(kube_cluster) as witness:
        kube_cluster.plane.create_many(crowd(FEW))
        slow = proxy.delay(0.5, "POST", "/binding$", times=None)
        with kept_running(kube_cluster, "scheduler", proxy):
            check_all(kube_cluster, witness, plane_program, FEW)
        assert slow.used >= len(witness.bound)


def test_a_network_that_swallows_everything_for_a_while_is_waited_for(
    kube_cluster: KubeCluster, proxy: Proxy, plane_program: Path
):
    with prepared(kube_cluster) as witness:
        kube_cluster.plane.create_many(crowd())
        with kept_running(kube_cluster, "scheduler", proxy):
            begun(witness)
            with proxy.silence():
                time.sleep(LONG_SECONDS)
            check_all(kube_cluster, witness, plane_program)
