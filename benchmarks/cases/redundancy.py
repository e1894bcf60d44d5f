"""N+1 of 5000 nodes with 150 000 pods: each node lost in turn, everything on it really placed anew.

The time is CPU time from columns to the answer: shapes compiled, nodes grouped, every loss played through.
With constraints a third of the 200 shapes have a spread over zones or keep off nodes that run their like.
"""

import random
import time

from measure import calibration_seconds
from ullage.engine.columns import Columns
from ullage.engine.redundancy.losses import Losses
from ullage.model.cluster import Node, Snapshot, Workload
from ullage.model.constraints import (
    Affinity,
    Constraints,
    LabelSelector,
    PodAffinity,
    PodAffinityTerm,
    TopologySpread,
)
from ullage.model.resources import Resources
from ullage.model.table import Table

NODES, PODS_PER_NODE, SHAPES, ZONES = 5000, 30, 200, 10
HOSTNAME, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
PLAIN_SECONDS_MAX, CONSTRAINED_SECONDS_MAX = 2.0, 10.0
ROUNDS = 2
CAPACITY = Resources({"cpu": 64_000, "memory": 256 << 30, "pods": 110})


def constraints_of(shape: int, labels: dict[str, str]) -> Constraints:
    """Return the rules of a shape of the constrained third."""
    alike = LabelSelector(match_labels=labels)
    if shape % 2:
        return Constraints(topology_spread=(TopologySpread(200, ZONE, label_selector=alike),))
    away = PodAffinity(required=(PodAffinityTerm(HOSTNAME, alike),))
    return Constraints(affinity=Affinity(pod_anti_affinity=away))


def cluster(*, constrained: bool, nodes: int = NODES) -> Snapshot:
    """Return nodes with thirty running workloads on each; no node runs a constrained shape twice."""
    draw = random.Random(1)  # noqa: S311 - a fixed draw, not a secret
    shapes = []
    for shape in range(SHAPES):
        labels = {"app": f"a{shape}"}
        rules = constraints_of(shape, labels) if constrained and shape % 3 == 0 else Constraints()
        amounts = {"cpu": draw.randrange(1, 30) * 100, "memory": draw.randrange(1, 24) << 28, "pods": 1}
        shapes.append((labels, rules, Resources(amounts)))
    workloads = []
    for row in range(nodes):
        for number, shape in enumerate(draw.sample(range(SHAPES), PODS_PER_NODE)):
            labels, rules, requests = shapes[shape]
            workloads.append(
                Workload(
                    f"w{row}-{number}",
                    namespace="default",
                    node=f"n{row:06}",
                    labels=labels,
                    constraints=rules,
                    requests=requests,
                )
            )
    return Snapshot(nodes=Table(_node(row) for row in range(nodes)), workloads=Table(workloads))


def _node(row: int) -> Node:
    name = f"n{row:06}"
    labels = {HOSTNAME: name, ZONE: f"z{row % ZONES}"}
    return Node(name, CAPACITY, reserve=Resources({}), labels=labels)


def survey_seconds(*, constrained: bool) -> tuple[float, int]:
    """Return the CPU seconds of asking about every loss of one node, and how many cost someone a place."""
    columns = Columns(cluster(constrained=constrained))
    seconds = []
    for _ in range(ROUNDS):
        start = time.process_time()
        survey = Losses(columns).every(1)
        seconds.append(time.process_time() - start)
        assert survey.losses == NODES, survey
        assert survey.untried == 0, survey
    return min(seconds), len(survey.worst)


def run() -> dict[str, object]:
    """Measure without and with constraints."""
    plain, plain_worst = survey_seconds(constrained=False)
    constrained, constrained_worst = survey_seconds(constrained=True)
    return {
        "calibration loop, s": calibration_seconds(),
        "N+1 of 5000 nodes / 150 000 pods, CPU s": plain,
        "losses that cost someone a place": plain_worst,
        "the same with constraints, CPU s": constrained,
        "losses that cost someone a place, with constraints": constrained_worst,
        "bars": {
            "N+1 of 5000 nodes / 150 000 pods, CPU s": [plain, "<=", PLAIN_SECONDS_MAX],
            "the same with constraints, CPU s": [constrained, "<=", CONSTRAINED_SECONDS_MAX],
        },
    }
