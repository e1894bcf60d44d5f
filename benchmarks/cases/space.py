"""Space beside Ganeti's hspace and hcheck: pairs, the check of global N+1, and a check of a whole cluster."""

import gc
import sys
import tempfile
import time
from pathlib import Path

from msgspec.structs import replace

sys.path.append(str(Path(__file__).resolve().parents[2] / "tests"))

from ganeti_clusters import Kind, random_cluster
from peers import htools
from ullage.model.ganeti import MIB, GanetiCluster, InstancePolicy, Size
from ullage.service.htools.tools import run_tool
from ullage.sources.ganeti.text_writer import write_text

SEED = 1
ROUNDS = 3
LARGEST = Size(8192 * MIB, 8, 102_400 * MIB, 16, 8, 12)
USUAL = Size(2048 * MIB, 2, 20_480 * MIB)
SIMULATED = (
    "--simulate", "p,80,4t,64g,16", "--disk-template", "drbd",
    "--standard-alloc", "100g,4g,2", "--tiered-alloc", "200g,16g,4",
)  # fmt: skip
MACHINE_READABLE = "--machine-readable"


def shared(nodes: int) -> GanetiCluster:
    """Return a cluster with shared storage, ten instances to a node, and sizes to fill it with."""
    cluster = random_cluster(SEED, Kind(nodes, 10 * nodes, "ext"))
    policy = InstancePolicy(USUAL, ((Size(128 * MIB, 1, 1024 * MIB), LARGEST),), ("ext",))
    return replace(
        cluster,
        groups=tuple(replace(group, policy=policy) for group in cluster.groups),
        instances=tuple(replace(each, template="ext") for each in cluster.instances),
        policy=policy,
    )


WHY = {
    "hspace, 20 nodes, shared storage, N+1, search, times faster": (
        "the search is ninety trials of fifteen steps, each a dozen operations on arrays of twenty nodes: "
        "their number takes the time, not their size"
    )
}


def run() -> dict[str, object]:
    """Measure hspace on 80 nodes with DRBD and on 20 with shared storage, and hcheck on 80 of these."""
    figures: dict[str, object] = {}
    bars: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder, "cache")
        cache.mkdir()
        files = {}
        for nodes in (20, 80):
            files[nodes] = str(Path(folder, f"{nodes}.data"))
            Path(files[nodes]).write_text(write_text(shared(nodes)), encoding="utf-8")
        runs = (
            ("hspace, 80 DRBD nodes", "hspace", SIMULATED, 80),
            ("hspace, 20 nodes, shared storage, N+1", "hspace", ("-t", files[20]), None),
            ("hcheck, 80 nodes, shared storage", "hcheck", ("-t", files[80]), 20),
        )
        for what, tool, words, bar in runs:
            ours = htools.ours(tool, *words, MACHINE_READABLE, cache=cache, rounds=ROUNDS)
            figures[f"{what}, ours, process, s"] = ours.seconds
            if htools.program():
                theirs = htools.theirs(tool, *words, MACHINE_READABLE)
                assert tool == "hcheck" or ours.printed == theirs.printed, f"{tool} prints something else"
                figures[f"{what}, {tool}, process, s"] = theirs.seconds
                if bar is not None:
                    bars[f"{what}, times faster"] = [theirs.seconds / ours.seconds, ">=", bar]
                else:
                    searched = search_seconds(tool, *words)
                    figures[f"{what}, ours, search, s"] = searched
                    bars[f"{what}, search, times faster"] = [theirs.seconds / searched, ">=", 50]
    return {**figures, "bars": bars}


def search_seconds(tool: str, *words: str) -> float:
    """Return the CPU seconds of a tool without the start of its process, the best of some rounds.

    Without the garbage collector, as the program runs its tools.
    """
    found = []
    gc.disable()
    for _ in range(ROUNDS):
        start = time.process_time()
        run_tool(tool, words)
        found.append(time.process_time() - start)
    gc.enable()
    return min(found)
