"""How things are measured here: CPU time, best of several, beside a fixed loop in the same process.

CPU time because the machine may be busy; the calibration loop because machines differ: a figure divided by
it can be compared between them. Whole programs are measured by the CPU time of the finished child.
"""

import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

ROUNDS = 5
HERE = Path(__file__).resolve().parent
RESULTS = "benchmarks/results"


def calibration_seconds() -> float:
    """Return the CPU seconds of a fixed pure-Python loop, best of five."""

    def loop() -> int:
        total = 0
        for number in range(1_000_000):
            total += number * number % 7
        return total

    return best_seconds(loop)


def best_seconds(work: Callable[[], object], rounds: int = ROUNDS) -> float:
    """Return the least CPU seconds that some work took."""
    found = []
    for _ in range(rounds):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return min(found)


def best_process_seconds(command: Sequence[str], rounds: int = ROUNDS, **environment: str) -> float:
    """Return the least CPU seconds, user and system, that a whole program took."""
    found = []
    for _ in range(rounds):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, capture_output=True, env={**os.environ, **environment})
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        found.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(found)


def provenance(folder: Path = HERE) -> dict[str, str | bool]:
    """Return what the figures were measured on.

    `dirty` says that files of the work tree differ from the commit: the figures are then of no commit.
    Figures themselves, which each run writes anew, are not counted.
    """
    changes = _git(folder, "status", "--porcelain", "--", ".", f":(exclude,top){RESULTS}")
    return {
        "python": platform.python_version(),
        "processor": _processor(),
        "commit": (_git(folder, "rev-parse", "--short", "HEAD") or "unknown").strip(),
        "dirty": changes is None or bool(changes.strip()),
        "calibration_seconds": f"{calibration_seconds():.4f}",
    }


def _git(folder: Path, *arguments: str) -> str | None:
    """Return what git prints of the work tree around a folder; None where there is none."""
    top = ["git", "-C", str(folder), "rev-parse", "--show-toplevel"]
    found = subprocess.run(top, capture_output=True, text=True, check=False)
    if found.returncode:
        return None
    command = ["git", "-C", found.stdout.strip(), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def python(*arguments: str) -> list[str]:
    """Return the command line of this Python."""
    return [sys.executable, *arguments]
