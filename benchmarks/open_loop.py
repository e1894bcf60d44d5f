"""Requests over HTTP that are sent when they are due, and how long each takes to be answered.

Whether or not those before are answered: a request that finds all connections busy gets one of its own. Time
counts from when it was due, so that neither a late client nor a line of waiting requests hides anything.
"""

import asyncio
import re
import time
from collections.abc import Callable
from typing import Any, NamedTuple

CONNECTIONS_MAX = 1000
ANSWER_SECONDS_MAX = 60.0
LENGTH = re.compile(rb"(?i)\r\ncontent-length: (\d+)")
Address = tuple[str, int]


class Timed(NamedTuple):
    """One request: its status, 0 where there was none, and the seconds from when it was due."""

    status: int
    seconds: float


class Connection(asyncio.Protocol):
    """One connection, asked one thing at a time."""

    def __init__(self) -> None:
        self._part = b""
        self._answer: asyncio.Future[int] | None = None
        self.lost = asyncio.Event()

    def connection_made(self, transport: Any) -> None:
        """Keep where to write."""
        self.transport: asyncio.Transport = transport

    def ask(self, path: str, method: str = "GET") -> "asyncio.Future[int]":
        """Return the status that will be answered."""
        self._part = b""
        self._answer = asyncio.get_running_loop().create_future()
        self.transport.write(f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        return self._answer

    def data_received(self, data: bytes) -> None:
        """Take an answer when it is whole."""
        self._part += data
        head, end, body = self._part.partition(b"\r\n\r\n")
        if not end or self._answer is None or self._answer.done():
            return
        length = LENGTH.search(head)
        if length is None or len(body) >= int(length[1]):
            self._answer.set_result(int(head.split(b" ", 2)[1]))

    async def close(self) -> None:
        """Hang up, and wait until nothing is left of the connection."""
        self.transport.close()
        await self.lost.wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Note that there will be no answer."""
        self.lost.set()
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(exc or ConnectionResetError("closed without an answer"))


class OpenLoop:
    """Asks for one path after the other at a rate, until told to end."""

    def __init__(self, address: Address, path_of: Callable[[int], str], per_second: float) -> None:
        self._address = address
        self._path_of = path_of
        self._per_second = per_second
        self._free: list[Connection] = []
        self._count = 0
        self.timed: list[Timed] = []

    async def run(self, ended: asyncio.Event) -> list[Timed]:
        """Ask until the event is set, and return all that was asked, once all of it is answered."""
        asked = set()
        begun, number = time.perf_counter(), 0
        while not ended.is_set():
            due = begun + number / self._per_second
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            asked.add(asyncio.create_task(self._ask(self._path_of(number), due)))
            number += 1
        await asyncio.gather(*asked)
        for connection in self._free:
            await connection.close()
        assert len(self.timed) == number
        return self.timed

    async def _ask(self, path: str, due: float) -> None:
        status = 0
        try:
            connection = await self._connection()
            try:
                async with asyncio.timeout(ANSWER_SECONDS_MAX):
                    status = await connection.ask(path)
                self._free.append(connection)
            finally:
                if not status:
                    await connection.close()
        except (OSError, TimeoutError):
            pass
        self.timed.append(Timed(status, time.perf_counter() - due))

    async def _connection(self) -> Connection:
        while self._free:
            connection = self._free.pop()
            if not connection.lost.is_set():
                return connection
        assert self._count < CONNECTIONS_MAX, "the server is further behind than can be asked"
        self._count += 1
        _, connection = await asyncio.get_running_loop().create_connection(Connection, *self._address)
        return connection


def at(timed: list[Timed], share: float) -> float:
    """Return the milliseconds within which a share of all requests was answered."""
    took = sorted(each.seconds for each in timed)
    return took[min(len(took) - 1, int(len(took) * share))] * 1000


async def asked_once(address: Address, path: str, method: str = "GET") -> Timed:
    """Ask for one thing on a connection of its own."""
    _, connection = await asyncio.get_running_loop().create_connection(Connection, *address)
    begun = time.perf_counter()
    status = await connection.ask(path, method)
    seconds = time.perf_counter() - begun
    await connection.close()
    return Timed(status, seconds)
