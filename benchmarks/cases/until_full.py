"""Identical pods until nothing more fits, against cluster-capacity's library: counts, pods per CPU second.

Both are measured without starting up and without loading: ours from the snapshot to the answer (columns,
rules, search, reasons), cluster-capacity's by the CPU time of its `Run` alone, all threads. It runs as it
comes, with kube-scheduler's default settings, which let it look at less than half of 1000 nodes for each pod;
ours looks at all of them. At 5000 nodes it is stopped early and the rates are compared.

The second variant evaluates constraints: a node selector, taints tolerated and not, anti-affinity to pods
that run already, and a spread over zones that are not equal.
"""

import json
import subprocess
import time
from typing import NamedTuple

from measure import best_seconds, calibration_seconds
from peers.build import PeerAbsentError, cluster_capacity
from placement_objects import HOSTNAME, ZONES, Object, affinity, node, plain_nodes, pod, snapshot_of, spread
from ullage.engine.columns import Columns
from ullage.engine.placement.headroom import headroom
from ullage.model.cluster import Batch, Snapshot, Workload

SIZES = (100, 1000, 5000)
FULL_SIZE_MAX = 1000
PEER_PODS_MAX = 1000
"""Where the peer would take too long to fill a cluster."""
BAR_SIZE = 1000
TIMES_MIN = 100
ROUNDS = 3
PEER_SECONDS_MAX = 900
NODE = {"cpu": "32", "memory": "128Gi"}
POD = {"cpu": "4", "memory": "12Gi"}
ASKED, NOISY = "asked", "noisy"
VARIANTS = ("plain", "constrained")


class Question(NamedTuple):
    """A cluster and the pod of which as many as possible are wanted."""

    nodes: list[Object]
    pods: list[Object]
    pod: Object


def plain(size: int) -> Question:
    """Return equal nodes and a pod that asks for nothing but resources."""
    return Question(plain_nodes(size, **NODE), [], pod(ASKED, ASKED, **POD))


def constrained(size: int) -> Question:
    """Return nodes of which some are closed to a pod, each for another reason."""
    nodes, pods = [], []
    for row in range(size):
        taints = []
        if row % 8 == 6:
            taints = [{"key": "maintenance", "effect": "NoSchedule"}]
        elif row % 8 < 2:
            taints = [{"key": "dedicated", "value": "batch", "effect": "NoSchedule"}]
        labels = {"pool": "other" if row % 8 == 7 else "general"}
        name = f"n{row:06}"
        nodes.append(node(name, f"z{row // 8 % ZONES}", **NODE, labels=labels, taints=taints))
        if row % 16 == 2:
            pods.append(pod(f"noisy-{row}", NOISY, cpu="1", memory="1Gi", nodeName=name))
    asked = pod(
        ASKED,
        ASKED,
        **POD,
        nodeSelector={"pool": "general"},
        tolerations=[{"key": "dedicated", "operator": "Equal", "value": "batch", "effect": "NoSchedule"}],
        **affinity("podAntiAffinity", NOISY, HOSTNAME),
        **spread(ASKED, 5),
    )
    return Question(nodes, pods, asked)


def ours(snapshot: Snapshot, asked: Workload, policy: str = "spread") -> tuple[int, float]:
    """Return how many fit, and the CPU seconds from the snapshot to the answer."""
    found = []

    def work() -> None:
        found.append(headroom(Columns(snapshot), [Batch(asked)], placement=policy)[0].replicas)

    seconds = best_seconds(work, ROUNDS)
    assert len(set(found)) == 1, found
    return found[0], seconds


def theirs(question: Question, pods_max: int) -> tuple[int, float]:
    """Return how many cluster-capacity places, and the CPU seconds of its run."""
    done = subprocess.run(
        [cluster_capacity()],
        input=json.dumps({**question._asdict(), "max": pods_max}),
        capture_output=True,
        text=True,
        timeout=PEER_SECONDS_MAX,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    answer = json.loads(done.stdout)
    return answer["count"], answer["cpuSeconds"]


def compare(variant: str, size: int) -> tuple[dict[str, object], bool, float]:
    """Return the figures of a variant at a size, whether the counts agree, and how many times faster."""
    question = {"plain": plain, "constrained": constrained}[variant](size)
    snapshot = snapshot_of([*question.nodes, *question.pods, question.pod])
    asked = snapshot.workloads[f"default/{ASKED}"]
    count, seconds = ours(snapshot, asked)
    full = size <= FULL_SIZE_MAX
    peer_count, peer_seconds = theirs(question, 0 if full else PEER_PODS_MAX)
    agree = count == peer_count if full else peer_count == PEER_PODS_MAX <= count
    name = f"{variant}, {size} nodes"
    figures: dict[str, object] = {
        f"{name}, pods": count,
        f"{name}, pods of cluster-capacity": peer_count,
        f"{name}, pods per CPU s": count / seconds,
        f"{name}, pods per CPU s of cluster-capacity": peer_count / peer_seconds,
    }
    if size == BAR_SIZE:
        scored, scored_seconds = ours(snapshot, asked, "preferences")
        assert scored == count, (scored, count)
        figures[f"{name}, pods per CPU s, policy preferences"] = scored / scored_seconds
    return figures, agree, (count / seconds) / (peer_count / peer_seconds)


def run() -> dict[str, object]:
    """Measure both variants at all sizes, by turns with the peer."""
    try:
        cluster_capacity()
    except PeerAbsentError as reason:
        return {"skipped": str(reason), "bars": {}}
    figures: dict[str, object] = {"calibration loop, s": calibration_seconds()}
    bars: dict[str, object] = {}
    agreed = 0
    began = time.monotonic()
    for variant in VARIANTS:
        for size in SIZES:
            found, agree, times = compare(variant, size)
            figures |= found
            agreed += agree
            if size == BAR_SIZE:
                bars[f"{variant}, {size} nodes, times the pods per CPU s"] = [times, ">=", TIMES_MIN]
            else:
                figures[f"{variant}, {size} nodes, times the pods per CPU s"] = times
    figures["whole comparison, wall s"] = time.monotonic() - began
    bars["questions with the same answer"] = [agreed, ">=", len(VARIANTS) * len(SIZES)]
    return {**figures, "bars": bars}
