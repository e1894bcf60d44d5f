"""The operator while everything around it fails: labels and statuses become what the engine says, then rest.

Pods come and go under quotas of every kind meanwhile, and promises end; see tests/kube_shares.py.
"""

import contextlib
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kube_cluster import KubeCluster, KubeProcess, stays
from kube_lasting import DAY_SECONDS, LEADS, kept_running, renewed_day, start_skewed
from kube_shares import (
    Coming,
    held,
    prepare,
    promise,
    wait_until_at_rest,
    wait_until_given_back,
    wait_until_right,
    writes,
)
from plane.proxy import Proxy
from plane.settings import API

SHORT_SECONDS, LONG_SECONDS = 1.0, 12.0
"""The longer one is more than a lease can be without a renewal."""
SOME = 40
PROMISES = [f"r{number}" for number in range(5)]
PROMISE_SECONDS, SHORT_PROMISE_SECONDS = 12, 4
WATCHED_BYTES = 20_000
LEADS_SECONDS = 40
WRITERS_MAX = 16
QUOTA_STATUS = r"quotas/[a-z]+/status"
STEP = "/plans$"


@pytest.fixture
def proxy(kube_cluster: KubeCluster) -> Iterator[Proxy]:
    prepare(kube_cluster)
    with Proxy(kube_cluster.plane) as running:
        yield running


def check_all(cluster: KubeCluster, *proxies: Proxy, promises: list[str] = PROMISES) -> None:
    """Wait until all is done, and see that it is right, and stays so without anything being written."""
    wait_until_right(cluster)
    wait_until_given_back(cluster, promises)
    wait_until_at_rest(*proxies)
    wait_until_right(cluster, 1.0)


@pytest.mark.faults
@pytest.mark.parametrize("away_seconds", [SHORT_SECONDS, LONG_SECONDS])
def test_the_api_server_dies_while_pods_come_and_go_and_comes_back(
    kube_cluster: KubeCluster, proxy: Proxy, away_seconds: float
):
    promise(kube_cluster, PROMISES, PROMISE_SECONDS)
    with kept_running(kube_cluster, "operator", proxy):
        with Coming(kube_cluster) as coming:
            coming.wait(SOME)
            for _ in range(2):
                kube_cluster.plane.stop_part(API)
                time.sleep(away_seconds)
                kube_cluster.plane.start_part(API)
                coming.wait(SOME)
        check_all(kube_cluster, proxy)


@pytest.mark.faults
def test_watches_are_cut_all_the_time_and_some_have_expired(kube_cluster: KubeCluster, proxy: Proxy):
    promise(kube_cluster, PROMISES, PROMISE_SECONDS)
    rules = [
        proxy.cut("GET", r"/pods\?.*watch=true", times=20, after_bytes=WATCHED_BYTES),
        proxy.cut("GET", r"quotas\?.*watch=true", times=20, after_bytes=WATCHED_BYTES // 10),
        proxy.cut("GET", r"/plans\?.*watch=true", times=5, after_bytes=WATCHED_BYTES // 10),
        proxy.refuse(410, "GET", r"/pods\?.*watch=true", times=3),
        proxy.refuse(410, "GET", r"quotas\?.*watch=true", times=3),
    ]
    with kept_running(kube_cluster, "operator", proxy):
        with Coming(kube_cluster) as coming:
            for _ in range(3):
                coming.wait(SOME)
                proxy.cut_all()
        check_all(kube_cluster, proxy)
        assert all(rule.used > 2 for rule in rules), [rule.used for rule in rules]


@pytest.mark.faults
def test_writes_are_refused_and_their_answers_lost(kube_cluster: KubeCluster, proxy: Proxy):
    promise(kube_cluster, PROMISES, SHORT_PROMISE_SECONDS)
    label, status = r"/pods/p\d+$", QUOTA_STATUS
    busy = {"Retry-After": "1"}
    rules = [
        rule
        for pattern in (label, status)
        for rule in (
            proxy.refuse(409, "PATCH", pattern, times=2),
            proxy.refuse(429, "PATCH", pattern, times=2, headers=busy),
            proxy.refuse(503, "PATCH", pattern, times=2, headers=busy),
            proxy.refuse(500, "PATCH", pattern),
            proxy.refuse(504, "PATCH", pattern, done=True),
            proxy.cut("PATCH", pattern, times=2),
            proxy.cut("PATCH", pattern, times=2, done=True),
        )
    ]
    rules += [
        proxy.refuse(503, "POST", STEP, headers=busy),
        proxy.refuse(500, "POST", STEP),
        proxy.refuse(504, "POST", STEP, done=True),
        proxy.cut("POST", STEP, done=True),
    ]
    with kept_running(kube_cluster, "operator", proxy):
        with Coming(kube_cluster) as coming:
            coming.wait(SOME)
        check_all(kube_cluster, proxy)
    assert [rule.used for rule in rules[:-4]] == [rule.times for rule in rules[:-4]]
    assert rules[-1].used, "the answer to a step of the ledger was lost"


class Replicas:
    """Two replicas, each behind a proxy of its own, so that it is known who writes what."""

    def __init__(self, stack: contextlib.ExitStack, cluster: KubeCluster) -> None:
        self.proxies = [stack.enter_context(Proxy(cluster.plane)) for _ in range(2)]
        self.processes: list[KubeProcess] = []

    def written(self, number: int) -> int:
        return len(writes(self.proxies[number]))


@pytest.mark.faults
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "paused"])
def test_a_leader_is_killed_or_paused_in_the_middle_and_another_goes_on(
    kube_cluster: KubeCluster, number: signal.Signals
):
    prepare(kube_cluster)
    promise(kube_cluster, PROMISES, PROMISE_SECONDS)
    with contextlib.ExitStack() as stack:
        both = Replicas(stack, kube_cluster)
        first, second = both.proxies
        leader = kube_cluster.start("operator", server=first.server, ready=LEADS)
        other = kube_cluster.start("operator", server=second.server)
        with Coming(kube_cluster) as coming:
            coming.wait(SOME)
            leader.signal(number)
            count = both.written(0)
            other.wait_until_it_says(LEADS, LEADS_SECONDS)
            coming.wait(SOME)
            if number == signal.SIGSTOP:
                leader.signal(signal.SIGCONT)
                leader.wait_until_it_says("leads no more")
            coming.wait(SOME)
        check_all(kube_cluster, *both.proxies)
        under_way = both.written(0) - count
        assert under_way <= WRITERS_MAX, "who leads no more writes nothing but what had left already"


@pytest.mark.faults
def test_replicas_with_clocks_two_days_apart_take_over_and_end_no_promise_before_its_time(
    kube_cluster: KubeCluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    prepare(kube_cluster)
    ends = promise(kube_cluster, PROMISES, 2 * LEADS_SECONDS)
    with contextlib.ExitStack() as stack:
        both = Replicas(stack, kube_cluster)
        servers = [each.server for each in both.proxies]
        first = start_skewed(kube_cluster, "operator", DAY_SECONDS, monkeypatch, tmp_path, server=servers[0])
        first.wait_until_it_says(LEADS)
        ahead = renewed_day(kube_cluster, "operator")
        second = start_skewed(
            kube_cluster, "operator", -DAY_SECONDS, monkeypatch, tmp_path, server=servers[1]
        )
        stays(lambda: not second.said(LEADS), "only one leads")
        with Coming(kube_cluster) as coming:
            coming.wait(SOME)
            first.signal(signal.SIGKILL)
            second.wait_until_it_says(LEADS, LEADS_SECONDS)
            coming.wait(SOME)
        assert held(kube_cluster) == set(PROMISES) or time.time() >= ends
        assert renewed_day(kube_cluster, "operator") < ahead, "the clocks are not two days apart"
        check_all(kube_cluster, *both.proxies)
