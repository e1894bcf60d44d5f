"""How full a cluster was, over HTTP: series that a page can draw as they are."""

import time
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
from msgspec import Meta

from ullage.model.constraints import Record
from ullage.web.api.ledger import versioned
from ullage.web.history import TERMS, Mark, Past, Span
from ullage.web.http import Problem, Request, Response
from ullage.web.parameters import query_of
from ullage.web.routes import Route

if TYPE_CHECKING:
    from ullage.web.server import Server

POINTS_MAX: Final = 5000
SECONDS: Final = 86_400
TIME_MAX: Final = 253_402_300_799
_Time = Annotated[int, Meta(ge=0, le=TIME_MAX)]


class HistoryQuery(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Which part of the past is meant."""

    resource: Annotated[
        list[str], Meta(description="Resources that are wanted; all where none is named.")
    ] = []
    from_: Annotated[_Time | None, Meta(description="From when, in seconds since 1970; a day ago.")] = (
        msgspec.field(default=None, name="from")
    )
    until: Annotated[_Time | None, Meta(description="Until when, in seconds since 1970; now.")] = None
    points: Annotated[int, Meta(ge=1, le=POINTS_MAX, description="At most so many moments.")] = 500


class Series(Record, frozen=True):
    """The terms of one resource, each with a figure for every moment, in whole units (cores, bytes)."""

    resource: str
    terms: dict[str, list[float | None]]


class ClusterHistory(Record, frozen=True):
    """How full a cluster was at some moments, and what was committed meanwhile."""

    cluster: str
    from_seconds: int
    until_seconds: int
    times: list[int]
    nodes: list[int]
    workloads: list[int]
    waiting: list[int]
    series: list[Series]
    marks: list[Mark]


async def history(server: "Server", request: Request) -> Response:
    """Tell how full a cluster was."""
    cluster = request.values["cluster"]
    server.pool.revision(cluster)
    query = query_of(HistoryQuery, request)
    until = int(time.time()) if query.until is None else query.until
    start = max(0, until - SECONDS) if query.from_ is None else query.from_
    if start > until:
        raise Problem(422, "the end is before the beginning", "exchange from and until", where="from")
    span = Span(start, until, query.points)
    past = await server.history.past(cluster, span)
    return Response(body=versioned("ClusterHistory", told(cluster, span, past, query.resource)))


def told(cluster: str, span: Span, past: Past, wanted: list[str]) -> ClusterHistory:
    """Return the past as series: of each resource that is wanted, and was there at any moment."""
    known = {name for sample in past.samples for name in sample.resources}
    names = sorted(known.intersection(wanted) if wanted else known)
    return ClusterHistory(
        cluster,
        span.from_seconds,
        span.until_seconds,
        past.times,
        [sample.nodes for sample in past.samples],
        [sample.workloads for sample in past.samples],
        [sample.waiting for sample in past.samples],
        [Series(name, _terms(past, name)) for name in names],
        past.marks,
    )


def _terms(past: Past, resource: str) -> dict[str, list[float | None]]:
    rows = [sample.resources.get(resource, {}) for sample in past.samples]
    return {term: [row.get(term) for row in rows] for term in TERMS}


ROUTES: Final = (
    Route(
        "GET",
        "/v1/clusters/{cluster}/history",
        history,
        "read",
        "How full a cluster was, and what was committed meanwhile.",
        HistoryQuery,
        answers={200: ClusterHistory},
        in_turns=True,
    ),
)
