"""A cluster whose kube-scheduler asks our extender, as the guide tells it to."""

import re
from pathlib import Path
from typing import Any

import yaml

from kube_cluster import KubeCluster, KubeProcess, free_port_numbers
from plane.plane import Plane
from plane.settings import KWOK, SCHEDULER

KUBE_SCHEDULER = "default-scheduler"
GUIDE = Path(__file__).resolve().parents[1] / "docs" / "guides" / "kubernetes.md"


def settings(port: int) -> dict[str, Any]:
    """What the guide tells kube-scheduler, with an extender of this host."""
    blocks = re.findall(r"^```yaml\n(.*?)^```", GUIDE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    (found,) = (each for each in blocks if "KubeSchedulerConfiguration" in each)
    written = yaml.safe_load(found)
    written["extenders"][0]["urlPrefix"] = f"http://127.0.0.1:{port}"
    return {name: written[name] for name in ("percentageOfNodesToScore", "profiles", "extenders")}


class Extended(KubeCluster):
    """A cluster whose kube-scheduler asks our extender."""

    def __init__(self, program: Path, *parts: str) -> None:
        super().__init__(program)
        (self.port,) = free_port_numbers(1)
        self.plane = Plane(program, (KWOK, SCHEDULER, *parts), scheduler=settings(self.port))

    def start_extender(self, *arguments: str, port: int = 0, server: str = "") -> KubeProcess:
        """Start an extender where kube-scheduler asks, or at another port; perhaps behind a proxy."""
        return self.start(
            "extender", "--extender-host", "127.0.0.1", "--advertise-host", "127.0.0.1",
            "--extender-port", str(port or self.port), *arguments,
            ready="serves kube-scheduler", server=server,
        )  # fmt: skip
