"""Two replicas of the scheduler of which one leads: it dies, it is paused, and their clocks are wrong.

Only time that passes counts, never the time of day: two replicas whose clocks are two days apart take over
from each other as others do.
"""

import signal
from pathlib import Path

import pytest

from kube_cluster import KubeCluster, pod, stays, until
from kube_crowd import PODS, check_placements, crowd, prepared, wait_until_settled
from kube_lasting import DAY_SECONDS, LEADS, renewed_day, start_skewed
from kube_witness import Witness
from plane.proxy import Proxy

pytestmark = pytest.mark.faults

BEGUN = 40


def begun(witness: Witness, count: int = BEGUN) -> None:
    witness.wait(lambda: len(witness.bound) >= count, f"{count} pods are bound", 60)


def test_the_leader_dies_and_another_with_a_clock_two_days_apart_goes_on(
    kube_cluster: KubeCluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, plane_program: Path
):
    with prepared(kube_cluster) as witness:
        first = start_skewed(kube_cluster, "scheduler", DAY_SECONDS, monkeypatch, tmp_path)
        first.wait_until_it_says(LEADS)
        ahead = renewed_day(kube_cluster, "scheduler")
        second = start_skewed(kube_cluster, "scheduler", -DAY_SECONDS, monkeypatch, tmp_path)
        stays(lambda: not second.said(LEADS), "only one leads")
        kube_cluster.plane.create_many(crowd())
        begun(witness)
        first.signal(signal.SIGKILL)
        second.wait_until_it_says(LEADS)
        wait_until_settled(witness)
        assert renewed_day(kube_cluster, "scheduler") < ahead, "the clocks are not two days apart"
        check_placements(kube_cluster, witness, plane_program)
        assert not witness.gone


def test_a_leader_that_was_paused_in_the_middle_does_nothing_when_another_leads(
    kube_cluster: KubeCluster, plane_program: Path
):
    half = PODS // 2
    with prepared(kube_cluster) as witness:
        first = kube_cluster.start("scheduler", ready=LEADS)
        second = kube_cluster.start("scheduler")
        kube_cluster.plane.create_many(crowd()[:half])
        begun(witness)
        first.signal(signal.SIGSTOP)
        second.wait_until_it_says(LEADS)
        kube_cluster.plane.create_many(crowd()[half:])
        first.signal(signal.SIGCONT)
        first.wait_until_it_says("leads no more")
        wait_until_settled(witness)
        check_placements(kube_cluster, witness, plane_program)
        assert not witness.gone


RESOURCE_TYPE = {
    "apiVersion": "ullage.dev/v1",
    "kind": "ResourceType",
    "metadata": {"name": "licences"},
    "spec": {"name": "example.org/licences", "compressible": False},
}


@pytest.mark.parametrize("at_a_signal", [True, False])
@pytest.mark.parametrize("slow_seconds", [1.0, 6.0])
def test_who_ends_while_a_pod_is_being_bound_gives_its_room_to_nobody(
    kube_cluster: KubeCluster, at_a_signal: bool, slow_seconds: float
):
    """The binding is answered after the replica was told to end, and before its lease is over."""
    kube_cluster.nodes(1)
    kube_cluster.namespaces("x")
    with Proxy(kube_cluster.plane) as proxy:
        first = kube_cluster.start("scheduler", ready=LEADS, server=proxy.server)
        second = kube_cluster.start("scheduler")
        slow = proxy.delay(slow_seconds, "POST", "/binding$")
        kube_cluster.plane.create(pod("x/first", cpu="3"))
        until(lambda: slow.used == 1, "the binding is under way")
        if at_a_signal:
            first.signal(signal.SIGTERM)
        else:
            kube_cluster.plane.create(RESOURCE_TYPE)
        kube_cluster.plane.create(pod("x/second", cpu="3"))
        until(lambda: bool(kube_cluster.placed()), "one of them has a node")
        until(lambda: second.said(LEADS) if at_a_signal else first.said("begins anew"), "it has ended")
        stays(lambda: len(kube_cluster.placed()) == 1, "the other has none", 2 * slow_seconds)
