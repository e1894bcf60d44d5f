"""Whether a cluster has as many workers as its questions need: one more for a while, or one that never came.

Quick questions that wait behind others that turned out to be slow get one more worker, and so does a client
whose long questions wait behind those of others. Where all are quick and only too many, one more would make
nothing faster. A worker that was asked for and has not called in time
is asked for again: it may have ended before it could.
"""

import asyncio
from collections.abc import Callable
from typing import Final

from ullage.web.line import Line
from ullage.web.reading import Reading, Worker

HELP_SECONDS: Final = 0.3
"""After how long a question is slow."""
HELPED_MAX: Final = 2
"""How many times as many workers as usual there may be then."""
CLAIMED_MIN: Final = 3
"""One for each of two clients with long questions, and one for quick ones."""


class Helping:
    """Looks after a cluster from a question on, until nobody waits who could be helped."""

    def __init__(self, line: Line[Worker], workers: int, current: Callable[[], Reading | None]) -> None:
        self._line = line
        self._workers = workers
        self._current = current
        self._timer: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        """Look soon, and again while somebody waits."""
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(HELP_SECONDS, self._look)

    def stop(self) -> None:
        """Look no more."""
        if self._timer is not None:
            self._timer.cancel()

    def _look(self) -> None:
        self._timer = None
        reading, now = self._current(), asyncio.get_running_loop().time()
        if reading is None:
            return
        if not reading.is_awaiting and len(reading.workers) < self._wanted(reading, now):
            reading.fork()
        if self._line.quick_waiting or self._line.has_claim:
            self.begin()

    def _wanted(self, reading: Reading, now: float) -> int:
        """Return how many workers there should be."""
        is_slow = all(now - worker.asked_at > HELP_SECONDS for worker in reading.workers)
        if self._line.has_claim:
            return max(self._workers * HELPED_MAX, CLAIMED_MIN)
        return self._workers * (HELPED_MAX if is_slow and self._line.quick_waiting else 1)
