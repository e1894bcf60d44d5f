"""What a server says of itself, when it is none of ours. A real one is in test_live.py."""

import asyncio
import json
from collections.abc import Collection

import pytest

from sources.kubernetes.small_server import serving
from ullage.model.errors import InputError
from ullage.sources.kubernetes.api.client import ApiClient
from ullage.sources.kubernetes.api.discovering import discovered as discovered_by
from ullage.sources.kubernetes.items import Kind
from ullage.sources.kubernetes.kubeconfig import Access, ClusterEntry, UserEntry
from ullage.sources.kubernetes.live_discovery import Listed, discover
from ullage.sources.kubernetes.live_server import ApiServer

POD = Kind("", "Pod")
QUOTA = Kind("example.com", "Quota")


def by_a_command(access: Access, wanted: Collection[Kind]) -> dict[Kind, Listed]:
    server = ApiServer(access)
    try:
        return discover(server, wanted)
    finally:
        server.close()


def by_a_process(access: Access, wanted: Collection[Kind]) -> dict[Kind, Listed]:
    async def asked() -> dict[Kind, Listed]:
        client = ApiClient(access)
        try:
            return await discovered_by(client, wanted)
        finally:
            await client.close()

    return asyncio.run(asked())


@pytest.fixture(params=[by_a_command, by_a_process])
def discovered(request):
    def found(script=(), paths=None):
        answers = {path: [(200, json.dumps(body).encode())] for path, body in (paths or {}).items()}
        with serving(*(script or [(404, b"")]), paths=answers) as there:
            access = Access("here", ClusterEntry(server=there.url), UserEntry())
            return request.param(access, (POD, QUOTA))

    return found


def groups(*items: dict) -> dict:
    return {"kind": "APIGroupDiscoveryList", "items": list(items)}


def resource(plural: str, kind: str, verbs: str = "get list") -> dict:
    return {"resource": plural, "responseKind": {"kind": kind}, "scope": "Namespaced", "verbs": verbs.split()}


def version(name: str, *resources: dict) -> dict:
    return {"version": name, "resources": list(resources)}


def test_the_first_version_that_lists_a_kind_counts(discovered):
    found = discovered(
        paths={
            "/api": groups({"versions": [version("v1", resource("pods", "Pod"))]}),
            "/apis": groups(
                {
                    "metadata": {"name": "example.com"},
                    "versions": [
                        version("v3", resource("quotas", "Quota", verbs="get")),
                        version("v2", resource("quotas", "Quota"), {"resource": "odd"}),
                        version("v1", resource("quotas", "Quota")),
                    ],
                },
                {"metadata": {"name": "elsewhere"}, "versions": [version("v1", resource("pods", "Pod"))]},
            ),
        }
    )
    assert {kind: (each.version, each.title) for kind, each in found.items()} == {
        POD: ("v1", "pods"),
        QUOTA: ("example.com/v2", "quotas.example.com"),
    }


def test_a_group_that_is_away_leaves_the_others(discovered):
    listed = {"name": "pods", "kind": "Pod", "namespaced": True, "verbs": ["list"]}
    below = {"name": "pods/log", "kind": "Pod", "namespaced": True, "verbs": ["list"]}
    found = discovered(
        paths={
            "/api": {"kind": "APIVersions", "versions": ["v1"]},
            "/api/v1": {"kind": "APIResourceList", "resources": [below, listed]},
            "/apis": {
                "kind": "APIGroupList",
                "groups": [{"name": "example.com", "versions": [{"groupVersion": "example.com/v1"}]}],
            },
        }
    )
    assert {kind: each.path() for kind, each in found.items()} == {POD: "/api/v1/pods"}


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ([(200, b"<html>log in</html>")], "its answer is none of a Kubernetes API"),
        ([(200, b"[]")], "its answer is none of a Kubernetes API"),
        ([(403, b'{"message": "no"}')], r"not permitted: get /api \(403: no\); ask for the role"),
        ([(404, b"")], "/api answers HTTP status 404; check that the server"),
    ],
)
def test_a_server_of_another_kind_is_one_line(discovered, script, said):
    with pytest.raises(InputError, match=said):
        discovered(script)
