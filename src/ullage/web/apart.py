"""Work that is done apart from the workers that answer: each in a process of its own, forked for it alone.

What reads a source over the network, writes for seconds, or is a job that may take an hour, would keep a
worker from those who ask; and it leaves them the processor, where that is wanted by both. A loader
forks one more process for it, which knows the cluster as all of them do, does this one thing and ends. It
calls as workers do, and says by a word that nobody else knows what it was forked for. What it has to tell may
come in parts, each when it is asked for: then nobody holds all of it, and who reads slowly makes it wait.
"""

import asyncio
import contextlib
import secrets
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from typing import Final

from ullage.web.frames import EndedError
from ullage.web.http import Problem
from ullage.web.problems import busy, ended
from ullage.web.reading import CALL_SECONDS_MAX, Listener, Reading, Worker
from ullage.web.work import Done, Work

OK: Final = 200
TELLING_MAX: Final = 16
TELLING_EACH_MAX: Final = 2
"""How many may tell something in parts at once, to all and to each client."""


class Apart:
    """Who is expected to call."""

    def __init__(self) -> None:
        self._expected: dict[str, asyncio.Future[Worker]] = {}
        self._telling: Counter[str] = Counter()

    async def ask(
        self, reading: Reading, work: Work, seconds_max: float, listener: Listener | None = None
    ) -> Done:
        """Return what a process of its own answers; raises a Problem where none does, or not in time."""
        with _told(work, seconds_max):
            async with self._forked(reading) as worker, asyncio.timeout(seconds_max):
                return (await worker.ask(work, seconds_max, listener)).done

    async def parts(
        self, reading: Reading, work: Work, seconds_max: float, client: str = ""
    ) -> AsyncGenerator[Done, None]:
        """Yield what a process of its own answers to the same work until it has no more, or refuses.

        All of it is to be told in time; raises a Problem as above, also where too many tell something.
        """
        own = self._telling[client]
        if own >= TELLING_EACH_MAX or self._telling.total() >= TELLING_MAX:
            who = f"{own} of yours" if own >= TELLING_EACH_MAX else "too many"
            raise busy(f"{who} are being told as much already")
        clock = asyncio.get_running_loop().time
        end_seconds = clock() + seconds_max
        self._telling[client] += 1
        try:
            with _told(work, seconds_max):
                async with self._forked(reading) as worker:
                    done = Done(body=b"-")
                    while done.body and done.status == OK:
                        async with asyncio.timeout_at(end_seconds):
                            done = (await worker.ask(work, end_seconds - clock())).done
                        if done.body:
                            yield done
        finally:
            self._telling[client] -= 1
            self._telling += Counter()  # who has none is forgotten

    @contextlib.asynccontextmanager
    async def _forked(self, reading: Reading) -> AsyncIterator[Worker]:
        """Give a process that was forked for one thing; it ends with that."""
        word = secrets.token_hex(16)
        called: asyncio.Future[Worker] = asyncio.get_running_loop().create_future()
        self._expected[word] = called
        try:
            reading.fork_apart(word)
            async with asyncio.timeout(CALL_SECONDS_MAX):
                worker = await called
            try:
                yield worker
            finally:
                worker.kill()  # what it has done is done, and it is asked nothing else
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


@contextlib.contextmanager
def _told(work: Work, seconds_max: float) -> Iterator[None]:
    """Say in our words that a process did not answer in time, or has ended."""
    try:
        yield
    except TimeoutError:
        raise Problem(504, f"it takes longer than {seconds_max:g} s", where=work.name) from None
    except EndedError:
        raise ended(work) from None
