"""kube-scheduler with our extender while everything around that fails: nothing twice, nothing beyond bounds.

kube-scheduler asks one address; where that answers nothing, or refuses, it asks again later.
"""

import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kube_cluster import free_port_numbers
from kube_crowd import check_placements, crowd, prepared, wait_until_settled
from kube_extended import KUBE_SCHEDULER, Extended
from kube_witness import Witness
from plane.proxy import Proxy
from plane.settings import API

pytestmark = pytest.mark.faults

PODS = 160
BEGUN = 30
AWAY_SECONDS = 3.0
SECONDS_MAX = 240
"""kube-scheduler waits longer and longer before it asks again."""


@pytest.fixture
def cluster(plane_program: Path) -> Iterator[Extended]:
    with Extended(plane_program) as running:
        yield running


def begun(witness: Witness) -> None:
    witness.wait(lambda: len(witness.bound) >= BEGUN, f"{BEGUN} pods are bound", SECONDS_MAX)


def check_all(cluster: Extended, witness: Witness, program: Path) -> None:
    wait_until_settled(witness, PODS, SECONDS_MAX)
    check_placements(cluster, witness, program)
    assert not witness.gone


def test_the_extender_dies_in_the_middle_and_is_started_again(cluster: Extended, plane_program: Path):
    with prepared(cluster) as witness:
        first = cluster.start_extender("--no-leader-elect")
        cluster.plane.create_many(crowd(PODS, KUBE_SCHEDULER))
        begun(witness)
        first.signal(signal.SIGKILL)
        time.sleep(AWAY_SECONDS)
        cluster.start_extender("--no-leader-elect")
        check_all(cluster, witness, plane_program)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_the_replica_that_leads_dies_or_stands_still_and_the_one_that_is_asked_goes_on(
    cluster: Extended, plane_program: Path, number: signal.Signals
):
    with prepared(cluster) as witness:
        leader = cluster.start_extender(port=free_port_numbers(1)[0])
        leader.wait_until_it_says('"message":"leads"')
        asked = cluster.start_extender()
        cluster.plane.create_many(crowd(PODS, KUBE_SCHEDULER))
        begun(witness)
        leader.signal(number)
        asked.wait_until_it_says('"message":"leads"')
        leader.signal(signal.SIGCONT)
        check_all(cluster, witness, plane_program)


def test_requests_are_refused_and_answers_lost(cluster: Extended, plane_program: Path):
    with prepared(cluster) as witness, Proxy(cluster.plane) as proxy:
        rules = [
            proxy.refuse(409, "POST", "/binding$", times=5),
            proxy.refuse(429, "POST", "/binding$", times=5, headers={"Retry-After": "1"}),
            proxy.refuse(503, "POST", "/binding$", times=5),
            proxy.refuse(503, "POST", "/binding$", times=5, done=True),
            proxy.cut("POST", "/binding$", times=5),
            proxy.cut("POST", "/binding$", times=5, done=True),
        ]
        proxy.refuse(410, "GET", r"/api/v1/pods\?.*watch=true", times=2)
        cluster.start_extender("--no-leader-elect", server=proxy.server)
        cluster.plane.create_many(crowd(PODS, KUBE_SCHEDULER))
        begun(witness)
        proxy.cut_all()
        check_all(cluster, witness, plane_program)
        assert [rule.used for rule in rules] == [rule.times for rule in rules]


def test_the_api_server_dies_in_the_middle_and_comes_back(cluster: Extended, plane_program: Path):
    with prepared(cluster) as witness:
        cluster.start_extender("--no-leader-elect")
        cluster.plane.create_many(crowd(PODS, KUBE_SCHEDULER))
        begun(witness)
        cluster.plane.stop_part(API)
        time.sleep(AWAY_SECONDS)
        cluster.plane.start_part(API)
        check_all(cluster, witness, plane_program)
