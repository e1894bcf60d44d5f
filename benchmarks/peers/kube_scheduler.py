"""The real kube-scheduler on the test control plane, measured while it places pods that wait.

Only etcd, the API server and the scheduler run: a node needs no kubelet to be scheduled to, and kwok or the
controllers would take the processors that the scheduler could use. The hard thing is to measure scheduling
and not the creation of pods: the scheduler is stopped as a process while they are created, and goes on when
all of them wait. Its CPU time is that of its own process; etcd and the API server, which work for it, are
not counted, but slow it down by wall time.
"""

import os
import signal
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

sys.path.append(str(Path(__file__).resolve().parents[2] / "tests"))

from plane.build import PlaneAbsentError, plane_program
from plane.plane import Plane
from plane.settings import SCHEDULER

__all__ = ["PlaneAbsentError", "Rate", "place"]

DEFAULT_SHARE_OF_NODES = 0
"""What kube-scheduler comes with: it looks at fewer nodes the more there are."""
WARM_SECONDS = 3
POLL_SECONDS = 0.05
PLACE_SECONDS_MAX = 600
WAITING = "/api/v1/pods?fieldSelector=spec.nodeName%3D&limit=1"


class Rate(NamedTuple):
    """How many pods got a node, and what that took."""

    placed: int
    wall_seconds: float
    cpu_seconds: float


def place(nodes: Iterable[Mapping[str, Any]], pods: Iterable[Mapping[str, Any]]) -> Rate:
    """Create nodes and pods, and measure until every pod has a node; raises a PlaneAbsentError."""
    settings = {"percentageOfNodesToScore": DEFAULT_SHARE_OF_NODES}
    with Plane(plane_program(), {SCHEDULER}, scheduler=settings) as plane:
        plane.create_many(nodes)
        time.sleep(WARM_SECONDS)
        process = plane.process_id(SCHEDULER)
        os.kill(process, signal.SIGSTOP)
        try:
            count = len(plane.create_many(pods))
            before = cpu_seconds(process)
        finally:
            os.kill(process, signal.SIGCONT)
        began = time.monotonic()
        while plane.get(WAITING)["items"]:
            assert time.monotonic() - began < PLACE_SECONDS_MAX, "kube-scheduler leaves pods without a node"
            time.sleep(POLL_SECONDS)
        return Rate(count, time.monotonic() - began, cpu_seconds(process) - before)


def cpu_seconds(process: int) -> float:
    """Return the CPU seconds, user and system, that a running process has used."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
