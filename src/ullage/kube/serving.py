"""What a process answers over HTTP: is it well, its figures, and what API servers and schedulers ask it.

uvicorn speaks HTTP; an answer is a function of method, path and body. The hard thing is certificates that
change while the process runs: new connections use the new one, because the context is the same.
"""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, Final, NamedTuple

import uvicorn

from ullage.model.errors import InputError

BODY_BYTES_MAX: Final = 16 << 20
STOP_SECONDS_MAX: Final = 2.0
BACKLOG: Final = 512
TEXT: Final = "text/plain; charset=utf-8"
JSON: Final = "application/json"
_NOT_FOUND: Final = 404
_TOO_LARGE: Final = 413


class Response(NamedTuple):
    """What is answered."""

    status: int
    data: bytes
    content: str = JSON


Answering = Callable[[bytes], Awaitable[Response]]
"""What answers one path, given the body."""


class Served:
    """The paths that a process answers, by method and path."""

    def __init__(self) -> None:
        self._answering: dict[tuple[str, str], Answering] = {}

    def add(self, method: str, path: str, answering: Answering) -> None:
        """Answer one more path."""
        self._answering[method, path] = answering

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        """Answer one request, as ASGI has it."""
        if scope["type"] != "http":
            return
        response = await self._response(scope, receive)
        headers = [
            (b"content-type", response.content.encode()),
            (b"content-length", str(len(response.data)).encode()),
        ]
        await send({"type": "http.response.start", "status": response.status, "headers": headers})
        await send({"type": "http.response.body", "body": response.data})

    async def _response(self, scope: dict[str, Any], receive: Any) -> Response:
        answering = self._answering.get((scope["method"], scope["path"]))
        if answering is None:
            return Response(_NOT_FOUND, b"no such path\n", TEXT)
        parts: list[bytes] = []
        size, more = 0, True
        while more:
            message = await receive()
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            more = message.get("more_body", False)
            if size > BODY_BYTES_MAX:
                return Response(_TOO_LARGE, f"more than {BODY_BYTES_MAX} bytes\n".encode(), TEXT)
        return await answering(b"".join(parts))


class _Server(uvicorn.Server):
    """A server among others in one process: signals are not its business."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals alone."""
        yield


class Door:
    """A port that stays open while what answers behind it is made anew: who comes meanwhile has to wait."""

    def __init__(self, host: str, port: int) -> None:
        self._address = host, port
        self._listening: socket.socket | None = None

    def open(self) -> socket.socket:
        """Return the socket that is listened on, for somebody who closes it; the door stays open then."""
        if self._listening is None:
            family = socket.AF_INET6 if ":" in self._address[0] else socket.AF_INET
            try:
                self._listening = socket.create_server(self._address, family=family, backlog=BACKLOG)
            except OSError as error:
                host, port = self._address
                raise InputError(
                    f"cannot listen on {host} port {port}: {error.strerror}", remedy="choose another port"
                ) from None
        return self._listening.dup()

    def close(self) -> None:
        """Let nobody wait any more."""
        if self._listening is not None:
            self._listening.close()


async def serve(
    served: Served,
    *,
    host: str,
    port: int,
    tls: ssl.SSLContext | None = None,
    ready: Callable[[], None] = lambda: None,
    door: Door | None = None,
) -> None:
    """Answer requests until cancelled, at a door if there is one; `ready` is called once that is so."""
    config = uvicorn.Config(
        served, host=host, port=port, log_config=None, access_log=False, lifespan="off", http="httptools"
    )
    config.load()
    config.ssl = tls
    server = _Server(config)
    task = asyncio.create_task(server.serve([door.open()] if door else None))
    try:
        while not server.started and not task.done():  # noqa: ASYNC110 - it has no event
            await asyncio.sleep(0.01)
        if server.started:
            ready()
        await asyncio.shield(task)  # it has to close its socket itself, or the port stays taken
    finally:
        server.should_exit = True
        if not task.done():
            await asyncio.wait((task,), timeout=STOP_SECONDS_MAX)
        task.cancel()
