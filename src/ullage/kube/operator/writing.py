"""How the operator writes: several at a time, only while it leads, and not faster than it helps anybody.

What fails is told to whoever asked for it, never raised: it is written at a later look. An object that is
gone needs nothing; one that was changed meanwhile is no failure, and is left like one: nobody promises that
the watch has anything to tell of it.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import Final, TypeVar

from ullage.kube.election import Leading
from ullage.sources.kubernetes.api.client import RefusedError
from ullage.sources.kubernetes.api.connection import BrokenError

WRITERS: Final = 16
Wanted = TypeVar("Wanted")


class Pace:
    """When something is done that could be done all the time: at once after a rest, else a bit later."""

    def __init__(self, seconds: float, now: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._now = now
        self._next = float("-inf")

    @property
    def wait_seconds(self) -> float:
        """How long to wait until it may be done."""
        return max(0.0, self._next - self._now())

    @property
    def is_due(self) -> bool:
        """Whether it may be done now."""
        return not self.wait_seconds

    def begun(self, seconds: float = 0.0) -> None:
        """Take note that it is being done; the next time is so much later at least."""
        self._next = self._now() + max(seconds, self._seconds)


class Writing:
    """The writes of one process."""

    def __init__(self, leading: Leading, say: Callable[[str], None] = lambda _: None) -> None:
        """`say` is told what is wrong, once for each reason in a row."""
        self._leading = leading
        self._say = say
        self._said = ""
        self.failures = 0

    @property
    def allowed(self) -> bool:
        """Whether anything may be written at this moment."""
        return self._leading.leads

    async def each(
        self, wanted: Iterable[Wanted], write: Callable[[Wanted], Awaitable[object]]
    ) -> list[Wanted]:
        """Write each of them, several at a time; return those that are still to be written."""
        known = list(wanted)
        left = iter(known)
        failed: list[Wanted] = []

        async def take() -> None:
            failed.extend([one for one in left if not await self._done(write, one)])

        await asyncio.gather(*(take() for _ in range(min(WRITERS, len(known)))))
        return failed

    async def _done(self, write: Callable[[Wanted], Awaitable[object]], one: Wanted) -> bool:
        if not self._leading.leads:
            return False
        try:
            await write(one)
        except RefusedError as error:
            if error.is_absent:
                return True
            if not error.is_conflict:
                self._fail(str(error))
        except BrokenError as error:
            self._fail(str(error))
        else:
            return True
        return False

    def _fail(self, why: str) -> None:
        self.failures += 1
        if why != self._said:
            self._say(why)
        self._said = why
