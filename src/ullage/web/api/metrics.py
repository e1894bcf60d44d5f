"""Figures for Prometheus."""

from typing import TYPE_CHECKING, Final

from ullage.web.http import Request, Response
from ullage.web.routes import Route

if TYPE_CHECKING:
    from ullage.web.server import Server

CONTENT: Final = "text/plain; version=0.0.4; charset=utf-8"


async def metrics(server: "Server", request: Request) -> Response:
    """Answer what Prometheus asks."""
    del request
    return Response(body=server.metrics.exposition(), content=CONTENT)


ROUTES: Final = (
    Route("GET", "/metrics", metrics, "read", "Figures for Prometheus.", answers={200: CONTENT}),
)
