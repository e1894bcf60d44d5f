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
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._all_told = asyncio.Event()
        self._all_told.set()
        self.is_gone = False
        """Whether the process has ended: nothing more can be asked."""

    @classmethod
    async def open(cls, path: Path) -> "tuple[KeptLedger, Opened]":
        """Start the process; return what it says of the ledger. Raises an InputError where it is none."""
        ledger = cls()
        ours, theirs = socket.socketpair()
        with theirs:
            ledger._process = subprocess.Popen(  # noqa: ASYNC220, S603 - our own module; as quick as a fork
                [sys.executable, "-P", "-m", MODULE, str(path)],
                stdin=theirs.fileno(),
                env={**os.environ, **ENVIRONMENT},
            )
        opened = ledger._expected(0)
        await ledger._loop.create_unix_connection(lambda: ledger, sock=ours)
        try:
            return ledger, await opened
        except BaseException:
            ledger._process.kill()  # it keeps nothing yet
            await ledger.close()
            raise

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
