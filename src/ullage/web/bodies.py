"""Bodies of requests, read within bounds of size and time.

The hard thing is a client that sends slowly, or more than it may: it has to keep up a rate to the end, what
it sends in vain is read for a moment (so that it sees the answer), and then the connection is closed. Small
bodies are read however much of large ones is held.
"""

import asyncio
import contextlib
from collections.abc import Mapping
from typing import Any, Final

from ullage.sources.places import shown
from ullage.web.exchange import Exchange
from ullage.web.http import Problem
from ullage.web.problems import busy

GRACE_SECONDS: Final = 15.0
BYTES_PER_SECOND_MIN: Final = 16 << 10
HELD_BYTES_MAX: Final = 1 << 30
SMALL_BYTES_MAX: Final = 256 << 10
VAIN_BYTES_MAX: Final = 2 << 20
VAIN_SECONDS_MAX: Final = 2.0


class GoneError(Exception):
    """Whoever asked has hung up."""


class Incoming:
    """What arrives of one request, and whether all of it has."""

    headers: Mapping[str, str] = {}
    is_whole = True

    def __init__(self, receive: Any) -> None:
        self._receive = receive

    def begin(self, headers: Mapping[str, str]) -> None:
        """Take note of what the head of the request says."""
        self.headers = headers
        self.is_whole = not has_body(headers)

    async def __call__(self) -> Any:
        """Return what comes next, as ASGI has it."""
        message = await self._receive()
        if message["type"] == "http.disconnect" or not message["more_body"]:
            self.is_whole = True
        return message

    def arrived(self) -> bytes | None:
        """Return the whole body where it is there already, as it mostly is of small ones."""
        exchange = getattr(self._receive, "__self__", None)
        if not isinstance(exchange, Exchange) or not exchange.is_whole or exchange.is_gone:
            return None
        self.is_whole = True
        return exchange.take()

    async def pass_over(self) -> bool:
        """Read what is sent in vain, for a moment; return whether that was all of it."""
        if (
            not self.is_whole and "expect" not in self.headers
        ):  # who expects something waits to be asked for it
            size = 0
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(VAIN_SECONDS_MAX):
                    while not self.is_whole and size < VAIN_BYTES_MAX:
                        size += len((await self()).get("body", b""))
        return self.is_whole


class Bodies:
    """All bodies that are being read, and how large they are together."""

    def __init__(self, held_bytes_max: int = HELD_BYTES_MAX, grace_seconds: float = GRACE_SECONDS) -> None:
        self._held_bytes_max = held_bytes_max
        self._grace_seconds = grace_seconds
        self.held_bytes = 0

    async def read(self, incoming: Incoming, bytes_max: int) -> bytes:
        """Return the whole body of a request."""
        encoding = incoming.headers.get("content-encoding", "identity")
        if encoding.lower() != "identity" and has_body(incoming.headers):
            raise Problem(
                415, f"Content-Encoding {shown(encoding)!r} is not read here", "send it uncompressed"
            )
        length = int(incoming.headers.get("content-length", "0"))
        if length > bytes_max:
            raise _too_large(bytes_max)
        if length > SMALL_BYTES_MAX and self.held_bytes + length > self._held_bytes_max:
            raise busy("too many large bodies are being read")
        arrived = incoming.arrived()
        if arrived is not None:
            if len(arrived) > bytes_max:
                raise _too_large(bytes_max)
            return arrived
        try:
            async with asyncio.timeout(self._grace_seconds) as limit:
                return await self._read(incoming, bytes_max, limit)
        except TimeoutError:
            raise Problem(408, "the body did not arrive in time", "send it faster, or less of it") from None

    async def _read(self, incoming: Incoming, bytes_max: int, limit: asyncio.Timeout) -> bytes:
        parts: list[bytes] = []
        size, more = 0, True
        due = window = int(self._grace_seconds * BYTES_PER_SECOND_MIN)
        try:
            while more:
                message = await incoming()
                if message["type"] == "http.disconnect":
                    raise GoneError
                parts.append(message["body"])
                size += len(parts[-1])
                self.held_bytes += len(parts[-1])
                more = message["more_body"]
                if size > bytes_max:
                    raise _too_large(bytes_max)
                if more:
                    if size > SMALL_BYTES_MAX and self.held_bytes > self._held_bytes_max:
                        raise busy("too many large bodies are being read")
                    if size >= due:
                        limit.reschedule(asyncio.get_running_loop().time() + self._grace_seconds)
                        due = size + window
        finally:
            self.held_bytes -= size
        return parts[0] if len(parts) == 1 else b"".join(parts)


def has_body(headers: Mapping[str, str]) -> bool:
    """Whether a request says that something follows."""
    return headers.get("content-length", "0") != "0" or "transfer-encoding" in headers


def _too_large(bytes_max: int) -> Problem:
    return Problem(413, f"the body is larger than {bytes_max} bytes", bytesMax=bytes_max)
