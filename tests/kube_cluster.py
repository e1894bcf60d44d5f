"""A cluster with an installation of ours on it: real control plane, kwok nodes, our processes beside it.

The processes run as their own service accounts, by tokens that the API server gives out, so their rights
are those that were installed and nothing more. The hard thing is what tests leave behind: every cluster is a
plane of its own, which takes four seconds, and its processes end with it.
"""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import yaml

from plane.plane import Plane
from plane.settings import KWOK, kubeconfig
from ullage.kube.install.choices import Choices
from ullage.kube.install.objects import objects

NAMESPACE = "ullage-system"
WAIT_SECONDS = 60
POLL_SECONDS = 0.05
TOKEN_SECONDS = 3600
NOT_RUN_HERE = {"Deployment", "Service", "PodDisruptionBudget", "ValidatingWebhookConfiguration"}
DEFINITION = "CustomResourceDefinition"
ULLAGE = (sys.executable, "-m", "ullage")


class KubeProcess:
    """One of our processes, from the command line that a Deployment gives it."""

    def __init__(self, arguments: Sequence[str], log: Path, program: Sequence[str] = ULLAGE) -> None:
        self.log = log
        with log.open("ab") as stream:
            self.process = subprocess.Popen(
                [*program, "kube", *arguments],
                stdout=stream,
                stderr=stream,
                stdin=subprocess.DEVNULL,
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
            )

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    def said(self, text: str) -> bool:
        """Whether the log holds a text; a process that has ended by itself is an error."""
        log = self.log.read_text(encoding="utf-8")
        if text in log:
            return True
        assert self.process.poll() is None, f"ended with {self.process.returncode}: {log[-3000:]}"
        return False

    def wait_until_it_says(self, text: str, seconds: float = WAIT_SECONDS) -> None:
        until(lambda: self.said(text), f"the log says {text!r}", seconds)

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


class KubeCluster:
    """A plane, what is installed on it, and the processes that were started; use it as a context."""

    def __init__(
        self, program: Path, parts: Collection[str] = (KWOK,), *, choices: Choices | None = None
    ) -> None:
        self.plane = Plane(program, parts)
        self.choices = choices or Choices(components=("operator", "scheduler", "extender"))
        self.program: Sequence[str] = ULLAGE
        self._stack = contextlib.ExitStack()
        self._processes: list[KubeProcess] = []

    def __enter__(self) -> Self:
        self._stack.enter_context(self.plane)
        try:
            self._install()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop_processes()
        self._stack.close()

    def stop_processes(self) -> None:
        """Stop all of ours."""
        for process in self._processes:
            process.stop()

    def _install(self) -> None:
        made = [each for each in objects(self.choices) if each["kind"] not in NOT_RUN_HERE]
        definitions = [each for each in made if each["kind"] == DEFINITION]
        self.plane.create_many(definitions)
        for each in definitions:
            path = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{each['metadata']['name']}"
            self.plane.wait_for(path, _is_established)
        rest = [each for each in made if each["kind"] != DEFINITION]
        for each in sorted(rest, key=lambda one: one["kind"] != "Namespace"):
            self.plane.create(each)

    # Our processes

    def kubeconfig(self, component: str, server: str = "") -> Path:
        """Write the access of a process: a token of its service account, perhaps behind a proxy."""
        path = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/ullage-{component}/token"
        asked = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"expirationSeconds": TOKEN_SECONDS},
        }
        token = self.plane.client().request("POST", path, asked)["status"]["token"]
        authority = self.plane.folder / ("proxy.pem" if server else "apiserver.crt")
        written = kubeconfig(server or self.plane.server, authority, component, token, NAMESPACE)
        file = self.plane.folder / f"kubeconfig-{component}-{len(self._processes)}"
        file.write_text(written, encoding="utf-8")
        return file

    def start(
        self, component: str, *arguments: str, ready: str = "follows the cluster", server: str = ""
    ) -> KubeProcess:
        """Start one of our processes, and return when it follows the cluster."""
        access = self.kubeconfig(component, server)
        log = self.plane.folder / f"{component}-{len(self._processes)}.log"
        quiet = ["--port", "0"] if "--port" not in arguments else []
        quiet += (
            ["--webhook-port", "0"] if component == "operator" and "--webhook-port" not in arguments else []
        )
        process = KubeProcess([component, "--kubeconfig", str(access), *quiet, *arguments], log, self.program)
        self._processes.append(process)
        process.wait_until_it_says(ready)
        return process

    def start_operator_with_webhook(self, *arguments: str) -> KubeProcess:
        """Start the operator and have the API server ask its webhook, at an address of this machine."""
        (port,) = free_port_numbers(1)
        registered = next(
            each for each in objects(self.choices) if each["kind"] == "ValidatingWebhookConfiguration"
        )
        for hook in registered["webhooks"]:
            path = hook["clientConfig"].pop("service")["path"]
            hook["clientConfig"]["url"] = f"https://localhost:{port}{path}"
        self.plane.create(registered)  # before, so that the operator finds it at its first look
        process = self.start(
            "operator", "--webhook-port", str(port), "--webhook-name", "localhost", *arguments,
            ready="serves the webhook",
        )  # fmt: skip
        name = registered["metadata"]["name"]
        path = f"/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/{name}"
        self.plane.wait_for(path, lambda found: found["webhooks"][0]["clientConfig"].get("caBundle"))
        return process

    # What tests look at

    def nodes(self, count: int, **room: str) -> list[str]:
        """Create nodes n0, n1, … that kwok makes ready."""
        names = [f"n{index}" for index in range(count)]
        self.plane.create_many([node(name, room) for name in names])
        for name in names:
            self.plane.wait_for(f"/api/v1/nodes/{name}", _is_ready)
        return names

    def namespaces(self, *names: str) -> None:
        self.plane.create_many(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in names
        )

    def pods(self, selector: str = "") -> dict[str, dict[str, Any]]:
        """Return all pods by namespace and name."""
        query = f"?labelSelector={selector}" if selector else ""
        found = self.plane.items(f"/api/v1/pods{query}")
        return {f"{each['metadata']['namespace']}/{each['metadata']['name']}": each for each in found}

    def placed(self) -> dict[str, str]:
        """Return the nodes of pods that have one."""
        return {
            key: each["spec"]["nodeName"] for key, each in self.pods().items() if each["spec"].get("nodeName")
        }

    def wait_until_placed(self, *keys: str, seconds: float = WAIT_SECONDS) -> dict[str, str]:
        """Return where pods are as soon as all of them have a node."""
        until(
            lambda: set(keys) <= self.placed().keys(),
            lambda: f"all have nodes, but these: {self.without_node(*keys)}",
            seconds,
        )
        return self.placed()

    def why(self, key: str) -> str:
        """Return why a pod has no node, as its condition says; empty where nothing says so yet."""
        return _why(self.pods()[key])

    def without_node(self, *keys: str) -> dict[str, str]:
        """Return which of these pods have no node, and why."""
        pods = self.pods()
        return {
            key: _why(pods[key]) if key in pods else "there is no such pod"
            for key in keys
            if key not in pods or not pods[key]["spec"].get("nodeName")
        }

    def wait_until_told(self, key: str, text: str, seconds: float = WAIT_SECONDS) -> str:
        """Return why a pod has no node as soon as that holds a text."""
        until(lambda: text in self.why(key), f"{key} is told {text!r}", seconds)
        return self.why(key)

    def events(self, namespace: str) -> list[tuple[str, str, str]]:
        """Return reason, name and note of the events of a namespace."""
        found = self.plane.items(f"/apis/events.k8s.io/v1/namespaces/{namespace}/events")
        return [(each["reason"], each["regarding"]["name"], each.get("note", "")) for each in found]


def free_port_numbers(count: int) -> list[int]:
    """Return ports that are free now."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for listening in sockets:
            listening.bind(("127.0.0.1", 0))
        return [listening.getsockname()[1] for listening in sockets]


def node(name: str, room: Mapping[str, str]) -> dict[str, Any]:
    amounts = {"cpu": "4", "memory": "8Gi", "pods": "110", **room}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "status": {"capacity": amounts, "allocatable": amounts},
    }


def pod(
    key: str, scheduler: str = "ullage", *, labels: Mapping[str, str] | None = None, **parts: Any
) -> dict[str, Any]:
    """A pod of one container: keywords are requested amounts, `spec` adds fields of the spec."""
    namespace, _, name = key.partition("/")
    spec = parts.pop("spec", {})
    amounts = {
        parts_name.replace("__", "/").replace("_", "-"): str(amount) for parts_name, amount in parts.items()
    }
    container = {"name": "main", "image": "none", "resources": {"requests": amounts}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": dict(labels or {})},
        "spec": {"schedulerName": scheduler, "containers": [container], **spec},
    }


def gpu_pod(key: str, scheduler: str = "ullage", gpus: int = 1) -> dict[str, Any]:
    made = pod(key, scheduler)
    made["spec"]["containers"][0]["resources"] = {"limits": {"nvidia.com/gpu": str(gpus)}}
    return made


def elastic_quota(key: str, **minimum: str) -> dict[str, Any]:
    namespace, _, name = key.partition("/")
    return {
        "apiVersion": "nos.nebuly.com/v1alpha1",
        "kind": "ElasticQuota",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"min": dict(minimum)},
    }


def documents(text: str) -> list[dict[str, Any]]:
    """Return the objects of a YAML text."""
    return [each for each in yaml.safe_load_all(text) if each]


def until(holds: Callable[[], bool], what: str | Callable[[], str], seconds: float = WAIT_SECONDS) -> None:
    """Return as soon as something holds; what that is may be a text as of the time it does not."""
    began = time.monotonic()
    while not holds():
        if time.monotonic() - began >= seconds:
            raise AssertionError(f"not so after {seconds} s: {what if isinstance(what, str) else what()}")
        time.sleep(POLL_SECONDS)


def stays(holds: Callable[[], bool], what: str, seconds: float = 2.0) -> None:
    """Return where something holds all the time for a while."""
    began = time.monotonic()
    while time.monotonic() - began < seconds:
        assert holds(), f"no longer so: {what}"
        time.sleep(POLL_SECONDS)


def _why(pod_object: Mapping[str, Any]) -> str:
    conditions = pod_object["status"].get("conditions", ())
    said = [each for each in conditions if each["type"] == "PodScheduled" and each["status"] == "False"]
    return said[0].get("message", "") if said else ""


def _is_established(definition: Mapping[str, Any]) -> bool:
    conditions = definition.get("status", {}).get("conditions") or ()
    return any(each["type"] == "Established" and each["status"] == "True" for each in conditions)


def _is_ready(found: Mapping[str, Any]) -> bool:
    conditions = found["status"].get("conditions", ())
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
