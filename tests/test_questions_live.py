"""Questions about room and losses on a real control plane: the answers of its dump, and its own budgets."""

import json
from typing import Any

import pytest

from ullage.cli.main import run
from ullage.engine.redundancy.budgets import Budgets
from ullage.sources.kubernetes.dump import read_dump

pytestmark = pytest.mark.slow

LISTS = (
    "/api/v1/nodes",
    "/api/v1/pods",
    "/api/v1/namespaces",
    "/apis/apps/v1/replicasets",
    "/apis/policy/v1/poddisruptionbudgets",
)
LABELS = {"app": "asked"}
BUDGETS = {
    "number": {"minAvailable": 3, "selector": {"matchLabels": LABELS}},
    "share": {"minAvailable": "50%", "selector": {"matchLabels": LABELS}},
    "all": {"minAvailable": "100%", "selector": {"matchLabels": LABELS}},
    "away": {"maxUnavailable": 1, "selector": {"matchLabels": LABELS}},
    "away-share": {"maxUnavailable": "30%", "selector": {"matchLabels": LABELS}},
    "empty": {"minAvailable": 1, "selector": {}},
    "null": {"minAvailable": 0},
    "daemon": {"maxUnavailable": 1, "selector": {"matchLabels": {"app": "daemon"}}},
    "daemon-number": {"minAvailable": 1, "selector": {"matchLabels": {"app": "daemon"}}},
    "nobody": {"maxUnavailable": 1, "selector": {"matchLabels": {"app": "nobody"}}},
}


def thing(api_version: str, kind: str, name: str, namespace: str = "", **fields: Any) -> dict:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}


def node(name: str, team: str) -> dict:
    room = {"cpu": "8", "memory": "16Gi", "pods": "110"}
    made = thing("v1", "Node", name, status={"capacity": room, "allocatable": room})
    made["metadata"]["labels"] = {"kubernetes.io/hostname": name, "team": team}
    return made


def template(app: str, **spec: Any) -> dict:
    resources = {"requests": {"cpu": "500m", "memory": "1Gi"}}
    containers = [{"name": "main", "image": "none", "resources": resources}]
    return {"metadata": {"labels": {"app": app}}, "spec": {"containers": containers, **spec}}


def is_ready(found: dict) -> bool:
    conditions = {each["type"]: each["status"] for each in found["status"].get("conditions", ())}
    return conditions.get("Ready") == "True" and not found["spec"].get("taints")


@pytest.fixture(scope="module")
def team(plane):
    """A namespace with seven replicas, a daemon on three nodes and many budgets, all of them settled."""
    with plane.scratch() as name:
        names = [f"{name}-{number}" for number in range(3)]
        plane.create_many([node(each, name) for each in names])
        for each in names:
            plane.wait_for(f"/api/v1/nodes/{each}", is_ready)
        spec = {"replicas": 7, "selector": {"matchLabels": LABELS}, "template": template("asked")}
        each_node = template("daemon", nodeSelector={"team": name})
        daemon = {"selector": {"matchLabels": {"app": "daemon"}}, "template": each_node}
        plane.create_many(
            [
                thing("apps/v1", "Deployment", "asked", name, spec=spec),
                thing("apps/v1", "DaemonSet", "daemon", name, spec=daemon),
                *(
                    thing("policy/v1", "PodDisruptionBudget", each, name, spec=given)
                    for each, given in BUDGETS.items()
                ),
            ]
        )
        plane.wait_for(
            f"/api/v1/namespaces/{name}/pods",
            lambda found: len(found["items"]) == 10 and all(map(is_ready, found["items"])),
        )
        plane.wait_for(f"/apis/policy/v1/namespaces/{name}/poddisruptionbudgets", settled)
        yield name


def settled(found: dict) -> bool:
    """Whether the controller has counted every pod for every budget."""
    healthy = {
        each["metadata"]["name"]: each.get("status", {}).get("currentHealthy", 0) for each in found["items"]
    }
    return healthy["number"] == 7 and healthy["empty"] == 10 and healthy["daemon-number"] == 3


@pytest.fixture(scope="module")
def dumped(plane, team, tmp_path_factory):
    assert team
    items = []
    for path in LISTS:
        found = plane.get(path)
        kind = {"apiVersion": found["apiVersion"], "kind": found["kind"].removesuffix("List")}
        items += [kind | each for each in found["items"]]
    path = tmp_path_factory.mktemp("dump") / "dump.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}), encoding="utf-8")
    return path


def test_budgets_are_counted_as_the_disruption_controller_counts_them(plane, team, dumped):
    stated = {
        f"{team}/{each['metadata']['name']}": each["status"]
        for each in plane.items(f"/apis/policy/v1/namespaces/{team}/poddisruptionbudgets")
    }
    found = {each.key: each for each in Budgets(read_dump(str(dumped))).all if each.key in stated}
    assert found.keys() == stated.keys()
    for key, budget in found.items():
        assert budget.counted == stated[key]["disruptionsAllowed"], key
        if not budget.problem:
            told = [stated[key].get(name, 0) for name in ("expectedPods", "currentHealthy", "desiredHealthy")]
            assert [budget.expected, budget.healthy, budget.desired] == told, key


@pytest.mark.parametrize("question", ["headroom", "check", "balance"])
def test_a_live_cluster_is_answered_as_its_dump_is(plane, team, dumped, capsysbinary, question):
    words = {
        "headroom": ("--shape", "cpu=1,memory=2Gi", "--shape", "cpu=500m", "--together"),
        "check": ("--lose", f"node/{team}-0"),
        "balance": ("--drain", f"{team}-1"),
    }[question]
    reports = []
    for cluster in (("kube", "--kubeconfig", str(plane.kubeconfig())), (str(dumped),)):
        code = run([question, "-c", *cluster, *words, "-o", "json", "-q"])
        report = json.loads(capsysbinary.readouterr().out)
        for name in ("cluster", "revision", "notSimulated"):
            del report[name]
        report.get("plan", {}).pop("revision", None)
        reports.append((code, report))
    assert reports[0] == reports[1]
    assert reports[0][0] in {0, 2}
