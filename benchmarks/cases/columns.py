"""A snapshot as columns: building them, changing them by a delta, and how the cost grows with the cluster."""

import gc
import time

from measure import best_seconds, calibration_seconds
from ullage.engine.columns import Columns
from ullage.model.cluster import Node, Snapshot, Workload
from ullage.model.delta import Delta
from ullage.model.resources import Resources, ResourceTypes
from ullage.model.table import Table

TYPES = ResourceTypes()
PODS_PER_NODE = 30
SHAPES = 200
CLASSES = 8
TEAMS = 50


def resources(**amounts: str) -> Resources:
    """Return a map of resources as written."""
    return TYPES.parse(amounts)


def cluster(nodes: int) -> Snapshot:
    """Return a cluster of several node classes, thirty workloads on each node, in two hundred shapes.

    Workloads are made in the order in which an API server lists them: by namespace and name.
    """
    capacities = [
        resources(cpu=str(16 * (1 + kind)), memory=f"{64 * (1 + kind)}Gi", pods="110")
        for kind in range(CLASSES)
    ]
    shapes = [
        resources(cpu=f"{100 + 7 * shape}m", memory=f"{64 + 11 * shape}Mi", pods="1")
        for shape in range(SHAPES)
    ]
    return Snapshot(
        nodes=Table(Node(f"n{index:06}", capacities[index % CLASSES]) for index in range(nodes)),
        workloads=Table(
            Workload(
                f"p{index:07}",
                namespace=f"team-{index * TEAMS // (nodes * PODS_PER_NODE):02}",
                node=f"n{index * 7919 % nodes:06}",
                requests=shapes[index * 104_729 % SHAPES],
            )
            for index in range(nodes * PODS_PER_NODE)
        ),
    )


def delta_seconds(snapshot: Snapshot, rounds: int = 50) -> float:
    """Return the median CPU seconds of applying a delta of ten workloads to snapshot and columns."""
    columns = Columns(snapshot)
    some = list(snapshot.workloads)[: 10 * rounds]
    found = []
    for turn in range(rounds):
        moved = tuple(
            Workload(each.name, each.namespace, node="n000000", requests=each.requests)
            for each in some[10 * turn : 10 * turn + 10]
        )
        start = time.process_time()
        columns = columns.advance(Delta(workloads=moved))
        found.append(time.process_time() - start)
    return sorted(found)[rounds // 2]


def per_node_seconds(nodes: int) -> float:
    """Return the CPU seconds that building columns takes for each node."""
    snapshot = cluster(nodes)
    gc.collect()
    gc.freeze()
    seconds = best_seconds(lambda: Columns(snapshot)) / nodes
    gc.unfreeze()
    return seconds


def run() -> dict[str, object]:
    """Measure 5000 nodes with 150 000 workloads, a delta of ten, and growth up to 100 000 nodes."""
    snapshot = cluster(5000)
    built = best_seconds(lambda: Columns(snapshot))
    delta = delta_seconds(snapshot)
    small, large = per_node_seconds(1000), per_node_seconds(100_000)
    return {
        "calibration loop, s": calibration_seconds(),
        "columns of 5000 nodes / 150 000 workloads, s": built,
        "delta of ten workloads, s": delta,
        "columns per node at 1000 nodes, s": small,
        "columns per node at 100 000 nodes, s": large,
        "bars": {
            "columns of 5000 nodes / 150 000 workloads, s": [built, "<=", 1.0],
            "delta of ten workloads, s": [delta, "<=", 0.001],
            "growth per node from 1000 to 100 000": [large / small, "<=", 1.5],
        },
    }
