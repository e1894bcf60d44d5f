"""Whether the server is well, and what it can be asked: for programs as OpenAPI, for people as a page."""

from functools import cache
from typing import TYPE_CHECKING, Any, Final

import msgspec

from ullage import __version__
from ullage.web.caching import is_known, tag
from ullage.web.http import HTML, Request, Response
from ullage.web.problems import busy
from ullage.web.routes import Route

if TYPE_CHECKING:
    from ullage.web.server import Server


class Health(msgspec.Struct):
    """That the server turns its loop."""

    status: str


_WELL: Final = msgspec.json.encode(Health("ok"))


async def health(server: "Server", request: Request) -> Response:
    """Answer that the server is there."""
    del server, request
    return Response(body=_WELL)


async def ready(server: "Server", request: Request) -> Response:
    """Answer whether every cluster was read, or cannot be."""
    del request
    if server.ending.is_set():
        raise busy("the server ends")
    clusters = server.pool.clusters()
    missing = [each.name for each in clusters if not each.revision]
    waiting = [each.name for each in clusters if not each.revision and each.state != "failed"]
    if waiting or (missing and len(missing) == len(clusters)):
        raise busy(f"not read yet: {', '.join(waiting or missing)}")
    return Response(body=_WELL)


@cache
def description() -> dict[str, Any]:
    """Return what can be asked, as OpenAPI has it."""
    from ullage.web.api.table import routes
    from ullage.web.openapi import document

    return document(routes(), __version__)


@cache
def _description_text() -> bytes:
    return msgspec.json.encode(description())


async def openapi(server: "Server", request: Request) -> Response:
    """Answer with the description of everything that can be asked."""
    del server, request
    return Response(body=_description_text(), headers=(("etag", tag("openapi")),))


async def docs(server: "Server", request: Request) -> Response:
    """Show the same to people."""
    from ullage.web.api.pages import VARIES, around, shell_for
    from ullage.web.docs_page import page

    clusters = server.pool.clusters()
    shell = shell_for(server, request, clusters[0].name if clusters else "")
    known = tag("docs", around(shell))
    has_it = is_known(request.headers.get("if-none-match", ""), known)
    return Response(200, b"" if has_it else page(shell), HTML, (("etag", known), VARIES))


ROUTES: Final = (
    Route("GET", "/health", health, None, "Whether the server is alive.", answers={200: Health}),
    Route("GET", "/ready", ready, None, "Whether every cluster was read.", answers={200: Health}),
    Route("GET", "/openapi.json", openapi, None, "What can be asked."),
    Route("GET", "/docs", docs, None, "What can be asked, as a page.", answers={200: HTML}),
)
