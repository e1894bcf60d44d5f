"""Right sizes on a real control plane: read live, patched by both ways of kubectl, and rolled out."""

import json
from typing import Any

import pytest
import yaml

from ullage.cli.main import run

pytestmark = pytest.mark.slow

MIB = 1 << 20
START = 1_767_225_600
STEP_SECONDS = 3600
POINTS = 336
USED = {"main": (300, 700), "proxy": (20, 60), "seed": (0, 0)}
"""What each container uses: milli-CPUs and MiB."""
APPLY = "application/apply-patch+yaml"


def thing(api_version: str, kind: str, name: str, namespace: str = "", **fields: Any) -> dict:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}


def container(name: str, cpu: str, memory: str, **fields: Any) -> dict:
    given = {"requests": {"cpu": cpu, "memory": memory}, "limits": {"cpu": "4", "memory": memory}}
    return {"name": name, "image": "none", "resources": given, **fields}


def template(app: str) -> dict:
    spec = {
        "initContainers": [
            container("seed", "100m", "64Mi"),
            container("proxy", "1", "1Gi", restartPolicy="Always"),
        ],
        "containers": [container("main", "2", "4Gi")],
    }
    return {"metadata": {"labels": {"app": app}}, "spec": spec}


def made(kind: str, namespace: str) -> dict:
    app = kind.lower()
    spec: dict[str, Any] = {"selector": {"matchLabels": {"app": app}}, "template": template(app)}
    if kind != "DaemonSet":
        spec["replicas"] = 2
    return thing("apps/v1", kind, app, namespace, spec=spec)


KINDS = ("Deployment", "StatefulSet", "DaemonSet")


def is_ready(found: dict) -> bool:
    conditions = {each["type"]: each["status"] for each in found["status"].get("conditions", ())}
    return conditions.get("Ready") == "True"


@pytest.fixture(scope="module")
def team(plane):
    """A namespace with a Deployment, a StatefulSet and a DaemonSet, each with a sidecar and an init step."""
    with plane.scratch() as name:
        room = {"cpu": "64", "memory": "256Gi", "pods": "110"}
        plane.create(thing("v1", "Node", name, status={"capacity": room, "allocatable": room}))
        plane.wait_for(f"/api/v1/nodes/{name}", is_ready)
        scaling = {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "deployment"},
            "minReplicas": 2,
            "maxReplicas": 9,
            "metrics": [
                {
                    "type": "Resource",
                    "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}},
                }
            ],
        }
        plane.create_many(
            [
                *(made(kind, name) for kind in KINDS),
                thing("autoscaling/v2", "HorizontalPodAutoscaler", "scaling", name, spec=scaling),
            ]
        )
        plane.wait_for(f"/api/v1/namespaces/{name}/pods", lambda found: len(found["items"]) >= 5)
        yield name


def observed(plane, namespace: str, path) -> str:
    """Two weeks of use of every container that is there now."""
    lines = ["subject,resource,time,value"]
    for pod in plane.items(f"/api/v1/namespaces/{namespace}/pods"):
        for name, (cpu, memory) in USED.items():
            subject = f"container/{namespace}/{pod['metadata']['name']}/{name}"
            for point in range(POINTS) if cpu else ():
                at = START + point * STEP_SECONDS
                lines += [f"{subject},cpu,{at},{cpu}m", f"{subject},memory,{at},{memory}Mi"]
    path.write_text("\n".join(lines), encoding="utf-8")
    return str(path)


@pytest.fixture
def advise(plane, team, tmp_path, capsysbinary):
    """Ask for advice about the namespace of the live cluster."""

    def ask(*words: str) -> str:
        usage = observed(plane, team, tmp_path / "usage.csv")
        capsysbinary.readouterr()
        line = ["advise", "requests", "-c", "kube", "--kubeconfig", str(plane.kubeconfig()), "-n", team, "-q"]
        assert run([*line, "--usage", usage, *words], "ullage") == 0
        return capsysbinary.readouterr().out.decode()

    return ask


def resources_of(found: dict) -> dict:
    spec = found["spec"]["template"]["spec"]
    return {each["name"]: each["resources"] for each in (*spec["initContainers"], *spec["containers"])}


def test_the_api_server_takes_the_patches_in_both_ways_and_pods_follow(plane, team, advise):
    patches = {each["kind"]: each for each in yaml.safe_load_all(advise("--patch"))}
    assert set(patches) == set(KINDS)
    client = plane.client()
    for kind, way in zip(KINDS, ("strategic", "apply", "strategic"), strict=True):
        patch = patches[kind]
        path = client.path(patch)
        if way == "strategic":
            client.patch(path, patch, "strategic")
        else:
            client.request("PATCH", f"{path}?fieldManager=ullage&force=true", patch, APPLY)
        after = resources_of(plane.get(path))
        assert after["main"]["requests"] == {"cpu": "300m", "memory": "816Mi"}
        assert after["main"]["limits"] == {"cpu": "4", "memory": "4Gi"}, (
            "starts were not seen: the limit stays"
        )
        assert after["proxy"]["requests"] == {"cpu": "20m", "memory": "80Mi"}
        assert after["seed"]["requests"] == {"cpu": "100m", "memory": "64Mi"}

    def rolled_out(found: dict) -> bool:
        pods = [each for each in found["items"] if each["metadata"]["labels"]["app"] == "deployment"]
        requests = [each["spec"]["containers"][0]["resources"]["requests"]["memory"] for each in pods]
        return set(requests) == {"816Mi"}

    plane.wait_for(f"/api/v1/namespaces/{team}/pods", rolled_out)


def test_a_limit_is_removed_by_a_strategic_patch(plane, advise):
    text = advise("statefulset/statefulset", "--cpu-limits", "remove", "--patch")
    (patch,) = yaml.safe_load_all(text)
    client = plane.client()
    client.patch(client.path(patch), patch, "strategic")
    after = resources_of(plane.get(client.path(patch)))
    assert set(after["main"]["limits"]) == {"memory"}


def test_who_scales_by_the_request_is_told_by_the_live_cluster(advise):
    report = json.loads(advise("deployment/deployment", "--min-saving", "0", "-o", "json"))
    (workload,) = report["workloads"]
    assert workload["kind"] == "Deployment"
    if workload["changes"]:
        assert "HorizontalPodAutoscaler scaling scales by cpu" in workload["notes"][0]
