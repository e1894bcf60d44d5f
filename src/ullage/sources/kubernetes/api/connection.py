"""One HTTP/1.1 connection to an API server: one request at a time, its answer whole or as it comes.

httptools parses; everything else is the event loop's. A general client costs two to three times the processor
time for each of the thousands of small requests of a second (docs/decisions/0011-kubernetes-client.md). The
hard thing is an answer that never ends: each line of a watch is handed over within the call that received it,
so that nothing waits and nobody is woken, and what was not taken yet stays with the server. Where a network
falls silent, only the probes of TCP notice.
"""

import asyncio
import socket
import ssl
from collections.abc import Callable
from typing import Final, NamedTuple, cast

import httptools

CONNECT_SECONDS_MAX: Final = 10
SILENT_SECONDS_MAX: Final = 330
"""How long a watch may say nothing: the server ends it by itself before that."""
LINE_BYTES_MAX: Final = 16 << 20
"""One event of a watch: an object of at most 1.5 MiB as the server stores it, and room."""
PROBE_AFTER_SECONDS: Final = 15
PROBE_EACH_SECONDS: Final = 5
PROBES_MAX: Final = 3
"""A peer that is gone without a word is noticed half a minute later."""
_FIRST_FINAL_STATUS: Final = 200
REFUSED_FROM: Final = 300
"""Answers of this status and beyond are refusals."""


class BrokenError(Exception):
    """The connection ended, or never began; what was asked may have been done all the same."""


class Address(NamedTuple):
    """Where a server listens."""

    host: str
    port: int
    tls: ssl.SSLContext | None
    server_name: str = ""


class Answer(NamedTuple):
    """The status, the body, how long the server wants to be left alone, and when it has answered."""

    status: int
    data: bytes
    retry_seconds: float = 0.0
    date: bytes = b""


class Connection(asyncio.Protocol):
    """A connection that is kept for one request after the other."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._parser: httptools.HttpResponseParser | None = None
        self._parts: list[bytes] = []
        self._part_bytes = 0
        self._status = 0
        self._retry_seconds = 0.0
        self._date = b""
        self._answer: asyncio.Future[Answer] | None = None
        self._began: asyncio.Future[int] | None = None
        self._take: Callable[[bytes], None] | None = None
        self._rest = b""
        self._heard_seconds = 0.0
        self._watchdog: asyncio.TimerHandle | None = None
        self._ended = False
        self._bounded = False
        self._bytes_max = 0
        self._error: Exception | None = None
        self.reusable = True
        self.idle_since = 0.0

    # Asking

    async def ask(self, request: bytes, *, bytes_max: int) -> Answer:
        """Send a request and return the whole answer; raises a BrokenError."""
        self._begin(request, bytes_max)
        self._answer = self._loop.create_future()
        return await self._answer

    async def follow(self, request: bytes, take: Callable[[bytes], None], *, bytes_max: int) -> int:
        """Send a request and return the status of its answer, of which each line is handed over as it comes.

        A refusal is not handed over: `ended` returns it whole.
        """
        self._begin(request, bytes_max)
        self._take = take
        self._began = self._loop.create_future()
        return await self._began

    async def ended(self) -> Answer:
        """Wait until the answer that is followed ends; raises a BrokenError, or what who took it raised."""
        if self._error is not None:
            raise self._error
        self._answer = self._loop.create_future()
        if self._ended:
            self._hand_over_answer()
        self._heard_seconds = self._loop.time()
        self._watch_silence()
        try:
            return await self._answer
        finally:
            if self._watchdog is not None:
                self._watchdog.cancel()

    def close(self) -> None:
        """End the connection."""
        self.reusable = False
        if self._transport is not None:
            self._transport.abort()

    def _begin(self, request: bytes, bytes_max: int) -> None:
        if self._transport is None or self._transport.is_closing():
            raise BrokenError("the connection was closed")
        self._parser = httptools.HttpResponseParser(self)
        self._parts = []
        self._part_bytes = 0
        self._retry_seconds = 0.0
        self._date = b""
        self._status = 0
        self._answer = self._began = self._take = None
        self._rest = b""
        self._ended = self._bounded = False
        self._bytes_max = bytes_max
        self._transport.write(request)

    # What the event loop calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin, and have TCP look after the peer."""
        self._transport = cast("asyncio.Transport", transport)
        plain = transport.get_extra_info("socket")
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in (
            ("TCP_KEEPIDLE", PROBE_AFTER_SECONDS),
            ("TCP_KEEPINTVL", PROBE_EACH_SECONDS),
            ("TCP_KEEPCNT", PROBES_MAX),
        ):
            if hasattr(socket, name):
                plain.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)

    def data_received(self, data: bytes) -> None:
        """Parse what came; what nobody asked for ends the connection, or the next answer would be wrong."""
        if self._parser is None or self._ended:
            self.close()
            return
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            if not self._ended:
                self._break(BrokenError(f"not HTTP: {error}"))
            self.close()

    def connection_lost(self, error: Exception | None) -> None:
        """Tell whoever waits; an answer that does not say how long it is ends here."""
        self.reusable = False
        if error is None and self._status and not self._bounded and not self._ended:
            self.on_message_complete()
        if not self._ended:
            self._break(BrokenError(str(error) if error else "the server closed the connection"))

    def _break(self, error: Exception) -> None:
        """Tell whoever waits, or comes to wait, what went wrong first."""
        self._error = self._error or error
        for each in (self._answer, self._began):
            if each is not None and not each.done():
                each.set_exception(self._error)

    def _watch_silence(self) -> None:
        """End an answer of which nothing was heard for too long, else look again when that may be."""
        left = self._heard_seconds + SILENT_SECONDS_MAX - self._loop.time()
        if left > 0:
            self._watchdog = self._loop.call_later(left, self._watch_silence)
        else:
            self._break(BrokenError(f"nothing came for {SILENT_SECONDS_MAX} s"))
            self.close()

    # What the parser calls

    def on_message_begin(self) -> None:
        """Refuse a second answer to one request."""
        if self._ended:
            self.close()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take note of the headers that matter."""
        lower = name.lower()
        if lower in {b"content-length", b"transfer-encoding"}:
            self._bounded = True
        elif lower == b"retry-after" and value.isdigit():
            self._retry_seconds = float(value[:4])
        elif lower == b"date":
            self._date = value

    def on_headers_complete(self) -> None:
        """Tell the status of an answer that goes on."""
        if self._parser is None or self._ended:
            return
        self._status = self._parser.get_status_code()
        self.reusable = self._parser.should_keep_alive()
        if self._began is not None and not self._began.done() and self._status >= _FIRST_FINAL_STATUS:
            self._began.set_result(self._status)

    def on_body(self, body: bytes) -> None:
        """Keep a part of the body, or hand over its lines."""
        if self._ended:
            return
        if self._take is not None and self._status < REFUSED_FROM:
            self._heard_seconds = self._loop.time()
            *lines, self._rest = (self._rest + body if self._rest else body).split(b"\n")
            self._hand_over(lines)
            if len(self._rest) > LINE_BYTES_MAX:
                self._break(BrokenError(f"a line of more than {LINE_BYTES_MAX} bytes"))
                self.close()
            return
        self._parts.append(body)
        self._part_bytes += len(body)
        if self._part_bytes > self._bytes_max:
            self._break(BrokenError(f"an answer of more than {self._bytes_max} bytes"))
            self.close()

    def _hand_over(self, lines: list[bytes]) -> None:
        if self._take is None or self._error is not None:
            return
        try:
            for line in lines:
                if line:
                    self._take(line)
        except Exception as error:  # noqa: BLE001 - it is raised again where the end is waited for
            self._break(error)
            self.close()

    def on_message_complete(self) -> None:
        """Hand over the answer; one that says to wait for the real one is none."""
        if self._ended or self._status < _FIRST_FINAL_STATUS:
            return
        self._ended = True
        self._hand_over([self._rest])
        self._hand_over_answer()

    def _hand_over_answer(self) -> None:
        if self._answer is not None and not self._answer.done():
            data = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
            self._answer.set_result(Answer(self._status, data, self._retry_seconds, self._date))


async def connect(address: Address) -> Connection:
    """Return a new connection; raises a BrokenError."""
    loop = asyncio.get_running_loop()
    name = (address.server_name or address.host) if address.tls else None
    connection = Connection()
    is_made = False
    try:
        async with asyncio.timeout(CONNECT_SECONDS_MAX):
            await loop.create_connection(
                lambda: connection, address.host, address.port, ssl=address.tls, server_hostname=name
            )
        is_made = True
    except TimeoutError:
        raise BrokenError(f"no connection within {CONNECT_SECONDS_MAX} s") from None
    except OSError as error:
        raise BrokenError(str(error)) from error
    finally:
        if not is_made:
            connection.close()  # it may stand already, and would wait for the server to end it
    return connection
