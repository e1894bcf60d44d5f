"""All that is recorded of use, over HTTP, for programs of ours that ask questions elsewhere: rows as kept.

A process of its own reads them at one moment of the ledger and tells them part by part, as fast as they are
read: however much it is, neither the server nor others who ask hold it. What goes wrong before the first part
is a problem; what goes wrong after it ends the answer, and whoever reads it sees that its end is missing.
Who has it already, as its tag says, is told so before anything is read.
"""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal, Self

import msgspec
from msgspec import Meta

from ullage.stores.usage_exchange import MEDIA
from ullage.stores.usage_parts import stamp
from ullage.web.caching import is_known, tag
from ullage.web.http import Problem, Request, Response, Streamed
from ullage.web.parameters import query_of
from ullage.web.routes import Route
from ullage.web.work import Done, Work

if TYPE_CHECKING:
    from ullage.web.server import Server

SECONDS_MAX: Final = 600.0
OK: Final = 200


class RecordedQuery(msgspec.Struct, forbid_unknown_fields=True):
    """What is wanted of all that is recorded."""

    only: Annotated[
        Literal["days", "meters"] | None,
        Meta(description="Only what was observed by days, or only what counters have shown."),
    ] = None


class Telling:
    """The parts of an answer, of which the first is here already."""

    def __init__(self, first: Done, parts: AsyncGenerator[Done, None]) -> None:
        self._first: Done | None = first
        self._parts = parts

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        done, self._first = self._first, None
        if done is None:
            done = await anext(self._parts)
        if done.status != OK:
            raise Problem(done.status, "what is recorded cannot be read to its end")
        return done.body

    async def aclose(self) -> None:
        """Have no more told."""
        await self._parts.aclose()


async def recorded(server: "Server", request: Request) -> Response | Streamed:
    """Tell all that is recorded."""
    cluster = request.values["cluster"]
    query = query_of(RecordedQuery, request)
    server.pool.revision(cluster)
    place, observed = server.ledgers.place(cluster), server.ledgers.observed(cluster)
    # What is recorded while it is read may be told under the tag of before: that one is not current then.
    known = tag("recorded", query.only or "", place == observed, *await asyncio.to_thread(_stamp, observed))
    headers = (("etag", known),)
    if is_known(request.headers.get("if-none-match", ""), known):
        return Response(content=MEDIA, headers=headers)  # 304, as everywhere
    work = Work("usage/recorded", {"only": query.only or ""}, b"", place, observed)
    parts = server.pool.parts_apart(cluster, work, seconds_max=SECONDS_MAX, client=request.who.name)
    first = await anext(parts)
    if first.status == OK:
        return Streamed(Telling(first, parts), MEDIA, headers)
    await parts.aclose()
    return Response(first.status, first.body, first.content)


def _stamp(observed: str) -> tuple[object, ...]:
    path = Path(observed)
    return stamp(path) if observed and path.exists() else ()


ROUTES: Final = (
    Route(
        "GET",
        "/v1/clusters/{cluster}/usage/recorded",
        recorded,
        "read",
        "All that is recorded of use, as it is kept.",
        RecordedQuery,
        answers={200: MEDIA},
        headers={"If-None-Match": "The ETag of an answer; 304 where nothing was recorded since."},
    ),
)
