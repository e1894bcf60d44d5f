"""The operator on a large cluster: what it costs to follow, and how soon a pod is told that it is over quota.

Nodes, quotas and pods (bound, of ten shapes) are created on a real control plane with nobody else on it, then
the operator is started: it labels every pod, tells every node its room, and comes to rest. Steady state is
measured from there, with what never rests on real clusters: every node reports to the API server every five
minutes. A change is then made again and again: a pod is created that goes beyond the min of its quota, and
the time is taken until a watch shows it with its label. Sizes: ULLAGE_BENCH_NODES and ULLAGE_BENCH_PODS for a
quicker run.
"""

import asyncio
import os
import re
import statistics
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

sys.path.append(str(Path(__file__).resolve().parents[2] / "tests"))

from kube_cluster import KubeCluster, node, pod  # found by the path above
from plane.build import plane_program
from ullage.sources.kubernetes.api.client import ApiClient
from ullage.sources.kubernetes.kubeconfig import find_access

NODES = int(os.environ.get("ULLAGE_BENCH_NODES", "5000"))
PODS = int(os.environ.get("ULLAGE_BENCH_PODS", "50000"))
QUOTAS = max(1, min(100, PODS // 100))
SHAPES = 10
CREATORS = 48
REPORT_SECONDS = 300
"""How often each node reports."""
STEADY_SECONDS = 60
CHANGES = 30
PAUSE_SECONDS = 0.3
QUIET_SHARE = 0.05
WAIT_SECONDS_MAX = 900
TICKS = os.sysconf("SC_CLK_TCK")
ROOM = {"cpu": "64", "memory": "256Gi", "pods": "250"}
LABEL = b'"nos.nebuly.com/capacity":"'
_NAME = re.compile(rb'"name":"([^"]+)"')


def quotas() -> Iterator[dict[str, Any]]:
    """Yield quotas of which half of the pods are over: every other one of nos, the others ours."""
    each = PODS // QUOTAS
    for number in range(QUOTAS):
        name = f"team-{number:03d}"
        least = {"cpu": f"{each * 325 // 2}m"}
        if number % 2:
            spec: dict[str, Any] = {"namespaces": [name], "min": least}
            yield {"apiVersion": "ullage.dev/v1", "kind": "Quota", "metadata": {"name": name}, "spec": spec}
        else:
            yield {
                "apiVersion": "nos.nebuly.com/v1alpha1",
                "kind": "ElasticQuota",
                "metadata": {"name": "quota", "namespace": name},
                "spec": {"min": least},
            }


def bound(name: str, number: int, cpu_milli: int) -> dict[str, Any]:
    """Return a pod of a team on a node."""
    spec = {"nodeName": f"n{number % NODES:05d}"}
    return pod(f"team-{number % QUOTAS:03d}/{name}", cpu=f"{cpu_milli}m", memory="256Mi", spec=spec)


def documents() -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield all objects with the paths that they are created at."""
    for number in range(QUOTAS):
        name = f"team-{number:03d}"
        yield "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    for number in range(NODES):
        made = node(f"n{number:05d}", ROOM)
        made["status"]["conditions"] = [{"type": "Ready", "status": "True"}]
        yield "/api/v1/nodes", made
    for number in range(PODS):
        made = bound(f"p{number:05d}", number, 100 + 50 * (number // QUOTAS % SHAPES))
        yield f"/api/v1/namespaces/{made['metadata']['namespace']}/pods", made


async def create(client: ApiClient) -> None:
    """Create everything, many at a time."""
    left = documents()

    async def take() -> None:
        for path, document in left:
            await client.create(path, document)

    await asyncio.gather(*(take() for _ in range(CREATORS)))


def cpu_seconds(process: int) -> float:
    """Return the processor time that a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def resident_megabytes(process: int, field: str) -> float:
    """Return the memory of a process: VmRSS is what it has now, VmHWM the most it has had."""
    text = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    found = re.search(rf"{field}:\s+([0-9]+) kB", text)
    assert found is not None
    return int(found[1]) / 1024


class Labels:
    """The moments at which a watch sees pods labelled."""

    def __init__(self, client: ApiClient) -> None:
        self._client = client
        self.at: dict[bytes, float] = {}

    async def watch(self) -> None:
        """Look from now on."""
        query = {"watch": "true", "resourceVersion": "0", "timeoutSeconds": str(WAIT_SECONDS_MAX)}
        await self._client.follow("/api/v1/pods", query, self._take)

    def _take(self, line: bytes) -> None:
        if LABEL in line:
            name = _NAME.search(line)
            if name is not None:
                self.at.setdefault(name[1], time.perf_counter())


async def report(client: ApiClient) -> None:
    """Let nodes report, one after the other, as kubelets do."""
    beat = 0
    while True:
        name = f"n{beat % NODES:05d}"
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        condition = {"type": "Ready", "status": "True", "lastHeartbeatTime": stamp}
        await client.patch(f"/api/v1/nodes/{name}/status", {"status": {"conditions": [condition]}})
        beat += 1
        await asyncio.sleep(REPORT_SECONDS / NODES)


async def until_quiet(process: int) -> float:
    """Return the processor time of a process as soon as it has nothing more to do."""
    used = cpu_seconds(process)
    for _ in range(WAIT_SECONDS_MAX):
        await asyncio.sleep(2)
        before, used = used, cpu_seconds(process)
        if used - before < QUIET_SHARE * 2:
            return used
    raise AssertionError("the process does not come to rest")


async def until_told(client: ApiClient) -> None:
    """Return when every node has its NodeCapacity."""
    for _ in range(WAIT_SECONDS_MAX):
        page = await client.get("/apis/ullage.dev/v1/nodecapacities", {"limit": "1"})
        found = msgspec.json.decode(page)
        if len(found["items"]) + found["metadata"].get("remainingItemCount", 0) == NODES:
            return
        await asyncio.sleep(1)
    raise AssertionError("not every node is told its room")


async def changes(client: ApiClient, labels: Labels) -> list[float]:
    """Create pods one by one that go beyond the min of their quota; return the seconds until each is told."""
    found = []
    for number in range(CHANGES):
        name = f"late-{number}"
        made = bound(name, number, 100)
        await client.create(f"/api/v1/namespaces/{made['metadata']['namespace']}/pods", made)
        began = time.perf_counter()
        while name.encode() not in labels.at:
            assert time.perf_counter() - began < WAIT_SECONDS_MAX, "the pod is not labelled"
            await asyncio.sleep(0.005)
        found.append(labels.at[name.encode()] - began)
        await asyncio.sleep(PAUSE_SECONDS)
    return found


async def measured(running: KubeCluster) -> dict[str, float]:
    """Fill the cluster, start the operator, and measure it."""
    client = ApiClient(find_access(kubeconfig=str(running.plane.kubeconfig())))
    await create(client)
    await asyncio.to_thread(running.plane.create_many, list(quotas()))
    labels = Labels(client)
    watching = asyncio.create_task(labels.watch())
    began = time.perf_counter()
    operator = await asyncio.to_thread(running.start, "operator")
    process = operator.process.pid
    ready_seconds, ready_cpu = time.perf_counter() - began, cpu_seconds(process)
    while len(labels.at) < PODS:
        assert time.perf_counter() - began < WAIT_SECONDS_MAX, f"{len(labels.at)} of {PODS} pods are labelled"
        await asyncio.sleep(0.1)
    labelled_cpu = cpu_seconds(process)
    await until_told(client)
    told_seconds, told_cpu = time.perf_counter() - began, cpu_seconds(process)
    await until_quiet(process)
    figures = {
        "seconds until it follows the cluster": ready_seconds,
        "CPU seconds until it follows the cluster": ready_cpu,
        "seconds until all pods are labelled": max(labels.at.values()) - began,
        "CPU seconds until all pods are labelled": labelled_cpu,
        "seconds until all nodes are told their room": told_seconds,
        "CPU seconds until all nodes are told their room": told_cpu,
    }
    reporting = asyncio.create_task(report(client))
    used, since = cpu_seconds(process), time.perf_counter()
    await asyncio.sleep(STEADY_SECONDS)
    figures["CPU in steady state, % of a core"] = (
        100 * (cpu_seconds(process) - used) / (time.perf_counter() - since)
    )
    waits = await changes(client, labels)
    figures["a label reaches its pod, median seconds"] = statistics.median(waits)
    figures[f"a label reaches its pod, worst seconds of {CHANGES}"] = max(waits)
    figures["memory, MB"] = resident_megabytes(process, "VmRSS")
    figures["most memory, MB"] = resident_megabytes(process, "VmHWM")
    for task in (reporting, watching):
        task.cancel()
    await asyncio.gather(reporting, watching, return_exceptions=True)
    await client.close()
    return figures


def run() -> dict[str, object]:
    """Measure the operator on a plane of its own."""
    with KubeCluster(plane_program(), ()) as running:
        figures = asyncio.run(measured(running))
    worst = f"a label reaches its pod, worst seconds of {CHANGES}"
    bars = {
        "CPU in steady state, % of a core": [figures["CPU in steady state, % of a core"], "<=", 5],
        "most memory, MB": [figures["most memory, MB"], "<=", 1500],
        worst: [figures[worst], "<=", 1],
    }
    return {"nodes": NODES, "pods": PODS, "quotas": QUOTAS, **figures, "bars": bars}
