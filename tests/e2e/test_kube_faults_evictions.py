"""Who claims a share back gets it while everything fails: as many go as have to, and nobody takes the place.

Four nodes are full: A uses its 16 cores, B uses 16 where 4 are its own. A claims 6 more, so 6 pods of B have
to go and no more; B's pods that wait must not have their places. Pods of B stay for as long as a test wants
once they were evicted, so that it can act between eviction and binding. A witness looks at every state.
"""

import signal
import time
from collections.abc import Iterator
from typing import Any

import pytest

from kube_cluster import KubeCluster, pod, stays, until
from kube_lasting import LEADS, kept_running
from kube_witness import Witness
from plane.proxy import Proxy
from plane.settings import API

NODES, CORES = 4, 8
OWN = {"a": 16, "b": 4, "c": 12}
MOST = {"a": 22, "b": 20, "c": 12}
USED = 16
SINGLE = ("a/claim0", "a/claim1")
DOUBLE = ("a/claim2", "a/claim3")
CLAIMS = (*SINGLE, *DOUBLE)
NEEDED = 6
STAYS = "example.org/stays"
LEADS_SECONDS = 40
SECONDS_MAX = 120
QUIET_SECONDS = 6.0
EVICTION, BINDING = "/eviction$", "/binding$"


def quota(name: str) -> dict[str, Any]:
    amounts = {"min": {"cpu": str(OWN[name])}, "max": {"cpu": str(MOST[name])}}
    return {
        "apiVersion": "ullage.dev/v1",
        "kind": "Quota",
        "metadata": {"name": name},
        "spec": {"namespaces": [name], **amounts},
    }


def running(namespace: str, number: int, *, holds: bool) -> dict[str, Any]:
    """A pod that runs from the start; one that `holds` its place stays when it was evicted, until let go."""
    made = pod(f"{namespace}/{namespace}{number:02d}", cpu="1", spec={"nodeName": f"n{number % NODES}"})
    if holds:
        made["metadata"]["finalizers"] = [STAYS]
    return made


class World:
    """The full cluster, and what has become of B."""

    def __init__(self, cluster: KubeCluster, *, holds: bool) -> None:
        self.cluster = cluster
        self.names = cluster.nodes(NODES, cpu=str(CORES))
        cluster.namespaces(*OWN)
        cluster.plane.create_many([quota(name) for name in OWN])
        for number in range(USED):  # one after the other: the first is the oldest
            cluster.plane.create(running("a", number, holds=False))
            cluster.plane.create(running("b", number, holds=holds))
        cluster.plane.create_many([pod(f"b/waits{number}", cpu="1") for number in range(3)])
        self.witness = Witness(
            cluster.plane,
            nodes=dict.fromkeys(self.names, CORES * 1000),
            namespaces={name: most * 1000 for name, most in MOST.items()},
        )

    def claim(self) -> None:
        """A claims what is its own: two pods of one core, and two of two."""
        asked = [pod(key, cpu="1") for key in SINGLE] + [pod(key, cpu="2") for key in DOUBLE]
        self.cluster.plane.create_many(asked)

    def leaving(self) -> set[str]:
        """Return who was evicted and is still there."""
        return {key for key, each in self.cluster.pods().items() if each["metadata"].get("deletionTimestamp")}

    def nominated(self) -> dict[str, str]:
        """Return which nodes claims are to have."""
        pods = self.cluster.pods()
        found = {key: pods[key]["status"].get("nominatedNodeName", "") for key in CLAIMS}
        return {key: node for key, node in found.items() if node}

    def let_go(self) -> None:
        """Let those go who were evicted."""
        for key in self.leaving():
            namespace, _, name = key.partition("/")
            self.cluster.plane.patch(
                f"/api/v1/namespaces/{namespace}/pods/{name}", {"metadata": {"finalizers": None}}
            )

    def check(self, places: dict[str, str] | None = None) -> None:
        """Wait until A has all that it claims, and see that nobody went who did not have to."""
        until(
            lambda: set(CLAIMS) <= self.cluster.placed().keys(),
            lambda: f"claims have nodes, but {self.cluster.without_node(*CLAIMS)}; gone: {self.witness.gone}",
            SECONDS_MAX,
        )
        for key, node in (places or {}).items():
            assert self.cluster.placed()[key] == node, f"{key} has another place than it was promised"
        stays(lambda: not self.leaving(), "nobody is evicted beside")
        assert len(self.witness.gone) == NEEDED, f"{NEEDED} had to go, not {self.witness.gone}"
        assert all(key.startswith("b/b") for key in self.witness.gone)
        oldest = {f"b/b{number:02d}" for number in range(OWN["b"])}
        assert not oldest & set(self.witness.gone), "what is B's own was evicted"
        assert not [key for key in self.cluster.placed() if key.startswith("b/waits")]


@pytest.fixture
def proxy(kube_cluster: KubeCluster) -> Iterator[Proxy]:
    with Proxy(kube_cluster.plane) as running_proxy:
        yield running_proxy


@pytest.mark.faults
def test_a_leader_dies_between_the_evictions_and_the_bindings_and_the_promised_places_are_kept(
    kube_cluster: KubeCluster,
):
    world = World(kube_cluster, holds=True)
    with world.witness:
        first = kube_cluster.start("scheduler", ready=LEADS)
        second = kube_cluster.start("scheduler")
        world.claim()
        until(lambda: len(world.leaving()) == NEEDED, lambda: f"{NEEDED} are evicted: {world.leaving()}")
        until(lambda: len(world.nominated()) == len(CLAIMS), "claims are told their places")
        places, evicted = world.nominated(), world.leaving()
        first.signal(signal.SIGKILL)
        second.wait_until_it_says(LEADS, LEADS_SECONDS)
        stays(lambda: world.leaving() == evicted, "who takes over evicts nobody besides", QUIET_SECONDS)
        assert world.nominated() == places
        world.let_go()
        world.check(places)


@pytest.mark.faults
def test_a_leader_dies_in_the_middle_of_its_evictions_and_another_evicts_the_rest(
    kube_cluster: KubeCluster, proxy: Proxy
):
    world = World(kube_cluster, holds=True)
    with world.witness:
        first = kube_cluster.start("scheduler", ready=LEADS, server=proxy.server)
        second = kube_cluster.start("scheduler")
        stuck = proxy.delay(SECONDS_MAX, "POST", EVICTION, times=None)
        proxy.delay(0.01, "POST", EVICTION, times=4)
        world.claim()
        until(lambda: bool(stuck.used and world.leaving()), "some are evicted, and some are not")
        assert 0 < len(world.leaving()) < NEEDED
        first.signal(signal.SIGKILL)
        second.wait_until_it_says(LEADS, LEADS_SECONDS)
        until(lambda: len(world.leaving()) == NEEDED, lambda: f"{NEEDED} are evicted: {world.leaving()}")
        stays(lambda: len(world.leaving()) == NEEDED, "and nobody besides")
        world.let_go()
        world.check()


def test_evictions_and_bindings_are_refused_and_their_answers_lost(kube_cluster: KubeCluster, proxy: Proxy):
    world = World(kube_cluster, holds=False)
    busy = {"Retry-After": "1"}
    rules = [
        proxy.refuse(429, "POST", EVICTION, times=2, headers=busy),
        proxy.refuse(503, "POST", EVICTION),
        proxy.cut("POST", EVICTION),
        proxy.cut("POST", EVICTION, times=2, done=True),
        proxy.refuse(504, "POST", EVICTION, done=True),
        proxy.refuse(500, "POST", EVICTION, done=True),
        proxy.cut("POST", r"/claim\d/binding$", done=True),
        proxy.refuse(504, "POST", r"/claim\d/binding$", done=True),
        proxy.refuse(500, "POST", r"/claim\d/binding$"),
        proxy.refuse(409, "PATCH", r"/claim\d/status$"),
    ]
    with world.witness, kept_running(kube_cluster, "scheduler", proxy):
        world.claim()
        world.check()
        assert [rule.used for rule in rules] == [rule.times for rule in rules]


@pytest.mark.faults
def test_pods_that_the_server_refuses_to_evict_stay_and_as_many_others_go(
    kube_cluster: KubeCluster, proxy: Proxy
):
    world = World(kube_cluster, holds=False)
    refused = proxy.refuse(500, "POST", "/b(05|14|15)/eviction$", times=None)
    with world.witness, kept_running(kube_cluster, "scheduler", proxy):
        world.claim()
        world.check()
        assert not {"b/b05", "b/b14", "b/b15"} & set(world.witness.gone)
        assert refused.used, "nobody was refused: nothing is tried"


@pytest.mark.faults
def test_pods_of_disruption_budgets_that_let_nobody_go_stay_and_as_many_others_go(kube_cluster: KubeCluster):
    """Of one budget, and of two, which the API server refuses to judge."""
    world = World(kube_cluster, holds=False)
    kept = ["b/b15", "b/b14", "b/b13"]
    for key, label in zip(kept, ("twice", "twice", "once"), strict=True):
        change = {"metadata": {"labels": {"kept": label}}}
        kube_cluster.plane.patch(f"/api/v1/namespaces/b/pods/{key.partition('/')[2]}", change)
    for name, label in (("first", "twice"), ("second", "twice"), ("third", "once")):
        kube_cluster.plane.create(
            {
                "apiVersion": "policy/v1",
                "kind": "PodDisruptionBudget",
                "metadata": {"name": name, "namespace": "b"},
                "spec": {"maxUnavailable": 0, "selector": {"matchLabels": {"kept": label}}},
            }
        )
    with world.witness, kept_running(kube_cluster, "scheduler"):
        world.claim()
        world.check()
        assert not set(kept) & set(world.witness.gone)


@pytest.mark.faults
@pytest.mark.parametrize("away_seconds", [1.0, 12.0])
def test_the_api_server_restarts_between_the_evictions_and_the_bindings(
    kube_cluster: KubeCluster, away_seconds: float
):
    world = World(kube_cluster, holds=True)
    with world.witness, kept_running(kube_cluster, "scheduler"):
        world.claim()
        until(lambda: len(world.leaving()) == NEEDED, lambda: f"{NEEDED} are evicted: {world.leaving()}")
        until(lambda: len(world.nominated()) == len(CLAIMS), "claims are told their places")
        places = world.nominated()
        kube_cluster.plane.stop_part(API)
        time.sleep(away_seconds)
        kube_cluster.plane.start_part(API)
        until(lambda: world.leaving() != set(), "the server is there again")
        world.let_go()
        world.check(places)
