"""One reading of a cluster, seen from the process that speaks HTTP: its loader, and the workers of that.

A worker is ended through a handle to its process, never by its number: numbers are given again. The hard
thing is that everything may be gone at any moment; whoever waits for an answer of it then hears so at once.
"""

import asyncio
import contextlib
import os
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Callable
from typing import Final

import msgspec

from ullage.web.children import ENVIRONMENT
from ullage.web.frames import (
    Answered,
    Asking,
    EndedError,
    Failed,
    Fork,
    Said,
    Stepped,
    Told,
    ToRead,
    packed,
    read,
)
from ullage.web.loader import MODULE
from ullage.web.work import Work

CALL_SECONDS_MAX: Final = 60.0
"""How long a loader may take to start its workers."""
END_SECONDS: Final = 5.0
STREAM_BYTES: Final = 4 << 20
_PEER: Final = struct.Struct("3i")
_TOLD: Final = msgspec.msgpack.Decoder(Told)
_SAID: Final = msgspec.msgpack.Decoder(Said)


Listener = Callable[[Stepped], None]
"""Who wants to know how far a worker is with some work."""


class Worker:
    """A worker that has called: it is asked one thing at a time."""

    def __init__(
        self, reading: "Reading", reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.reading = reading
        self.answers = 0
        self.asked_at = 0.0
        """When it was asked last, by the clock of the loop."""
        self._reader = reader
        self._writer = writer
        self.process = peer(writer)
        self._handle = os.pidfd_open(self.process)
        self._answer: asyncio.Future[Answered] | None = None
        self._listener: Listener | None = None
        self._is_gone = False

    async def follow(self) -> None:
        """Hand each answer to who waits for it, until the worker is gone."""
        try:
            while True:
                self._heard(await read(self._reader, _SAID))
        except EndedError:
            if self._answer is not None and not self._answer.done():
                self._answer.set_exception(EndedError("the process that was to answer has ended"))
        finally:
            self.kill()
            self._is_gone = True
            os.close(self._handle)
            self._writer.close()

    def _heard(self, said: Said) -> None:
        """Pass on an answer, or how far it is; what nobody waits for any more is nobody's."""
        self.answers += isinstance(said, Answered)
        if self._answer is None or self._answer.done():
            return
        if isinstance(said, Answered):
            self._answer.set_result(said)
        elif self._listener is not None:
            self._listener(said)

    def ask(
        self, work: Work, seconds_max: float, listener: Listener | None = None
    ) -> "asyncio.Future[Answered]":
        """Return what will be the answer; raises an EndedError, now or then, where there is none."""
        if self._is_gone:
            raise EndedError("the process that was to answer has ended")
        loop = asyncio.get_running_loop()
        self.asked_at = loop.time()
        self._answer = loop.create_future()
        self._listener = listener
        self._writer.write(packed(Asking(work, seconds_max, listener is not None)))
        return self._answer

    def kill(self) -> None:
        """End the worker, whatever it does."""
        if self._is_gone:
            return
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._handle, signal.SIGKILL)

    def end(self) -> None:
        """Let a worker end that has nothing to do."""
        self._writer.close()


class Reading:
    """A loader, from its start to its end, and the workers it has forked."""

    def __init__(self, order: ToRead) -> None:
        self.order = order
        self.revision = 0
        self.workers: set[Worker] = set()
        self.apart: set[Worker] = set()
        """Those that do one thing, and answer nobody else."""
        self.is_retired = False
        self.is_ended = False
        self.called = asyncio.Event()
        """Set whenever a worker has called."""
        self._awaited = 0
        self._awaited_until = 0.0
        self._process: subprocess.Popen[bytes] | None = None
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def load(self) -> Told:
        """Start the loader, and return what it says once the cluster is read, or cannot be."""
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(  # noqa: ASYNC220, S603 - our own module; as quick as a fork
                [sys.executable, "-P", "-m", MODULE],
                stdin=theirs.fileno(),
                env={**os.environ, **ENVIRONMENT},
            )
        self._reader, self._writer = await asyncio.open_unix_connection(sock=ours)
        self._writer.write(packed(self.order))
        try:
            return await read(self._reader, _TOLD)
        except EndedError:
            status = await asyncio.to_thread(self._process.wait)
            return Failed(f"the process that read it has ended ({ending(status)})")

    def fork(self, count: int = 1, *, after_seconds: float = 0.0) -> None:
        """Ask for more workers; they will call."""
        loop = asyncio.get_running_loop()
        self._awaited += count
        self._awaited_until = loop.time() + after_seconds + CALL_SECONDS_MAX
        loop.call_later(after_seconds, self._fork, Fork(count))

    def fork_apart(self, word: str) -> None:
        """Ask for a worker with something of its own to do."""
        self._fork(Fork(1, word))

    def _fork(self, order: Fork) -> None:
        if self._writer is not None and not self._writer.is_closing():
            self._writer.write(packed(order))

    def has_called(self) -> None:
        """Take note of a worker that was asked for."""
        self._awaited -= self._awaited > 0
        self.called.set()

    @property
    def is_awaiting(self) -> bool:
        """Whether somebody is still to call; who has not in time may have ended before it could."""
        if asyncio.get_running_loop().time() > self._awaited_until:
            self._awaited = 0
        return self._awaited > 0

    async def ended(self) -> str:
        """Wait until the loader is gone, and return how it ended."""
        if self._reader is None or self._process is None:
            raise RuntimeError("a loader that was never started does not end")
        with contextlib.suppress(OSError):
            while await self._reader.read(STREAM_BYTES):
                pass
        return ending(await asyncio.to_thread(self._process.wait))

    def retire(self) -> None:
        """Let the loader end as soon as none of its workers is there any more."""
        self.is_retired = True
        if not self.workers and not self.apart:
            self.stop()

    def stop(self) -> None:
        """Have the loader end its workers and itself."""
        self.is_retired = True
        if self._writer is not None:
            self._writer.close()

    async def end(self) -> None:
        """End the loader now, and wait until it is gone."""
        self.stop()
        if self._process is None:
            return
        for worker in (*self.workers, *self.apart):
            worker.kill()
        if self.revision:  # it waits for orders, and ends those too that have not called yet
            with contextlib.suppress(subprocess.TimeoutExpired):
                await asyncio.to_thread(self._process.wait, END_SECONDS)
        self._process.kill()
        await asyncio.to_thread(self._process.wait)


def peer(writer: asyncio.StreamWriter) -> int:
    """Return the number of the process at the other end; of another user there is none."""
    connection = writer.get_extra_info("socket")
    number, user, _ = _PEER.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size))
    if user != os.getuid():
        raise EndedError("a process of another user has called")
    return int(number)


def ending(status: int) -> str:
    """Return how a process ended, in words."""
    if status >= 0:
        return f"exit status {status}"
    name = signal.Signals(-status).name
    return f"{name}, perhaps for want of memory" if name == "SIGKILL" else name
