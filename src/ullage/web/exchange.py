"""One request and its answer, as ASGI has them, on a connection that may be gone at any moment.

What a request has sent is held here until it is asked for; where it is much, no more is read. An answer that
is ready as a whole leaves in one piece.
"""

import asyncio
import re
from collections.abc import Iterable, Sequence
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ullage.web.http import Problem

if TYPE_CHECKING:
    from ullage.web.connections import Connection

HELD_BYTES_MAX: Final = 64 << 10
"""So much of a body may wait to be asked for before no more of it is read."""
STATUS_LINES: Final = {each.value: f"HTTP/1.1 {each.value} {each.phrase}\r\n".encode() for each in HTTPStatus}
_CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"
_CLOSED: Final = (b"connection", b"close")
_CLOSE: Final = b"connection: close\r\n"
_CHUNKED: Final = b"transfer-encoding: chunked\r\n"
_NO_BODY: Final = frozenset((204, 304))
_NO_TEXT: Final = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
"""What would end a header, or is no text."""


class Head(NamedTuple):
    """What comes before a body: a status, headers as text that all answers have, and those of this one."""

    status: int
    text: bytes
    headers: Sequence[tuple[bytes, bytes]]


class Exchange:
    """A request that has begun to arrive, and what is sent for it."""

    __slots__ = (
        "_arrived",
        "_connection",
        "_is_chunked",
        "_is_told",
        "body",
        "expects",
        "is_answered",
        "is_begun",
        "is_gone",
        "is_old",
        "is_whole",
        "keeps",
        "scope",
    )

    def __init__(
        self, connection: "Connection", scope: dict[str, Any], *, keeps: bool, expects: bool
    ) -> None:
        self._connection = connection
        self.scope = scope
        self.keeps = keeps
        """Whether the connection may be used again."""
        self.expects = expects
        """Whether whoever asks waits to be told that the body is wanted."""
        self.body = bytearray()
        self.is_whole = False
        """Whether all of the request has arrived."""
        self.is_begun = False
        self.is_answered = False
        self.is_old = False
        """Whether whoever asks may not know of chunks: an answer ends with the connection then."""
        self.is_gone = False
        """Whether nobody is there to be answered."""
        self._is_chunked = False
        self._is_told = False
        self._arrived: asyncio.Future[None] | None = None

    # What the connection tells.

    def wake(self) -> None:
        """Have whoever waits for more of the request look again."""
        if self._arrived is not None and not self._arrived.done():
            self._arrived.set_result(None)

    # What the application calls.

    async def receive(self) -> dict[str, Any]:
        """Return what has arrived since, as ASGI has it; once all was told, wait until it is over."""
        if self.expects and not self.is_gone and not self.is_begun:
            self.expects = False
            self._connection.transport.write(_CONTINUE)
        while not (self.is_gone or self.is_answered or (not self._is_told and (self.body or self.is_whole))):
            self._connection.read_on()
            self._arrived = asyncio.get_running_loop().create_future()
            await self._arrived
        if self.is_gone or self.is_answered:
            return {"type": "http.disconnect"}
        self._is_told = self.is_whole
        return {"type": "http.request", "body": self.take(), "more_body": not self.is_whole}

    def take(self) -> bytes:
        """Return what has arrived of the body, which is not told again."""
        found, self.body = bytes(self.body), bytearray()
        return found

    async def send(self, message: dict[str, Any]) -> None:
        """Send the head of an answer, or a part of its body."""
        await self._connection.writable()
        if self.is_gone:
            return
        if message["type"] == "http.response.start":
            kept = [each for each in message["headers"] if each != _CLOSED]
            self.keeps = self.keeps and len(kept) == len(message["headers"])
            self._send_head(Head(message["status"], b"", kept))
        else:
            self._send_part(message.get("body", b""), is_last=not message.get("more_body", False))

    def send_whole(self, head: Head, body: bytes, *, closes: bool) -> bool:
        """Send an answer in one piece, and say whether that is done: not where it has to wait."""
        if not self._connection.is_writable or self.is_gone:
            return False
        self.keeps = self.keeps and not closes
        self._connection.transport.write(self._head(head) + body)
        self._end()
        return True

    def _send_head(self, head: Head) -> None:
        self._is_chunked = (
            not self.is_old
            and all(name != b"content-length" for name, _ in head.headers)
            and head.status not in _NO_BODY
            and self.scope["method"] != "HEAD"
        )
        self._connection.transport.write(self._head(head))

    def _head(self, head: Head) -> bytes:
        found = b"".join(
            (
                STATUS_LINES[head.status],
                self._connection.clients.date,
                head.text,
                header_text(head.headers),
                _CHUNKED if self._is_chunked else b"",
                b"" if self.keeps else _CLOSE,
                b"\r\n",
            )
        )
        self.is_begun = True
        self.expects = False
        return found

    def _send_part(self, part: bytes, *, is_last: bool) -> None:
        if self.scope["method"] == "HEAD":
            part = b""
        if self._is_chunked:
            part = b"%x\r\n%b\r\n" % (len(part), part) if part else b""
            part += b"0\r\n\r\n" if is_last else b""
        if part:
            self._connection.transport.write(part)
        if is_last:
            self._end()

    def _end(self) -> None:
        self.is_answered = True
        self.wake()
        self._connection.answered(self)

    def ended(self, task: "asyncio.Task[None]") -> None:
        """Take note that the application has come to its end, with an answer or without."""
        clients = self._connection.clients
        clients.tasks.discard(task)
        problem = Problem(503, "the server ends")
        if not task.cancelled():
            problem = Problem(500, "there is no answer")
            error = task.exception()
            if error is not None:
                clients.say(f"a request has no answer: {type(error).__name__}: {error}")
        if not self.is_answered and not self.is_gone:
            self._connection.give_up(self, problem)


def header_text(headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Return headers as they are sent; raises a ValueError where one is more than that."""
    parts = []
    for name, told in headers:
        if _NO_TEXT.search(told):
            raise ValueError("a header would be more than one")
        parts.append(b"%b: %b\r\n" % (name, told))
    return b"".join(parts)


def send_whole(send: Any, head: Head, body: bytes, *, closes: bool) -> bool:
    """Send an answer in one piece where that can be done now, and say whether it was."""
    exchange = getattr(send, "__self__", None)
    return isinstance(exchange, Exchange) and exchange.send_whole(head, body, closes=closes)
