"""Events over HTTP, as server-sent events: `Last-Event-ID` goes on after the one that it names."""

from typing import TYPE_CHECKING, Annotated, Final

import msgspec
from msgspec import Meta

from ullage.web.http import Request, Streamed
from ullage.web.parameters import query_of
from ullage.web.routes import Route

if TYPE_CHECKING:
    from ullage.web.server import Server

STREAM: Final = "text/event-stream"
LAST_HEADER: Final = "last-event-id"


class EventsQuery(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Which events are meant."""

    cluster: Annotated[str, Meta(description="Events of this cluster alone.")] = ""
    after: Annotated[str, Meta(description="The last event that was seen, as Last-Event-ID.")] = ""


async def events(server: "Server", request: Request) -> Streamed:
    """Tell what happens, as it happens."""
    query = query_of(EventsQuery, request)
    if query.cluster:
        server.pool.revision(query.cluster)
    after = request.headers.get(LAST_HEADER, "") or query.after
    return Streamed(server.events.listen(after, query.cluster), STREAM)


ROUTES: Final = (
    Route(
        "GET",
        "/v1/events",
        events,
        "read",
        "What happens, as a stream: revision, failure, removed, ledger, plan, lost.",
        EventsQuery,
        answers={200: STREAM},
        headers={"Last-Event-ID": "The last event that was seen; what came after it is told first."},
    ),
)
