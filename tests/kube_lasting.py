"""Our processes as a kubelet keeps them: started again when they have ended; and with clocks that are wrong.

One that cannot renew its Lease has to end, and one that starts while the API server does may be refused, and
ends with a line that says so; whoever fails otherwise is an error.
"""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kube_cluster import KubeCluster, KubeProcess
from plane.proxy import Proxy

LEADS = '"leads"'
DAY_SECONDS = 86_400
LOOK_SECONDS = 0.3
DATED = {
    "scheduler": ("election", "events", "scheduler.actions"),
    "operator": ("election", "events", "operator.statuses"),
}
"""Modules of a process that write the time of day."""
SKEWED = """
import datetime, importlib, time

class Skewed(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return datetime.datetime.fromtimestamp(time.time(), tz)

right, right_nanoseconds = time.time, time.time_ns
time.time = lambda: right() + {seconds}
time.time_ns = lambda: right_nanoseconds() + {seconds} * 10**9
for name in {modules}:
    importlib.import_module(f"ullage.kube.{{name}}").datetime = Skewed
"""
"""What Python reads when it starts, in a folder of its path: the time of day is wrong from then on."""


@contextmanager
def kept_running(cluster: KubeCluster, component: str, proxy: Proxy | None = None) -> Iterator[None]:
    """Run a process, perhaps behind a proxy, and start it again when it has ended by itself."""
    server = proxy.server if proxy is not None else ""
    process = cluster.start(component, server=server)
    arguments = [str(each) for each in process.process.args[4:]]
    ended = threading.Event()
    wrong: list[str] = []

    def look() -> None:
        nonlocal process
        while not ended.wait(LOOK_SECONDS):
            code = process.process.poll()
            if code is not None:
                log = process.log.read_text(encoding="utf-8")
                if code not in {0, 1} or "Traceback" in log:
                    wrong.append(f"ended with {code}: {log[-2000:]}")
                process = KubeProcess(arguments, process.log)

    looking = threading.Thread(target=look)
    looking.start()
    try:
        yield
    finally:
        ended.set()
        looking.join()
        process.stop()
    assert not wrong, wrong[0]


def start_skewed(
    cluster: KubeCluster,
    component: str,
    seconds: int,
    monkeypatch: pytest.MonkeyPatch,
    folder: Path,
    *,
    server: str = "",
) -> KubeProcess:
    """Start a replica whose clock is wrong."""
    path = folder / f"clock{seconds}"
    path.mkdir()
    written = SKEWED.format(seconds=seconds, modules=DATED[component])
    (path / "sitecustomize.py").write_text(written, encoding="utf-8")
    with monkeypatch.context() as skewed:
        skewed.setenv("PYTHONPATH", str(path), prepend=os.pathsep)
        return cluster.start(component, server=server)


def renewed_day(cluster: KubeCluster, component: str) -> str:
    """Return the day of the last renewal of a Lease, as its holder's clock has it."""
    path = f"/apis/coordination.k8s.io/v1/namespaces/ullage-system/leases/ullage-{component}"
    renewed: str = cluster.plane.get(path)["spec"]["renewTime"]
    return renewed[:10]
