"""A cluster of very many pods, and what its metrics API answers about them minute by minute."""

from collections.abc import Iterator
from datetime import UTC, datetime

import msgspec
import numpy as np

from ullage.engine.usage.book import Samples
from ullage.model.cluster import Node, Snapshot, Workload
from ullage.model.resources import Resources
from ullage.model.table import Table
from ullage.sources.usage import metrics_api

PODS_PER_NODE = 50
PAGE = 1000
LATE_SECONDS = 15
"""Pods were measured so long before they are asked about, at most."""


def _pod(number: int) -> tuple[str, str]:
    """Return namespace and name of a pod: ten are of one Deployment."""
    return f"namespace-{number // 10 % 200}", f"web-{number // 10}-5d4f8c7b9-{number % 10:05d}"


class Metered:
    """Pods of one container, and nodes."""

    def __init__(self, pods: int, seed: int) -> None:
        self._generator = np.random.default_rng(seed)
        self._pods = [_pod(number) for number in range(pods)]
        self._nodes = [f"node-{number:04d}" for number in range(pods // PODS_PER_NODE)]
        self._nano = self._generator.lognormal(17, 1.2, pods)
        self._kibi = self._generator.lognormal(13, 1.2, pods)

    def snapshot(self) -> Snapshot:
        """Return the cluster."""
        nodes = [
            Node(name, capacity=Resources({"cpu": 64_000, "memory": 1 << 38}), group=f"group-{place % 4}")
            for place, name in enumerate(self._nodes)
        ]
        workloads = [
            Workload(
                name,
                namespace=namespace,
                owner=f"ReplicaSet/{name.rpartition('-')[0]}",
                labels={"pod-template-hash": name.split("-")[-2]},
                node=self._nodes[place % len(nodes)],
                requests=Resources({"cpu": 100, "memory": 1 << 28}),
            )
            for place, (namespace, name) in enumerate(self._pods)
        ]
        return Snapshot(nodes=Table(nodes), workloads=Table(workloads))

    def pages(self, at_seconds: int) -> list[bytearray]:
        """Return what is answered at a moment: the nodes, and pages of pods."""
        count = len(self._pods)
        nano = (self._nano * self._generator.lognormal(0, 0.25, count)).astype(int).tolist()
        kibi = (self._kibi * self._generator.lognormal(0, 0.08, count)).astype(int).tolist()
        late = self._generator.integers(0, LATE_SECONDS, count).tolist()
        times = [_time(at_seconds - each) for each in range(LATE_SECONDS)]
        nodes = [
            {"metadata": {"name": name}, "timestamp": times[0], "window": "20s", "usage": _usage(1e9, 1e6)}
            for name in self._nodes
        ]
        pods = [
            {
                "metadata": {"name": name, "namespace": namespace, "creationTimestamp": times[0]},
                "timestamp": times[late[place]],
                "window": "20s",
                "containers": [{"name": "main", "usage": _usage(nano[place], kibi[place])}],
            }
            for place, (namespace, name) in enumerate(self._pods)
        ]
        lists = [nodes, *(pods[first : first + PAGE] for first in range(0, count, PAGE))]
        return [bytearray(msgspec.json.encode({"items": each})) for each in lists]


def _time(at_seconds: int) -> str:
    return datetime.fromtimestamp(at_seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _usage(nano: float, kibi: float) -> dict[str, str]:
    return {"cpu": f"{int(nano)}n", "memory": f"{int(kibi)}Ki"}


def read(pages: list[bytearray]) -> Iterator[Samples]:
    """Yield what pages tell, by the real reader, but for the network."""
    nodes, *pods = pages
    for several in ([nodes], pods):
        yield from metrics_api.samples_of(several, _refused)


def _refused(what: str, remedy: str) -> Exception:
    return AssertionError(f"{what}; {remedy}")
