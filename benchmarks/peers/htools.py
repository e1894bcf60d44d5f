"""Ganeti's own htools, as Debian ships it, and ours: whole processes, by the CPU time of the finished child.

Ours run with their byte code at hand, as after any installation.
"""

import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

SECONDS_MAX = 1500


class Ran(NamedTuple):
    """What a tool printed, and the CPU seconds it took."""

    printed: str
    seconds: float

    @property
    def moves(self) -> list[str]:
        """The lines of moves."""
        return [line for line in self.printed.splitlines() if " a=" in line]


def program() -> str | None:
    """Return Ganeti's htools; None where it is not installed."""
    return os.environ.get("ULLAGE_HTOOLS") or shutil.which("hbal")


def theirs(tool: str, *words: str) -> Ran:
    """Run one of Ganeti's tools."""
    return _run([program() or tool, *words], {"HTOOLS": tool})


def ours(tool: str, *words: str, cache: Path, rounds: int = 1) -> Ran:
    """Run one of ours, best of some rounds after one that leaves byte code in a folder."""
    command = [str(Path(sys.executable).with_name("ullage")), "htools", tool, *words]
    environment = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(cache)}
    if not any(cache.iterdir()):
        _run([*command[:3], "--version"], environment)
        rounds += 1
    return min((_run(command, environment) for _ in range(rounds)), key=lambda ran: ran.seconds)


def _run(command: list[str], environment: Mapping[str, str]) -> Ran:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        command,
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "LC_ALL": "C.UTF-8", **environment},
        timeout=SECONDS_MAX,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Ran(done.stdout, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
