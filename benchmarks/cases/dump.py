"""A dump of 30 000 pods to a snapshot, against `json.load` of the same file: CPU time and peak memory.

Each reading is a process of its own, because memory that was used once stays with its process, and the two
readers take turns, so that a busy machine is busy for both. The dump is made once, from a fixed seed, and
kept in .cache/benchmarks.
"""

import json
import subprocess
from itertools import chain
from pathlib import Path

import msgspec

from dump_objects import Draw, node_names, nodes, pods
from measure import ROUNDS, calibration_seconds, python

DUMP = Path(__file__).resolve().parents[2] / ".cache" / "benchmarks" / "dump-30000-pods.json"
SEED = 20_260_101
NODES = 1_000
PODS = 30_000
SPEEDUP_MIN = 3.0
PEAK_BYTES_MAX = 700_000_000
READING_SECONDS_MAX = 300

MEASURED = """
import json, resource, sys, time
{imports}
start = time.process_time()
counts = {reading}
seconds = time.process_time() - start
peak_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(json.dumps([seconds, peak_bytes, counts]))
"""
OURS = MEASURED.format(
    imports="from ullage.sources.kubernetes.dump import read_dump\n"
    "def counted(snapshot): return [len(snapshot.nodes), len(snapshot.workloads)]",
    reading="counted(read_dump(sys.argv[1]))",
)
PEER = MEASURED.format(
    imports="def counted(items):\n"
    "    kinds = [item['kind'] for item in items]\n"
    "    return [kinds.count('Node'), kinds.count('Pod')]",
    reading="counted(json.load(open(sys.argv[1]))['items'])",
)


def write_dump(path: Path) -> None:
    """Write the dump as `kubectl get nodes,pods -A -o json --show-managed-fields` does."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".part")
    draw = Draw(SEED)
    with unfinished.open("wb") as file:
        file.write(b'{\n    "apiVersion": "v1",\n    "items": [')
        comma = b""
        for item in chain(nodes(NODES, draw), pods(PODS, node_names(NODES), draw)):
            text = msgspec.json.format(msgspec.json.encode(item), indent=4)
            file.write(comma + b"\n        " + text.replace(b"\n", b"\n        "))
            comma = b","
        file.write(
            b'\n    ],\n    "kind": "List",\n    "metadata": {\n        "resourceVersion": ""\n    }\n}\n'
        )
    unfinished.rename(path)


def reading(program: str, path: Path) -> tuple[float, int]:
    """Return the CPU seconds and the peak memory of a process that reads the dump."""
    done = subprocess.run(
        python("-c", program, str(path)),
        check=True,
        capture_output=True,
        text=True,
        timeout=READING_SECONDS_MAX,
    )
    seconds, peak_bytes, counts = json.loads(done.stdout)
    assert counts == [NODES, PODS], counts
    return seconds, peak_bytes


def run() -> dict[str, object]:
    """Read the dump with both readers by turns and compare the best of each."""
    if not DUMP.exists():
        write_dump(DUMP)
    rounds = [(reading(OURS, DUMP), reading(PEER, DUMP)) for _ in range(ROUNDS)]
    ours, ours_bytes = (min(figures) for figures in zip(*(mine for mine, _ in rounds), strict=True))
    peer, peer_bytes = (min(figures) for figures in zip(*(theirs for _, theirs in rounds), strict=True))
    peak_bytes = max(peak for (_, peak), _ in rounds)
    return {
        "calibration loop, s": calibration_seconds(),
        "size of the dump, bytes": DUMP.stat().st_size,
        "dump of 30 000 pods to a snapshot, s": ours,
        "json.load of the same file, s": peer,
        "peak of ours, bytes (least of five)": ours_bytes,
        "peak of json.load, bytes (least of five)": peer_bytes,
        "bars": {
            "times faster than json.load": [peer / ours, ">=", SPEEDUP_MIN],
            "peak memory, bytes (most of five)": [peak_bytes, "<=", PEAK_BYTES_MAX],
        },
    }


def main() -> None:
    """Print the figures."""
    for name, figure in run().items():
        print(f"{name}: {figure}")


if __name__ == "__main__":
    main()
