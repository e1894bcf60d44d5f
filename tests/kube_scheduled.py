"""A scheduler in this process on a real API server, behind a proxy, and the small cluster that it fills."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from kube_cluster import node, pod
from plane.plane import Plane
from plane.proxy import Proxy
from ullage.kube.events import Events
from ullage.kube.following import Following
from ullage.kube.scheduler.actions import Actions
from ullage.kube.scheduler.process import Figures, Scheduler
from ullage.sources.kubernetes.api.client import ApiClient
from ullage.sources.kubernetes.kubeconfig import find_access

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
