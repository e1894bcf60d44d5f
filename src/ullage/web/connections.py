"""Connections with clients, held to bounds: a slow one is let go, and a crowd of them makes room.

httptools reads requests; here they are put in their order, one being answered at a time. How long the head of
a request may take and how large it may be is bounded, as is how long somebody may take to read an answer, and
how many may be connected. Nothing is timed one by one: all connections are looked at once in a second. The
hard thing is to tell who reads slowly from who does not read: what the system still has to send counts too,
for it is taken over by the megabyte.
"""

import asyncio
import fcntl
import socket
import struct
import termios
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final

import httptools

from ullage.web.exchange import HELD_BYTES_MAX, STATUS_LINES, Exchange
from ullage.web.http import PROBLEM, Problem

CONNECTIONS_MAX: Final = 2000
HEAD_SECONDS_MAX: Final = 10.0
HEAD_BYTES_MAX: Final = 64 << 10
KEEP_SECONDS: Final = 30.0
"""How long a connection without a request is kept."""
AHEAD_MAX: Final = 64
"""So many requests may be sent before the first of them is answered; those behind are not read."""
READING_SECONDS: Final = 15.0
READING_BYTES_MIN: Final = 128 << 10
"""What of an answer has to be read in so many seconds."""
UNREAD_BYTES_MAX: Final = 256 << 20
"""What may be left to read of all answers together, before those who have read longest are let go."""
_INTEGER: Final = struct.Struct("i")
_AT_ONCE: Final = struct.pack("ii", 1, 0)
Application = Callable[[dict[str, Any], Any, Any], Awaitable[None]]


class Clients:
    """All who are connected, what is being answered, and what all answers have."""

    def __init__(self, application: Application, say: Callable[[str], None]) -> None:
        self.application = application
        self.say = say
        """Told what is worth a line in the log."""
        self.connections: set[Connection] = set()
        self.tasks: set[asyncio.Task[None]] = set()
        self.date = b""
        """The header with the time of day."""


class Connection(asyncio.Protocol):
    """One connection."""

    transport: asyncio.Transport
    exchange: Exchange | None = None
    """The last request that has begun to arrive."""
    answering: Exchange | None = None
    """The last one that was begun to be answered."""
    is_writable = True
    is_read_paused = False
    idle_since = 0.0
    """Since when it has asked nothing; 0 before its first request, and while there is one."""
    head_since = 0.0
    """When it began to send the head of a request, or to be expected to; 0 while there is none."""
    head_bytes = 0
    is_in_head = True
    beside_bytes = 0
    """What was sent behind a head and is no body: the sizes of its parts, and headers behind them."""
    body_since = 0.0
    """When it began to send what follows the head of its last request."""
    unread_bytes = 0
    """What it had not read of our answers, and when that was; 0 where it had read all, or was sent more."""
    unread_since = 0.0
    reads_since = 0.0
    """When it was first seen not to have read all of an answer."""
    is_ending = False
    """Whether nothing more is read of it, and it is closed behind its last answer."""

    def __init__(self, clients: Clients) -> None:
        self.clients = clients
        self.loop = asyncio.get_running_loop()
        self.parser = httptools.HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)  # the last one is answered
        self.pipeline: deque[Exchange] = deque()
        """Requests that wait for those before them."""
        self._url = b""
        self._headers: list[tuple[bytes, bytes]] = []
        self._expects = False
        self._has_body_part = False
        self._refusal: Problem | None = None
        """What is answered last, behind all that was asked before it."""
        self._written: asyncio.Event | None = None

    # What asyncio calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin; where too many are connected, whoever has waited longest without asking goes."""
        self.transport = transport  # type: ignore[assignment]  # of a socket, it is written to
        self.head_since = self.loop.time()
        self.clients.connections.add(self)
        if len(self.clients.connections) > CONNECTIONS_MAX:
            _make_room(self.clients.connections)

    def connection_lost(self, _: Exception | None) -> None:
        """Tell whoever answers that nobody is there any more."""
        self.clients.connections.discard(self)
        self.pipeline.clear()  # nobody has begun to answer them
        if self.answering is not None:
            self.answering.is_gone = not self.answering.is_answered
            self.answering.wake()
        self.resume_writing()

    def data_received(self, data: bytes) -> None:
        """Take what was sent."""
        if self.is_ending:
            return
        self.idle_since = 0.0
        if self.is_in_head:
            self.head_since = self.head_since or self.loop.time()
            self.head_bytes += len(data)
        self._has_body_part = False
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            pass  # whoever asks for another protocol is answered in this one
        except httptools.HttpParserError:
            self.clients.say("what was sent is no HTTP")
            self._refuse_in_order(Problem(400, "invalid http request received"))
            return
        if self.is_in_head:
            if self.head_bytes > HEAD_BYTES_MAX:
                what = f"the head of the request is larger than {HEAD_BYTES_MAX} bytes"
                self._refuse_in_order(Problem(431, what))
            return
        self.beside_bytes = 0 if self._has_body_part else self.beside_bytes + len(data)
        if self.beside_bytes > HEAD_BYTES_MAX:
            self._refuse_in_order(Problem(431, f"more than {HEAD_BYTES_MAX} bytes are no part of a body"))

    def pause_writing(self) -> None:
        """Send no more for now."""
        self.is_writable = False

    def resume_writing(self) -> None:
        """Go on: what was sent is read, all but a little."""
        self.unread_bytes = 0
        self.is_writable = True
        if self._written is not None:
            self._written.set()
            self._written = None

    # What the parser calls.

    def on_message_begin(self) -> None:
        """Begin the head of a request."""
        if not self.is_ending:
            self.is_in_head = True
            self._url, self._headers, self._expects = b"", [], False

    def on_url(self, url: bytes) -> None:
        """Take a part of what is asked for."""
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header; those behind a body are dropped."""
        if self.is_in_head:
            name = name.lower()
            if name == b"expect" and value.lower() == b"100-continue":
                self._expects = True
            self._headers.append((name, value))

    def on_headers_complete(self) -> None:
        """End the head of a request; what asks for another protocol is the last one, and has no body."""
        if self.is_ending:
            return
        if len(self.pipeline) >= AHEAD_MAX:
            self.is_ending = True
            return
        parser = self.parser
        upgrades = parser.should_upgrade()
        if upgrades and self._has_body():
            self._refuse_in_order(Problem(400, "a body is not read behind Upgrade", "send it without that"))
            return
        coding = next((told for name, told in self._headers if name == b"transfer-encoding"), b"chunked")
        if coding.strip().lower() != b"chunked":
            self._refuse_in_order(
                Problem(501, "the body comes in a coding that is not read", "send it plainly")
            )
            return
        target = httptools.parse_url(self._url)
        target.path.decode("ascii")  # or it is no HTTP
        self.is_ending = upgrades
        self.is_in_head = False
        self.beside_bytes = 0
        self.head_bytes = 0
        self.head_since = 0.0
        self.body_since = self.loop.time()
        scope = {
            "type": "http",
            "method": parser.get_method().decode("ascii"),
            "raw_path": target.path,
            "query_string": target.query or b"",
            "headers": self._headers,
        }
        is_old = parser.get_http_version() == "1.0"
        keeps = not upgrades and not is_old and parser.should_keep_alive()
        before, self.exchange = self.exchange, Exchange(self, scope, keeps=keeps, expects=self._expects)
        self.exchange.is_old = is_old
        if before is None or before.is_answered:
            self._answer(self.exchange)
        else:
            self.pause_reading()
            self.pipeline.append(self.exchange)

    def on_body(self, body: bytes) -> None:
        """Take a part of the body of a request, unless that is not answered any more."""
        self._has_body_part = True
        exchange = self.exchange
        if self.is_ending or exchange is None or exchange.is_answered:
            return
        exchange.body += body
        if len(exchange.body) > HELD_BYTES_MAX:
            self.pause_reading()
        exchange.wake()

    def on_message_complete(self) -> None:
        """End a request."""
        exchange = self.exchange
        if exchange is None or (self.is_ending and not self.parser.should_upgrade()):
            return
        exchange.is_whole = True
        exchange.wake()

    def _has_body(self) -> bool:
        return any(
            (name == b"content-length" and told.strip(b"0 ")) or name == b"transfer-encoding"
            for name, told in self._headers
        )

    # Requests, one after the other.

    def _answer(self, exchange: Exchange) -> None:
        self.answering = exchange
        task: asyncio.Task[None] = self.loop.create_task(
            self.clients.application(exchange.scope, exchange.receive, exchange.send)  # type: ignore[arg-type]
        )
        self.clients.tasks.add(task)
        task.add_done_callback(exchange.ended)

    def answered(self, exchange: Exchange) -> None:
        """Go on to the next request; more is read when those that came before are answered."""
        self.unread_bytes = 0
        if not exchange.keeps:
            self.transport.close()
        if self.transport.is_closing():
            return
        if self.pipeline:
            self._answer(self.pipeline.popleft())
        elif not self.is_ending:
            self.idle_since = self.loop.time()
            self.is_in_head = True
        elif self._refusal is not None:
            self.refuse(self._refusal)
        elif not self.is_busy:
            self.transport.close()
        if not self.pipeline:
            self.read_on()

    def give_up(self, exchange: Exchange, problem: Problem) -> None:
        """Close behind a request that has no answer but this one, or a part of one."""
        if exchange.is_begun or self.transport.is_closing():
            self.transport.abort()
        else:
            self.refuse(problem)

    def pause_reading(self) -> None:
        """Read no more for now."""
        if not self.is_read_paused and not self.transport.is_closing():
            self.is_read_paused = True
            self.transport.pause_reading()

    def read_on(self) -> None:
        """Read more."""
        if self.is_read_paused and not self.transport.is_closing():
            self.is_read_paused = False
            self.transport.resume_reading()

    async def writable(self) -> None:
        """Wait until more can be sent, or nobody is there any more."""
        while not self.is_writable:
            self._written = self._written or asyncio.Event()
            await self._written.wait()

    def shutdown(self) -> None:
        """End it behind what was asked already."""
        if self.exchange is None or not self.is_busy:
            self.transport.close()
        else:
            self.exchange.keeps = False

    @property
    def is_busy(self) -> bool:
        """Whether a request is being answered, or its body is on its way."""
        return self.exchange is not None and not self.exchange.is_answered

    @property
    def is_whole(self) -> bool:
        """Whether a request is being answered of which nothing is missing."""
        return self.exchange is not None and not self.exchange.is_answered and self.exchange.is_whole

    @property
    def held_bytes(self) -> int:
        """What we still hold of answers, because it was not read."""
        return int(self.transport.get_write_buffer_size())

    def _refuse_in_order(self, problem: Problem) -> None:
        """Refuse what is being sent, behind the answers to what was asked before; nothing more is read."""
        if self.is_ending or self.transport.is_closing():
            return
        self.is_ending = True
        if self.pipeline and not self.pipeline[-1].is_whole:  # it is what is refused
            self.pipeline.pop()
            self.exchange = self.pipeline[-1] if self.pipeline else self.answering
        answering = self.answering
        if answering is None or answering.is_answered:
            self.refuse(problem)
        elif answering.is_whole:
            self._refusal = problem
        elif answering.is_begun:
            self.transport.abort()  # it is its own body that cannot be read
        else:
            self.refuse(problem)

    def refuse(self, problem: Problem) -> None:
        """Answer with a problem, and close."""
        body = problem.response().body
        head = f"content-type: {PROBLEM}\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n"
        self.transport.write(STATUS_LINES[problem.status] + head.encode() + body)
        self.transport.close()

    def look(self, now: float) -> None:
        """End it if it takes too long to ask, or to read what it asked for."""
        if self.head_since and now - self.head_since > HEAD_SECONDS_MAX and not self.is_busy:
            if self.head_bytes and not self.transport.is_closing():
                self.refuse(Problem(408, "the head of the request did not arrive in time"))
            else:
                self.transport.abort()
            return
        unread = self._unread() if self.held_bytes else 0
        if not unread and self.idle_since and now - self.idle_since > KEEP_SECONDS:
            self.transport.close()
            return
        if not unread or not self.unread_bytes:
            self.unread_bytes, self.unread_since, self.reads_since = unread, now, now
        elif now - self.unread_since >= READING_SECONDS:
            if unread > self.unread_bytes - READING_BYTES_MIN:
                self.drop()
            else:
                self.unread_bytes, self.unread_since = unread, now

    def drop(self) -> None:
        """End it at once, and have the system forget what it still had to send."""
        self.unread_bytes = 0
        self.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
        self.transport.abort()

    def _unread(self) -> int:
        """Return what has not arrived yet of our answers: what we hold, and what the system does."""
        queued = fcntl.ioctl(self.transport.get_extra_info("socket").fileno(), termios.TIOCOUTQ, bytes(4))
        return self.held_bytes + int(_INTEGER.unpack(queued)[0])


def look_at_all(connections: Iterable[Connection], now: float) -> None:
    """Look at every connection, and at what all of them have not read; one alone may take what it wants."""
    for each in list(connections):
        try:
            each.look(now)
        except Exception as error:  # noqa: BLE001 - whatever is wrong with one, others are looked at
            each.clients.say(f"cannot look at a connection: {type(error).__name__}: {error}")
    reading = sorted((each for each in connections if each.unread_bytes), key=lambda each: each.reads_since)
    excess = sum(each.held_bytes for each in reading) - UNREAD_BYTES_MAX
    for each in reading[:-1]:
        if excess > 0:
            excess -= each.held_bytes
            each.drop()


def _make_room(connections: Iterable[Connection]) -> None:
    """Let go of one: whoever has waited longest without asking, or without coming to an end of it."""
    idle = [each for each in connections if not each.is_whole]
    oldest = min(idle, key=lambda each: each.head_since or each.body_since, default=None)
    if oldest is not None:
        oldest.transport.abort()
