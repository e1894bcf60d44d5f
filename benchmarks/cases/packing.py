"""Packing quality: the share of all GPUs that is allocated as workloads of a real trace keep arriving.

The trace (Alibaba cluster-trace-gpu-v2023) and the yardstick, published results of the simulator of "Beware
of Fragmentation" (USENIX ATC '23), are read from ../shared and not shipped; without them the case is skipped.
As in that simulator: the nodes with GPUs in random order, all pods of the trace in random order, then pods
drawn from it until they ask for 1.3 times all GPUs; nothing ever leaves, what does not fit is turned away.
At each level, the pods arrived so far in percent of all GPUs, the allocated percentage is noted.
The trace is read by the product's own source, and each pod placed by a trial with policy `pack`.
"""

import csv
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from measure import calibration_seconds
from ullage.engine.columns import Columns
from ullage.engine.trial import Trial
from ullage.model.cluster import Workload
from ullage.model.resources import GPU_MILLI
from ullage.sources.csv_source import csv_snapshot
from ullage.sources.input_files import InputFile

TRACE = Path(__file__).resolve().parents[3] / "shared" / "data" / "openb"
FILES = ("openb_node_list_gpu_node.csv", "openb_pod_list_default.csv", "fgd_allocation_ratio.csv")
YARDSTICK = {"workload": "openb_pod_list_default", "sc_policy": "06-FGD", "tune": "1.3"}
SEEDS = range(42, 52)
LOAD_PERCENT = 130
WHOLE_MILLI = 1000
LEVELS = range(LOAD_PERCENT + 1)
EARLY, LATE = range(91), range(95, LOAD_PERCENT + 1)
EARLY_BEHIND_MAX = 0.2
SHOWN = (10, 30, 50, 70, 80, 85, 90, 92, 94, 95, 96, 97, 98, 100, 105, 110, 115, 120, 125, 130)


def read_trace() -> Columns:
    """Return the nodes with GPUs, and the pods, all of which wait."""
    files = [InputFile(name, (TRACE / name).read_bytes()) for name in FILES[:2]]
    return Columns(csv_snapshot(files, "openb"))


def published() -> list[float]:
    """Return the yardstick at each level, the mean of its seeds."""
    with (TRACE / FILES[2]).open(encoding="utf-8", newline="") as lines:
        runs = [row for row in csv.DictReader(lines) if YARDSTICK.items() <= row.items()]
    return [float(np.mean([float(row[str(level)]) for row in runs])) for level in LEVELS]


def arrivals(pods: Sequence[Workload], gpu_milli: int, random: np.random.Generator) -> list[Workload]:
    """Return the pods in random order, and more of them until they ask for 1.3 times all GPUs."""
    order = [pods[index] for index in random.permutation(len(pods))]
    asked = sum(pod.requests.of(GPU_MILLI) for pod in order)
    while True:
        pod = pods[int(random.integers(len(pods)))]
        amount = pod.requests.of(GPU_MILLI)
        if 100 * (asked + min(amount, WHOLE_MILLI)) > LOAD_PERCENT * gpu_milli:
            return order
        asked += amount
        order.append(pod)


def simulate(columns: Columns, seed: int) -> tuple[list[float], float]:
    """Return the allocated percentage at each level, and the CPU seconds of one placement."""
    gpu_milli = sum(node.capacity.of(GPU_MILLI) for node in columns.nodes)
    order = arrivals(list(columns.snapshot.workloads), gpu_milli, np.random.default_rng(seed))
    arrived, allocated = [0], [0]
    start = time.process_time()
    trial = Trial(columns, "pack", seed)
    for pod in order:
        amount = pod.requests.of(GPU_MILLI)
        arrived.append(arrived[-1] + amount)
        shape = trial.shape_of(pod)
        row = trial.pick(shape)
        if row >= 0:
            trial.place(shape, row)
        allocated.append(allocated[-1] + (amount if row >= 0 else 0))
    seconds = (time.process_time() - start) / len(order)
    level = np.rint(100 * np.array(arrived[1:]) / gpu_milli)
    percent = np.round(100 * np.array(allocated[1:]) / gpu_milli, 2)
    return [float(percent[level == each].mean()) for each in LEVELS], seconds


def run() -> dict[str, object]:
    """Measure the mean over ten seeds at each level against the published figures."""
    missing = [name for name in FILES if not (TRACE / name).is_file()]
    if missing:
        return {"skipped": f"no {', '.join(missing)} in ../shared/data/openb", "bars": {}}
    columns, theirs = read_trace(), published()
    runs = [simulate(columns, seed) for seed in SEEDS]
    ours = np.mean([levels for levels, _ in runs], axis=0).tolist()
    ahead = [round(mine - other, 3) for mine, other in zip(ours, theirs, strict=True)]
    table = {
        f"GPUs allocated at {level} % arrived": (
            f"{ours[level]:.2f} %, FGD {theirs[level]:.2f} %, "
            f"{ahead[level]:+.2f}{verdict(level, ahead[level])}"
        )
        for level in SHOWN
    }
    return {
        "calibration loop, s": calibration_seconds(),
        "one placement among 1213 nodes, CPU s": min(seconds for _, seconds in runs),
        **table,
        "levels": {str(level): [round(ours[level], 3), round(theirs[level], 3)] for level in SHOWN},
        "bars": {
            "points ahead of FGD, least up to level 90": [
                min(ahead[level] for level in EARLY),
                ">=",
                -EARLY_BEHIND_MAX,
            ],
            "points ahead of FGD, least at 95 to 130": [min(ahead[level] for level in LATE), ">=", 0],
        },
    }


def verdict(level: int, ahead: float) -> str:
    """Return whether the bar of a level is met; none is set between 90 and 95."""
    if level not in EARLY and level not in LATE:
        return ""
    return ", met" if ahead >= (-EARLY_BEHIND_MAX if level in EARLY else 0) else ", MISSED"
