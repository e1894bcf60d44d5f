"""The scheduler's cycles on a real API server: decisions are acted on, and what fails is given back."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from builders import waiting
from kube_cluster import node, pod
from plane.plane import Plane
from plane.proxy import Proxy
from ullage.engine.placement.scheduling import Cycle, schedule
from ullage.kube.events import Events
from ullage.kube.following import Following
from ullage.kube.scheduler import process
from ullage.kube.scheduler.actions import Actions
from ullage.kube.scheduler.process import Figures, Scheduler, first_of
from ullage.sources.kubernetes.api.client import ApiClient
from ullage.sources.kubernetes.kubeconfig import find_access

pytestmark = pytest.mark.slow
WAIT_SECONDS = 30
POLL_SECONDS = 0.05
READY = {"conditions": [{"type": "Ready", "status": "True"}]}


class Cluster:
    """A namespace, and one node with room for four pods of one core."""

    def __init__(self, bare: Plane, namespace: str) -> None:
        self._bare = bare
        self._namespace = namespace
        made = node("only", {"cpu": "4"})
        bare.create({**made, "status": {**made["status"], **READY}})

    def create(self, *names: str, **spec: Any) -> None:
        self._bare.create_many([pod(f"{self._namespace}/{name}", cpu="1", spec=spec) for name in names])

    def delete(self, name: str) -> None:
        self._bare.delete(f"/api/v1/namespaces/{self._namespace}/pods/{name}")

    def key(self, name: str) -> str:
        return f"{self._namespace}/{name}"

    def pods(self) -> dict[str, dict[str, Any]]:
        found = self._bare.items(f"/api/v1/namespaces/{self._namespace}/pods")
        return {each["metadata"]["name"]: each for each in found}

    def bound(self) -> set[str]:
        return {name for name, each in self.pods().items() if each["spec"].get("nodeName")}

    def reasons(self) -> set[str]:
        found = self._bare.items(f"/apis/events.k8s.io/v1/namespaces/{self._namespace}/events")
        return {each["reason"] for each in found}

    def why(self, name: str) -> str:
        conditions = self.pods()[name]["status"].get("conditions", ())
        return next((each.get("message", "") for each in conditions if each["type"] == "PodScheduled"), "")


@pytest.fixture
def cluster(bare: Plane, namespace: str) -> Cluster:
    return Cluster(bare, namespace)


def scheduled(proxy: Proxy, *steps: Callable[[], bool]) -> Figures:
    """Run a scheduler behind the proxy until each step holds, one after the other; a step may act first."""

    async def run() -> Figures:
        access = find_access(kubeconfig=str(proxy.kubeconfig()))
        client = ApiClient(access)
        following = Following(access, client)
        events = Events(client, component="test", identity="test")
        scheduler = Scheduler(following, Actions(client, events), names=("ullage",))
        await following.start()
        tasks = [asyncio.create_task(each) for each in (scheduler.run(), events.run())]
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                for step in steps:
                    while not await asyncio.to_thread(step):  # noqa: ASYNC110 - it asks the API server
                        await asyncio.sleep(POLL_SECONDS)
            await events.drain()
            return scheduler.figures
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await following.stop()
            await client.close()

    return asyncio.run(run())


def test_those_for_whom_there_is_room_are_bound_and_the_others_told_why(proxy, cluster):
    cluster.create("a", "b", "c", "d", "e")
    figures = scheduled(proxy, lambda: len(cluster.bound()) == 4, lambda: bool(cluster.why("e")))
    assert cluster.bound() == {"a", "b", "c", "d"}
    assert cluster.why("e").startswith("0/1 nodes: ")
    assert (figures.bound, figures.failed, figures.evicted) == (4, 0, 0)
    assert cluster.reasons() == {"Scheduled", "FailedScheduling"}


def test_pods_of_other_schedulers_are_left_alone(proxy, cluster):
    cluster.create("theirs", schedulerName="theirs")
    cluster.create("ours")
    scheduled(proxy, lambda: cluster.bound() == {"ours"})
    assert proxy.count("POST", "theirs/binding") == 0


@pytest.mark.parametrize("status", [403, 409, 500])
def test_a_pod_whose_binding_fails_is_bound_later_though_nothing_else_happens(proxy, cluster, status):
    cluster.create("a")
    refused = proxy.refuse(status, "POST", "/binding$")
    figures = scheduled(proxy, lambda: cluster.bound() == {"a"})
    assert refused.used == 1
    assert figures.failed == 1


def test_the_room_of_a_pod_that_was_not_bound_is_given_to_others(proxy, cluster):
    cluster.create("a", "b", "c", "d", "e")
    proxy.refuse(403, "POST", "/a/binding$", times=None)
    scheduled(proxy, lambda: cluster.bound() == {"b", "c", "d", "e"})


def test_others_are_evicted_for_an_important_pod_which_runs_when_they_are_gone(bare, proxy, cluster):
    bare.create(
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": "important"},
            "value": 1000,
        }
    )
    cluster.create("a", "b", "c", "d")
    refused = proxy.refuse(403, "POST", "/eviction$")

    def leaving() -> set[str]:
        return {name for name, each in cluster.pods().items() if "deletionTimestamp" in each["metadata"]}

    def asks() -> bool:
        cluster.create("first", priorityClassName="important")
        return True

    def goes() -> bool:
        (victim,) = leaving()
        cluster.delete(victim)
        return True

    figures = scheduled(
        proxy,
        lambda: len(cluster.bound()) == 4,
        asks,
        lambda: len(leaving()) == 1,
        lambda: cluster.pods()["first"]["status"].get("nominatedNodeName") == "only",
        lambda: "first" not in cluster.bound(),
        goes,
        lambda: "first" in cluster.bound(),
    )
    assert refused.used == 1
    assert figures.evicted == 1
    assert {"NotEvicted", "Preempted", "WaitingForRoom"} <= cluster.reasons()


@asynccontextmanager
async def followed(proxy: Proxy) -> AsyncIterator[tuple[Following, Scheduler]]:
    """A scheduler that knows the cluster and does nothing by itself."""
    access = find_access(kubeconfig=str(proxy.kubeconfig()))
    client = ApiClient(access)
    following = Following(access, client)
    scheduler = Scheduler(
        following, Actions(client, Events(client, component="test", identity="test")), names=("ullage",)
    )
    await following.start()
    try:
        yield following, scheduler
    finally:
        await following.stop()
        await client.close()


async def runs_until(scheduler: Scheduler, holds: Callable[[], bool]) -> None:
    """Let a scheduler run until something holds."""
    task = asyncio.create_task(scheduler.run())
    try:
        async with asyncio.timeout(WAIT_SECONDS):
            while not await asyncio.to_thread(holds):  # noqa: ASYNC110 - it asks the API server
                await asyncio.sleep(POLL_SECONDS)
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def made_anew(cluster: Cluster, following: Following, name: str) -> None:
    """Replace a pod by another one of its name that no node takes, and wait until that is known."""
    key = cluster.key(name)
    before = following.mirror.facts(key)
    await asyncio.to_thread(cluster.delete, name)
    await asyncio.to_thread(cluster.create, name, nodeSelector={"no": "where"})
    while following.mirror.facts(key) in {None, before}:  # noqa: ASYNC110 - a watch of its own brings it
        await asyncio.sleep(POLL_SECONDS)


@pytest.mark.parametrize("moment", ["decided", "judged"])
def test_a_pod_that_was_made_anew_is_judged_anew(proxy, cluster, monkeypatch, moment):
    cluster.create("a")

    async def run() -> None:
        async with followed(proxy) as (following, scheduler):
            loop = asyncio.get_running_loop()

            def replaced_meanwhile(*parts: Any, **named: Any) -> Cycle:
                done = schedule(*parts, **named)
                asyncio.run_coroutine_threadsafe(made_anew(cluster, following, "a"), loop).result()
                return done

            with monkeypatch.context() as patched:
                if moment == "judged":
                    patched.setattr(process, "schedule", replaced_meanwhile)
                assert [each.workload for each in (await scheduler.cycle()).bound] == [cluster.key("a")]
            if moment == "decided":
                await made_anew(cluster, following, "a")
            await runs_until(scheduler, lambda: bool(cluster.why("a")))

    asyncio.run(run())
    assert cluster.bound() == set()
    assert "node selector" in cluster.why("a")


def test_a_cycle_takes_the_most_important_first_with_all_of_their_gangs():
    pods = [
        waiting("old", created_seconds=1),
        waiting("new", created_seconds=2),
        waiting("important", priority=5, created_seconds=3),
        waiting("gang-1", gang="g", priority=4, created_seconds=4),
        waiting("gang-2", gang="g", created_seconds=5),
        waiting("nominated", created_seconds=6),
    ]

    def names(most: int) -> list[str]:
        return [each.key for each in first_of(pods, {"nominated"}, most)]

    assert names(6) == [each.key for each in pods]
    assert names(2) == ["nominated", "important"]
    assert names(3) == ["nominated", "important", "gang-1", "gang-2"]
    assert names(4) == ["nominated", "important", "gang-1", "old", "gang-2"]
