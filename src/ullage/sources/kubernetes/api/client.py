"""The API server for a process that asks thousands of things a second.

What passes by itself (too many requests, a server that restarts, a connection that broke) is tried again
within bounds. The hard thing is what must not be tried again: a request that changes something may have been
done when its connection broke, so it is repeated only where doing it twice is the same as once.
"""

import asyncio
import copy
import random
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, Self
from urllib.parse import quote, urlencode

import msgspec

from ullage import __version__
from ullage.model.errors import InputError
from ullage.sources.kubernetes.api.connection import (
    REFUSED_FROM,
    Answer,
    BrokenError,
    Connection,
    connect,
)
from ullage.sources.kubernetes.api.credentials import Credentials
from ullage.sources.kubernetes.api.server_time import ServerTime
from ullage.sources.kubernetes.kubeconfig import Access
from ullage.sources.places import one_line

JSON: Final = "application/json"
MERGE_PATCH: Final = "application/merge-patch+json"
STRATEGIC_PATCH: Final = "application/strategic-merge-patch+json"
JSON_PATCH: Final = "application/json-patch+json"
APPLY_PATCH: Final = "application/apply-patch+yaml"
FIELD_MANAGER: Final = "ullage"
CONNECTIONS_MAX: Final = 64
ANSWER_BYTES_MAX: Final = 512 << 20
ANSWER_SECONDS_MAX: Final = 30.0
TRIES_MAX: Final = 6
FIRST_WAIT_SECONDS: Final = 0.1
WAIT_SECONDS_MAX: Final = 5.0
IDLE_SECONDS_MAX: Final = 60.0
"""How long a connection waits for its next request: API servers close theirs after 90 s, unasked."""
UNAUTHORIZED: Final = 401
NOT_FOUND: Final = 404
CONFLICT: Final = 409
GONE: Final = 410
TOO_MANY: Final = 429
_NOT_BEGUN: Final = frozenset((TOO_MANY, 503))
_MAYBE_DONE: Final = frozenset((500, 502, 504))
_MESSAGE_CHARACTERS_MAX: Final = 500
_SAFE_AGAIN: Final = frozenset(("GET", "PUT", "PATCH", "DELETE"))
_REFUSAL_BYTES_MAX: Final = 1 << 20
_BUDGET: Final = "DisruptionBudget"
"""The cause of an eviction that a budget forbids."""


class _Cause(msgspec.Struct, rename="camel"):
    reason: str = ""
    message: str = ""


class _Details(msgspec.Struct, rename="camel"):
    causes: list[_Cause] | None = None


class _Status(msgspec.Struct, rename="camel"):
    reason: str | None = None
    message: str | None = None
    details: _Details | None = None


_STATUS: Final = msgspec.json.Decoder(_Status)
_PLAIN: Final = re.compile(r"[A-Za-z0-9._~-]*")
"""What quoting leaves as it is: nearly every name."""


class RefusedError(Exception):
    """The server said no: its status, its reason in one word, and its own words."""

    def __init__(self, status: int, reason: str, message: str, causes: tuple[str, ...] = ()) -> None:
        super().__init__(f"{status} {reason}: {message}" if reason else f"{status}: {message}")
        self.status = status
        self.reason = reason
        self.message = message
        self.causes = causes

    @property
    def is_absent(self) -> bool:
        """Whether there is no such object."""
        return self.status == NOT_FOUND

    @property
    def is_conflict(self) -> bool:
        """Whether somebody else was first."""
        return self.status == CONFLICT

    @property
    def is_by_budget(self) -> bool:
        """Whether a disruption budget forbids it: 429 too, and it stays so until the budget changes."""
        return _BUDGET in self.causes

    @property
    def passes(self) -> bool:
        """Whether the server was too busy to begin."""
        return self.status in _NOT_BEGUN and not self.is_by_budget


class HeldBackError(BrokenError):
    """What was to be written must not be any more; an earlier try of it may have been done."""


class _Known:
    """What a client and its lanes know together: its time, and whether it has answered as it should, once."""

    def __init__(self, now: Callable[[], float]) -> None:
        self.time = ServerTime(now)
        self.is_answered = False


class ApiClient:
    """The API as one user sees it; for one event loop."""

    def __init__(
        self,
        access: Access,
        *,
        connections_max: int = CONNECTIONS_MAX,
        tries_max: int = TRIES_MAX,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.name = access.name
        self.namespace = access.namespace
        self._now = now
        self._sleep = sleep
        self._credentials = Credentials(access, now)
        self._tries_max = tries_max
        self._idle: list[Connection] = []
        self._free = asyncio.Semaphore(connections_max)
        self._known = _Known(now)
        self._before_writes: Callable[[], None] | None = None
        server = (access.cluster.server or "").rpartition("//")[2].rstrip("/")
        self._common = f"Host: {server}\r\nUser-Agent: ullage/{__version__}\r\n"
        if access.user.impersonate:
            self._common += f"Impersonate-User: {one_line(access.user.impersonate)}\r\n"

    def lane(self, connections_max: int, before_writes: Callable[[], None] | None = None) -> Self:
        """Return the same client with connections that nobody else is waited for.

        `before_writes` is called each time when a write is about to leave, and raises where it must not.
        """
        beside = copy.copy(self)
        beside._free = asyncio.Semaphore(connections_max)  # noqa: SLF001 - it is of this class
        beside._before_writes = before_writes or self._before_writes  # noqa: SLF001 - the same
        return beside

    def server_seconds(self) -> int | None:
        """Return the server's time, in seconds since 1970; None before its first answer."""
        return self._known.time.seconds()

    async def close(self) -> None:
        """Close all connections, those of its lanes too."""
        while self._idle:
            self._idle.pop().close()

    # The verbs

    async def get(self, path: str, query: Mapping[str, str] | None = None, *, accept: str = JSON) -> bytes:
        """Return the text of an object or a list; raises a RefusedError or a BrokenError."""
        return await self.request("GET", path, query=query, accept=accept)

    async def create(self, path: str, document: Any, *, before: Callable[[], None] | None = None) -> bytes:
        """Create an object in a collection, or a subresource such as a binding or an eviction."""
        return await self.request("POST", path, document, before=before)

    async def replace(self, path: str, document: Any) -> bytes:
        """Replace an object; its resourceVersion says which one."""
        return await self.request("PUT", path, document)

    async def patch(self, path: str, change: Any, content: str = MERGE_PATCH) -> bytes:
        """Change some fields of an object."""
        return await self.request("PATCH", path, change, content=content)

    async def apply(
        self, path: str, document: Any, *, field_manager: str = FIELD_MANAGER, force: bool = True
    ) -> bytes:
        """Have an object say what the document says, by server-side apply; it is created if need be."""
        query = {"fieldManager": field_manager, "force": "true" if force else "false"}
        return await self.request("PATCH", path, document, query=query, content=APPLY_PATCH)

    async def delete(self, path: str, options: Mapping[str, Any] | None = None) -> bytes:
        """Delete an object; preconditions and grace are in the options."""
        return await self.request("DELETE", path, options)

    async def request(
        self,
        method: str,
        path: str,
        document: Any = None,
        *,
        query: Mapping[str, str] | None = None,
        content: str = JSON,
        accept: str = JSON,
        seconds_max: float = ANSWER_SECONDS_MAX,
        before: Callable[[], None] | None = None,
    ) -> bytes:
        """Ask until there is an answer that will not change by itself; raises what went wrong.

        `before` is called each time when the request is about to leave, and raises where it must not.
        """
        body = b"" if document is None else msgspec.json.encode(document)
        target = f"{path}?{urlencode(query)}" if query else path
        again = method in _SAFE_AGAIN and content != JSON_PATCH
        check = before or (None if method == "GET" else self._before_writes)
        wait = FIRST_WAIT_SECONDS
        doubted = False
        for left in reversed(range(self._tries_max)):
            may_repeat = True
            try:
                asked = self._text(method, target, body, content, accept)
                may_repeat = again
                answer = await self._once(asked, seconds_max, check)
            except HeldBackError:
                raise
            except BrokenError:
                if not left or not may_repeat:
                    raise
            else:
                if answer.status < REFUSED_FROM:
                    self._known.is_answered = True
                    return answer.data
                refusal = refused(answer)
                passes = _passes(answer, refusal, again=again)
                if answer.status == UNAUTHORIZED:
                    self._credentials.doubt()
                    await self.close()  # by a certificate that is no longer good, perhaps
                    passes, doubted = not doubted, True
                if not left or not passes:
                    raise refusal
                wait = max(wait, min(answer.retry_seconds, WAIT_SECONDS_MAX))
            await self._sleep(wait * random.uniform(0.8, 1.2))  # noqa: S311 - spreads clients, hides nothing
            wait = min(2 * wait, WAIT_SECONDS_MAX)
        raise AssertionError("the last try returns or raises")

    async def follow(
        self,
        path: str,
        query: Mapping[str, str],
        take: Callable[[bytes], None],
        *,
        begun: Callable[[], None] = lambda: None,
    ) -> None:
        """Hand over the lines of an answer that goes on, each as it comes, until it ends.

        `begun` is called when the server agrees. Raises a RefusedError, a BrokenError, or what `take` raises.
        """
        request = self._text("GET", f"{path}?{urlencode(query)}", b"", JSON)
        connection = await connect(self._credentials.address())
        try:
            refusal = await self._begin(connection, request, take)
            if refusal is not None:
                if refusal.status == UNAUTHORIZED:
                    self._credentials.doubt()
                raise refused(refusal)
            begun()
            await connection.ended()
        finally:
            connection.close()

    async def _begin(
        self, connection: Connection, request: bytes, take: Callable[[bytes], None]
    ) -> Answer | None:
        """Ask for an answer that goes on; return it where it is a refusal."""
        try:
            async with asyncio.timeout(ANSWER_SECONDS_MAX):
                status = await connection.follow(request, take, bytes_max=_REFUSAL_BYTES_MAX)
                return await connection.ended() if status >= REFUSED_FROM else None
        except TimeoutError:
            raise BrokenError(f"no answer within {ANSWER_SECONDS_MAX} s") from None

    # One exchange

    def _proof(self) -> str:
        """Return the header that proves who asks; one that was good and is not to be had passes by itself."""
        try:
            return self._credentials.header()
        except InputError as error:
            if not self._known.is_answered:
                raise
            raise BrokenError(str(error)) from error

    def _text(self, method: str, target: str, body: bytes, content: str, accept: str = JSON) -> bytes:
        head = f"{method} {target} HTTP/1.1\r\n{self._common}Accept: {accept}\r\n{self._proof()}"
        if body:
            head += f"Content-Type: {content}\r\n"
        if body or method != "GET":
            head += f"Content-Length: {len(body)}\r\n"
        return f"{head}\r\n".encode() + body

    async def _once(self, request: bytes, seconds_max: float, before: Callable[[], None] | None) -> Answer:
        """Ask once, on a connection that is free; one that the server has closed meanwhile is replaced."""
        async with self._free:
            connection = self._kept() or await connect(self._credentials.address())
            try:
                if before is not None:
                    before()
                async with asyncio.timeout(seconds_max):
                    answer = await connection.ask(request, bytes_max=ANSWER_BYTES_MAX)
            except TimeoutError:
                connection.close()
                raise BrokenError(f"no answer within {seconds_max} s") from None
            except BaseException:
                connection.close()
                raise
            self._known.time.note(answer.date)
            if connection.reusable:
                connection.idle_since = self._now()
                self._idle.append(connection)
            else:
                connection.close()
            return answer

    def _kept(self) -> Connection | None:
        """Return a connection that was used before and is still good."""
        while self._idle:
            connection = self._idle.pop()
            if connection.reusable and self._now() - connection.idle_since < IDLE_SECONDS_MAX:
                return connection
            connection.close()
        return None


def _passes(answer: Answer, refusal: RefusedError, *, again: bool) -> bool:
    """Whether the same request may be answered otherwise later, and may be made again."""
    if answer.status in _NOT_BEGUN:
        return refusal.passes
    return answer.status in _MAYBE_DONE and (again or answer.retry_seconds > 0)


def refused(answer: Answer) -> RefusedError:
    """Return what a server has against a request."""
    try:
        status = _STATUS.decode(answer.data)
    except (msgspec.DecodeError, RecursionError):
        status = _Status()
    text = status.message or answer.data[:_MESSAGE_CHARACTERS_MAX].decode("utf-8", "replace")
    causes = tuple(each.reason for each in (status.details.causes if status.details else None) or ())
    return RefusedError(answer.status, status.reason or "", one_line(text)[:_MESSAGE_CHARACTERS_MAX], causes)


def segment(name: str) -> str:
    """Return a name as a part of a path."""
    return name if _PLAIN.fullmatch(name) else quote(name, safe="")
