"""Use over HTTP, apart from what is asked for: samples are taken in, subjects told, points given for charts.

Samples are a table as `ullage usage observe` reads it. A process of its own records them, as a whole or
not at all, and of each subject, resource and measure only what is later than what was taken before: what is
sent again counts once. With `Idempotency-Key` it is answered again, too, as it was the first time.
"""

import time
from hashlib import blake2b
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec
from msgspec import Meta

from ullage.service.clock import now_seconds
from ullage.service.usage_records import Recorded, SamplesTaken, SubjectSeries
from ullage.web.api.ledger import versioned
from ullage.web.http import JSON, Problem, Request, Response
from ullage.web.keys import Keyed, key_in
from ullage.web.parameters import query_of
from ullage.web.routes import Route
from ullage.web.state import Audited
from ullage.web.work import Done, Work

if TYPE_CHECKING:
    from ullage.web.server import Server

CSV: Final = "text/csv"
SAMPLES_BYTES_MAX: Final = 64 << 20
ANSWER_SECONDS_MAX: Final = 30.0
OPERATION: Final = "samples"
"""What keys of samples are remembered under; samples that come again later count once all the same."""
POINTS_MAX: Final = 5000
SPAN_SECONDS: Final = 86_400
OK, UNPROCESSABLE, NOT_FOUND = 200, 422, 404
TIME_MAX: Final = 253_402_300_799
_Time = Annotated[int, Meta(ge=0, le=TIME_MAX)]


class SeriesQuery(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Which points are meant."""

    subject: Annotated[str, Meta(description="Such as node/n1 or workload/web/api.")] = "cluster"
    resource: Annotated[str, Meta(description="The resource that is wanted; all where none is named.")] = ""
    measure: Annotated[str, Meta(description="usage, maxusage or committed; all where none is named.")] = ""
    from_: Annotated[_Time | None, Meta(description="From when, in seconds since 1970; a day before to.")] = (
        msgspec.field(default=None, name="from")
    )
    to: Annotated[_Time | None, Meta(description="Until when, in seconds since 1970; now.")] = None
    points: Annotated[int, Meta(ge=1, le=POINTS_MAX, description="At most so many of each series.")] = 500


async def samples(server: "Server", request: Request) -> Response:
    """Take observations in."""
    cluster = request.values["cluster"]
    server.pool.revision(cluster)
    if not request.body.strip():
        raise Problem(422, "there are no samples", "send a table: subject,resource,time,value[,measure]")
    digest = blake2b(request.body, digest_size=16).hexdigest()
    keyed = Keyed(OPERATION, cluster, key_in(request.headers), digest)
    before = await server.state.run(keyed.known) if keyed.key else None
    if before is not None:
        return Response(body=before.encode())
    taken = told(cluster, await server.observers.of(cluster).send(request.body))
    await server.state.note(
        Audited(now_seconds(), request.who.name, cluster, "send samples", cluster, _words(taken))
    )
    body = versioned("SamplesTaken", taken)
    if keyed.key:
        await server.state.run(lambda connection: keyed.remember(connection, body.decode()))
    return Response(body=body)


def told(cluster: str, found: Recorded) -> SamplesTaken:
    """Return what came of samples."""
    return SamplesTaken(cluster, found.points, found.dropped, found.repeated, found.last_seconds)


def _words(taken: SamplesTaken) -> str:
    return f"{taken.points} points taken, {taken.repeated} repeated"


async def subject_status(server: "Server", request: Request) -> Response:
    """Answer what is known of the use of one subject."""
    subject = "/".join(request.values[part] for part in _PARTS if part in request.values)
    done = await _asked(server, request, "status", {"subject": subject})
    if done.status == UNPROCESSABLE:  # the path names what there is not
        problem = {**msgspec.json.decode(done.body), "status": NOT_FOUND}
        return Response(NOT_FOUND, msgspec.json.encode(problem), done.content)
    return _answer(done)


async def series(server: "Server", request: Request) -> Response:
    """Answer what was observed of a subject over time."""
    query = query_of(SeriesQuery, request)
    until = int(time.time()) if query.to is None else query.to
    start = max(0, until - SPAN_SECONDS) if query.from_ is None else query.from_
    if start > until:
        raise Problem(422, "the end is before the beginning", "exchange from and to", where="from")
    parameters = {
        "subject": query.subject,
        "resource": query.resource,
        "measure": query.measure,
        "from_seconds": start,
        "to_seconds": until,
        "points_max": query.points,
    }
    done = await _asked(server, request, "series", parameters)
    if query.subject != "cluster" and _has_no_series(done):
        whenever = {**parameters, "resource": "", "measure": "", "from_seconds": 0, "to_seconds": TIME_MAX}
        if _has_no_series(await _asked(server, request, "series", whenever)):
            raise Problem(
                NOT_FOUND,
                f"nothing was observed of {query.subject!r}",
                "name what was observed as KIND/NAME",
                where="subject",
            )
    return _answer(done)


def _has_no_series(done: Done) -> bool:
    return done.status == OK and not msgspec.json.decode(done.body)["series"]


async def _asked(server: "Server", request: Request, name: str, parameters: dict[str, Any]) -> Done:
    cluster = request.values["cluster"]
    server.pool.revision(cluster)
    place, observed = server.ledgers.place(cluster), server.ledgers.observed(cluster)
    work = Work(f"usage/{name}", parameters, b"", place, observed)
    return await server.pool.ask(cluster, work, seconds_max=ANSWER_SECONDS_MAX, client=request.who.name)


def _answer(done: Done) -> Response:
    if done.status != OK:
        return Response(done.status, done.body, done.content)
    digest = blake2b(done.body, digest_size=8).hexdigest()
    headers = (("etag", f'"{done.revision}-{digest}"'), ("ullage-revision", str(done.revision)))
    return Response(body=done.body, content=done.content, headers=headers)


_PARTS: Final = ("kind", "namespace", "owner", "name")
_PATH: Final = "/v1/clusters/{cluster}/usage"
_STATUS_HEADERS: Final = {"If-None-Match": "The ETag of an answer; 304 where it is still the same."}


def _status_route(path: str, summary: str) -> Route:
    return Route(
        "GET",
        f"{_PATH}/{path}",
        subject_status,
        "read",
        summary,
        answers={200: JSON},
        headers=_STATUS_HEADERS,
    )


ROUTES: Final = (
    Route(
        "POST",
        f"{_PATH}/samples",
        samples,
        "commit",
        "Take observations in: a table of subject, resource, time and value.",
        body=CSV,
        answers={200: SamplesTaken},
        body_bytes_max=SAMPLES_BYTES_MAX,
        headers={"Idempotency-Key": "Sent again under the same key, it is answered as the first time."},
    ),
    Route(
        "GET",
        f"{_PATH}/series",
        series,
        "read",
        "What was observed of a subject over time, for charts.",
        SeriesQuery,
        answers={200: SubjectSeries},
        headers=_STATUS_HEADERS,
    ),
    _status_route("{kind}", "What the cluster uses (kind: cluster)."),
    _status_route("{kind}/{name}", "What a node, namespace, group, quota or class of drives uses."),
    _status_route("{kind}/{namespace}/{name}", "What a pod or a workload uses."),
    _status_route("{kind}/{namespace}/{owner}/{name}", "What a container or a workload of a kind uses."),
)
