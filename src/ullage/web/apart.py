"""Work that is done apart from the workers that answer: each in a process of its own, forked for it alone.

What reads a source over the network, or writes for seconds, would keep a worker from those who ask. A loader
forks one more process for it, which knows the cluster as all of them do, does this one thing and ends. It
calls as workers do, and says by a word that nobody else knows what it was forked for.
"""

import asyncio
import secrets
from typing import Final

from ullage.web.frames import EndedError
from ullage.web.http import Problem
from ullage.web.problems import ended
from ullage.web.reading import Reading, Worker
from ullage.web.work import Done, Work

CALL_SECONDS_MAX: Final = 60.0
"""How long a process may take to call once it was asked for."""


class Apart:
    """Who is expected to call."""

    def __init__(self) -> None:
        self._expected: dict[str, asyncio.Future[Worker]] = {}

    async def ask(self, reading: Reading, work: Work, seconds_max: float) -> Done:
        """Return what a process of its own answers; raises a Problem where none does, or not in time."""
        word = secrets.token_hex(16)
        called: asyncio.Future[Worker] = asyncio.get_running_loop().create_future()
        self._expected[word] = called
        try:
            reading.fork(apart=word)
            async with asyncio.timeout(CALL_SECONDS_MAX):
                worker = await called
            async with asyncio.timeout(seconds_max):
                return await _answer(worker, work, seconds_max)
        except TimeoutError:
            raise Problem(504, f"it takes longer than {seconds_max:g} s", where=work.name) from None
        except EndedError:
            raise ended(work) from None
        finally:
            del self._expected[word]

    async def serve(
        self, reading: Reading, word: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Hand a process that has called to whoever expects it, and wait until it is gone."""
        called = self._expected.get(word)
        if called is None or called.done():
            return  # nobody waits for it any more: it ends with the connection
        worker = Worker(reading, reader, writer)
        reading.apart.add(worker)
        called.set_result(worker)
        try:
            await worker.follow()
        finally:
            reading.apart.discard(worker)
            if reading.is_retired:
                reading.retire()


async def _answer(worker: Worker, work: Work, seconds_max: float) -> Done:
    try:
        return (await worker.ask(work, seconds_max)).done
    finally:
        worker.kill()  # what it has done is done, and it is asked nothing else
