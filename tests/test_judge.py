"""The judge is right about cases that need no judge, so that parity with it means something."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from plane.build import PlaneAbsentError, plane_program
from plane.judge import Judge, JudgeError

pytestmark = pytest.mark.slow

ZONE = "topology.kubernetes.io/zone"
HOSTNAME = "kubernetes.io/hostname"
LOCAL = "local.csi.example.com"


def plane_or_skip() -> Path:
    try:
        return plane_program()
    except PlaneAbsentError as absent:
        pytest.skip(str(absent))


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    with Judge(plane_or_skip()) as opened:
        yield opened


def node(name: str, *, zone: str = "a", cpu: str = "4", **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {HOSTNAME: name, ZONE: zone}},
        "spec": spec,
        "status": {"allocatable": {"cpu": cpu, "memory": "8Gi", "pods": "10"}},
    }


def pod(name: str = "new", *, labels: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    """A pod with one container; `cpu`, `ports` and `claims` belong to it, the rest is the pod's spec."""
    container: dict[str, Any] = {"name": "main", "image": "example.com/main"}
    if cpu := spec.pop("cpu", ""):
        container["resources"] = {"requests": {"cpu": cpu}}
    if ports := spec.pop("ports", ()):
        container["ports"] = [{"containerPort": port, "hostPort": port} for port in ports]
    if claims := spec.pop("claims", ()):
        spec["volumes"] = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in claims]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "labels": labels or {}},
        "spec": {"containers": [container], **spec},
    }


def running(name: str, on: str, **parts: Any) -> dict[str, Any]:
    return pod(name, nodeName=on, **parts)


def node_affinity(key: str, *values: str) -> dict[str, Any]:
    terms = [{"matchExpressions": [{"key": key, "operator": "In", "values": list(values)}]}]
    return {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}


def near(labels: dict[str, str], key: str, **more: Any) -> dict[str, Any]:
    term = {"labelSelector": {"matchLabels": labels}, "topologyKey": key, **more}
    return {"requiredDuringSchedulingIgnoredDuringExecution": [term]}


def spread(labels: dict[str, str], key: str = ZONE, **more: Any) -> list[dict[str, Any]]:
    constraint = {
        "labelSelector": {"matchLabels": labels},
        "topologyKey": key,
        "maxSkew": 1,
        "whenUnsatisfiable": "DoNotSchedule",
    }
    return [{**constraint, **more}]


def storage_class(name: str, provisioner: str, mode: str = "WaitForFirstConsumer") -> dict[str, Any]:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": provisioner,
        "volumeBindingMode": mode,
    }


def claim(name: str, storage: str = "10Gi", class_name: str = "fast", **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": storage}},
            "storageClassName": class_name,
            **spec,
        },
    }


def bound(name: str, volume_name: str) -> dict[str, Any]:
    made = claim(name, volumeName=volume_name)
    made["metadata"]["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
    return made


def volume(name: str, on: str, storage: str = "10Gi", **spec: Any) -> dict[str, Any]:
    affinity = node_affinity(HOSTNAME, on)["requiredDuringSchedulingIgnoredDuringExecution"]
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": storage},
            "local": {"path": "/disks/1"},
            "nodeAffinity": {"required": affinity},
            "storageClassName": "fast",
            **spec,
        },
    }


def csi_driver() -> dict[str, Any]:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIDriver",
        "metadata": {"name": LOCAL},
        "spec": {"storageCapacity": True},
    }


def capacity(on: str, amount: str) -> dict[str, Any]:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIStorageCapacity",
        "metadata": {"name": f"on-{on}", "namespace": "default"},
        "storageClassName": "fast",
        "nodeTopology": {"matchLabels": {HOSTNAME: on}},
        "capacity": amount,
    }


def attachable(on: str, count: int) -> dict[str, Any]:
    driver = {"name": LOCAL, "nodeID": on, "allocatable": {"count": count}}
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSINode",
        "metadata": {"name": on},
        "spec": {"drivers": [driver]},
    }


APP = {"app": "web"}
STATIC = storage_class("fast", "kubernetes.io/no-provisioner")
DYNAMIC = storage_class("fast", LOCAL)
NO_SCHEDULE = [{"key": "maintenance", "effect": "NoSchedule"}]
TWO = [node("n1"), node("n2", zone="b")]

# rule: (objects, the pod, the nodes that take it, who refuses the others)
RULES: dict[str, tuple[list[dict[str, Any]], dict[str, Any], list[str], str]] = {
    "a pod goes where nothing speaks against it": (TWO, pod(cpu="1"), ["n1", "n2"], ""),
    "requests of running pods count": (
        [*TWO, running("old", "n1", cpu="3500m")],
        pod(cpu="1"),
        ["n2"],
        "NodeResourcesFit",
    ),
    "pods that have ended do not count": (
        [*TWO, {**running("old", "n1", cpu="4"), "status": {"phase": "Succeeded"}}],
        pod(cpu="1"),
        ["n1", "n2"],
        "",
    ),
    "a cordoned node takes nothing": (
        [node("n1", unschedulable=True), node("n2")],
        pod(),
        ["n2"],
        "NodeUnschedulable",
    ),
    "a taint refuses": ([node("n1", taints=NO_SCHEDULE), node("n2")], pod(), ["n2"], "TaintToleration"),
    "a toleration lifts a taint": (
        [node("n1", taints=NO_SCHEDULE)],
        pod(tolerations=[{"key": "maintenance", "operator": "Exists"}]),
        ["n1"],
        "",
    ),
    "a node selector binds": (TWO, pod(nodeSelector={ZONE: "b"}), ["n2"], "NodeAffinity"),
    "node affinity binds": (
        TWO,
        pod(affinity={"nodeAffinity": node_affinity(ZONE, "a")}),
        ["n1"],
        "NodeAffinity",
    ),
    "a host port is used once": (
        [*TWO, running("old", "n1", ports=[80])],
        pod(ports=[80]),
        ["n2"],
        "NodePorts",
    ),
    "a running pod's anti-affinity holds against a new one": (
        [*TWO, running("old", "n1", affinity={"podAntiAffinity": near(APP, ZONE)})],
        pod(labels=APP),
        ["n2"],
        "InterPodAffinity",
    ),
    "a new pod's anti-affinity holds": (
        [*TWO, running("old", "n1", labels=APP)],
        pod(affinity={"podAntiAffinity": near(APP, ZONE)}),
        ["n2"],
        "InterPodAffinity",
    ),
    "affinity goes where the others are": (
        [*TWO, running("old", "n1", labels=APP)],
        pod(affinity={"podAffinity": near(APP, ZONE)}),
        ["n1"],
        "InterPodAffinity",
    ),
    "the first pod of a group satisfies its own affinity": (
        TWO,
        pod(labels=APP, affinity={"podAffinity": near(APP, ZONE)}),
        ["n1", "n2"],
        "",
    ),
    "the API server writes matchLabelKeys into the selector of affinity": (
        [*TWO, running("old", "n1", labels={**APP, "version": "1"})],
        pod(
            labels={**APP, "version": "2"},
            affinity={"podAntiAffinity": near(APP, ZONE, matchLabelKeys=["version"])},
        ),
        ["n1", "n2"],
        "",
    ),
    "hard spread keeps the skew": (
        [*TWO, running("old", "n1", labels=APP)],
        pod(labels=APP, topologySpreadConstraints=spread(APP)),
        ["n2"],
        "PodTopologySpread",
    ),
    "soft spread refuses nothing": (
        [*TWO, running("old", "n1", labels=APP)],
        pod(labels=APP, topologySpreadConstraints=spread(APP, whenUnsatisfiable="ScheduleAnyway")),
        ["n1", "n2"],
        "",
    ),
    "with fewer domains than minDomains the minimum is nought": (
        [node("n1"), running("old", "n1", labels=APP)],
        pod(labels=APP, topologySpreadConstraints=spread(APP, minDomains=2)),
        [],
        "PodTopologySpread",
    ),
    "a bound volume keeps its pod on its node": (
        [*TWO, STATIC, volume("disk", "n2"), bound("data", "disk")],
        pod(claims=["data"]),
        ["n2"],
        "VolumeBinding",
    ),
    "a free volume draws a waiting claim to its node": (
        [*TWO, STATIC, volume("disk", "n2"), claim("data")],
        pod(claims=["data"]),
        ["n2"],
        "VolumeBinding",
    ),
    "a claim that waits for its consumer needs storage capacity": (
        [*TWO, DYNAMIC, csi_driver(), claim("data"), capacity("n1", "5Gi"), capacity("n2", "20Gi")],
        pod(claims=["data"]),
        ["n2"],
        "VolumeBinding",
    ),
    "an unbound claim of an immediate class stops the pod": (
        [*TWO, storage_class("fast", LOCAL, "Immediate"), claim("data")],
        pod(claims=["data"]),
        [],
        "VolumeBinding",
    ),
    "a claim that is not there stops the pod": (TWO, pod(claims=["data"]), [], "VolumeRestrictions"),
    "a node attaches no more volumes than it can": (
        [*TWO, DYNAMIC, claim("old"), claim("data"), attachable("n1", 1), running("p", "n1", claims=["old"])],
        pod(claims=["data"]),
        ["n2"],
        "NodeVolumeLimits",
    ),
    "a scheduling gate stops the pod": (
        TWO,
        pod(schedulingGates=[{"name": "example.com/wait"}]),
        [],
        "SchedulingGates",
    ),
}


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_of_kube_scheduler(judge: Judge, rule: str):
    objects, asked, feasible, plugin = RULES[rule]
    [verdict] = judge.judge(objects, [{"pod": asked}])
    names = {given["metadata"]["name"] for given in objects if given["kind"] == "Node"}
    refused = sorted(names - set(feasible))
    assert verdict["feasible"] == feasible
    assert verdict["plugin"] == dict.fromkeys(refused, plugin)
    assert sorted(verdict["reasons"]) == refused
    assert all(verdict["reasons"].values())


def test_a_bound_pod_counts_in_the_next_step(judge: Judge):
    steps = [{"pod": pod(f"p{number}", cpu="3"), "bind": "n1"} for number in range(2)]
    first, second = judge.judge([node("n1")], steps)
    assert first["feasible"] == ["n1"]
    assert second["feasible"] == []
    assert second["reasons"] == {"n1": ["Insufficient cpu"]}


def test_a_pod_that_is_not_bound_does_not_count(judge: Judge):
    steps = [{"pod": pod(f"p{number}", cpu="3")} for number in range(2)]
    assert [step["feasible"] for step in judge.judge([node("n1")], steps)] == [["n1"], ["n1"]]


def test_a_volume_goes_to_one_claim_only_and_its_claim_stays_there(judge: Judge):
    objects = [*TWO, STATIC, volume("disk", "n2"), claim("data"), claim("more")]
    steps = [
        {"pod": pod("p1", claims=["data"]), "bind": "n2"},
        {"pod": pod("p2", claims=["more"])},
        {"pod": pod("p3", claims=["data"])},
    ]
    assert [step["feasible"] for step in judge.judge(objects, steps)] == [["n2"], [], ["n2"]]


def test_a_claim_to_be_provisioned_keeps_its_node_and_takes_no_capacity(judge: Judge):
    objects = [*TWO, DYNAMIC, csi_driver(), claim("data"), claim("more")]
    objects += [capacity("n1", "12Gi"), capacity("n2", "12Gi")]
    steps = [
        {"pod": pod("p1", claims=["data"]), "bind": "n2"},
        {"pod": pod("p2", claims=["data"])},
        {"pod": pod("p3", claims=["more"])},
    ]
    found = [step["feasible"] for step in judge.judge(objects, steps)]
    assert found == [["n1", "n2"], ["n2"], ["n1", "n2"]]


def test_scores_are_the_weighted_sum_over_the_plugins(judge: Judge):
    tainted = node("n2", taints=[{"key": "old", "effect": "PreferNoSchedule"}])
    [verdict] = judge.judge([node("n1"), tainted], [{"pod": pod(cpu="1")}], scores=True)
    parts = verdict["byPlugin"]
    assert verdict["scores"] == {name: sum(of[name] for of in parts.values()) for name in ("n1", "n2")}
    assert parts["TaintToleration"] == {"n1": 300, "n2": 0}
    assert parts["NodeResourcesFit"]["n1"] == (75 + 97) // 2  # cpu 1 of 4, memory 200Mi of 8Gi when unset


def test_a_case_leaves_nothing_behind(judge: Judge):
    steps = [{"pod": pod(cpu="3"), "bind": "n1"}]
    assert [judge.judge([node("n1")], steps)[0]["feasible"] for _ in range(3)] == [["n1"]] * 3


@pytest.mark.parametrize(
    ("objects", "steps", "said"),
    [
        ([], [{"pod": pod(), "bind": "n9"}], 'there is no node "n9"'),
        ([running("new", "n1")], [{"pod": pod()}], "pod default/new exists already"),
        ([{"apiVersion": "v1", "kind": "Pot"}], [], 'no kind "Pot"'),
        ([{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}], [], "knows no"),
        ([], [{"pod": node("n1")}], "a step is a Pod"),
    ],
)
def test_a_case_that_makes_no_sense_is_refused_and_the_next_one_judged(judge: Judge, objects, steps, said):
    with pytest.raises(JudgeError, match=said):
        judge.judge(objects, steps)
    assert judge.feasible([node("n1")], pod()) == ["n1"]


def test_a_judge_that_does_not_answer_in_time_is_ended():
    with Judge(plane_or_skip(), seconds_max=0.001) as hurried, pytest.raises(JudgeError, match="no answer"):
        hurried.judge([node("n1")], [{"pod": pod()}])
