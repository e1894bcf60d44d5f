"""From a request to an answer: the one way that all of them go, as ASGI has it.

Names, rights, sizes and times are checked here, before a handler is asked; whatever it raises becomes
problem+json. Health is answered however much there is to do.
"""

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import parse_qsl

from ullage.model.errors import InputError
from ullage.web.bodies import Bodies, GoneError, Incoming
from ullage.web.caching import is_known
from ullage.web.exchange import Head, header_text, send_whole
from ullage.web.forms import media_type
from ullage.web.http import HTML, JSON, PROBLEM, Problem, Request, Response, Streamed
from ullage.web.problems import defect, nested, of_input
from ullage.web.routes import Route, Routes, allowed
from ullage.web.security import HEADERS, check_scope

if TYPE_CHECKING:
    from ullage.web.server import Server

QUERY_CHARACTERS_MAX: Final = 32 << 10
QUERY_FIELDS_MAX: Final = 5000
SLOW_SECONDS: Final = 1.0
LET_IN_SECONDS: Final = 0.5
"""How often it is looked whether those who listen to a stream still may."""
BUSY: Final = 503
BUSY_SECONDS: Final = 0.5
"""How long a "not now" takes: who asks again at once would take time from those who are being answered."""
ALWAYS: Final = frozenset(("/health",))
"""What is answered however much there is to do."""
PROMPT: Final = frozenset(("/health", "/ready"))
_BASE: Final = tuple((name.encode(), told.encode()) for name, told in HEADERS)
_BASE_TEXT: Final = header_text(_BASE)
_ONCE: Final = frozenset(("host", "authorization", "content-type", "origin", "sec-fetch-site"))
_HTML: Final = HTML.partition(";")[0]
_EMPTY: Final = frozenset((204, 304))


class Asking(NamedTuple):
    """A request on its way in: what its head says, and what is still to come."""

    method: str
    path: str
    query: bytes
    headers: Mapping[str, str]
    incoming: Incoming


class App:
    """The application, as ASGI has it."""

    def __init__(self, server: "Server", routes: Routes, bodies: Bodies | None = None) -> None:
        self._server = server
        self.routes = routes
        self._bodies = bodies or Bodies()

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        begun = time.monotonic()
        traffic = self._server.traffic
        path = scope["raw_path"].decode("ascii")
        incoming = Incoming(receive)
        route: Route | None = None
        closes = False
        try:
            headers = _headers(scope["headers"])
            incoming.begin(headers)
            asking = Asking(scope["method"], path, scope["query_string"], headers, incoming)
            route, answer = await self._answer(asking)
            closes = not incoming.is_whole and not await incoming.pass_over()
        except GoneError:
            return
        except Exception as error:  # noqa: BLE001 - whatever happens has an answer
            asking = Asking(scope["method"], path, scope["query_string"], incoming.headers, incoming)
            answer = self._problem(error, asking)
            found = self.routes.find(path)
            route = found.methods.get(scope["method"]) if found else None
            closes = not await incoming.pass_over() or not incoming.headers
        if isinstance(answer, Streamed):
            await self._send_stream(
                answer,
                receive,
                send,
                has_body=scope["method"] != "HEAD",
                is_let_in=self._lets_in(asking, route),
            )
            status = 200
        else:
            if answer.status == BUSY and path not in PROMPT:
                await asyncio.sleep(BUSY_SECONDS)
            status = await _send(send, answer, incoming.headers, scope["method"], closes=closes)
        seconds = time.monotonic() - begun
        traffic.add(route, scope["method"], status, seconds)
        is_slow = seconds > SLOW_SECONDS and not isinstance(answer, Streamed)
        is_worse = status >= 500 and status != BUSY  # of which there may be thousands; figures count them
        if self._server.settings.logs_requests or is_worse or is_slow:
            self._server.log.say(
                "answered",
                method=scope["method"],
                path=path,
                status=status,
                milliseconds=round(seconds * 1000, 3),
            )

    async def _answer(self, asking: Asking) -> tuple[Route | None, Response | Streamed]:
        method, headers, server = asking.method, asking.headers, self._server
        server.security.check_host(headers)
        found = self.routes.find(asking.path)
        if found is None:
            raise Problem(404, "there is nothing under this path", "/openapi.json lists what there is")
        route = found.methods.get(method) or (found.methods.get("GET") if method == "HEAD" else None)
        if route is None:
            allow = allowed(found.methods)
            if method == "OPTIONS":
                return None, Response(204, headers=(("allow", allow),))
            raise Problem(405, f"{method} is not for this path", f"it answers {allow}", allow=allow)
        visitor = server.security.visitor(headers)
        who = check_scope(visitor, route.scope)
        server.security.check_source(method, headers)
        _check_accepted(route, headers)
        body = b""
        if not asking.incoming.is_whole:
            _check_media(route, headers)
            body = await self._bodies.read(asking.incoming, route.body_bytes_max if route.body else 0)
        elif isinstance(route.body, type) and "content-length" not in headers:
            raise Problem(411, "a body is needed, and the length of it")
        if visitor is not None:
            server.security.check_forgery(method, headers, visitor, body)
        request = Request(
            method,
            asking.path,
            headers,
            who,
            found.values,
            _query(asking.query) if asking.query else (),
            body,
        )
        return route, await self._handled(route, request)

    async def _handled(self, route: Route, request: Request) -> Response | Streamed:
        """Ask the handler, unless there is too much to do already."""
        traffic, client = self._server.traffic, request.who.name
        try:
            async with traffic.answering(
                client, is_bounded=route.path not in ALWAYS, in_turns=route.in_turns
            ):
                answer = await route.handler(self._server, request)
        except RecursionError:
            if request.body:
                raise nested() from None
            raise
        if not isinstance(answer, Streamed):
            return answer
        try:
            traffic.check_stream(client)
        except Problem:
            await _close(answer)
            raise
        return answer._replace(client=client)

    def _problem(self, error: Exception, asking: Asking) -> Response:
        path, headers = asking.path, asking.headers
        if isinstance(error, InputError):
            error = of_input(error)
        if not isinstance(error, Problem):
            from traceback import format_exception

            told = "".join(format_exception(error))
            self._server.log.say("met a defect", path=path, traceback=told[-8000:])
            error = defect(path)
        if error.status == 401 and _wants_page(headers) and path != "/login":
            return _to_sign_in(asking)
        response = self._told(error, asking)
        extra = []
        if error.status == 401:
            extra.append(("www-authenticate", "Bearer"))
        if "retryAfterSeconds" in error.members:
            extra.append(("retry-after", str(error.members["retryAfterSeconds"])))
        elif error.status == 503:
            extra.append(("retry-after", "1"))
        if error.status == 405:
            extra.append(("allow", error.members["allow"]))
        return response._replace(headers=(*response.headers, *extra))

    def _told(self, problem: Problem, asking: Asking) -> Response:
        """Return a problem for whoever asks: browsers show a page, unless only programs ask for that path."""
        found = self.routes.find(asking.path)
        has_page = found is None or any(_HTML in route.media for route in found.methods.values())
        if not has_page or not _wants_page(asking.headers):
            return problem.response()
        from ullage.web.api.pages import told_to_browser

        return told_to_browser(self._server, asking.method, asking.path, asking.headers, problem)

    def _lets_in(self, asking: Asking, route: Route | None) -> Callable[[], bool]:
        """Return what tells whether who has asked may still do so: tokens and sessions end."""

        def is_let_in() -> bool:
            try:
                check_scope(self._server.security.visitor(asking.headers), route.scope if route else None)
            except Problem:
                return False
            return True

        return is_let_in

    async def _send_stream(
        self, answer: Streamed, receive: Any, send: Any, *, has_body: bool, is_let_in: Callable[[], bool]
    ) -> None:
        """Send parts as they come, until there are no more, whoever listens is gone, or the server ends.

        Who may not listen any more is let go without an end, so that nobody takes it for all there was.
        """
        traffic = self._server.traffic
        headers = [*_BASE, (b"content-type", answer.content.encode()), (b"cache-control", b"no-store")]
        headers += [(name.encode(), told.encode("latin-1")) for name, told in answer.headers]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        if not has_body:
            await _close(answer)
            await send({"type": "http.response.body", "body": b"", "more_body": False})
            return
        traffic.streams[answer.client] += 1
        sending = asyncio.create_task(_send_parts(answer, send))
        gone = asyncio.create_task(_until_gone(receive))
        ended = asyncio.create_task(self._server.ending.wait())
        tasks = (sending, gone, ended)
        is_refused = False
        try:
            while not is_refused and not any(task.done() for task in tasks):
                await asyncio.wait(tasks, timeout=LET_IN_SECONDS, return_when=asyncio.FIRST_COMPLETED)
                is_refused = not is_let_in()
        finally:
            traffic.streams[answer.client] -= 1
            traffic.streams += Counter()  # who has none is forgotten
            for task in tasks:
                task.cancel()
            outcome = await asyncio.gather(*tasks, return_exceptions=True)
            await _close(answer)
            if isinstance(outcome[0], Exception):
                self._server.log.say("a stream failed", why=f"{type(outcome[0]).__name__}: {outcome[0]}")
            if not is_refused:
                await send({"type": "http.response.body", "body": b"", "more_body": False})


def _to_sign_in(asking: Asking) -> Response:
    """Send somebody to the page for signing in, and from there to what they asked for, or to its form."""
    from urllib.parse import quote

    from ullage.web.api.pages import form_page

    wanted = form_page(asking.path) if asking.method == "POST" else asking.path
    if asking.query and asking.query.isascii():
        wanted = f"{wanted}?{asking.query.decode('ascii')}"
    return Response(303, headers=(("location", f"/login?next={quote(wanted)}"),), content=HTML)


async def _send_parts(answer: Streamed, send: Any) -> None:
    async for part in answer.parts:
        await send({"type": "http.response.body", "body": part, "more_body": True})


async def _until_gone(receive: Any) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _close(answer: Streamed) -> None:
    close = getattr(answer.parts, "aclose", None)
    if close is not None:
        with contextlib.suppress(Exception):
            await close()


async def _send(send: Any, answer: Response, asked: Mapping[str, str], method: str, *, closes: bool) -> int:
    """Send an answer in one piece; nothing of it where whoever asks has it already. Return the status."""
    status, body = answer.status, answer.body
    tag = next((told for name, told in answer.headers if name == "etag"), "")
    if tag and status == 200 and method in {"GET", "HEAD"} and is_known(asked.get("if-none-match", ""), tag):
        status, body = 304, b""
    headers = []
    if status not in _EMPTY:
        headers.append((b"content-type", answer.content.encode()))
        headers.append((b"content-length", b"%d" % len(body)))
    is_kept = False
    for name, told in answer.headers:
        is_kept = is_kept or name == "cache-control"
        headers.append((name.encode(), told.encode("latin-1")))
    if not is_kept:
        headers.append((b"cache-control", b"no-cache" if tag else b"no-store"))
    sent = b"" if method == "HEAD" else body
    if send_whole(send, Head(status, _BASE_TEXT, headers), sent, closes=closes):
        return status
    if closes:
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": status, "headers": [*_BASE, *headers]})
    await send({"type": "http.response.body", "body": sent})
    return status


def _headers(given: Sequence[tuple[bytes, bytes]]) -> dict[str, str]:
    """Return headers by name; of those that decide something there is only one."""
    found: dict[str, str] = {}
    for raw, told in given:
        name = raw.decode("latin-1")
        if name in found:
            if name in _ONCE:
                raise Problem(400, f"the header {name} is there twice")
            found[name] = f"{found[name]}{'; ' if name == 'cookie' else ', '}{told.decode('latin-1')}"
        else:
            found[name] = told.decode("latin-1")
    return found


def _query(raw: bytes) -> list[tuple[str, str]]:
    if len(raw) > QUERY_CHARACTERS_MAX:
        raise Problem(414, f"the query has more than {QUERY_CHARACTERS_MAX} characters")
    try:
        return parse_qsl(
            raw.decode("ascii"), keep_blank_values=True, max_num_fields=QUERY_FIELDS_MAX, errors="strict"
        )
    except ValueError:
        raise Problem(400, "the query cannot be read", "it is to be of UTF-8, encoded") from None


def _wants_page(headers: Mapping[str, str]) -> bool:
    return _HTML in headers.get("accept", "")


def _check_accepted(route: Route, headers: Mapping[str, str]) -> None:
    """Refuse to answer with what is not wanted."""
    wanted = headers.get("accept")
    if not wanted or "*/*" in wanted:
        return
    media = route.media
    kinds = {each.partition(";")[0].strip().lower() for each in wanted.split(",")}
    families = {f"{each.partition('/')[0]}/*" for each in media}
    if media and not kinds & {*media, *families} and not (JSON in media and PROBLEM in kinds):
        raise Problem(406, f"this is answered with {' or '.join(media)}", f"Accept is {wanted[:200]}")


def _check_media(route: Route, headers: Mapping[str, str]) -> None:
    """Refuse a body that is not of the kinds that are read."""
    if route.body is None:
        return
    media = media_type(headers)
    kinds = [each.strip() for each in route.body.split(",")] if isinstance(route.body, str) else [JSON]
    if media not in kinds and "*/*" not in kinds:
        told = media or "not named"
        raise Problem(
            415, f"the body is {told}", f"set Content-Type to one of {', '.join(kinds)}", kinds=kinds
        )
