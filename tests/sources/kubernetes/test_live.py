"""A live cluster is read as a dump of it is, as far as rights go: judged on a real API server."""

import json
import re
import secrets
import time
import urllib.request
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from plane.client import ApiError
from plane.plane import Plane
from plane.settings import API
from ullage.cli.main import run
from ullage.model.cluster import Snapshot
from ullage.model.errors import InputError
from ullage.sources.kubernetes import live
from ullage.sources.kubernetes.dump import read_dump
from ullage.sources.kubernetes.items import Kind
from ullage.sources.kubernetes.kubeconfig import find_access
from ullage.sources.kubernetes.live import LiveSource
from ullage.sources.kubernetes.live_discovery import JSON, discover
from ullage.sources.kubernetes.live_server import ApiServer, Reply

pytestmark = pytest.mark.slow

GUIDE = Path(__file__).parents[3] / "docs" / "guides" / "live-cluster.md"
CORE = "nodes pods namespaces persistentvolumes persistentvolumeclaims limitranges resourcequotas"
LISTS = (
    *(f"/api/v1/{name}" for name in CORE.split()),
    *(f"/apis/apps/v1/{name}" for name in ("deployments", "replicasets", "statefulsets", "daemonsets")),
    "/apis/batch/v1/jobs",
    "/apis/batch/v1/cronjobs",
    "/apis/scheduling.k8s.io/v1/priorityclasses",
    "/apis/node.k8s.io/v1/runtimeclasses",
    "/apis/policy/v1/poddisruptionbudgets",
    *(f"/apis/storage.k8s.io/v1/{name}" for name in ("storageclasses", "csidrivers", "csistoragecapacities")),
    "/apis/nos.nebuly.com/v1alpha1/elasticquotas",
)
TABLES = tuple(
    field.name
    for field in msgspec.structs.fields(Snapshot)
    if field.name not in {"name", "revision", "unknowns", "taken_seconds"}
)
QUOTAS = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "elasticquotas.nos.nebuly.com"},
    "spec": {
        "group": "nos.nebuly.com",
        "scope": "Namespaced",
        "names": {"plural": "elasticquotas", "kind": "ElasticQuota", "listKind": "ElasticQuotaList"},
        "versions": [
            {
                "name": "v1alpha1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
                },
            }
        ],
    },
}


def thing(api_version: str, kind: str, name: str, namespace: str = "", **fields: Any) -> dict:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}


def node(name: str) -> dict:
    room = {"cpu": "8", "memory": "32Gi", "pods": "110"}
    made = thing("v1", "Node", name, status={"capacity": room, "allocatable": room})
    made["metadata"]["labels"] = {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": "z1"}
    return made


def pod(namespace: str, name: str, **spec: Any) -> dict:
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}
    return thing("v1", "Pod", name, namespace, spec={"containers": [container], **spec})


def deployment(namespace: str, name: str, replicas: int) -> dict:
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": pod(namespace, name)["spec"]}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    return thing("apps/v1", "Deployment", name, namespace, spec=spec)


def role(name: str, namespace: str, *rules: tuple[str, str]) -> list[dict]:
    """A role to list resources (by group) of one namespace or of all, and a user of its name who has it."""
    kind = "Role" if namespace else "ClusterRole"
    group = "rbac.authorization.k8s.io"
    listed = [
        {"apiGroups": [each], "resources": resources.split(), "verbs": ["list"]} for each, resources in rules
    ]
    given = {
        "roleRef": {"apiGroup": group, "kind": kind, "name": name},
        "subjects": [{"apiGroup": group, "kind": "User", "name": name}],
    }
    return [
        thing(f"{group}/v1", kind, name, namespace, rules=listed),
        thing(f"{group}/v1", f"{kind}Binding", name, namespace, **given),
    ]


def is_running(found: dict) -> bool:
    return found["status"].get("phase") == "Running"


def is_ready(found: dict) -> bool:
    conditions = {each["type"]: each["status"] for each in found["status"].get("conditions", ())}
    return conditions.get("Ready") == "True" and not found["spec"].get("taints")


def is_served(plane: Any, path: str) -> bool:
    try:
        plane.get(path)
    except ApiError:
        return False
    return True


@pytest.fixture(scope="module")
def team(plane):
    """A namespace with pods that run, wait and are over; another with a Deployment that may have no pods."""
    with plane.scratch() as name:
        other = f"{name}-other"
        plane.create(thing("v1", "Namespace", other))
        plane.create(QUOTAS)
        crd = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/elasticquotas.nos.nebuly.com"
        plane.wait_for(
            crd, lambda _: is_served(plane, "/apis/nos.nebuly.com/v1alpha1/elasticquotas"), seconds=60
        )
        plane.create_many([node("live-a"), node("live-b")])
        none = plane.create(
            thing("v1", "ResourceQuota", "none", other, spec={"hard": {"count/pods": "0", "pods": "0"}})
        )
        plane.wait_for(plane.client().path(none), lambda found: found.get("status", {}).get("hard"))
        plane.create_many(
            [
                thing("scheduling.k8s.io/v1", "PriorityClass", "live-high", value=1000),
                thing("node.k8s.io/v1", "RuntimeClass", "live-vm", handler="vm")
                | {"overhead": {"podFixed": {"cpu": "250m"}}},
                thing("storage.k8s.io/v1", "StorageClass", "live-disk", provisioner="example.com/disk"),
                thing(
                    "v1",
                    "LimitRange",
                    "bounds",
                    name,
                    spec={"limits": [{"type": "Pod", "min": {"cpu": "100m"}}]},
                ),
                thing("v1", "ResourceQuota", "most", name, spec={"hard": {"requests.memory": "64Gi"}}),
                thing("nos.nebuly.com/v1alpha1", "ElasticQuota", "share", name, spec={"min": {"cpu": "4"}}),
                thing(
                    "v1",
                    "PersistentVolumeClaim",
                    "data",
                    name,
                    spec={
                        "accessModes": ["ReadWriteOnce"],
                        "storageClassName": "live-disk",
                        "resources": {"requests": {"storage": "5Gi"}},
                    },
                ),
                deployment(other, "kept-out", 2),
            ]
        )
        plane.create_many(
            [
                pod(name, "runs", nodeName="live-a", runtimeClassName="live-vm"),
                pod(name, "runs-too", nodeName="live-b", priorityClassName="live-high"),
                pod(name, "waits", schedulingGates=[{"name": "example.com/later"}]),
                *(pod("default", f"else-{number}", nodeName="live-b") for number in range(3)),
                deployment(name, "web", 1),
            ]
        )
        for path in (
            f"{name}/pods/runs",
            f"{name}/pods/runs-too",
            *(f"default/pods/else-{n}" for n in range(3)),
        ):
            plane.wait_for(f"/api/v1/namespaces/{path}", is_running)
        for each in ("live-a", "live-b"):
            plane.wait_for(f"/api/v1/nodes/{each}", is_ready)
        plane.wait_for(
            f"/api/v1/namespaces/{name}/pods",
            lambda found: sum(is_running(each) for each in found["items"]) == 3,
        )
        yield name


@pytest.fixture(scope="module")
def source(plane, team):
    """The cluster as a user sees it."""

    def opened(user: str = "admin", **options: Any) -> LiveSource:
        return LiveSource(kubeconfig=str(plane.kubeconfig(user)), **options)

    assert team
    return opened


@pytest.fixture(scope="module")
def dumped(plane, team, tmp_path_factory):
    """The cluster as kubectl would have dumped it."""
    assert team
    items = []
    for path in LISTS:
        found = plane.get(path)
        kind = {"apiVersion": found["apiVersion"], "kind": found["kind"].removesuffix("List")}
        items += [kind | each for each in found["items"]]
    path = tmp_path_factory.mktemp("dump") / "dump.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}), encoding="utf-8")
    return path


def tables(snapshot: Snapshot) -> dict[str, Any]:
    """All rows; namespaces of tests before this one, which are empty and may be about to go, left out."""
    found = {name: getattr(snapshot, name) for name in TABLES}
    in_use = {each.namespace for each in snapshot.workloads}
    found["namespaces"] = [
        each for each in snapshot.namespaces if each.name in in_use or not each.name.startswith("test-")
    ]
    return found


def missing(snapshot: Snapshot) -> list[str]:
    return [line for line in snapshot.unknowns if line.startswith("not permitted: ")]


def test_a_live_cluster_gives_what_its_dump_gives(source, dumped, team):
    found = source().read()
    assert tables(found) == tables(read_dump(str(dumped)))
    states = {each.name: (each.state, each.node) for each in found.workloads if each.namespace == team}
    assert states["runs"] == ("ok", "live-a")
    assert states["waits"] == ("init", "")
    assert len(states) == 4
    assert sum(each.namespace == f"{team}-other" for each in found.workloads) == 2
    assert found.quotas[f"{team}/share"].namespaces == (team,)
    assert found.unknowns == read_dump(str(dumped)).unknowns


TRIES = 3


@pytest.mark.parametrize("page_items", [1, 2, 1000])
def test_pages_of_any_size_give_the_same(source, page_items):
    def are_the_same() -> bool:
        return tables(source(page_items=page_items).read()) == tables(source().read())

    assert any(are_the_same() for _ in range(TRIES)), "a namespace of another test may go between two of them"


def test_the_cluster_has_its_name_and_the_revision_of_its_pods(plane, source):
    found = source().read()
    assert (found.name, source().profile) == ("plane", "kubernetes")
    before = int(plane.get("/api/v1/pods?limit=1")["metadata"]["resourceVersion"])
    assert 0 < found.revision <= before


def test_a_live_cluster_shows_the_moment_at_which_it_is_read(source):
    before = int(time.time())
    assert before <= source().read().taken_seconds <= time.time()


def test_an_older_way_to_ask_for_kinds_gives_the_same(plane, team):
    assert team
    wanted = [Kind("", "Pod"), Kind("apps", "Deployment"), Kind("nos.nebuly.com", "ElasticQuota")]
    wanted += [Kind("storage.k8s.io", "CSINode"), Kind("batch", "Job"), Kind("ray.io", "RayCluster")]
    server = ApiServer(find_access("", str(plane.kubeconfig())))
    try:
        found = discover(server, wanted)
        assert found == discover(server, wanted, accept=JSON)
    finally:
        server.close()
    assert set(found) == set(wanted[:-1])
    assert found[wanted[2]].path("team") == "/apis/nos.nebuly.com/v1alpha1/namespaces/team/elasticquotas"


def test_the_role_of_the_guide_is_enough(plane, source):
    written = re.search(r"```yaml\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    rules = yaml.safe_load(written[1])
    given = role("reader", "")[1]
    given["roleRef"]["name"] = rules["metadata"]["name"]
    plane.create_many([rules, given])
    found = source("reader").read()
    assert missing(found) == []
    assert tables(found) == tables(source().read())


@pytest.fixture(scope="module")
def tenant(plane, team):
    """A user who may list what is in one namespace."""
    rules = [("", "pods resourcequotas"), ("nos.nebuly.com", "elasticquotas"), ("apps", "deployments")]
    plane.create_many(role("tenant", team, *rules))
    return "tenant"


def test_without_nodes_a_namespace_is_still_answered(source, tenant, team):
    found = source(tenant, namespace=team, needs_nodes=False).read()
    whole = source().read()
    assert len(found.nodes) == 0
    seen = {each.name: (each.state, each.node, each.requests) for each in found.workloads}
    assert seen == {
        each.name: (each.state, "", each.requests) for each in whole.workloads if each.namespace == team
    }
    assert list(found.quotas.keys()) == [f"{team}/share"]
    assert [each.namespace for each in found.resource_quotas] == [team]
    lines = missing(found)
    assert (
        "not permitted: list nodes (cluster scope): how much room there is and where pods run is not known, "
        "use of quotas not counted; ask for a role with list on nodes" in lines
    )
    assert (
        "not permitted: list persistentvolumes (cluster scope); ask for a role with list on persistentvolumes"
    ) in lines
    assert (
        f"not permitted: list jobs.batch (namespace {team}); ask for a role with list on jobs.batch" in lines
    )
    assert (
        f"not permitted: list resourcequotas (all namespaces): only those of {team} are seen; "
        "ask for a role with list on resourcequotas"
    ) in lines


def refusal(opened: LiveSource) -> str:
    with pytest.raises(InputError) as raised:
        opened.read()
    assert "\n" not in str(raised.value)
    return str(raised.value)


def test_without_nodes_a_question_about_room_is_refused(source, tenant, team):
    said = refusal(source(tenant, namespace=team))
    assert said.startswith(
        "plane: not permitted: list nodes (cluster scope); ask for a role with list on nodes"
    )
    assert "ullage status -n" in said
    assert refusal(source(tenant, needs_nodes=False)) == said


def test_without_pods_nothing_is_answered(source, team):
    plain = "plane: not permitted: list pods"
    assert refusal(source("stranger", namespace=team, needs_nodes=False)) == (
        f"{plain} (namespace {team}); ask for a role with list on pods"
    )


def test_with_pods_of_one_namespace_nodes_look_emptier_and_nothing_else_seems_to_wait(plane, source, team):
    name = f"{team}-half"
    plane.create_many(
        [
            *role(name, "", ("", "nodes"), ("apps", "deployments")),
            *role(name, team, ("", "pods"), ("apps", "deployments")),
        ]
    )
    found = source(as_user=name, namespace=team).read()
    whole = source().read()
    assert found.nodes == whole.nodes
    assert {each.key for each in found.workloads} == {
        each.key for each in whole.workloads if each.namespace == team
    }
    assert (
        f"not permitted: list pods (all namespaces): only those of {team} are seen, "
        "so nodes look emptier than they are; ask for a role with list on pods"
    ) in missing(found)
    said = refusal(source(as_user=name))
    assert said.startswith(
        "plane: not permitted: list pods (all namespaces); ask for a role with list on pods"
    )


def test_asking_as_somebody_else_shows_what_they_see(source, tenant, team):
    own = source(tenant, namespace=team, needs_nodes=False).read()
    assert source(as_user=tenant, namespace=team, needs_nodes=False).read().unknowns == own.unknowns
    assert "not permitted: impersonate admin; ask for a role" in refusal(source(tenant, as_user="admin"))


def test_a_token_that_is_not_valid_is_refused(plane, team, tmp_path):
    assert team
    path = tmp_path / "config"
    path.write_text(plane.kubeconfig().read_text().replace(plane.token(), "expired"), encoding="utf-8")
    said = refusal(LiveSource(kubeconfig=str(path)))
    assert "user admin is not known to the server (401); log in again" in said


def test_a_running_pod_without_its_node_is_left_out_and_named(plane, source, team):
    plane.create(pod(team, "lost", nodeName="gone"))
    try:
        found = source().read()
    finally:
        plane.delete(f"/api/v1/namespaces/{team}/pods/lost")
    assert f"{team}/lost" not in found.workloads
    assert f"1 pod runs on a node that is not there ({team}/lost on gone): left out" in found.unknowns


def test_an_object_that_cannot_be_read_is_named_and_left_out(plane, source, team):
    odd = thing("nos.nebuly.com/v1alpha1", "ElasticQuota", "odd", team, spec={"min": {"cpu": "lots"}})
    plane.create(odd)
    try:
        found = source().read()
    finally:
        plane.delete(plane.client().path(odd))
    assert list(found.quotas.keys()) == [f"{team}/share"]
    (line,) = found.unknowns
    assert line.startswith("not read: plane: elasticquotas.nos.nebuly.com, page 1: items[0].spec.min.cpu: ")


def test_a_list_that_fails_is_named_unless_nothing_can_be_said_without_it(source, monkeypatch):
    class SickServer(ApiServer):
        sick = "/apis/policy/v1/poddisruptionbudgets"

        def get(self, path: str, query: dict[str, str] | None = None, *, accept: str = JSON) -> Reply:
            if path == self.sick:
                return Reply(503, bytearray(b'{"message": "not now"}'))
            return super().get(path, query, accept=accept)

    whole = source().read()
    monkeypatch.setattr(live, "ApiServer", SickServer)
    found = source().read()
    assert tables(found) == tables(whole)
    assert found.unknowns == ("not read: poddisruptionbudgets.policy: 503: not now",)
    monkeypatch.setattr(SickServer, "sick", "/api/v1/nodes")
    assert refusal(source()) == "plane: nodes: 503: not now; ask again when the server is well"


def forget(plane: Any) -> None:
    """Have etcd drop all states but a new one, as the API server does every few minutes."""
    arguments = Path(f"/proc/{plane.process_id('etcd')}/cmdline").read_text(encoding="utf-8").split("\0")
    url = next(each.partition("=")[2] for each in arguments if each.startswith("--advertise-client-urls="))
    made = plane.create(thing("v1", "Namespace", f"later-{secrets.token_hex(4)}"))
    body = json.dumps({"revision": made["metadata"]["resourceVersion"]}).encode()
    with urllib.request.urlopen(f"{url}/v3/kv/compaction", data=body, timeout=60) as answer:  # noqa: S310 - our own etcd
        assert answer.status == 200


def test_a_list_that_outlives_its_state_is_continued_from_a_later_one(plane_program, monkeypatch):
    class SlowServer(ApiServer):
        """A server from which each next page of pods is asked for when its state is gone."""

        def get(self, path: str, query: dict[str, str] | None = None, *, accept: str = JSON) -> Reply:
            if path == "/api/v1/pods" and "continue" in (query or {}):
                forget(alone)
            return super().get(path, query, accept=accept)

    # Without its cache the API server has the states that etcd has, and no others.
    with Plane(plane_program, parts=(), flags={API: ["--watch-cache=false"]}) as alone:
        alone.create(node("a"))
        alone.create_many([pod("default", f"p{number}", nodeName="a") for number in range(5)])
        config = str(alone.kubeconfig())
        whole = LiveSource(kubeconfig=config).read()
        monkeypatch.setattr(live, "ApiServer", SlowServer)
        found = LiveSource(kubeconfig=config, page_items=2).read()
    assert found.workloads == whole.workloads
    assert len(whole.workloads) == 5
    assert whole.unknowns == ()
    assert "pods: the list outlived its revision; its last pages show a later one" in found.unknowns
    assert all(": the list outlived its revision; " in line for line in found.unknowns)


class ForgetfulServer(ApiServer):
    """A server that gives no second page a few times, and offers no later state."""

    refused = 0
    most = 1

    def get(self, path: str, query: dict[str, str] | None = None, *, accept: str = JSON) -> Reply:
        if "continue" in (query or {}) and path == "/api/v1/pods" and ForgetfulServer.refused < self.most:
            ForgetfulServer.refused += 1
            return Reply(410, bytearray(b"{}"))
        return super().get(path, query, accept=accept)


def test_where_no_later_state_is_offered_all_is_read_anew_once(source, monkeypatch):
    whole = source().read()
    monkeypatch.setattr(live, "ApiServer", ForgetfulServer)
    monkeypatch.setattr(ForgetfulServer, "refused", 0)
    assert tables(source(page_items=2).read()) == tables(whole)
    monkeypatch.setattr(ForgetfulServer, "most", 99)
    assert "its lists expire before they are read" in refusal(source(page_items=2))


def test_the_command_line_asks_the_current_context(plane, team, monkeypatch, capsys):
    assert team
    monkeypatch.delenv("ULLAGE_CLUSTER", raising=False)
    monkeypatch.setenv("KUBECONFIG", str(plane.kubeconfig()))
    assert run(["status"]) == 0
    assert "cluster plane, revision " in capsys.readouterr().out
    assert run(["fit", "--context", "admin", "--shape", "cpu=1"]) == 0
    assert " -c kube --context admin" in capsys.readouterr().out.splitlines()[-1]


def test_the_command_line_answers_a_tenant_what_it_can(plane, tenant, team, capsys):
    words = ["-c", "kube", "--kubeconfig", str(plane.kubeconfig(tenant)), "-n", team]
    assert run(["status", *words, "--width", "300"]) == 0
    out = capsys.readouterr().out
    assert "not permitted: list nodes (cluster scope)" in out
    assert re.search(r"^runs +Pod +ok ", out, re.MULTILINE)
    assert run(["fit", *words, "--shape", "cpu=1"]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("ullage: error: plane: not permitted: list nodes (cluster scope); ")
    assert captured.err.count("\n") == 1
