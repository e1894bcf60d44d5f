"""Clusters over HTTP: which there are, how they stand, uploading one, reading one again, fetching a snapshot.

A request names a cluster of the server, never a path or an address. An upload is read while it is sent for:
the answer says whether it is a cluster.
"""

from typing import TYPE_CHECKING, Annotated, Final, Literal

import msgspec

from ullage.model.wire import API_VERSION
from ullage.service.clock import now_seconds
from ullage.web.api.ledger import versioned
from ullage.web.caching import tag
from ullage.web.clusters import ClusterState
from ullage.web.http import JSON, Problem, Request, Response
from ullage.web.routes import Route
from ullage.web.state import Audited
from ullage.web.work import Work
from ullage.web.worker import SNAPSHOT

if TYPE_CHECKING:
    from ullage.web.server import Server

UPLOAD_BYTES_MAX: Final = 256 << 20
SNAPSHOT_SECONDS_MAX: Final = 60.0
ANY: Final = "*/*"


class ClusterList(msgspec.Struct, frozen=True, rename="camel"):
    """All clusters of the server; the first is the one that pages show first."""

    items: tuple[ClusterState, ...]
    api_version: str = API_VERSION
    kind: Literal["ClusterList"] = "ClusterList"


class SnapshotParameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a snapshot is wanted."""

    form: Annotated[
        Literal["json", "compact"],
        msgspec.Meta(description="json, or compact as `ullage snapshot save cluster.ullage` writes it"),
    ] = "json"


async def clusters(server: "Server", _: Request) -> Response:
    """Answer how every cluster stands."""
    return Response(body=msgspec.json.encode(ClusterList(tuple(server.pool.clusters()))))


async def cluster(server: "Server", request: Request) -> Response:
    """Answer how a cluster stands."""
    return _told(server.pool.state(request.values["cluster"]))


async def put(server: "Server", request: Request) -> Response:
    """Make a document the cluster of a name."""
    name = request.values["cluster"]
    if not request.body:
        raise Problem(422, "there is no document", "send what the command line reads with -c FILE")
    is_new = all(each.name != name for each in server.pool.clusters())
    state = await server.pool.put(name, request.body, request.who.name)
    await _noted(server, request, "upload cluster", f"revision {state.revision} of the cluster")
    answer = _told(state, 201 if is_new else 200)
    return answer._replace(headers=(("location", f"/v1/clusters/{name}"),)) if is_new else answer


async def refresh(server: "Server", request: Request) -> Response:
    """Read a cluster again."""
    return _told(await server.pool.refresh(request.values["cluster"]))


async def remove(server: "Server", request: Request) -> Response:
    """Forget a cluster that was uploaded."""
    name = request.values["cluster"]
    await server.remove(name)
    await _noted(server, request, "remove cluster", "removed")
    return Response(204)


async def snapshot(server: "Server", request: Request) -> Response:
    """Answer the whole cluster."""
    name = request.values["cluster"]
    try:
        wanted = msgspec.convert(dict(request.query), SnapshotParameters)
    except msgspec.ValidationError as error:
        raise Problem(400, str(error)) from None
    work = Work("snapshot", {"form": wanted.form})
    done = await server.pool.ask(
        name, work, seconds_max=SNAPSHOT_SECONDS_MAX, is_long=True, client=request.who.name
    )
    headers = (("etag", tag(name, done.revision, wanted.form)), ("ullage-revision", str(done.revision)))
    return Response(done.status, done.body, done.content, headers)


async def _noted(server: "Server", request: Request, action: str, outcome: str) -> None:
    """Add to the audit log what was done to a cluster."""
    name = request.values["cluster"]
    await server.state.note(Audited(now_seconds(), request.who.name, name, action, name, outcome))


def _told(state: ClusterState, status: int = 200) -> Response:
    return Response(status, versioned("Cluster", state))


_PATH: Final = "/v1/clusters/{cluster}"
ROUTES: Final = (
    Route("GET", "/v1/clusters", clusters, "read", "All clusters", answers={200: ClusterList}),
    Route("GET", _PATH, cluster, "read", "How a cluster stands", answers={200: ClusterState}),
    Route(
        "PUT",
        _PATH,
        put,
        "commit",
        "Upload a cluster: any document that the command line reads",
        body=ANY,
        answers={200: ClusterState, 201: ClusterState},
        body_bytes_max=UPLOAD_BYTES_MAX,
    ),
    Route("DELETE", _PATH, remove, "commit", "Forget an uploaded cluster", answers={204: ""}),
    Route(
        "POST",
        f"{_PATH}/refresh",
        refresh,
        "plan",
        "Read a cluster again now",
        answers={200: ClusterState},
    ),
    Route(
        "GET",
        f"{_PATH}/snapshot",
        snapshot,
        "read",
        f"The whole cluster, as JSON or ({SNAPSHOT}) in the compact form",
        SnapshotParameters,
        answers={200: f"{JSON}, {SNAPSHOT}"},
    ),
)
