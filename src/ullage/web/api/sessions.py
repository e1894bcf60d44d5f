"""Signing in with a token, for browsers: it is shown once, and a cookie stands for it until it ends."""

from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode

from ullage.web.forms import FORM, form_fields
from ullage.web.http import HTML, Request, Response
from ullage.web.routes import Route
from ullage.web.security import cookie, set_cookie

if TYPE_CHECKING:
    from ullage.web.server import Server

LOGIN: Final = "/login"
FORM_BYTES_MAX: Final = 16 << 10
_ANSWERS: Final = {200: HTML, 303: ""}


async def sign_in(server: "Server", request: Request) -> Response:
    """Begin a session, and go on to where somebody wanted to go."""
    fields = form_fields(request.headers, request.body)
    wanted = local_path(fields.get("next", "/"))
    session = await server.tokens.sign_in(fields.get("token", "").strip())
    if session is None:
        server.log.say("refused to sign somebody in")
        return _elsewhere(f"{LOGIN}?{urlencode({'next': wanted, 'failed': '1'})}")
    return _elsewhere(wanted, set_cookie(server.settings, session))


async def sign_out(server: "Server", request: Request) -> Response:
    """End a session."""
    session = cookie(request.headers)
    if session:
        await server.tokens.sign_out(session)
    return _elsewhere(LOGIN, set_cookie(server.settings, ""))


def local_path(wanted: str) -> str:
    """Return a path of this server; anything that leads elsewhere becomes the first page."""
    is_local = wanted.startswith("/") and not wanted.startswith(("//", "/\\")) and wanted.isprintable()
    return wanted if is_local and wanted.isascii() else "/"


def _elsewhere(path: str, *headers: tuple[str, str]) -> Response:
    return Response(303, content=HTML, headers=(("location", path), *headers))


ROUTES: Final = (
    Route(
        "POST",
        LOGIN,
        sign_in,
        None,
        "Begin a session.",
        body=FORM,
        answers=_ANSWERS,
        body_bytes_max=FORM_BYTES_MAX,
    ),
    Route(
        "POST",
        "/logout",
        sign_out,
        None,
        "End a session.",
        body=FORM,
        answers=_ANSWERS,
        body_bytes_max=FORM_BYTES_MAX,
    ),
)
