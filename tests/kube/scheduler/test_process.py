"""The scheduler's cycles on a real API server: decisions are acted on, and what fails is given back."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from baremetal_driver import claim, mounted
from kube_cluster import pod
from kube_scheduled import POLL_SECONDS, WAIT_SECONDS, Cluster, followed, scheduled
from ullage.engine.placement.scheduling import Cycle, schedule
from ullage.kube.following import Following
from ullage.kube.scheduler import process
from ullage.kube.scheduler.process import Scheduler
from ullage.kube.scheduler.reasons import WRITERS

pytestmark = pytest.mark.slow


def test_those_for_whom_there_is_room_are_bound_and_the_others_told_why(proxy, cluster):
    cluster.create("a", "b", "c", "d", "e")
    figures = scheduled(proxy, lambda: len(cluster.bound()) == 4, lambda: bool(cluster.why("e")))
    assert cluster.bound() == {"a", "b", "c", "d"}
    assert cluster.why("e").startswith("0/1 nodes: ")
    assert (figures.bound, figures.failed) == (4, 0)
    assert cluster.reasons() == {"Scheduled", "FailedScheduling"}


def test_who_has_a_place_does_not_wait_until_all_others_are_told_that_they_have_none(proxy, cluster):
    cluster.create(*(f"hopeless{number}" for number in range(100)), nodeSelector={"no": "where"})
    slow = proxy.delay(5.0, "PATCH", "/status$", times=None)

    def another_comes() -> bool:
        cluster.create("fits")
        return True

    scheduled(proxy, lambda: slow.used >= WRITERS, another_comes, lambda: cluster.bound() == {"fits"})
    assert slow.used <= 3 * WRITERS


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

    scheduled(
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
    assert {"NotEvicted", "Preempted", "WaitingForRoom"} <= cluster.reasons()


def test_the_room_that_others_made_for_a_pod_is_kept_while_it_is_not_bound(bare, proxy, cluster):
    """Who comes meanwhile does not have it: others would have to go again."""
    bare.create(
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": "pressing"},
            "value": 1000,
        }
    )
    cluster.create("a", "b", "c", "d")
    refused = proxy.refuse(500, "POST", r"/first/binding$", times=2)

    def leaving() -> set[str]:
        return {name for name, each in cluster.pods().items() if "deletionTimestamp" in each["metadata"]}

    def asks() -> bool:
        cluster.create("first", priorityClassName="pressing")
        return True

    def goes() -> bool:
        (victim,) = leaving()
        cluster.delete(victim)
        return True

    def another_comes() -> bool:
        cluster.create("another")
        return True

    scheduled(
        proxy,
        lambda: len(cluster.bound()) == 4,
        asks,
        lambda: len(leaving()) == 1,
        goes,
        lambda: bool(refused.used),
        another_comes,
        lambda: "first" in cluster.bound(),
        lambda: bool(cluster.why("another")),
    )
    assert proxy.count("POST", "another/binding") == 0
    assert proxy.count("POST", "/eviction") == 1


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


def test_of_those_who_are_judged_together_only_so_many_have_a_capacity_as_it_is_large(
    bare, proxy, cluster, namespace
):
    storage = "storage.k8s.io/v1"
    claims = [claim(f"{namespace}/{name}", "published", 60) for name in ("a", "b", "c")]
    bare.create_many(
        [
            {
                "apiVersion": storage, "kind": "CSIDriver", "metadata": {"name": "publishes"},
                "spec": {"storageCapacity": True},
            },
            {
                "apiVersion": storage, "kind": "StorageClass", "metadata": {"name": "published"},
                "provisioner": "publishes", "volumeBindingMode": "WaitForFirstConsumer",
            },
            {
                "apiVersion": storage, "kind": "CSIStorageCapacity", "storageClassName": "published",
                "metadata": {"name": "room", "namespace": namespace}, "capacity": "130Gi",
                "nodeTopology": {"matchLabels": {"kubernetes.io/hostname": "only"}},
            },
            *claims,
        ]
    )  # fmt: skip
    for name in ("a", "b", "c"):
        cluster.create(name, **mounted(name))
    scheduled(
        proxy,
        lambda: len(cluster.bound()) == 2,
        lambda: any("no volume for claim" in cluster.why(name) for name in "abc"),
    )
    assert len(cluster.bound()) == 2


def test_the_rest_of_a_gang_that_runs_in_part_has_its_room_first(bare, proxy, cluster, namespace):
    """Two of four are not bound at once: who comes meanwhile does not have their place."""
    gang = {"kueue.x-k8s.io/pod-group-name": "together"}
    members = [f"g{index}" for index in range(4)]
    refused = proxy.refuse(500, "POST", r"g[23]/binding$", times=2)
    bare.create_many([pod(f"{namespace}/{name}", cpu="1", labels=gang) for name in members])

    def another_comes() -> bool:
        cluster.create("another")
        return True

    scheduled(
        proxy,
        lambda: refused.used == 2,
        another_comes,
        lambda: cluster.bound() == set(members),
        lambda: bool(cluster.why("another")),
    )
    assert proxy.count("POST", "another/binding") == 0
