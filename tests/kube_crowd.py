"""A crowd of pods for a small cluster: more than fit, and more than a quota allows, some with wishes.

Whatever happens meanwhile, in the end nobody waits for whom there is a place, and every placement is one that
kube-scheduler's own filters agree to.
"""

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kube_cluster import KubeCluster, pod
from kube_witness import Witness, cpu_milli, key_of
from plane.judge import Judge

NODES = 10
NODE_MILLI = 3000
LIMITED = "limited"
FREE = "free"
LIMIT_MILLI = 9000
PODS = 300
ZONE = "topology.kubernetes.io/zone"
SOLO = {"app": "solo"}
SETTLED_SECONDS_MAX = 90


def prepared(cluster: KubeCluster) -> Witness:
    """Make nodes, namespaces and a quota, and return a witness of what follows."""
    names = cluster.nodes(NODES, cpu=f"{NODE_MILLI}m")
    for index, name in enumerate(names):
        cluster.plane.patch(f"/api/v1/nodes/{name}", {"metadata": {"labels": {ZONE: f"z{index % 2}"}}})
    cluster.namespaces(LIMITED, FREE)
    amounts = {"cpu": f"{LIMIT_MILLI}m"}
    quota = {
        "apiVersion": "nos.nebuly.com/v1alpha1",
        "kind": "ElasticQuota",
        "metadata": {"name": "quota", "namespace": LIMITED},
        "spec": {"min": amounts, "max": amounts},
    }
    cluster.plane.create(quota)
    return Witness(cluster.plane, nodes=dict.fromkeys(names, NODE_MILLI), namespaces={LIMITED: LIMIT_MILLI})


def crowd(count: int = PODS, scheduler: str = "ullage") -> list[dict[str, Any]]:
    """Return pods of two namespaces: of every ten one wants a zone, and a few want a node of their own."""
    made = []
    for number in range(count):
        namespace = (LIMITED, FREE)[number % 2]
        spec: dict[str, Any] = {}
        labels: Mapping[str, str] = {"app": "crowd"}
        if number % 10 == 3:
            spec["nodeSelector"] = {ZONE: "z1"}
        if number % 40 == 7:
            labels = SOLO
            term = {"labelSelector": {"matchLabels": SOLO}, "topologyKey": "kubernetes.io/hostname"}
            spec["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
        cpu = f"{(100, 200)[number % 2]}m"
        made.append(pod(f"{namespace}/p{number:03d}", scheduler, labels=labels, spec=spec, cpu=cpu))
    return made


def settled(witness: Witness) -> bool:
    """Whether nobody waits for whom there is a place."""
    free = witness.free_milli()
    for each in witness.pods.values():
        if each["spec"].get("nodeName"):
            continue
        asked = cpu_milli(each)
        limited = each["metadata"]["namespace"] == LIMITED
        if limited and witness.used_milli(LIMITED) + asked > LIMIT_MILLI:
            continue
        if "nodeSelector" in each["spec"]:
            places = [name for name in free if int(name.removeprefix("n")) % 2 == 1]
        elif "affinity" in each["spec"]:
            taken = {
                one["spec"].get("nodeName")
                for one in witness.pods.values()
                if one["metadata"]["labels"] == SOLO
            }
            places = [name for name in free if name not in taken]
        else:
            places = list(free)
        if any(free[name] >= asked for name in places):
            return False
    return True


def wait_until_settled(witness: Witness, pods: int = PODS, seconds: float = SETTLED_SECONDS_MAX) -> None:
    """Return when all pods are there and nobody waits for whom there is a place."""
    witness.wait(lambda: len(witness.pods) == pods, f"{pods} pods are there", seconds)
    witness.wait(lambda: settled(witness), "nobody waits for whom there is a place", seconds)


def check_placements(cluster: KubeCluster, witness: Witness, program: Path) -> None:
    """Have kube-scheduler's filters look at each placement, in the order in which they were made."""
    pods = witness.pods
    steps = []
    for key, node in witness.bound:
        if key in pods:
            asked = {"apiVersion": "v1", "kind": "Pod", **copy.deepcopy(pods[key])}
            del asked["spec"]["nodeName"]
            steps.append({"pod": asked, "bind": node})
    nodes = [{"apiVersion": "v1", "kind": "Node", **each} for each in cluster.plane.items("/api/v1/nodes")]
    with Judge(program) as judge:
        verdicts = judge.judge(nodes, steps)
    refused = [
        f"{key_of(step['pod'])} on {step['bind']}: {verdict.get('reasons', {}).get(step['bind'])}"
        for step, verdict in zip(steps, verdicts, strict=True)
        if step["bind"] not in verdict["feasible"]
    ]
    assert not refused, refused[:10]
    assert len(steps) == len(pods) - sum(not each["spec"].get("nodeName") for each in pods.values())
