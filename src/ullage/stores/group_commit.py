"""One thread that writes for all: whatever was asked for while it wrote goes to the disk together next time.

A disk can make only so many things durable in a second, but each of them may be large. So callers put their
requests into a queue and wait; the writer takes all that are there, hands them on as one batch, and tells the
callers once the batch is durable. The hard thing is that nobody may wait for ever: whatever happens to a
batch, each of its requests ends with an outcome or an error.
"""

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final

from ullage.model.errors import InputError
from ullage.model.ledger import Command, Outcome
from ullage.stores.protocol import StoreUnavailableError

BATCH_MAX: Final = 1024
"""Requests that become durable together; more of them would make the first one wait too long."""
QUEUE_MAX: Final = 100_000
LINGER_SECONDS: Final = 0.002
"""Who was answered often comes again at once. For so long the writer lets as many come as it has just
answered: otherwise it would be off to the disk with the first of them, and all others would wait for that."""


WOKEN_AT_ONCE: Final = 2
"""Only one thread runs at a time. If all that are answered were woken, each would fall asleep again at once,
for its turn: so the first ones are woken, and each wakes another."""
OVERSLEPT_SECONDS: Final = 0.05
"""After so long a thread looks for itself, should the one that was to wake it have been interrupted."""


class Request:
    """A command on its way, and what became of it: an outcome or an error, once it is done."""

    __slots__ = (
        "at_seconds",
        "awake",
        "command",
        "done",
        "error",
        "exact",
        "following",
        "key",
        "outcome",
        "revision",
        "task",
        "text",
    )

    def __init__(
        self,
        command: Command,
        text: str,
        at_seconds: int,
        key: str,
        revision: int | None,
        *,
        exact: bool = False,
    ) -> None:
        self.command = command
        self.text = text
        self.at_seconds = at_seconds
        self.key = key
        self.revision = revision
        self.exact = exact
        self.outcome: Outcome | None = None
        self.error: BaseException | None = None
        self.done = False
        self.awake: threading.Lock | None = None
        self.following: Request | None = None
        self.task: tuple[asyncio.AbstractEventLoop, asyncio.Future[Outcome]] | None = None

    def fail(self, error: BaseException) -> None:
        """Answer with an error, whatever was to be the outcome."""
        self.outcome, self.error = None, error

    def wake(self) -> None:
        """Wake the thread that waits for it."""
        if self.awake is not None:
            self.awake.release()

    def result(self) -> Outcome:
        """Return the outcome, or raise the error."""
        if self.error is not None:
            raise self.error
        if self.outcome is None:
            raise StoreUnavailableError("the request was not answered", remedy="ask again")
        return self.outcome


class GroupCommit:
    """The queue and its writer.

    `write` makes a batch durable and gives each request its outcome or error. `settle` is called when the
    callers know, for work that nobody should wait for.
    """

    def __init__(
        self,
        write: Callable[[Sequence[Request]], None],
        settle: Callable[[], None],
        batch_max: int = BATCH_MAX,
    ) -> None:
        self._write = write
        self._settle = settle
        self._batch_max = batch_max
        self._queue: deque[Request] = deque()
        self._door = threading.Lock()
        self._closed = False
        self._wanted = 0
        self._enough = threading.Lock()
        self._enough.acquire()
        self._thread = threading.Thread(target=self._run, name="ledger-writer", daemon=True)
        self._thread.start()

    def submit(self, request: Request) -> Outcome:
        """Wait until a request is durable, and return its outcome."""
        awake = request.awake = threading.Lock()
        awake.acquire()
        self._enter(request)
        while not awake.acquire(timeout=OVERSLEPT_SECONDS):  # released by the writer or by another caller
            if request.done:
                break
        if request.following is not None:
            request.following.wake()
        return request.result()

    def submit_async(self, request: Request) -> asyncio.Future[Outcome]:
        """Do the same for a task, which awaits the future that is returned.

        Who gives up waiting takes nothing back: the request is on its way.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Outcome] = loop.create_future()
        request.task = (loop, future)
        self._enter(request)
        return future

    def close(self) -> None:
        """Answer all that were let in, let nobody in any more, and end the thread."""
        with self._door:
            self._closed = True
            self._wake()
        self._thread.join()

    def _enter(self, request: Request) -> None:
        with self._door:
            if self._closed or not self._thread.is_alive():
                raise InputError("the ledger is closed here", remedy="open it again in this process")
            if len(self._queue) >= QUEUE_MAX:
                raise StoreUnavailableError(f"{QUEUE_MAX} requests wait already", remedy="try again later")
            self._queue.append(request)
            if len(self._queue) >= self._wanted:
                self._wake()

    def _wake(self) -> None:
        """Wake the writer if it sleeps; whoever does has the door."""
        if self._wanted:
            self._wanted = 0
            self._enough.release()

    def _run(self) -> None:
        answered = 0
        while True:
            if answered > 1:
                self._sleep(answered, LINGER_SECONDS)
            self._sleep(1)
            with self._door:
                batch = [self._queue.popleft() for _ in range(min(len(self._queue), self._batch_max))]
            if not batch:
                return  # it was closed, and everybody has been answered
            try:
                self._write(batch)
            except BaseException as error:  # noqa: BLE001 - whatever it is, somebody waits for an answer
                for request in batch:
                    request.fail(error)
            _answer(batch)
            answered = len(batch)
            with contextlib.suppress(Exception):  # nobody waits for it, and it comes again
                self._settle()

    def _sleep(self, wanted: int, seconds: float = -1) -> None:
        """Sleep until so many requests are there, or it is closed, or the time is over."""
        with self._door:
            if self._closed or len(self._queue) >= wanted:
                return
            self._wanted = wanted
        if not self._enough.acquire(timeout=seconds):
            with self._door:
                if self._wanted:
                    self._wanted = 0
                else:  # woken in the last moment
                    self._enough.acquire()


def _answer(batch: Sequence[Request]) -> None:
    threads = [request for request in batch if request.awake is not None]
    for request, following in zip(threads, threads[WOKEN_AT_ONCE:], strict=False):
        request.following = following
    tasks: dict[asyncio.AbstractEventLoop, list[Request]] = {}
    for request in batch:
        request.done = True
        if request.task is not None:
            tasks.setdefault(request.task[0], []).append(request)
    for request in threads[:WOKEN_AT_ONCE]:
        request.wake()
    for loop, requests in tasks.items():
        try:
            loop.call_soon_threadsafe(_tell, requests)  # one wake-up for all tasks of a loop
        except RuntimeError:
            continue  # the loop was closed: nobody waits any more


def _tell(requests: Sequence[Request]) -> None:
    for request in requests:
        if request.task is None or request.task[1].done():
            continue
        try:
            request.task[1].set_result(request.result())
        except BaseException as error:  # noqa: BLE001 - it belongs to the task that asked
            request.task[1].set_exception(error)
