"""A ledger that a process of its own keeps (keeper.py), as the process that speaks HTTP sees it.

What tasks ask for in one turn of the loop travels together. The hard thing is that the process may end at any
moment: then everybody who waits is told so, and whoever opens the ledger again finds what became of theirs.
"""

import asyncio
import contextlib
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import msgspec

from ullage.model.errors import InputError
from ullage.model.ledger import Command, Outcome
from ullage.stores import codec
from ullage.stores.group_commit import QUEUE_MAX
from ullage.stores.protocol import StoreUnavailableError, asked_for
from ullage.web.children import ENVIRONMENT
from ullage.web.frames import EndedError, Splitter, packed
from ullage.web.keeper import MODULE
from ullage.web.keeper_frames import TOLD, Due, IsDue, Opened, Refused, Step, Taken

END_SECONDS: Final = 30.0
"""How long the process may take to answer what it was asked, and again to end."""
TOGETHER: Final = 4
"""So many travel together at most: the process writes the first of them while others are still read here."""
WATCH_SECONDS: Final = 5.0
STUCK_SECONDS: Final = 60.0
"""After so long without an answer to anybody the process is taken to be lost."""
TOGETHER_CHARACTERS: Final = 1 << 20
COMMAND_CHARACTERS_MAX: Final = 64 << 20


class KeptLedger(asyncio.Protocol):
    """One connection to one such process."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._splitter = Splitter()
        self._number = 0
        self._asked: list[Step | IsDue] = []
        self._characters = 0
        self._told_at = self._loop.time()
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._all_told = asyncio.Event()
        self._all_told.set()
        self.is_gone = False
        """Whether the process has ended: nothing more can be asked."""

    @classmethod
    async def open(cls, path: Path) -> "tuple[KeptLedger, Opened]":
        """Start the process; return what it says of the ledger. Raises an InputError where it is none."""
        ledger = cls()
        ours = ledger._started(path)
        opened = ledger._expected(0)
        await ledger._loop.create_unix_connection(lambda: ledger, sock=ours)
        try:
            told = await opened
        except BaseException:
            if ledger._process is not None:
                ledger._process.kill()  # it keeps nothing yet
            await ledger.close()
            raise
        ledger._told_at = ledger._loop.time()
        ledger._watch()
        return ledger, told

    def _started(self, path: Path) -> socket.socket:
        """Start the process, and return our end of the connection to it."""
        try:
            ours, theirs = socket.socketpair()
            try:
                self._process = subprocess.Popen(  # noqa: S603 - our own module; as quick as a fork
                    [sys.executable, "-P", "-m", MODULE, str(path)],
                    stdin=theirs.fileno(),
                    env={**os.environ, **ENVIRONMENT},
                )
            except BaseException:
                ours.close()
                raise
            finally:
                theirs.close()
        except OSError as error:
            raise StoreUnavailableError(
                f"no process can be started for the ledger: {error.strerror}", remedy="ask again later"
            ) from error
        return ours

    async def submit_async(
        self,
        command: Command,
        *,
        at_seconds: int,
        key: str = "",
        revision: int | None = None,
        exact: bool = False,
    ) -> Outcome:
        """Have a command decided, and return once the decision is durable.

        Who gives up waiting takes nothing back: the request is on its way.
        """
        asked = asked_for(command, at_seconds, key, revision, COMMAND_CHARACTERS_MAX)
        number = self._next()
        taken: Taken = await self._ask(Step(number, asked.text, at_seconds, asked.key, revision, exact))
        return Outcome(
            taken.revision, codec.to_decision(taken.decision), moved=taken.moved, repeated=taken.repeated
        )

    async def due(self, now_seconds: int) -> tuple[int, bool]:
        """Return the revision of the ledger, and whether the time of a promise has come."""
        told: Due = await self._ask(IsDue(self._next(), now_seconds))
        return told.revision, told.is_due

    async def close(self) -> None:
        """Answer what was asked already, and end the process."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(END_SECONDS):
                await self._all_told.wait()
        if self._transport is not None:
            self._transport.close()
        if self._process is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                await asyncio.to_thread(self._process.wait, END_SECONDS)
            self._process.kill()
            await asyncio.to_thread(self._process.wait)

    # What asyncio calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self._transport = transport  # type: ignore[assignment]  # of a socket, it is written to

    def data_received(self, data: bytes) -> None:
        """Give everybody their answers."""
        self._told_at = self._loop.time()
        try:
            told = [each for record in self._splitter.cut(data) for each in TOLD.decode(record)]
        except (EndedError, msgspec.DecodeError):
            self._end()
            return
        for each in told:
            self._tell(0 if isinstance(each, Opened) else each.number, each)

    def connection_lost(self, _: Exception | None) -> None:
        """Tell everybody who waits that nobody will answer."""
        self._end()

    def _watch(self) -> None:
        """End a process that answers nobody any more; whoever waits is told so."""
        now = self._loop.time()
        if not self._waiting:
            self._told_at = now
        if now - self._told_at > STUCK_SECONDS and self._process is not None:
            self._process.kill()
        elif not self.is_gone:
            self._loop.call_later(WATCH_SECONDS, self._watch)

    def _end(self) -> None:
        self.is_gone = True
        for number in list(self._waiting):
            self._tell(number, _ended())
        if self._transport is not None:
            self._transport.abort()

    def _next(self) -> int:
        self._number += 1
        return self._number

    def _ask(self, asked: Step | IsDue) -> "asyncio.Future[Any]":
        if self.is_gone:
            raise _ended()
        if len(self._waiting) >= QUEUE_MAX:
            raise StoreUnavailableError(f"{QUEUE_MAX} requests wait already", remedy="try again later")
        if not self._asked:
            self._loop.call_soon(self._send)
        self._asked.append(asked)
        self._characters += len(asked.text) if isinstance(asked, Step) else 0
        if len(self._asked) >= TOGETHER or self._characters > TOGETHER_CHARACTERS:
            self._send()
        return self._expected(asked.number)

    def _expected(self, number: int) -> "asyncio.Future[Any]":
        self._all_told.clear()
        future = self._waiting[number] = self._loop.create_future()
        return future

    def _send(self) -> None:
        asked, self._asked, self._characters = self._asked, [], 0
        if asked and self._transport is not None and not self.is_gone:
            self._transport.write(packed(asked))

    def _tell(self, number: int, told: Opened | Taken | Due | Refused | InputError) -> None:
        future = self._waiting.pop(number, None)
        if not self._waiting:
            self._all_told.set()
        if future is None or future.done():
            return
        if isinstance(told, Refused):
            future.set_exception(told.error())
        elif isinstance(told, InputError):
            future.set_exception(told)
        else:
            future.set_result(told)


def _ended() -> StoreUnavailableError:
    return StoreUnavailableError(
        "the process that keeps the ledger has ended", remedy="ask again, under the same key if there was one"
    )
