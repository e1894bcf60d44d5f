"""The test control plane is what other tests take it for: the real parts, running, with real rights."""

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from plane import settings
from plane.build import KUBERNETES_VERSION, PlaneAbsentError
from plane.build import plane_program as find_plane_program
from plane.client import ApiError, Client
from plane.part import PlaneError
from plane.plane import Plane, free_ports

pytestmark = pytest.mark.slow

TESTS = Path(__file__).parent
ORPHAN_SECONDS_MAX = 30
ORPHAN = """
import os, sys
from pathlib import Path
from plane.part import Part
program, folder, ready, *arguments = sys.argv[1:]
part = Part(Path(program), "etcd", arguments, Path(folder), ready)
part.await_ready()
print(part.process.pid, flush=True)
os.kill(os.getpid(), 9)
"""


def node(name: str, cpu: str = "4") -> dict:
    room = {"cpu": cpu, "memory": "8Gi", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "status": {"capacity": room, "allocatable": room},
    }


def pod_spec(cpu: str = "1") -> dict:
    return {"containers": [{"name": "main", "image": "none", "resources": {"requests": {"cpu": cpu}}}]}


def pod(namespace: str, name: str, cpu: str = "1") -> dict:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": pod_spec(cpu)}


def condition(found: dict, kind: str) -> dict:
    return next((one for one in found["status"].get("conditions", ()) if one["type"] == kind), {})


def is_ready(found: dict) -> bool:
    return condition(found, "Ready").get("status") == "True" and not found["spec"].get("taints")


@pytest.fixture
def namespace(plane: Plane) -> Iterator[str]:
    with plane.scratch() as name:
        yield name


@pytest.fixture
def ready_nodes(plane: Plane, namespace: str) -> list[str]:
    names = [f"{namespace}-{number}" for number in range(3)]
    plane.create_many([node(name) for name in names])
    for name in names:
        plane.wait_for(f"/api/v1/nodes/{name}", is_ready)
    return names


def test_it_is_the_version_that_its_modules_name(plane):
    assert plane.get("/version")["gitVersion"] == KUBERNETES_VERSION
    assert f"k8s.io/kubernetes {KUBERNETES_VERSION}\n" in (TESTS / "plane" / "go.mod").read_text()


def test_a_node_becomes_ready_and_keeps_what_it_was_created_with(plane, ready_nodes):
    found = plane.get(f"/api/v1/nodes/{ready_nodes[0]}")
    assert found["status"]["allocatable"] == {"cpu": "4", "memory": "8Gi", "pods": "110"}


def test_a_node_with_a_status_of_its_own_keeps_it(plane, namespace):
    custom = node(f"{namespace}-custom")
    custom["metadata"]["annotations"] = {"kwok.x-k8s.io/status": "custom"}
    custom["status"]["conditions"] = [{"type": "Ready", "status": "False", "reason": "Test"}]
    plane.create(custom)
    plane.create(node(f"{namespace}-other"))
    plane.wait_for(f"/api/v1/nodes/{namespace}-other", is_ready)
    found = plane.get(plane.client().path(custom))
    assert condition(found, "Ready")["reason"] == "Test"


def test_a_pod_is_placed_by_the_scheduler_and_runs(plane, namespace, ready_nodes):
    plane.create(pod(namespace, "small"))
    found = plane.wait_for(
        f"/api/v1/namespaces/{namespace}/pods/small", lambda small: small["status"]["phase"] == "Running"
    )
    assert found["spec"]["nodeName"] in ready_nodes
    assert {one["type"] for one in found["status"]["conditions"]} >= {"PodScheduled", "Ready"}


def test_a_pod_that_fits_nowhere_is_refused_with_the_schedulers_reason(plane, namespace, ready_nodes):
    plane.create(pod(namespace, "large", cpu="5"))
    found = plane.wait_for(
        f"/api/v1/namespaces/{namespace}/pods/large", lambda large: condition(large, "PodScheduled")
    )
    said = condition(found, "PodScheduled")
    assert said["reason"] == "Unschedulable"
    assert f"{len(ready_nodes)} Insufficient cpu" in said["message"]


def test_controllers_make_the_pods_of_a_deployment(plane, namespace, ready_nodes):
    labels = {"app": "web"}
    plane.create(
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "web", "namespace": namespace},
            "spec": {
                "replicas": 4,
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": pod_spec()},
            },
        }
    )
    plane.wait_for(
        f"/apis/apps/v1/namespaces/{namespace}/deployments/web",
        lambda web: web["status"].get("readyReplicas") == 4,
    )
    pods = plane.items(f"/api/v1/namespaces/{namespace}/pods")
    assert {one["spec"]["nodeName"] for one in pods} <= set(ready_nodes)


def test_a_user_may_do_what_a_role_allows_and_no_more(plane, namespace):
    pods = f"/api/v1/namespaces/{namespace}/pods"
    with pytest.raises(ApiError, match='"reader" cannot list resource "pods"') as refused:
        plane.client("reader").items(pods)
    assert refused.value.status == 403
    metadata = {"name": "read-pods", "namespace": namespace}
    group = "rbac.authorization.k8s.io"
    plane.create(
        {
            "apiVersion": f"{group}/v1",
            "kind": "Role",
            "metadata": metadata,
            "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}],
        }
    )
    plane.create(
        {
            "apiVersion": f"{group}/v1",
            "kind": "RoleBinding",
            "metadata": metadata,
            "roleRef": {"apiGroup": group, "kind": "Role", "name": "read-pods"},
            "subjects": [{"apiGroup": group, "kind": "User", "name": "reader"}],
        }
    )
    assert plane.client("reader").items(pods) == []
    with pytest.raises(ApiError, match='cannot list resource "nodes"'):
        plane.client("reader").items("/api/v1/nodes")


def test_a_token_that_nobody_has_is_refused(plane):
    nobody = Client(plane.server, "no-such-token", str(plane.folder / "apiserver.crt"))
    with pytest.raises(ApiError) as refused, contextlib.closing(nobody):
        nobody.items("/api/v1/nodes")
    assert refused.value.status == 401


def test_after_a_scratch_what_was_created_in_it_is_gone(plane):
    with plane.scratch() as inner:
        plane.create(node(f"{inner}-node"))
        plane.create(pod(inner, "left"))
        assert plane.items("/api/v1/nodes")
    assert plane.items("/api/v1/nodes") == []
    assert plane.items("/api/v1/pods") == []


def test_the_api_alone_accepts_nodes_and_pods_and_places_nothing(plane_program):
    with Plane(plane_program, parts=()) as bare:
        bare.create(node("bare"))
        bare.create(pod("default", "waiting"))
        assert bare.get("/api/v1/nodes/bare")["spec"].get("taints") is None
        assert bare.get("/api/v1/namespaces/default/pods/waiting")["status"]["phase"] == "Pending"


def test_a_part_that_does_not_start_says_why(plane_program):
    with pytest.raises(PlaneError, match=r"(?s)kube-apiserver ended with 1;.*unknown flag: --nonsense"):
        Plane(plane_program, parts=(), flags={settings.API: ["--nonsense"]}).start()


def test_a_part_ends_when_the_process_that_started_it_is_killed(plane_program, tmp_path):
    ports = free_ports()
    ready = f"http://127.0.0.1:{ports[settings.ETCD]}/health"
    arguments = settings.etcd(tmp_path, ports[settings.ETCD], ports["etcd peer"])
    started = subprocess.run(
        [sys.executable, "-c", ORPHAN, plane_program, tmp_path, ready, *arguments],
        env={**os.environ, "PYTHONPATH": str(TESTS)},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    orphan = Path("/proc") / started.stdout.strip()
    assert orphan.name.isdigit()
    until = time.monotonic() + ORPHAN_SECONDS_MAX
    while orphan.exists() and "Z" not in (orphan / "stat").read_text().split()[2]:
        assert time.monotonic() < until, "the part outlived its starter"
        time.sleep(0.1)


def test_without_a_program_the_reason_is_stated(tmp_path, monkeypatch):
    monkeypatch.setenv("ULLAGE_PLANE", str(tmp_path / "none"))
    with pytest.raises(PlaneAbsentError, match=r"ULLAGE_PLANE names .*none, which is not a program"):
        find_plane_program()
    monkeypatch.delenv("ULLAGE_PLANE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(PlaneAbsentError, match="run `make plane`"):
        find_plane_program()
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PlaneAbsentError, match="needs Go"):
        find_plane_program()
