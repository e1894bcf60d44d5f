"""What `explain` says of a pod that waits is what kube-scheduler itself says, live and from a dump."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from plane.plane import Plane
from ullage.cli.main import run

pytestmark = pytest.mark.slow

ZONE = "topology.kubernetes.io/zone"
HOST = "kubernetes.io/hostname"
LISTS = (
    *(f"/api/v1/{name}" for name in ("nodes", "pods", "namespaces", "persistentvolumeclaims")),
    "/apis/storage.k8s.io/v1/storageclasses",
    "/apis/scheduling.k8s.io/v1/priorityclasses",
)
SAID = {
    r"memory short|size of the node \(memory\)": "Insufficient memory",
    r"taint .*": "untolerated taint",
    r"node selector|node affinity": "node(s) didn't match Pod's node affinity/selector",
    r"cordoned": "node(s) were unschedulable",
    r"topology spread over .*": "node(s) didn't match pod topology spread constraints",
    r"pod anti-affinity by .*": "node(s) didn't match pod anti-affinity rules",
    r"anti-affinity of workloads there, .*": "node(s) didn't satisfy existing pods anti-affinity rules",
    r"pod affinity": "node(s) didn't match pod affinity rules",
    r"host port .*": "node(s) didn't have free ports for the requested pod ports",
}
"""Our reasons, as patterns, and kube-scheduler's."""


def term(label: str, app: str) -> dict:
    selected = [{"topologyKey": label, "labelSelector": {"matchLabels": {"app": app}}}]
    return {"requiredDuringSchedulingIgnoredDuringExecution": selected}


CASES: dict[str, tuple[dict, dict]] = {
    "memory": ({"memory": "16Gi"}, {}),
    "selector": ({}, {"nodeSelector": {"pool": "gpu"}}),
    "spread": (
        {},
        {
            "topologySpreadConstraints": [
                {
                    "maxSkew": 1,
                    "topologyKey": ZONE,
                    "whenUnsatisfiable": "DoNotSchedule",
                    "labelSelector": {"matchLabels": {"app": "web"}},
                }
            ]
        },
    ),
    "away": ({}, {"affinity": {"podAntiAffinity": term(HOST, "web")}}),
    "noisy": ({}, {}),
    "near": ({}, {"affinity": {"podAffinity": term(ZONE, "absent")}}),
    "port": ({}, {"hostPort": 8080}),
}
"""What a pod asks for besides, and fields of its spec; each waits for another reason."""
APP = {"spread": "web"}
BINDING = {
    "spread": ("spread", "zone-c 0, zone-a 1, zone-b 1; the emptiest has 0"),
    "away": ("anti-affinity", "it must not share kubernetes.io/hostname with {0}/web-a on "),
    "noisy": ("anti-affinity of others", "{0}/web-a on "),
    "near": ("affinity", "workloads that have app=absent, and none runs"),
    "port": ("port", "port 8080 of the node is taken by {0}/web-a on "),
}


def node(name: str, zone: str, **fields: Any) -> dict:
    room = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    labels = {HOST: name, ZONE: zone, **({"pool": "gpu"} if fields else {})}
    metadata = {"name": name, "labels": labels}
    status = {"capacity": room, "allocatable": room}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": fields, "status": status}


def pod(namespace: str, name: str, requests: dict, **spec: Any) -> dict:
    asks = {"cpu": "100m", "memory": "64Mi", **requests}
    container: dict = {"name": "main", "image": "none", "resources": {"requests": asks}}
    port = spec.pop("hostPort", None)
    if port is not None:
        container["ports"] = [{"containerPort": port, "hostPort": port}]
    labels = {"app": spec.pop("app", name)}
    metadata = {"name": name, "namespace": namespace, "labels": labels}
    whole = {"containers": [container], **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": whole}


def condition(found: dict, kind: str) -> dict:
    return next((one for one in found["status"].get("conditions", ()) if one["type"] == kind), {})


def is_settled(found: dict) -> bool:
    """Whether a node is ready and has no taint but that of its own."""
    taints = {taint["key"] for taint in found["spec"].get("taints", ())}
    return condition(found, "Ready").get("status") == "True" and taints <= {"dedicated"}


@pytest.fixture(scope="module")
def team(plane: Plane) -> Iterator[str]:
    """Zones a and b have a node with a web pod each, zone c has a node with a taint; every case waits."""
    with plane.scratch() as name:
        taint = {"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}
        nodes = [
            node(f"{name}-a", "zone-a"),
            node(f"{name}-b", "zone-b"),
            node(f"{name}-c", "zone-c", taints=[taint]),
        ]
        plane.create_many(nodes)
        for each in nodes:
            plane.wait_for(plane.client().path(each), is_settled)
        shy = {"podAntiAffinity": term(HOST, "noisy")}
        for letter in ("a", "b"):
            web = pod(name, f"web-{letter}", {}, app="web", hostPort=8080, affinity=shy)
            web["spec"]["nodeName"] = f"{name}-{letter}"
            plane.create(web)
            plane.wait_for(plane.client().path(web), lambda found: found["status"]["phase"] == "Running")
        plane.create(
            {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "metadata": {"name": "data", "namespace": name},
                "spec": {
                    "accessModes": ["ReadWriteOnce"],
                    "storageClassName": "",
                    "resources": {"requests": {"storage": "1Gi"}},
                },
            }
        )
        plane.create_many(
            [
                *(
                    pod(name, case, CASES[case][0], app=APP.get(case, case), **CASES[case][1])
                    for case in CASES
                ),
                pod(name, "gated", {}, schedulingGates=[{"name": "example.com/later"}]),
                pod(
                    name,
                    "unbound",
                    {},
                    volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}],
                ),
            ]
        )
        yield name


@pytest.fixture
def explained(plane: Plane, team: str, capsysbinary: Any, tmp_path: Any) -> Any:
    """What `explain` answers about a pod, live and from a dump of the same cluster."""

    def asked(name: str) -> dict:
        items = [
            {"apiVersion": found["apiVersion"], "kind": found["kind"].removesuffix("List"), **each}
            for found in map(plane.get, LISTS)
            for each in found["items"]
        ]
        dump = tmp_path / "dump.json"
        dump.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}), encoding="utf-8")
        answers = []
        for source in (("kube", "--kubeconfig", plane.kubeconfig()), (dump,)):
            capsysbinary.readouterr()
            words = ["explain", f"pod/{team}/{name}", "-o", "json", "-c", *map(str, source)]
            assert run(words) == 0
            answers.append(json.loads(capsysbinary.readouterr().out))
        live, dumped = (
            {key: value for key, value in each.items() if key not in {"cluster", "revision"}}
            for each in answers
        )
        assert live == dumped
        return live

    return asked


def refused(plane: Plane, namespace: str, name: str) -> str:
    """What kube-scheduler says of a pod it has no place for."""
    path = f"/api/v1/namespaces/{namespace}/pods/{name}"
    found = plane.wait_for(path, lambda pod: condition(pod, "PodScheduled").get("message"))
    return condition(found, "PodScheduled")["message"]


def counted(message: str) -> dict[str, int]:
    """How many nodes kube-scheduler refuses for each reason."""
    body = re.search(r"nodes are available: (.*?)\. ", f"{message} ")[1]
    found: Counter[str] = Counter()
    for part in body.split(", "):
        count, reason = part.split(" ", 1)
        found["untolerated taint" if "untolerated taint" in reason else reason] += int(count)
    return dict(found)


def in_their_words(tally: dict[str, int]) -> dict[str, int]:
    """Our counts under kube-scheduler's reasons."""
    found: Counter[str] = Counter()
    for reason, count in tally.items():
        (theirs,) = [words for ours, words in SAID.items() if re.fullmatch(ours, reason)]
        found[theirs] += count
    return dict(found)


@pytest.mark.parametrize("case", CASES)
def test_each_reason_and_its_count_is_kube_schedulers(plane, team, explained, case):
    report = explained(case)
    assert report["taking"] == 0
    assert in_their_words(report["tally"]) == counted(refused(plane, team, case))
    binding = {each["kind"]: each["text"] for each in report["rules"] if each["nodes"]}
    kind, text = BINDING.get(case, ("", ""))
    assert set(binding) == ({kind} if kind else set())
    assert text.format(team) in binding.get(kind, "")


def test_a_claim_without_a_volume_is_named_where_kube_scheduler_stops(plane, team, explained):
    assert "unbound immediate PersistentVolumeClaims" in refused(plane, team, "unbound")
    report = explained("unbound")
    assert report["tally"] == {"claim data waits for its volume": 2, "taint dedicated": 1}
    assert [(each["kind"], each["nodes"]) for each in report["rules"]] == [("volume", 3)]


def test_a_gate_is_named_where_kube_scheduler_waits_for_it(plane, team, explained):
    path = f"/api/v1/namespaces/{team}/pods/gated"
    found = plane.wait_for(path, lambda pod: condition(pod, "PodScheduled"))
    assert condition(found, "PodScheduled")["reason"] == "SchedulingGated"
    report = explained("gated")
    assert report["heldBack"] == "held back by scheduling gates (example.com/later)"
    assert report["taking"] == 2
