"""Clusters over HTTP: the handlers, on a pool of real processes."""

from types import SimpleNamespace

import msgspec
import pytest

from ullage.web.api.clusters import ROUTES, clusters
from ullage.web.clusters import ClusterState
from ullage.web.http import Principal, Problem, Request
from ullage.web.served import Bounds
from ullage.web.state import State
from web.pools import Served, document

WHO = Principal("anne", "commit")


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    running = Served(tmp_path_factory.mktemp("api"), [("demo", "demo")], Bounds(workers=1))
    running.run(running.pool.refresh("demo"))
    running.state = State(tmp_path_factory.mktemp("state"))
    yield running
    running.close()
    running.state.close()


def asked(served, method, path, *, cluster="", query=(), body=b""):
    (route,) = (each for each in ROUTES if (each.method, each.path) == (method, path))
    request = Request(method, path, {}, WHO, {"cluster": cluster}, query, body)
    server = SimpleNamespace(pool=served.pool, state=served.state, remove=served.pool.remove)
    return served.run(route.handler(server, request))


def state_of(response):
    return msgspec.json.decode(response.body, type=ClusterState)


ONE = "/v1/clusters/{cluster}"


def test_all_clusters_are_listed(served):
    listed = msgspec.json.decode(asked(served, "GET", "/v1/clusters").body)
    assert (listed["apiVersion"], listed["kind"]) == ("ullage.dev/v1", "ClusterList")
    assert [each["name"] for each in listed["items"]] == ["demo"]
    one = msgspec.json.decode(asked(served, "GET", ONE, cluster="demo").body)
    assert one == {"apiVersion": "ullage.dev/v1", "kind": "Cluster", **listed["items"][0]}


def test_a_cluster_is_uploaded_replaced_and_removed(served):
    created = asked(served, "PUT", ONE, cluster="mine", body=document())
    assert created.status == 201
    assert ("location", "/v1/clusters/mine") in created.headers
    assert state_of(created).nodes == 2
    replaced = asked(served, "PUT", ONE, cluster="mine", body=document(nodes=3))
    assert (replaced.status, state_of(replaced).revision, state_of(replaced).nodes) == (200, 2, 3)
    assert asked(served, "DELETE", ONE, cluster="mine").status == 204
    with pytest.raises(Problem) as refused:
        asked(served, "GET", ONE, cluster="mine")
    assert refused.value.status == 404
    assert [(each.who, each.cluster, each.action, each.outcome) for _, each in served.state.audited()] == [
        ("anne", "mine", "upload cluster", "revision 1 of the cluster"),
        ("anne", "mine", "upload cluster", "revision 2 of the cluster"),
        ("anne", "mine", "remove cluster", "removed"),
    ]


def test_an_upload_of_nothing_is_refused(served):
    with pytest.raises(Problem) as refused:
        asked(served, "PUT", ONE, cluster="mine")
    assert refused.value.status == 422


def test_a_refresh_answers_how_the_cluster_stands_then(served):
    assert state_of(asked(served, "POST", f"{ONE}/refresh", cluster="demo")).revision == 1


def test_a_snapshot_comes_with_the_tag_of_its_revision_and_form(served):
    found = {
        form: asked(served, "GET", f"{ONE}/snapshot", cluster="demo", query=[("form", form)])
        for form in ("json", "compact")
    }
    assert msgspec.json.decode(found["json"].body)["kind"] == "Snapshot"
    assert found["compact"].body.startswith(b"\x89ULLAGE")
    assert found["json"].headers != found["compact"].headers
    assert [name for name, _ in found["json"].headers] == ["etag", "ullage-revision"]
    assert dict(found["compact"].headers)["ullage-revision"] == "1"


@pytest.mark.parametrize("query", [[("form", "png")], [("path", "/etc/passwd")]], ids=["form", "unknown"])
def test_a_snapshot_in_no_form_of_ours_is_refused(served, query):
    with pytest.raises(Problem) as refused:
        asked(served, "GET", f"{ONE}/snapshot", cluster="demo", query=query)
    assert refused.value.status == 400


def test_only_who_may_commit_changes_which_clusters_there_are():
    scopes = {(route.method, route.path): route.scope for route in ROUTES}
    assert {scopes["PUT", ONE], scopes["DELETE", ONE]} == {"commit"}
    assert scopes["POST", f"{ONE}/refresh"] == "plan"
    assert {route.scope for route in ROUTES if route.method == "GET"} == {"read"}
    assert next(route for route in ROUTES if route.path == "/v1/clusters").handler is clusters
