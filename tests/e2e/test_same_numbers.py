"""Every question gives the same numbers from a live cluster and from a dump of it, and the same exit code."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from plane.plane import Plane
from ullage.cli.main import run

pytestmark = pytest.mark.slow

ZONE = "topology.kubernetes.io/zone"
HOST = "kubernetes.io/hostname"
LISTS = (
    *(f"/api/v1/{name}" for name in ("nodes", "pods", "namespaces", "limitranges", "resourcequotas")),
    "/apis/policy/v1/poddisruptionbudgets",
    "/apis/scheduling.k8s.io/v1/priorityclasses",
)
CATALOG = """\
apiVersion: ullage.dev/v1
kind: Catalog
items:
- {name: small, price: "10", capacity: {cpu: 4, memory: 8Gi, pods: 110}}
- {name: large, price: "35", capacity: {cpu: 16, memory: 32Gi, pods: 110}}
"""


def machine(name: str, zone: str) -> dict[str, Any]:
    room = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    metadata = {"name": name, "labels": {HOST: name, ZONE: zone}}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": metadata,
        "status": {"capacity": room, "allocatable": room},
    }


def pod(namespace: str, name: str, app: str, memory: str, node: str = "") -> dict[str, Any]:
    requests = {"cpu": "500m", "memory": memory}
    spec: dict[str, Any] = {
        "containers": [{"name": "c", "image": "none", "resources": {"requests": requests}}]
    }
    if node:
        spec["nodeName"] = node
    metadata = {"name": name, "namespace": namespace, "labels": {"app": app}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def deployment(namespace: str, replicas: int, memory: str) -> dict[str, Any]:
    template = {"metadata": {"labels": {"app": "new"}}, "spec": pod(namespace, "", "new", memory)["spec"]}
    spread = {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "new"}},
    }
    template["spec"]["topologySpreadConstraints"] = [spread]
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "new", "namespace": namespace},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": "new"}}, "template": template},
    }


def is_ready(node: dict[str, Any]) -> bool:
    conditions = {each["type"]: each["status"] for each in node["status"].get("conditions", ())}
    return conditions.get("Ready") == "True" and not node["spec"].get("taints")


@pytest.fixture(scope="module")
def team(plane: Plane) -> Iterator[str]:
    """Three nodes in two zones, three web pods under a budget, a quota, and a pod that is too large."""
    with plane.scratch() as name:
        nodes = [machine(f"{name}-{letter}", zone) for letter, zone in (("a", "x"), ("b", "x"), ("c", "y"))]
        plane.create_many(nodes)
        for each in nodes:
            plane.wait_for(plane.client().path(each), is_ready)
        metadata = {"name": "b", "namespace": name}
        budget = {"minAvailable": 2, "selector": {"matchLabels": {"app": "web"}}}
        plane.create(
            {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata, "spec": budget}
        )
        web = [pod(name, f"web-{letter}", "web", "5Gi", f"{name}-{letter}") for letter in "abc"]
        plane.create_many([*web, pod(name, "large", "large", "20Gi")])
        for each in web:
            plane.wait_for(plane.client().path(each), lambda found: found["status"]["phase"] == "Running")
        quota = {"hard": {"requests.memory": "60Gi"}}
        plane.create({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata, "spec": quota})
        plane.wait_for(
            f"/api/v1/namespaces/{name}/resourcequotas/b", lambda found: "used" in found.get("status", {})
        )
        yield name


class Sources(NamedTuple):
    """One cluster in two forms: the options that name each."""

    team: str
    live: list[str]
    dump: list[str]


@pytest.fixture(scope="module")
def sources(plane: Plane, team: str, tmp_path_factory: pytest.TempPathFactory) -> Sources:
    items = []
    for path in LISTS:
        listed = plane.get(path)
        kind = listed["kind"].removesuffix("List")
        items += [{"apiVersion": listed["apiVersion"], "kind": kind, **each} for each in listed["items"]]
    file = tmp_path_factory.mktemp("dump") / "dump.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}), encoding="utf-8")
    return Sources(team, ["-c", "kube", "--kubeconfig", str(plane.kubeconfig())], ["-c", str(file)])


def without_source(found: Any) -> Any:
    """The answer without what tells one source from another: names, revisions, what was not read."""
    if isinstance(found, dict):
        left_out = {"cluster", "revision", "notSimulated", "unknowns"}
        if "ready" in found:
            left_out.add("name")
        return {key: without_source(value) for key, value in found.items() if key not in left_out}
    return [without_source(each) for each in found] if isinstance(found, list) else found


QUESTIONS = {
    "status": (["status"], 0),
    "fit yes": (["fit", "-f", "{small}"], 0),
    "fit no": (["fit", "-f", "{big}"], 2),
    "fit waiting": (["fit"], 2),
    "headroom": (["headroom", "--shape", "cpu=500m,memory=1Gi"], 0),
    "explain": (["explain", "pod/{team}/large"], 0),
    "check node": (["check", "--lose", "node/{team}-a"], 2),
    "check every": (["check", "--nodes-lost", "1"], 2),
    "drain": (["balance", "--drain", "{team}-a"], 2),
    "buy": (["buy", "--catalog", "{catalog}", "-f", "{big}"], 0),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_live_and_dump_agree(question, sources, tmp_path, capsys):
    team = sources.team
    files = {"small": deployment(team, 2, "1Gi"), "big": deployment(team, 8, "3Gi")}
    names = {"team": team, "catalog": str(tmp_path / "catalog.yaml")}
    Path(names["catalog"]).write_text(CATALOG, encoding="utf-8")
    for name, content in files.items():
        names[name] = str(tmp_path / f"{name}.json")
        Path(names[name]).write_text(json.dumps(content), encoding="utf-8")
    words, expected = QUESTIONS[question]
    asked = [word.format(**names) for word in words]
    answers = []
    for source in (sources.live, sources.dump):
        code = run([*asked, *source, "-o", "json"])
        captured = capsys.readouterr()
        assert code == expected, captured.err or captured.out[:2000]
        answers.append(without_source(json.loads(captured.out)))
    assert answers[0] == answers[1]
