"""Right-sizing: what `advise requests` takes for very many containers whose week of use is in a ledger.

There are no peers here that read a record; the bars are our own. Rows of the record are drawn from a few that
were really summarised: to summarise 50 000 containers is what the case `usage` measures.
"""

import contextlib
import resource
import sqlite3
import tempfile
import time
from pathlib import Path
from typing import Final

import numpy as np

from ullage.engine.usage.book import Book, Samples
from ullage.model.cluster import Container, Node, Snapshot, Workload
from ullage.model.resources import Resources
from ullage.model.table import Table
from ullage.service.advise_requests import RequestsQuestion, advise_requests
from ullage.service.asked import Asked
from ullage.sources.snapshot_file import save_snapshot_file
from ullage.stores.usage import Batch, Marks, append
from ullage.stores.usage_rows import PUT, rows_of

SIZES: Final = (7_300, 50_000)
REPLICAS: Final = 10
NAMESPACES: Final = 50
PODS_PER_NODE: Final = 50
DAYS: Final = 7
STEP: Final = 300
START: Final = 20_454 * 86_400
VARIANTS: Final = 40
SEED: Final = 2026
SECONDS_MAX: Final = 20.0
REQUEST: Final = {"cpu": 1000, "memory": 1 << 30}
VARIES: Final = {"cpu": 0.35, "memory": 0.06}
Rows = list[tuple[int, tuple[object, ...]]]


def pod_name(number: int) -> str:
    """Return the name of a pod of a Deployment."""
    return f"web-{number // REPLICAS}-5d4f8c7b9-{number % REPLICAS:05d}"


def namespace_of(number: int) -> str:
    """Return the namespace of a pod: that of its workload."""
    return f"team-{number // REPLICAS % NAMESPACES:02d}"


def cluster(pods: int) -> Snapshot:
    """Return pods of one container each, on nodes that have room for twice as many."""
    asked = Resources(REQUEST)
    containers = (Container("main", requests=asked, limits=Resources({"memory": 2 << 30})),)
    capacity = {name: 2 * PODS_PER_NODE * amount for name, amount in (*REQUEST.items(), ("pods", 1))}
    nodes = (
        Node(f"n{number:05d}", Resources(capacity), reserve=Resources({}))
        for number in range(-(-pods // PODS_PER_NODE))
    )
    workloads = (
        Workload(
            pod_name(number),
            namespace=namespace_of(number),
            owner=f"ReplicaSet/{pod_name(number).rpartition('-')[0]}",
            labels={"pod-template-hash": "5d4f8c7b9"},
            node=f"n{number // PODS_PER_NODE:05d}",
            requests=Resources({**asked, "pods": 1}),
            containers=containers,
            created_seconds=START - 86_400,
        )
        for number in range(pods)
    )
    return Snapshot(nodes=Table(nodes), workloads=Table(workloads))


def drawn(kind: str, name: str, generator: np.random.Generator) -> Rows:
    """Return a week of one stream, as it is stored."""
    points = DAYS * 86_400 // STEP
    daily = 1 + 0.3 * np.sin(2 * np.pi * np.arange(points) * STEP / 86_400)
    usual = REQUEST[name] * generator.lognormal(-1.2, 0.3)
    amounts = (usual * daily * generator.lognormal(0, VARIES[name], points)).astype(np.int64)
    book = Book()
    moments = START + np.arange(points) * STEP
    subject = f"{kind}/a/b" + ("/c" if kind == "container" else "")
    book.add(Samples(name, "usage", [subject], np.zeros(points, np.int64), moments, amounts))
    return [(day, columns) for _, day, columns in rows_of(book)]


def record(path: Path, pods: int) -> None:
    """Write the use of containers and of their pods."""
    append(path, Batch("benchmark", Book(), Marks(0, {}), START + DAYS * 86_400))
    generator = np.random.default_rng(SEED)
    weeks = {
        (kind, name): [drawn(kind, name, generator) for _ in range(VARIANTS)]
        for kind in ("container", "pod")
        for name in REQUEST
    }
    streams, days = [], []
    for pod in range(pods):
        for kind, ending in (("container", "/main"), ("pod", "")):
            for name in REQUEST:
                number = len(streams) + 1
                subject = f"{kind}/{namespace_of(pod)}/{pod_name(pod)}{ending}"
                streams.append((number, subject, name, "usage"))
                week = weeks[kind, name][generator.integers(VARIANTS)]
                days += [(number, day, *columns) for day, columns in week]
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executemany("INSERT INTO usage_streams VALUES (?, ?, ?, ?)", streams)
        connection.executemany(PUT, days)
        connection.commit()


def seconds_for(pods: int, folder: Path) -> float:
    """Return the CPU seconds of advice for so many pods, from the files to the answer as JSON."""
    saved, ledger = folder / f"{pods}.ullage", folder / f"{pods}.db"
    save_snapshot_file(str(saved), cluster(pods))
    record(ledger, pods)
    start = time.process_time()
    answer = advise_requests(Asked(str(saved)), RequestsQuestion(usage=str(ledger)))
    found = answer.data()
    spent = time.process_time() - start
    assert sum(each["pods"] for each in found["workloads"]) == pods
    assert all(each["changes"] for each in found["workloads"])
    return spent


def run() -> dict[str, object]:
    """Measure a usual cluster and a large one."""
    figures: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as folder:
        for pods in SIZES:
            name = f"{pods:,} containers, a week of use, CPU s".replace(",", " ", 1)
            figures[name] = spent = seconds_for(pods, Path(folder))
    figures["the same, GB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    return {**figures, "bars": {name: [spent, "<=", SECONDS_MAX]}}
