"""Clusters and pods for the placement benchmarks, as objects of the Kubernetes API.

Every program that is measured gets the same objects: the peers as they are, ours through its own reader of
dumps (`snapshot_of`), so that no two answers can differ because two descriptions did.
"""

import json
import random
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ullage.model.cluster import Snapshot
from ullage.sources.kubernetes.dump import read_dump

Object = dict[str, Any]
HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
ZONES = 10
IMAGE = "registry.example.com/nothing:1"


def node(name: str, zone: str, *, cpu: str, memory: str, pods: str = "110", **more: Any) -> Object:
    """Return a node that is ready; `more` is labels and taints."""
    amounts = {"cpu": cpu, "memory": memory, "pods": pods}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {HOSTNAME: name, ZONE: zone, **more.get("labels", {})}},
        "spec": {"taints": more.get("taints", [])},
        "status": {
            "capacity": amounts,
            "allocatable": amounts,
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def pod(name: str, app: str, *, cpu: str, memory: str, **spec: Any) -> Object:
    """Return a pod of an app; `spec` is further fields of its spec, and with a node in it the pod runs."""
    requests = {"cpu": cpu, "memory": memory}
    running = bool(spec.get("nodeName"))
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "default",
            "labels": {"app": app},
            **({"uid": name} if running else {}),
        },
        "spec": {
            "containers": [{"name": "main", "image": IMAGE, "resources": {"requests": requests}}],
            **spec,
        },
        "status": {"phase": "Running" if running else "Pending"},
    }


def plain_nodes(count: int, *, cpu: str, memory: str) -> list[Object]:
    """Return equal nodes in ten zones."""
    return [node(f"n{row:06}", f"z{row % ZONES}", cpu=cpu, memory=memory) for row in range(count)]


def selector(app: str) -> Object:
    """Return a selector of the pods of an app."""
    return {"matchLabels": {"app": app}}


def spread(app: str, skew: int, *, hard: bool = True) -> Object:
    """Return the spec of pods that lie evenly over zones, or had better."""
    rule = {"maxSkew": skew, "topologyKey": ZONE, "labelSelector": selector(app)}
    rule["whenUnsatisfiable"] = "DoNotSchedule" if hard else "ScheduleAnyway"
    return {"topologySpreadConstraints": [rule]}


def affinity(kind: str, app: str, label: str, *, hard: bool = True) -> Object:
    """Return the spec of pods that must be near to pods of an app, or away from them, or had better."""
    term = {"topologyKey": label, "labelSelector": selector(app)}
    if hard:
        return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}
    weighted = {"weight": 10, "podAffinityTerm": term}
    return {"affinity": {kind: {"preferredDuringSchedulingIgnoredDuringExecution": [weighted]}}}


def mixed_pods(shapes: int, *, hard: bool = True, seed: int = 1) -> list[Object]:
    """Return a pod of each shape; a third of the shapes have affinity, anti-affinity or spread."""
    draw = random.Random(seed)  # noqa: S311 - a fixed draw, not a secret
    found = []
    for shape in range(shapes):
        app = f"a{shape:03}"
        rules: dict[int, Object] = {
            0: affinity("podAntiAffinity", app, HOSTNAME, hard=hard),
            3: spread(app, 5, hard=hard),
            6: affinity("podAffinity", app, ZONE, hard=hard),
        }
        cpu, memory = f"{draw.randrange(1, 20) * 100}m", f"{draw.randrange(1, 16) * 256}Mi"
        found.append(pod(app, app, cpu=cpu, memory=memory, **rules.get(shape % 9, {})))
    return found


def renamed(each: Mapping[str, Any], name: str) -> Object:
    """Return a pod under another name."""
    return {**each, "metadata": {**each["metadata"], "name": name}}


def snapshot_of(objects: Iterable[Mapping[str, Any]]) -> Snapshot:
    """Return the cluster as our reader of dumps sees it."""
    with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
        json.dump({"apiVersion": "v1", "kind": "List", "items": list(objects)}, file)
        file.flush()
        return read_dump(str(Path(file.name)))
