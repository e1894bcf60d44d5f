"""Connections with clients, held to bounds: a slow one is let go, and a crowd of them makes room.

uvicorn speaks HTTP; what it leaves open is how long the head of a request may take and how large it may be,
how long somebody may take to read an answer, and how many may be connected. Nothing is timed one by one: all
connections are looked at once in a second. The hard thing is to tell who reads slowly from who does not read:
what the system still has to send counts too, for it is taken over by the megabyte.
"""

import fcntl
import re
import socket
import struct
import termios
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from ullage.web.http import PROBLEM, Problem

CONNECTIONS_MAX: Final = 2000
HEAD_SECONDS_MAX: Final = 10.0
HEAD_BYTES_MAX: Final = 64 << 10
KEEP_SECONDS: Final = 30
"""How long a connection without a request is kept."""
AHEAD_MAX: Final = 64
"""So many requests may be sent before the first of them is answered; those behind are not read."""
READING_SECONDS: Final = 15.0
READING_BYTES_MIN: Final = 128 << 10
"""What of an answer has to be read in so many seconds."""
UNREAD_BYTES_MAX: Final = 256 << 20
"""What may be left to read of all answers together, before those who have read longest are let go."""
_NO_TEXT: Final = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
"""What would end a header, or is no text."""
_INTEGER: Final = struct.Struct("i")
_AT_ONCE: Final = struct.pack("ii", 1, 0)


class Connection(HttpToolsProtocol):
    """One connection."""

    head_since = 0.0
    """When it began to send the head of a request, or to be expected to; 0 while there is none."""
    head_bytes = 0
    is_in_head = True
    body_since = 0.0
    """When it began to send what follows the head of its last request."""
    unread_bytes = 0
    """What it had not read of our answers, and when that was; 0 where it had read all, or was sent more."""
    unread_since = 0.0
    reads_since = 0.0
    """When it was first seen not to have read all of an answer."""
    is_ending = False
    """Whether nothing more is read of it, and it is closed behind its last answer."""

    def connection_made(self, transport: Any) -> None:
        """Begin; where too many are connected, whoever has waited longest without asking goes."""
        super().connection_made(transport)
        self.head_since = self.loop.time()
        if len(self.connections) > CONNECTIONS_MAX:
            _make_room(self.connections)  # type: ignore[arg-type]  # all are of this class

    def data_received(self, data: bytes) -> None:
        """Take what was sent."""
        if self.is_ending:
            return
        if self.is_in_head:
            self.head_since = self.head_since or self.loop.time()
            self.head_bytes += len(data)
        super().data_received(data)
        if self.is_in_head and self.head_bytes > HEAD_BYTES_MAX and not self.transport.is_closing():
            self.refuse(Problem(431, f"the head of the request is larger than {HEAD_BYTES_MAX} bytes"))

    def on_message_begin(self) -> None:
        """Begin the head of a request."""
        if self.is_ending:
            return
        self.is_in_head = True
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header; those behind a body are dropped."""
        if self.is_in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """End the head of a request; what asks for another protocol is the last one, and has no body."""
        if self.is_ending:
            return
        if len(self.pipeline) >= AHEAD_MAX:
            self.is_ending = True
            return
        if self.parser.should_upgrade() and self._has_body():
            self.is_ending = True
            if self.is_busy:
                self.transport.abort()
            else:
                self.refuse(Problem(400, "a body is not read behind Upgrade", "send it without that"))
            return
        self.is_in_head = False
        self.head_bytes = 0
        self.head_since = 0.0
        self.body_since = self.loop.time()
        super().on_headers_complete()
        if self.parser.should_upgrade():
            self.is_ending = True
            self.cycle.keep_alive = False

    def on_message_complete(self) -> None:
        """End a request, unless it is not answered."""
        if not self.is_ending or self.parser.should_upgrade():
            super().on_message_complete()

    def on_body(self, body: bytes) -> None:
        """Take a part of the body of a request, unless that is not answered."""
        if not self.is_ending:
            super().on_body(body)

    def _has_body(self) -> bool:
        return any(
            (name == b"content-length" and told.strip(b"0 ")) or name == b"transfer-encoding"
            for name, told in self.headers
        )

    def _unsupported_upgrade_warning(self) -> None:
        """Say nothing: whoever asks for another protocol is answered in this one."""

    def on_response_complete(self) -> None:
        """Wait for the next request; more is read when those that came before are answered."""
        self.unread_bytes = 0
        super().on_response_complete()
        if self.pipeline:
            self.flow.pause_reading()
        elif self.is_ending and not self.is_busy:
            self.transport.close()
        else:
            self.is_in_head = True

    def resume_writing(self) -> None:
        """Go on: what was sent is read, all but a little."""
        self.unread_bytes = 0
        super().resume_writing()

    @property
    def is_busy(self) -> bool:
        """Whether a request is being answered, or its body is on its way."""
        return self.cycle is not None and not self.cycle.response_complete

    @property
    def is_whole(self) -> bool:
        """Whether a request is being answered of which nothing is missing."""
        return self.is_busy and not self.cycle.more_body

    @property
    def held_bytes(self) -> int:
        """What we still hold of answers, because it was not read."""
        return int(self.transport.get_write_buffer_size())

    def send_400_response(self, message: str) -> None:
        """Refuse what is no HTTP."""
        self.refuse(Problem(400, message.rstrip(".").lower()))

    def refuse(self, problem: Problem) -> None:
        """Answer with a problem, and close."""
        body = problem.response().body
        head = f"content-type: {PROBLEM}\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n"
        self.transport.write(STATUS_LINE[problem.status] + head.encode() + body)
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


class Head(NamedTuple):
    """What comes before a body: a status, headers as text that all answers have, and those of this one."""

    status: int
    text: bytes
    headers: Sequence[tuple[bytes, bytes]]


def header_text(headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Return headers as they are sent; raises a ValueError where one is more than that."""
    pairs = list(headers)
    if any(_NO_TEXT.search(told) for _, told in pairs):
        raise ValueError("a header would be more than one")
    return b"".join([b"%b: %b\r\n" % pair for pair in pairs])


def sent_at_once(send: Any, head: Head, body: bytes) -> bool:
    """Send an answer in one piece, where uvicorn would take two; False where that has to do it.

    That is where the answer has to wait, or the connection is to be closed behind it, or is gone.
    """
    cycle = getattr(send, "__self__", None)
    if not isinstance(cycle, RequestResponseCycle) or cycle.response_started or not cycle.keep_alive:
        return False
    if cycle.flow.write_paused or cycle.disconnected:
        return False
    text = header_text((*cycle.default_headers, *head.headers))
    cycle.response_started = cycle.response_complete = True
    cycle.waiting_for_100_continue = False
    cycle.transport.write(b"".join((STATUS_LINE[head.status], head.text, text, b"\r\n", body)))
    cycle.message_event.set()
    cycle.on_response()
    return True


def look_at_all(connections: Iterable[Any], now: float) -> None:
    """Look at every connection, and at what all of them have not read; one alone may take what it wants."""
    for each in list(connections):
        each.look(now)
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
