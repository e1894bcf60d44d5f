"""A million pods on 100 000 nodes, and how the cost grows on the way there from 1000 nodes.

Ten pods for each node, in batches of equal replicas: 200 batches however large the cluster is, or batches of
50 however many that makes. Every batch is a shape of its own. The time is CPU time from columns to the last
placement; each measurement is a process of its own, because memory that was used once stays with its
process, and its peak is that of the whole process: Python, NumPy, the records and the engine.
"""

import json
import os
import random
import resource
import subprocess
import sys
import time
from pathlib import Path

from measure import calibration_seconds, python
from ullage.engine.columns import Columns
from ullage.engine.placement.batches import place_replicas
from ullage.engine.trial import Trial
from ullage.model.cluster import Node, Snapshot, Workload
from ullage.model.resources import Resources
from ullage.model.table import Table

SIZES = (1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000)
PODS_PER_NODE = 10
FEW_BATCHES, SMALL_BATCH = 200, 50
FEW_SECONDS_MAX, SMALL_SECONDS_MAX = 3.0, 60.0
PEAK_BYTES_MAX = 1_000_000_000
ROUNDS = 3
CAPACITY = Resources({"cpu": 64_000, "memory": 256 << 30, "pods": 110})
CHILD_SECONDS_MAX = 900


def batches_of(kind: str, nodes: int) -> int:
    """Return how many batches there are: 200, or as many as batches of 50 make."""
    return FEW_BATCHES if kind == "few" else nodes * PODS_PER_NODE // SMALL_BATCH


def fill(nodes: int, batches: int) -> tuple[float, int]:
    """Place ten pods for each node in so many batches; return CPU seconds and the peak of memory in bytes."""
    draw = random.Random(1)  # noqa: S311 - a fixed draw, not a secret
    replicas = nodes * PODS_PER_NODE // batches
    columns = Columns(Snapshot(nodes=Table(_node(row) for row in range(nodes))))
    waiting = [_workload(number, draw) for number in range(batches)]
    start = time.process_time()
    trial = Trial(columns)
    placed = sum(sum(place_replicas(trial, trial.shape_of(each), replicas).values()) for each in waiting)
    seconds = time.process_time() - start
    assert placed == replicas * batches == nodes * PODS_PER_NODE, placed
    return seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _node(row: int) -> Node:
    name = f"n{row:06}"
    labels = {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": f"z{row % 10}"}
    return Node(name, CAPACITY, reserve=Resources({}), labels=labels)


def _workload(number: int, draw: random.Random) -> Workload:
    amounts = {"cpu": draw.randrange(1, 200) * 10, "memory": draw.randrange(1, 1600) << 22, "pods": 1}
    return Workload(f"w{number}", namespace="default", state="init", requests=Resources(amounts))


def filled(nodes: int, kind: str) -> tuple[float, int]:
    """Measure in a process of its own."""
    done = subprocess.run(
        python(str(Path(__file__)), str(nodes), str(batches_of(kind, nodes))),
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[1])},
        timeout=CHILD_SECONDS_MAX,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    seconds, peak_bytes = json.loads(done.stdout)
    return seconds, peak_bytes


def figure_name(nodes: int, kind: str, what: str) -> str:
    """Return the name of a figure of the growth table."""
    batches = "200 batches" if kind == "few" else "batches of 50"
    return f"{nodes} nodes, {nodes * PODS_PER_NODE} pods, {batches}, {what}"


def run() -> dict[str, object]:
    """Measure the growth up to a million pods, and hold the last row against the bars."""
    figures: dict[str, object] = {"calibration loop, s": calibration_seconds()}
    seconds, peaks = {}, []
    for nodes in SIZES:
        for kind in ("few", "small"):
            rounds = ROUNDS if nodes < SIZES[-1] or kind == "few" else 1
            measured = [filled(nodes, kind) for _ in range(rounds)]
            seconds[nodes, kind] = min(each[0] for each in measured)
            peaks.append(max(each[1] for each in measured))
            figures[figure_name(nodes, kind, "CPU s")] = seconds[nodes, kind]
            figures[figure_name(nodes, kind, "peak bytes")] = peaks[-1]
    return {
        **figures,
        "bars": {
            "a million pods as 200 x 5000, CPU s": [seconds[SIZES[-1], "few"], "<=", FEW_SECONDS_MAX],
            "a million pods as 20 000 x 50, CPU s": [seconds[SIZES[-1], "small"], "<=", SMALL_SECONDS_MAX],
            "peak of the whole process, bytes": [max(peaks), "<=", PEAK_BYTES_MAX],
        },
    }


if __name__ == "__main__":
    print(json.dumps(fill(int(sys.argv[1]), int(sys.argv[2]))))
