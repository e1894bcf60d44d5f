"""The guide is true: followed from its first line to its last on a real control plane, it shows what it says.

Every command is run that can be run here, in the order of the page, and every file is applied that it shows.
Not run are podman and helm, for which there is no registry, and the installation by kustomize, which would be
a second one. The Deployments of the installation are there, but nodes of kwok run no containers: whenever one
is installed, its process is started by the test, with the arguments that stand in the Deployment and as its
service account; and the webhook, for which there is no network, is registered at an address of this machine.
"""

import os
import re
import shlex
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from prometheus_client.parser import text_string_to_metric_families

from kube_cluster import KubeCluster, KubeProcess, free_port_numbers, until

ROOT = Path(__file__).resolve().parents[2]
GUIDE = ROOT / "docs" / "guides" / "kubernetes.md"
COMMAND_SECONDS_MAX = 120
NOT_RUN = ("podman ", "helm ", "kubectl apply --server-side -k ")
COMMANDS = 24
"""How many commands are run: a page that is read otherwise than it is meant must not pass."""
WORDS_OF_ROW = {"pods": 2, "elasticquotas": 4, "nodecapacities": 8}
"""How many words of a row do not depend on the time of day."""
LEFT_OUT = "..."
DEPLOYMENTS = "/apis/apps/v1/namespaces/ullage-system/deployments"
REGISTRATION = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/ullage"


class Step(NamedTuple):
    """A command with the lines that it shows, or a file with its content."""

    command: str = ""
    shown: tuple[str, ...] = ()
    file: str = ""
    content: str = ""


def steps(text: str) -> Iterator[Step]:
    """Yield what a reader does, in the order of the page."""
    above = ""
    for block in re.split(r"\n{2,}(?!    |```)|\n{2,}(?=    |```)", text):
        fenced = re.fullmatch(r"```yaml\n(.*)\n```", block, re.DOTALL)
        named = re.search(r"This is `([\w.]+)`", above)
        if fenced and named:
            yield Step(file=named[1], content=fenced[1])
        elif block.startswith("    "):
            yield from commands([line[4:] for line in block.replace("\\\n", " ").splitlines()])
        above = block


def commands(lines: list[str]) -> Iterator[Step]:
    """Yield the commands of a block; where one has a prompt, lines without are what is shown."""
    prompted = any(line.startswith("$ ") for line in lines)
    found: list[tuple[str, list[str]]] = []
    for line in lines:
        if line.startswith("$ ") or not prompted:
            found.append((line.removeprefix("$ "), []))
        else:
            found[-1][1].append(line)
    for command, shown in found:
        if not command.startswith(NOT_RUN):
            yield Step(command.removesuffix(" | less"), tuple(shown))


class Bare(KubeCluster):
    """A cluster on which nothing is installed yet."""

    def _install(self) -> None:
        """Leave that to the guide."""


class Reader:
    """Somebody who follows the guide."""

    def __init__(self, cluster: KubeCluster, folder: Path) -> None:
        self.cluster = cluster
        self.folder = folder
        self.ports: dict[str, int] = {}
        self._processes: list[KubeProcess] = []
        (folder / "examples").symlink_to(ROOT / "examples")

    def take(self, step: Step) -> None:
        if step.file:
            (self.folder / step.file).write_text(step.content, encoding="utf-8")
        elif step.command.startswith("ullage kube "):
            self._change(step.command)
        elif step.shown:
            self._compare(step)
        else:
            self.say(step.command)

    def say(self, command: str) -> str:
        """Run a command that is not refused, and return what it says."""
        done = self._run(command)
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        return done.stdout

    def _run(self, command: str) -> subprocess.CompletedProcess[str]:
        program, *arguments = shlex.split(command)
        plane = self.cluster.plane
        programs = {"kubectl": [plane.program, "kubectl"], "ullage": [sys.executable, "-m", "ullage"]}
        return subprocess.run(
            [*programs[program], *arguments],
            capture_output=True,
            text=True,
            check=False,
            timeout=COMMAND_SECONDS_MAX,
            cwd=self.folder,
            env={**os.environ, "KUBECONFIG": str(plane.kubeconfig()), "COLUMNS": "100"},
        )

    def _compare(self, step: Step) -> None:
        until(lambda: self._shows(step), f"{step.command} shows {step.shown}")

    def _shows(self, step: Step) -> bool:
        done = self._run(step.command)
        lines = (done.stdout or done.stderr).splitlines()
        kind = re.match(r"kubectl get (\w+)", step.command)
        if kind:
            words = WORDS_OF_ROW[kind[1]]
            return rows(lines, words) == rows(step.shown, words)
        if step.command.startswith("kubectl events"):
            return step.shown[1].partition("0/1 nodes")[2].removesuffix(LEFT_OUT) in done.stdout
        told = [" ".join(line.split()) for line in lines]
        return all(" ".join(line.split()) in told for line in step.shown if line != LEFT_OUT)

    # What is done to the installation

    def _change(self, command: str) -> None:
        """Install or uninstall; what runs then is what is installed then."""
        applies = "--apply" in command
        if applies:
            self._stop()
        said = self.say(command)
        if not applies:
            assert "nothing is deleted" in said if "uninstall" in command else "kind: Deployment" in said
        elif "uninstall" in command:
            assert self.cluster.plane.items(DEPLOYMENTS) == []
        else:
            self._start()

    def _stop(self) -> None:
        for process in self._processes:
            process.stop()
        if self._processes:  # its address is of this test, and nobody answers there
            self.cluster.plane.delete(REGISTRATION)
        self._processes.clear()

    def _start(self) -> None:
        self.cluster.plane.delete(REGISTRATION)
        for each in self.cluster.plane.items(DEPLOYMENTS):
            (container,) = each["spec"]["template"]["spec"]["containers"]
            _, component, *arguments = container["args"]
            port, extender_port = free_port_numbers(2)
            self.ports[component] = port
            arguments += ["--port", str(port)]
            if component == "operator":
                process = self.cluster.start_operator_with_webhook(*arguments)
            else:
                if component == "extender":
                    arguments += ["--extender-host", "127.0.0.1", "--extender-port", str(extender_port)]
                process = self.cluster.start(component, *arguments, ready='"leads"')
            self._processes.append(process)

    def figures(self) -> dict[str, float]:
        """Return what all processes tell Prometheus."""
        found: dict[str, float] = {}
        for port in self.ports.values():
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
                families = list(text_string_to_metric_families(answer.read().decode()))
            found |= {family.name: 0.0 for family in families}
            found |= {sample.name: sample.value for family in families for sample in family.samples}
        return found


def rows(lines: list[str] | tuple[str, ...], words: int) -> list[list[str]]:
    return sorted(line.split()[:words] for line in lines[1:])


def metrics_of(text: str) -> set[str]:
    """Return the names in the table of figures, of which some are written without their beginning."""
    found: set[str] = set()
    for line in re.findall(r"^\| (`ullage_.*?) \|", text, re.MULTILINE):
        first, *others = re.findall(r"`(\w+)`", line)
        stem = "_".join(first.split("_")[:2])
        found |= {first, *(f"{stem}{name}" if name.startswith("_") else name for name in others)}
    return found


@pytest.fixture
def reader(plane_program, tmp_path):
    with Bare(plane_program) as cluster:
        cluster.nodes(1, **{"nvidia.com/gpu": "8"})
        yield Reader(cluster, tmp_path)


@pytest.mark.slow
def test_the_guide_works_as_written_from_its_first_line_to_its_last(reader):
    text = GUIDE.read_text(encoding="utf-8")
    taken = list(steps(text))
    assert sum(bool(step.command) for step in taken) == COMMANDS
    assert [step.file for step in taken if step.file] == ["policy.yaml", "quota.yaml"]
    for step in taken:
        if "extender" in step.command:  # the scheduler goes, and with it what it has counted
            found = reader.figures()
            assert metrics_of(text) - found.keys() == set()
            assert found["ullage_scheduler_pods_evicted_total"] == 1
            assert found["ullage_scheduler_pods_waiting"] == 1
        reader.take(step)
