"""The page over HTTP: its addresses, its static files, its forms.

A page is drawn by a worker that holds the cluster. What is known here (who looks, which theme, which clusters
there are) goes along, and the tag of a page covers it, so that nobody is sent again what they have.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from hashlib import blake2b
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import urlencode

import msgspec

from ullage.render.html.assets import by_served_name
from ullage.web.api.sessions import local_path
from ullage.web.caching import is_known, tag
from ullage.web.forms import FORM, form_fields
from ullage.web.http import HTML, Principal, Problem, Request, Response
from ullage.web.pages import plain
from ullage.web.pages.shell import PARAMETER, Shell, Theme
from ullage.web.routes import Route
from ullage.web.security import cookie, forgery_token
from ullage.web.work import Done, Work

if TYPE_CHECKING:
    from ullage.web.server import Server

    Handler = Callable[["Server", Request], Awaitable[Response]]

SECONDS_MAX: Final = 30.0
LONG: Final = MappingProxyType({"balance": 300.0, "what_breaks": 60.0, "usage": 60.0, "what_if": 60.0})
"""Pages that may take longer on thousands of nodes, and how long: a browser waits, others are answered."""
FORM_BYTES_MAX: Final = 4 << 20
PARAMETERS_MAX: Final = 64
THEME_COOKIE: Final = "ullage_theme"
THEME_SECONDS: Final = 365 * 24 * 3600
FRESH_SECONDS: Final = 60
"""How long a page of a cluster with promises may be kept: some of them end by themselves."""
FOR_EVER: Final = ("cache-control", "public, max-age=31536000, immutable")
MISDIRECTED: Final = 421
VARIES: Final = ("vary", "cookie")
_FORMS: Final = {"/plans": "/what-if", "/commit": "", "/discard": "", "/theme": "/", "/logout": "/"}
"""How paths of forms end that are no pages, and on which page the form is; empty for what comes before."""


def shell_for(server: "Server", request: Request, cluster: str = "") -> Shell:
    """Return what surrounds a page for whoever asks."""
    clusters = tuple(each.name for each in server.pool.clusters())
    revision = server.pool.revision(cluster) if cluster in clusters else 0
    query = urlencode(request.query)
    page = form_page(request.path) if request.method == "POST" else request.path
    return Shell(
        cluster=cluster,
        clusters=clusters,
        revision=revision,
        path=request.path,
        back=local_path(f"{page}?{query}" if query else page),
        theme=theme_of(request.headers),
        csrf=forgery_token(request.headers),
        who=request.who.name,
        scope=request.who.scope,
        can_leave=bool(cookie(request.headers)),
        is_inside=request.who.name != "nobody",
        after=server.events.last,
        origin=origin_of(request.headers, has_tls=server.settings.has_tls),
    )


def origin_of(headers: Mapping[str, str], *, has_tls: bool) -> str:
    """Return how whoever asks reaches this server, perhaps by a proxy that hides what is said."""
    is_hidden = has_tls or headers.get("x-forwarded-proto", "") == "https"
    return f"{'https' if is_hidden else 'http'}://{headers.get('host', 'localhost')}"


def theme_of(headers: Mapping[str, str]) -> Theme:
    """Return the theme that somebody has chosen; empty for the system's."""
    for part in headers.get("cookie", "").split(";"):
        name, _, value = part.strip().partition("=")
        if name == THEME_COOKIE and value in {"light", "dark"}:
            return cast("Theme", value)
    return ""


def chosen_cluster(server: "Server", request: Request) -> str:
    """Return the cluster that is meant: the one of the query, else the first."""
    named = dict(request.query).get("cluster", "")
    if named:
        server.pool.revision(named)
        return named
    clusters = server.pool.clusters()
    if not clusters:
        raise Problem(
            404, "this server has no clusters yet", "start it with -c, or upload one: PUT /v1/clusters/NAME"
        )
    return clusters[0].name


def parameters_of(request: Request) -> dict[str, str]:
    """Return the parameters of a page; several of one name are lines of one text."""
    if len(request.query) > PARAMETERS_MAX:
        raise Problem(400, f"more than {PARAMETERS_MAX} parameters")
    found: dict[str, str] = {}
    for name, value in request.query:
        found[name] = f"{found[name]}\n{value}" if name in found else value
    return {**found, **request.values}


async def drawn(
    server: "Server", request: Request, name: str, parameters: Mapping[str, str], body: bytes = b""
) -> Response:
    """Return a page that a worker draws, or the page that says why there is none."""
    shell = shell_for(server, request)
    try:
        shell = shell_for(server, request, chosen_cluster(server, request))
        ledger = server.ledgers.place(shell.cluster)
        known = _tag(server, shell, ledger)
        headers = (("etag", known), VARIES) if request.method != "POST" else ()
        if headers and shell.revision and is_known(request.headers.get("if-none-match", ""), known):
            return Response(200, b"", HTML, headers)
        told: dict[str, Any] = {**parameters, PARAMETER: msgspec.json.encode(shell).decode()}
        work = Work(f"page/{name}", told, body, ledger, server.ledgers.observed(shell.cluster))
        done = await server.pool.ask(
            shell.cluster,
            work,
            seconds_max=LONG.get(name, SECONDS_MAX),
            is_long=takes_long(name, parameters, body),
            client=request.who.name,
        )
        if done.status != 200:
            raise _problem_of(done)
    except Problem as problem:
        return refused(shell, problem, request)
    return Response(200, done.body, HTML, headers)


def takes_long(name: str, parameters: Mapping[str, str], body: bytes) -> bool:
    """Whether drawing a page may take seconds, so that quick ones are not to wait behind it."""
    return name in {"balance", "what_breaks", "usage"} or bool(body) or "risk" in parameters


def refused(shell: Shell, problem: Problem, request: Request | None = None) -> Response:
    """Return a problem as a page; one that will pass may look again by itself, or sends its form again."""
    is_form = request is not None and request.method == "POST"
    fields = form_fields(request.headers, request.body) if request and is_form else {}
    page = plain.problem(shell, problem.status, problem.title, problem.detail, fields)
    looks_again = request is not None and not is_form and problem.status == 503
    return Response(problem.status, page, HTML, (("refresh", "2"),) if looks_again else ())


def told_to_browser(
    server: "Server", method: str, path: str, headers: Mapping[str, str], problem: Problem
) -> Response:
    """Return a problem as a page for whoever asks with a browser, also where no page was asked for.

    Where the name of another was used for this server, a page of theirs may read it: it tells nothing else.
    """
    if problem.status == MISDIRECTED:
        return refused(Shell(is_inside=False), problem)
    try:
        visitor = server.security.visitor(headers)
    except Problem:
        visitor = None
    who = visitor.who if visitor else Principal("nobody", "read")
    shell = shell_for(server, Request(method, local_path(path), headers, who))
    return refused(shell if visitor else msgspec.structs.replace(shell, who="", clusters=()), problem)


def form_page(path: str) -> str:
    """Return the page on which the form is that is sent to a path; the path itself where that is a page."""
    for ending, page in _FORMS.items():
        if path.endswith(ending):
            return page or path.removesuffix(ending)
    return path


def _problem_of(done: Done) -> Problem:
    told = msgspec.json.decode(done.body)
    return Problem(done.status, told.get("title", "it did not work"), told.get("detail", ""))


def _tag(server: "Server", shell: Shell, ledger: str) -> str:
    minute = int(time.time()) // FRESH_SECONDS if ledger else 0
    usage = server.pool.state(shell.cluster).usage
    seen = (usage.points, usage.last_seconds) if usage else (0, 0)
    return tag("page", shell.revision, server.ledgers.revision(shell.cluster), minute, *seen, around(shell))


def around(shell: Shell) -> str:
    """Return what tells one surrounding of a page from others."""
    return blake2b(msgspec.json.encode(shell), digest_size=8).hexdigest()


def _page(name: str) -> "Handler":
    async def answer(server: "Server", request: Request) -> Response:
        return await drawn(server, request, name, parameters_of(request))

    return answer


async def explain(server: "Server", request: Request) -> Response:
    """Return what stands behind a number."""
    subject = "/".join(
        request.values[part] for part in ("kind", "namespace", "name") if part in request.values
    )
    return await drawn(server, request, "explain", {"subject": subject})


async def what_if(server: "Server", request: Request) -> Response:
    """Return the answer to a form: the manifest is what the question reads."""
    fields = form_fields(request.headers, request.body)
    manifest = fields.pop("manifest", "").encode()
    return await drawn(server, request, "what_if", fields, manifest)


async def login(server: "Server", request: Request) -> Response:
    """Return the page on which somebody signs in."""
    query = dict(request.query)
    shell = msgspec.structs.replace(shell_for(server, request), is_inside=False, who="")
    page = plain.login(shell, local_path(query.get("next", "/")), failed="failed" in query)
    return Response(200, page, HTML)


async def theme(server: "Server", request: Request) -> Response:  # noqa: ARG001 - as all handlers
    """Remember a theme, and go back."""
    fields = form_fields(request.headers, request.body)
    wanted = fields.get("theme", "")
    seconds = THEME_SECONDS if wanted in {"light", "dark"} else 0
    kept = f"{THEME_COOKIE}={wanted if seconds else ''}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax"
    back = local_path(fields.get("back", "/"))
    return Response(303, content=HTML, headers=(("location", back), ("set-cookie", kept)))


async def static(server: "Server", request: Request) -> Response:  # noqa: ARG001 - as all handlers
    """Return a file that pages use."""
    found = (await asyncio.to_thread(by_served_name)).get(request.values["name"])
    if found is None:
        raise Problem(404, "there is no such file")
    return Response(200, found.data, found.content, (FOR_EVER,))


_ANSWERS: Final = {200: HTML}


def _route(path: str, handler: "Handler", summary: str) -> Route:
    return Route("GET", path, handler, "read", summary, answers=_ANSWERS)


def _form(path: str, handler: "Handler", summary: str, *, bytes_max: int = 16 << 10) -> Route:
    answers = {200: HTML, 303: ""}
    return Route("POST", path, handler, "read", summary, body=FORM, answers=answers, body_bytes_max=bytes_max)


ROUTES: Final = (
    _route("/", _page("overview"), "The page: how full a cluster is."),
    _route("/nodes", _page("nodes"), "The page: all nodes."),
    _route("/nodes/{node}", _page("node"), "The page: one node."),
    _route("/what-if", _page("what_if"), "The page: what if something were asked for."),
    _form("/what-if", what_if, "The page: whether a manifest fits.", bytes_max=FORM_BYTES_MAX),
    _route("/what-breaks", _page("what_breaks"), "The page: what breaks when something fails."),
    _route("/quotas", _page("quotas"), "The page: quotas."),
    _route("/drives", _page("drives"), "The page: drives."),
    _route("/balance", _page("balance"), "The page: moves."),
    _route("/usage", _page("usage"), "The page: what is really used."),
    _route("/explain/{kind}/{name}", explain, "The page: what stands behind a number."),
    _route("/explain/{kind}/{namespace}/{name}", explain, "The page: what stands behind a workload."),
    Route("GET", "/login", login, None, "The page: signing in.", answers=_ANSWERS),
    _form("/theme", theme, "Choose light, dark, or as the system."),
    Route(
        "GET",
        "/static/{name}",
        static,
        None,
        "A file of the page.",
        answers={200: "application/octet-stream"},
    ),
)
