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


def provenance() -> dict[str, str]:
    """Return what the figures were measured on."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    )
    return {
        "python": platform.python_version(),
        "processor": _processor(),
        "commit": commit.stdout.strip() or "unknown",
        "calibration_seconds": f"{calibration_seconds():.4f}",
    }


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def python(*arguments: str) -> list[str]:
    """Return the command line of this Python."""
    return [sys.executable, *arguments]
