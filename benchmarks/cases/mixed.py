"""A hundred shapes mixed one by one, a third of them with affinity or spread, beside the real kube-scheduler.

30 000 pods on 1000 nodes in random order; each is placed before the next is looked at. The time is that of
the search: rules compiled, scores, choices, placements; reading the cluster is not part of it. "Soft" turns
the same affinities and spreads into preferences. kube-scheduler places 2000 pods of the same shapes on the
same nodes, with its default settings and `qps` and `burst` 5000; ours places those same 2000 too.
"""

import random
import time
from collections.abc import Sequence

from measure import calibration_seconds
from peers.kube_scheduler import PlaneAbsentError, place
from placement_objects import mixed_pods, plain_nodes, renamed, snapshot_of
from ullage.engine.columns import Columns
from ullage.engine.trial import Trial
from ullage.model.cluster import Snapshot, Workload

NODES, SHAPES = 1000, 100
PODS, PEER_PODS = 30_000, 2000
NODE = {"cpu": "64", "memory": "256Gi"}
HARD_MIN, PREFERENCES_MIN = 40_000, 20_000
ROUNDS = 3
SEED = 2
WHY = {
    "policy spread, hard rules, pods per CPU s": (
        "every pod is placed before the next is looked at, so pods share no work: about 35 calls for each, "
        "nearly half of the time to bring the scores of the nodes that changed up to date"
    ),
    "policy preferences, hard rules, pods per CPU s": (
        "as above with about 45 calls for each pod: both of kube-scheduler's scores of load are worked out "
        "for every node that changed, which is a quarter of the time"
    ),
    "policy preferences, soft rules, pods per CPU s": (
        "as above with about 48 calls for each pod: picking the node by its preferences takes over a quarter "
        "of the time"
    ),
}
"""Why bars are missed where they are, by profile."""


def arrivals(count: int) -> list[int]:
    """Return the shape of each pod, in the order in which they come."""
    draw = random.Random(SEED)  # noqa: S311 - a fixed draw, not a secret
    return [draw.randrange(SHAPES) for _ in range(count)]


def cluster(*, hard: bool) -> tuple[Snapshot, list[Workload]]:
    """Return the cluster and a waiting workload of each shape."""
    snapshot = snapshot_of([*plain_nodes(NODES, **NODE), *mixed_pods(SHAPES, hard=hard)])
    return snapshot, list(snapshot.workloads)


def placed_in(snapshot: Snapshot, pods: Sequence[Workload], policy: str) -> float:
    """Return the CPU seconds of placing pods one by one, all of which must find a place."""
    trial = Trial(Columns(snapshot), policy)
    start = time.process_time()
    for each in pods:
        shape = trial.shape_of(each)
        row = trial.pick(shape)
        assert row >= 0, each.key
        trial.place(shape, row)
    return time.process_time() - start


def rate(policy: str, count: int = PODS, *, hard: bool = True) -> float:
    """Return the pods per CPU second of a policy, best of some rounds."""
    snapshot, workloads = cluster(hard=hard)
    pods = [workloads[shape] for shape in arrivals(count)]
    return count / min(placed_in(snapshot, pods, policy) for _ in range(ROUNDS))


def peer_figures() -> dict[str, object]:
    """Return what kube-scheduler does with the first of the same pods, and ours with the same number."""
    shapes = mixed_pods(SHAPES)
    pods = [renamed(shapes[shape], f"p{number:05}") for number, shape in enumerate(arrivals(PEER_PODS))]
    try:
        found = place(plain_nodes(NODES, **NODE), pods)
    except PlaneAbsentError as reason:
        return {"kube-scheduler skipped": str(reason)}
    assert found.placed == PEER_PODS, found
    ours = rate("preferences", PEER_PODS)
    return {
        "kube-scheduler, 2000 pods, pods per wall s": found.placed / found.wall_seconds,
        "kube-scheduler, 2000 pods, pods per CPU s": found.placed / found.cpu_seconds,
        "ours, preferences, the same 2000 pods, pods per CPU s": ours,
        "times the pods per CPU s of kube-scheduler": ours * found.cpu_seconds / found.placed,
    }


def run() -> dict[str, object]:
    """Measure hard rules, preferences, and kube-scheduler in one run."""
    hard = rate("spread")
    scored = rate("preferences")
    soft = rate("preferences", hard=False)
    return {
        "calibration loop, s": calibration_seconds(),
        "policy spread, hard rules, pods per CPU s": hard,
        "policy preferences, hard rules, pods per CPU s": scored,
        "policy preferences, soft rules, pods per CPU s": soft,
        **peer_figures(),
        "bars": {
            "policy spread, hard rules, pods per CPU s": [hard, ">=", HARD_MIN],
            "policy preferences, hard rules, pods per CPU s": [scored, ">=", PREFERENCES_MIN],
            "policy preferences, soft rules, pods per CPU s": [soft, ">=", PREFERENCES_MIN],
        },
    }
