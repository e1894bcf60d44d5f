"""A server of raw bytes in the event loop of a test: it sends what is written out, also what none should.

Each request is answered by the next part of a script, the last part again and again. A part is a sequence of
acts: bytes are sent, a number of seconds is slept, END closes the connection, CUT resets it, and HOLD says
nothing until the client goes.
"""

import asyncio
import re
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from ullage.sources.kubernetes.kubeconfig import Access, ClusterEntry, UserEntry

END, CUT, HOLD = object(), object(), object()
Act = bytes | float | object
_LENGTH = re.compile(rb"(?im)^content-length: *([0-9]+)\r$")


class RawServer:
    """Where it listens, what it was asked, and how many connections it has had."""

    def __init__(self, script: Sequence[Sequence[Act]]) -> None:
        self._script = [list(part) for part in script]
        self.port = 0
        self.asked: list[bytes] = []
        self.connections = 0
        self.secure = False

    @property
    def methods(self) -> list[str]:
        return [request.split(b" ", 1)[0].decode() for request in self.asked]

    def access(self, user: UserEntry | None = None, **cluster: object) -> Access:
        scheme = "https" if self.secure else "http"
        entry = ClusterEntry(server=f"{scheme}://127.0.0.1:{self.port}", **cluster)
        return Access("raw", entry, user or UserEntry())

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while await self._answer(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError, ssl.SSLError):
            pass
        finally:
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = await reader.readuntil(b"\r\n\r\n")
        length = _LENGTH.search(head)
        self.asked.append(head + await reader.readexactly(int(length[1]) if length else 0))
        for act in self._script.pop(0) if len(self._script) > 1 else self._script[0]:
            if isinstance(act, bytes):
                writer.write(act)
                await writer.drain()
            elif isinstance(act, float):
                await asyncio.sleep(act)
            elif act is HOLD:
                await reader.read(1)
                return False
            else:
                if act is CUT:
                    plain = writer.get_extra_info("socket")
                    plain.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    writer.transport.abort()
                return False
        return True


@asynccontextmanager
async def serving(*script: Sequence[Act], tls: ssl.SSLContext | None = None) -> AsyncIterator[RawServer]:
    """Serve a script on this host."""
    raw = RawServer(script)
    raw.secure = tls is not None
    server = await asyncio.start_server(raw.serve, "127.0.0.1", 0, ssl=tls)
    raw.port = server.sockets[0].getsockname()[1]
    async with server:
        yield raw


def answer(status: int = 200, body: bytes = b"{}", *headers: str) -> bytes:
    """Return an answer that says how long it is."""
    lines = "".join(f"{header}\r\n" for header in (f"Content-Length: {len(body)}", *headers))
    return f"HTTP/1.1 {status} Word\r\n{lines}\r\n".encode() + body


def chunked(*parts: bytes) -> bytes:
    """Return an answer in chunks, without the end."""
    return b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"".join(map(chunk, parts))


def chunk(part: bytes) -> bytes:
    return f"{len(part):x}\r\n".encode() + part + b"\r\n"


LAST_CHUNK = b"0\r\n\r\n"
