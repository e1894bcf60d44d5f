"""The guide is true: its commands, run one after the other on a real control plane, show what it says.

The Deployments of the installation are not run here, because there are no containers: their processes are
started with the same arguments, as the same service accounts.
"""

import re
import subprocess
from pathlib import Path

import pytest

from kube_cluster import KubeCluster, until
from ullage.kube.install.choices import Choices

ROOT = Path(__file__).resolve().parents[2]
GUIDE = ROOT / "docs" / "guides" / "kubernetes.md"
SECTION = "## Borrow, and take it back"
WORDS_OF_ROW = {"pods": 2, "elasticquotas": 4}
"""How many words of a row do not depend on the time of day."""


def steps() -> list[tuple[str, list[str]]]:
    """Return the commands of the section, each with the lines it shows."""
    text = GUIDE.read_text(encoding="utf-8").partition(SECTION)[2].partition("\n## ")[0]
    found: list[tuple[str, list[str]]] = []
    for line in re.findall(r"^    (.*)$", text, re.MULTILINE):
        if line.startswith("$ "):
            found.append((line.removeprefix("$ "), []))
        else:
            found[-1][1].append(line)
    return found


@pytest.fixture
def cluster(plane_program):
    with KubeCluster(plane_program, choices=Choices(gpu_memory_gigabytes=10)) as running:
        running.nodes(1, **{"nvidia.com/gpu": "8"})
        for component in ("operator", "scheduler"):
            running.start(component, "--gpu-memory-gb", "10")
        yield running


def kubectl(cluster: KubeCluster, command: str) -> str:
    program, *arguments = command.split()
    assert program == "kubectl"
    asked = [cluster.plane.program, "kubectl", "--kubeconfig", cluster.plane.kubeconfig(), *arguments]
    done = subprocess.run(asked, capture_output=True, text=True, check=False, timeout=60, cwd=ROOT)
    assert done.returncode == 0, f"{command}: {done.stderr}"
    return done.stdout


def rows(lines: list[str], words: int) -> list[list[str]]:
    return sorted(line.split()[:words] for line in lines[1:])


@pytest.mark.slow
def test_the_example_works_as_written(cluster):
    commands = steps()
    assert len(commands) == 9
    for command, shown in commands:
        if not shown:
            kubectl(cluster, command)
            continue
        kind = command.removeprefix("kubectl get ").removeprefix("kubectl ").split()[0]
        if kind == "events":
            reason = shown[1].partition("0/1 nodes")[2]
            until(lambda c=command, r=reason: r in kubectl(cluster, c), f"{command} says {reason}")
            continue
        words = WORDS_OF_ROW[kind]
        wanted = rows(shown, words)
        until(
            lambda c=command, w=words, v=wanted: rows(kubectl(cluster, c).splitlines(), w) == v,
            f"{command} shows {wanted}",
        )
