"""Scores of the policy `preferences` are the very integers that kube-scheduler's own plugins give.

Random small clusters with soft taints, preferred affinity of every kind and soft spreads; each pending pod is
scored here and by the judge, plugin by plugin, then runs where we put it, so that the next one sees it.
"""

import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from plane.build import PlaneAbsentError, plane_program
from plane.judge import Judge
from ullage.engine.columns import Columns
from ullage.engine.trial import Trial
from ullage.model.cluster import Snapshot
from ullage.sources.kubernetes.dump import read_dump
from ullage.sources.policies import load_policy

pytestmark = pytest.mark.slow

CASES = int(os.environ.get("ULLAGE_PREFERENCE_CASES", "300"))
FIRST_SEED = int(os.environ.get("ULLAGE_PREFERENCE_SEED", "0"))
HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
KEYS = (HOSTNAME, ZONE, "disk", "rack")
APPS = ("web", "db", "cache")
SOFT = "preferredDuringSchedulingIgnoredDuringExecution"
HARD = "requiredDuringSchedulingIgnoredDuringExecution"
PLUGINS = (
    "NodeResourcesFit", "NodeResourcesBalancedAllocation", "TaintToleration", "NodeAffinity",
    "PodTopologySpread", "InterPodAffinity",
)  # fmt: skip

Object = dict[str, Any]


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    try:
        program = plane_program()
    except PlaneAbsentError as absent:
        pytest.skip(str(absent))
    with Judge(program) as opened:
        yield opened


class Clusters:
    """Random Kubernetes objects of one seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311 - seeded cases, no secrets
        self.sets: dict[tuple[str, str], Object] = {}

    def maybe(self, share: float) -> bool:
        return self._random.random() < share

    def one_of(self, *values: Any) -> Any:
        return self._random.choice(values)

    def nodes(self) -> list[Object]:
        return [self.node(f"node-{index:02}") for index in range(self.one_of(1, 3, 6, 12, 22))]

    def node(self, name: str) -> Object:
        labels = {}
        if self.maybe(0.9):
            labels[HOSTNAME] = self.one_of(name, name, name, "shared")
        if self.maybe(0.85):
            labels[ZONE] = self.one_of("a", "b", "c")
        if self.maybe(0.6):
            labels["disk"] = self.one_of("ssd", "hdd")
        if self.maybe(0.4):
            labels["rack"] = self.one_of("1", "2", "3", "4")
        taints = [
            {"key": key, "value": self.one_of("x", "y"), "effect": "PreferNoSchedule"}
            for key in ("slow", "old", "spot")
            if self.maybe(0.2)
        ]
        allocatable = {"cpu": self.one_of("1", "4", "7500m"), "memory": self.one_of("3Gi", "16Gi", "1Ti")}
        if self.maybe(0.05):
            del allocatable[self.one_of("cpu", "memory")]
        return {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": labels},
            "spec": {"taints": taints},
            "status": {"allocatable": {**allocatable, "pods": self.one_of("3", "20")}},
        }

    def pod(self, name: str) -> Object:
        spec: Object = {"containers": [self.container(f"c{index}") for index in range(self.one_of(1, 1, 2))]}
        if self.maybe(0.2):
            spec["initContainers"] = [self.container("init")]
        if self.maybe(0.1):
            spec["overhead"] = {"cpu": "50m", "memory": "64Mi"}
        if self.maybe(0.1):
            spec["resources"] = {"requests": {"cpu": "3", "memory": "6Gi"}}
        if self.maybe(0.3):
            spec["tolerations"] = [self.toleration()]
        if self.maybe(0.2):
            spec["nodeSelector"] = {"disk": "ssd"}
        affinity = self.affinity()
        if affinity:
            spec["affinity"] = affinity
        if self.maybe(0.4):
            spec["topologySpreadConstraints"] = self.spreads()
        labels = {"app": self.one_of(*APPS), "tier": self.one_of("1", "2")}
        metadata: Object = {"name": name, "namespace": self.one_of("default", "default", "other")}
        if self.maybe(0.4):
            self.give_to_set(metadata, labels)
        return {"apiVersion": "v1", "kind": "Pod", "metadata": {**metadata, "labels": labels}, "spec": spec}

    def give_to_set(self, metadata: Object, labels: dict[str, str]) -> None:
        """Make a pod a replica: its set has all its labels for a template and some of them as selector."""
        name = f"{labels['app']}-{labels['tier']}"
        kind = "ReplicaSet" if labels["tier"] == "1" else "StatefulSet"
        labels["set"] = name
        metadata["ownerReferences"] = [
            {"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": name, "controller": True}
        ]
        self.sets[metadata["namespace"], name] = {
            "apiVersion": "apps/v1",
            "kind": kind,
            "metadata": {"name": name, "namespace": metadata["namespace"]},
            "spec": {
                "selector": {"matchLabels": {"set": name}},
                "template": {"metadata": {"labels": dict(labels)}, "spec": {}},
            },
        }

    def container(self, name: str) -> Object:
        requests = {}
        if self.maybe(0.6):
            requests["cpu"] = self.one_of("0", "100m", "250m", "1")
        if self.maybe(0.6):
            requests["memory"] = self.one_of("0", "100Mi", "1Gi", "2500M")
        return {"name": name, "image": "example.com/main", "resources": {"requests": requests}}

    def toleration(self) -> Object:
        return self.one_of(
            {"key": "slow", "operator": "Exists"},
            {"key": "old", "operator": "Equal", "value": "x", "effect": "PreferNoSchedule"},
            {"operator": "Exists", "effect": "NoSchedule"},
            {"operator": "Exists"},
        )

    def affinity(self) -> Object:
        found: Object = {}
        if self.maybe(0.4):
            found["nodeAffinity"] = {SOFT: [self.node_term() for _ in range(self.one_of(1, 2, 3))]}
        if self.maybe(0.4):
            found["podAffinity"] = {SOFT: [self.weighted() for _ in range(self.one_of(1, 2))]}
            if self.maybe(0.3):
                found["podAffinity"][HARD] = [self.term()]
        if self.maybe(0.3):
            found["podAntiAffinity"] = {SOFT: [self.weighted() for _ in range(self.one_of(1, 2))]}
            if self.maybe(0.2):
                found["podAntiAffinity"][HARD] = [self.term()]
        return found

    def node_term(self) -> Object:
        expression = self.one_of(
            {"key": "disk", "operator": "In", "values": ["ssd"]},
            {"key": ZONE, "operator": "NotIn", "values": ["a"]},
            {"key": "rack", "operator": "Gt", "values": ["2"]},
            {"key": "rack", "operator": "DoesNotExist"},
        )
        return {"weight": self.one_of(1, 7, 100), "preference": {"matchExpressions": [expression]}}

    def weighted(self) -> Object:
        return {"weight": self.one_of(1, 3, 50, 100), "podAffinityTerm": self.term()}

    def term(self) -> Object:
        found: Object = {"topologyKey": self.one_of(*KEYS), "labelSelector": self.selector()}
        if self.maybe(0.2):
            found["namespaces"] = ["other"]
        elif self.maybe(0.2):
            found["namespaceSelector"] = {}
        return found

    def selector(self) -> Object:
        return self.one_of(
            {"matchLabels": {"app": self.one_of(*APPS)}},
            {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": [self.one_of(*APPS)]}]},
            {"matchExpressions": [{"key": "tier", "operator": "Exists"}]},
            {},
        )

    def spreads(self) -> list[Object]:
        keys = self._random.sample(KEYS, self.one_of(1, 1, 2, 3))
        return [self.spread(key) for key in keys]

    def spread(self, key: str) -> Object:
        found: Object = {
            "maxSkew": self.one_of(1, 2, 5),
            "topologyKey": key,
            "whenUnsatisfiable": self.one_of("ScheduleAnyway", "ScheduleAnyway", "DoNotSchedule"),
            "labelSelector": self.selector(),
        }
        if self.maybe(0.3):
            found["nodeAffinityPolicy"] = self.one_of("Honor", "Ignore")
        if self.maybe(0.3):
            found["nodeTaintsPolicy"] = self.one_of("Honor", "Ignore")
        if self.maybe(0.2):
            found["matchLabelKeys"] = ["app"]
            found["labelSelector"] = {"matchLabels": {"tier": "1"}}
        return found


def read(objects: list[Object], folder: Path) -> Snapshot:
    """Read objects as a dump of a cluster is read."""
    path = folder / "cluster.json"
    path.write_bytes(msgspec.json.encode({"apiVersion": "v1", "kind": "List", "items": objects}))
    snapshot = read_dump(str(path))
    return msgspec.structs.replace(snapshot, policy=load_policy("kubernetes", snapshot.resource_types))


def scored(trial: Trial, key: str) -> tuple[int, dict[str, dict[str, int]]]:
    """Return where a pod goes, and its scores by plugin and node."""
    assert trial.preferences is not None
    shape = trial.shape_of(trial.columns.snapshot.workloads[key])
    row = trial.pick(shape)
    parts = trial.preferences.by_plugin(shape, trial.scores(shape), trial.wide_open(shape))
    names = [node.name for node, open_ in zip(trial.nodes, trial.feasible(shape), strict=True) if open_]
    if row >= 0:
        totals = sum(parts.values())
        assert names[int(totals.argmax())] == trial.nodes[row].name
        trial.place(shape, row)
    return row, {plugin: dict(zip(names, found.tolist(), strict=True)) for plugin, found in parts.items()}


def test_every_plugin_gives_the_same_scores_as_in_kube_scheduler(judge: Judge, tmp_path: Path) -> None:
    compared = dict.fromkeys(PLUGINS, 0)
    for seed in range(FIRST_SEED, FIRST_SEED + CASES):
        clusters = Clusters(seed)
        nodes = clusters.nodes()
        running = [clusters.pod(f"running-{index}") for index in range(clusters.one_of(0, 4, 15))]
        for pod in running:
            pod["spec"]["nodeName"] = clusters.one_of(*nodes)["metadata"]["name"]
        pending = [clusters.pod(f"pending-{index}") for index in range(5)]
        trial = Trial(Columns(read([*nodes, *running, *pending], tmp_path)), "preferences")
        ours = [scored(trial, f"{pod['metadata']['namespace']}/{pod['metadata']['name']}") for pod in pending]
        steps = [
            {"pod": pod, "bind": trial.nodes[row].name if row >= 0 else ""}
            for pod, (row, _) in zip(pending, ours, strict=True)
        ]
        theirs = judge.judge([*nodes, *running, *clusters.sets.values()], steps, scores=True)
        for number, (verdict, (_, parts)) in enumerate(zip(theirs, ours, strict=True)):
            place = f"seed {seed}, pending-{number}"
            for plugin in PLUGINS:
                expected = verdict.get("byPlugin", {}).get(plugin, {})
                found = parts.get(plugin, {})
                if plugin not in verdict.get("byPlugin", {}):
                    expected = dict.fromkeys(verdict["feasible"], 0)
                assert found == expected, f"{plugin}: {place}"
                compared[plugin] += len(set(expected.values())) > 1
    assert all(compared.values()), f"a plugin never told nodes apart: {compared}"
