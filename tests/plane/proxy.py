"""A proxy before the API server of a test plane that does what networks and busy servers do.

    with Proxy(plane) as proxy:
        client = ApiClient(find_access(kubeconfig=str(proxy.kubeconfig())))
        proxy.refuse(409, "POST", r"/binding$", times=3)     # the plane is not asked
        proxy.refuse(504, "POST", r"/pods$", done=True)      # the plane does it, the client hears 504
        proxy.cut("PATCH", r"/status$")                      # the connection ends, the plane was not asked
        proxy.cut("POST", r"/binding$", done=True)           # it ends when the plane has answered
        proxy.cut("GET", r"watch=true", after_bytes=5000)    # it ends within the answer
        proxy.delay(0.5, "GET", r"/nodes")                   # the plane is asked later
        proxy.cut_all()                                      # every connection ends now, watches too
        with proxy.silence(): ...                            # nothing passes: a network that swallows all
        with proxy.absence(): ...                            # nobody listens: connections are refused
        proxy.asked                                          # what was asked: (method, target, status)

A rule is for requests of a method ("" for any) whose target (path and query) its pattern is found in; of
several that match, the one that was made last counts. It holds `times` times, for ever with `times=None`,
and is gone after that; `rule.used` says how often it has been. `proxy.clear()` takes all rules back.

The proxy has a thread and an event loop of its own, so that tests of any kind can use it, and may be told
what to do from any thread. It ends TLS with a certificate of its own, which the kubeconfigs that it writes
name, and asks the plane over TLS. The hard thing is answers that go on: each is passed on as it comes, and
its end is found, because the connection goes on after it.
"""

import asyncio
import contextlib
import json
import re
import ssl
import threading
from collections.abc import AsyncIterator, Coroutine, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Self
from urllib.parse import urlsplit

from plane import settings
from plane.certificate import self_signed
from plane.plane import Plane
from plane.settings import ADMIN

HEAD_BYTES_MAX = 1 << 20
PART_BYTES = 1 << 16
CALL_SECONDS_MAX = 30
LAST_TURNS = 10
REASONS = {
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    409: "Conflict",
    410: "Expired",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}
_LENGTH = re.compile(rb"(?im)^content-length:[ \t]*([0-9]+)[ \t]*\r$")
_CHUNKED = re.compile(rb"(?im)^transfer-encoding:[ \t]*chunked[ \t]*\r$")
_WITHOUT_BODY = frozenset({204, 304})
_GONE = (OSError, EOFError, ssl.SSLError)
"""How a connection ends that the other side has left; asyncio's own error for half a part is an EOFError."""


class Asked(NamedTuple):
    """A request, and the status of its answer; 0 where the client got none."""

    method: str
    target: str
    status: int


@dataclass
class Rule:
    """What happens to requests; see the module."""

    method: str
    pattern: re.Pattern[str]
    times: int | None
    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    message: str = ""
    done: bool = False
    after_bytes: int | None = None
    delay_seconds: float = 0.0
    used: int = 0

    def matches(self, method: str, target: str) -> bool:
        left = self.times is None or self.used < self.times
        return left and self.method in {"", method} and self.pattern.search(target) is not None

    def refusal(self) -> bytes:
        """Return the answer as an API server words it."""
        body = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "reason": REASONS.get(self.status, ""),
            "message": self.message or "the proxy refuses",
            "code": self.status,
        }
        return answer(self.status, json.dumps(body).encode(), self.headers)


class _CutError(Exception):
    """The connection ends here by a rule."""


class Proxy:
    """The proxy of a plane; a context."""

    def __init__(self, plane: Plane) -> None:
        self._plane = plane
        self._rules: list[Rule] = []
        self._writers: set[asyncio.StreamWriter] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy")
        self._server: asyncio.Server | None = None
        self._passes = asyncio.Event()
        self._port = 0
        self._certificate = plane.folder / "proxy.pem"
        self.asked: list[Asked] = []

    def __enter__(self) -> Self:
        if not self._certificate.exists():  # proxies of one plane have one
            self._certificate.write_bytes(self_signed())
        self._thread.start()
        self._passes.set()
        self._call(self._listen())
        return self

    def __exit__(self, *_: object) -> None:
        self._call(self._stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    @property
    def server(self) -> str:
        """The address of the proxy."""
        return f"https://127.0.0.1:{self._port}"

    def kubeconfig(self, user: str = ADMIN, namespace: str = "default") -> Path:
        """Write a kubeconfig that leads a user through the proxy and return its path."""
        path = self._plane.folder / f"kubeconfig-proxy-{user}-{namespace}"
        token = self._plane.token(user)
        written = settings.kubeconfig(self.server, self._certificate, user, token, namespace)
        path.write_text(written, encoding="utf-8")
        return path

    # What a test says

    def refuse(
        self,
        status: int,
        method: str = "",
        pattern: str = "",
        *,
        times: int | None = 1,
        done: bool = False,
        message: str = "",
        headers: Mapping[str, str] | None = None,
    ) -> Rule:
        """Answer with a status; `done` asks the plane all the same."""
        rule = Rule(method, re.compile(pattern), times, status, headers or {}, message, done)
        return self._add(rule)

    def cut(
        self,
        method: str = "",
        pattern: str = "",
        *,
        times: int | None = 1,
        done: bool = False,
        after_bytes: int | None = None,
    ) -> Rule:
        """End the connection: at once, when the plane has answered, or after so many bytes of its answer."""
        rule = Rule(method, re.compile(pattern), times, done=done, after_bytes=after_bytes)
        return self._add(rule)

    def delay(self, seconds: float, method: str = "", pattern: str = "", *, times: int | None = 1) -> Rule:
        """Ask the plane some time later."""
        return self._add(Rule(method, re.compile(pattern), times, delay_seconds=seconds))

    def _add(self, rule: Rule) -> Rule:
        self._rules.insert(0, rule)
        return rule

    def clear(self) -> None:
        """Take all rules back."""
        self._rules.clear()

    def cut_all(self) -> None:
        """End all connections."""
        self._call(self._cut_all())

    @contextlib.contextmanager
    def silence(self) -> Iterator[None]:
        """Let nothing pass meanwhile; what was sent arrives afterwards."""
        self._loop.call_soon_threadsafe(self._passes.clear)
        try:
            yield
        finally:
            self._loop.call_soon_threadsafe(self._passes.set)

    @contextlib.contextmanager
    def absence(self) -> Iterator[None]:
        """End all connections and accept none meanwhile."""
        self._call(self._close())
        try:
            yield
        finally:
            self._call(self._listen())

    def count(self, method: str = "", pattern: str = "") -> int:
        """Return how often something was asked."""
        return sum(
            each.method.startswith(method) and bool(re.search(pattern, each.target)) for each in self.asked
        )

    # In the loop of the proxy

    def _call(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(CALL_SECONDS_MAX)

    async def _listen(self) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self._certificate)
        self._server = await asyncio.start_server(
            self._accept, "127.0.0.1", self._port, ssl=context, limit=HEAD_BYTES_MAX
        )
        self._port = self._server.sockets[0].getsockname()[1]

    async def _close(self) -> None:
        assert self._server is not None
        self._server.close()
        await self._cut_all()
        await self._server.wait_closed()

    async def _stop(self) -> None:
        """End all that goes on, also connections that have not come further than being accepted."""
        await self._close()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        # One that was cancelled when TLS stood already is known to the loop alone, and waits for its peer.
        for transport in list(self._loop._transports.values()):
            transport.abort()
        for _ in range(LAST_TURNS):  # what was aborted is closed by callbacks of the loop
            await asyncio.sleep(0)

    async def _cut_all(self) -> None:
        for writer in self._writers:
            writer.transport.abort()
        await asyncio.sleep(0)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        where = urlsplit(self._plane.server)
        context = ssl.create_default_context(cafile=str(self._plane.folder / "apiserver.crt"))
        behind: asyncio.StreamWriter | None = None
        try:
            from_plane, behind = await asyncio.open_connection(
                where.hostname, where.port, ssl=context, limit=HEAD_BYTES_MAX
            )
            self._writers.add(behind)
            while await self._exchange(_Ends(reader, writer, from_plane, behind)):
                pass
        except (*_GONE, _CutError, asyncio.CancelledError):
            pass
        finally:
            for each in (writer, behind):
                if each is not None:
                    self._writers.discard(each)
                    each.transport.abort()

    async def _exchange(self, ends: "_Ends") -> bool:
        """Pass one request and its answer on; False where the connection ends with it."""
        head = await ends.client.readuntil(b"\r\n\r\n")
        body = b"".join([part async for part in _body(ends.client, head, ends_with_connection=False)])
        method, target = head.split(b" ", 2)[:2]
        method, target = method.decode(), target.decode()
        await self._passes.wait()
        rule = next((each for each in self._rules if each.matches(method, target)), None)
        if rule is not None:
            rule.used += 1
            await asyncio.sleep(rule.delay_seconds)
            changes = rule.status or rule.done or not rule.delay_seconds
            if changes and not rule.done and rule.after_bytes is None:
                self.asked.append(Asked(method, target, rule.status))
                if not rule.status:
                    raise _CutError
                ends.to_client.write(rule.refusal())
                await ends.to_client.drain()
                return True
        ends.to_plane.write(head + body)
        await ends.to_plane.drain()
        return await self._answer(ends, rule, method, target)

    async def _answer(self, ends: "_Ends", rule: Rule | None, method: str, target: str) -> bool:
        head = await ends.plane.readuntil(b"\r\n\r\n")
        status = int(head.split(b" ", 2)[1])
        parts = _body(ends.plane, head, ends_with_connection=method != "HEAD" and status not in _WITHOUT_BODY)
        if rule is not None and rule.done:
            async for _ in parts:
                pass
            self.asked.append(Asked(method, target, rule.status))
            if not rule.status:
                raise _CutError
            ends.to_client.write(rule.refusal())
            await ends.to_client.drain()
            return True
        self.asked.append(Asked(method, target, status))
        left = None if rule is None else rule.after_bytes
        ends.to_client.write(head)
        async for part in parts:
            await self._passes.wait()
            ends.to_client.write(part if left is None else part[:left])
            await ends.to_client.drain()
            if left is not None:
                left -= len(part)
                if left <= 0:
                    raise _CutError
        await ends.to_client.drain()
        return bool(_LENGTH.search(head) or _CHUNKED.search(head) or status in _WITHOUT_BODY)


class _Ends(NamedTuple):
    client: asyncio.StreamReader
    to_client: asyncio.StreamWriter
    plane: asyncio.StreamReader
    to_plane: asyncio.StreamWriter


async def _body(
    reader: asyncio.StreamReader, head: bytes, *, ends_with_connection: bool
) -> AsyncIterator[bytes]:
    """Yield the parts of a body as they come, written as they were."""
    length = _LENGTH.search(head)
    if _CHUNKED.search(head):
        while True:
            line = await reader.readuntil(b"\r\n")
            size = int(line.split(b";")[0], 16)
            yield line + await reader.readexactly(size + 2)
            if not size:
                return
    elif length is not None:
        left = int(length[1])
        while left:
            part = await reader.read(min(left, PART_BYTES))
            if not part:
                raise EOFError
            left -= len(part)
            yield part
    elif ends_with_connection:
        while part := await reader.read(PART_BYTES):
            yield part


def answer(status: int, body: bytes, headers: Mapping[str, str]) -> bytes:
    """Return an answer that says how long it is."""
    lines = {"Content-Type": "application/json", "Content-Length": str(len(body)), **headers}
    written = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"HTTP/1.1 {status} {REASONS.get(status, 'Refused')}\r\n{written}\r\n".encode() + body
