"""Who waits for a worker of a cluster, and who gets one.

The hard thing is fairness: questions that may take long never hold all workers, so that quick ones find one
soon; apart from that whoever came first goes first. The line is bounded, for long ones by themselves: who
would have to wait behind too many is told so at once.
"""

import asyncio
from collections import deque
from typing import Final, Generic, TypeVar

from ullage.web.problems import busy

WAITING_MAX: Final = 128
LONG_WAITING_MAX: Final = 16
Taken = TypeVar("Taken")


class _Waiting(Generic[Taken]):
    def __init__(self, number: int) -> None:
        self.number = number
        self.taken: asyncio.Future[Taken] = asyncio.get_running_loop().create_future()


class Line(Generic[Taken]):
    """The workers of a cluster that are free, and those who wait for one."""

    def __init__(self, workers: int) -> None:
        self._long_max = max(1, workers - 1)
        self._free: deque[Taken] = deque()
        self._long_running = 0
        self._waiting: tuple[deque[_Waiting[Taken]], deque[_Waiting[Taken]]] = (deque(), deque())
        self._count = 0

    @property
    def waiting(self) -> int:
        """How many wait."""
        return sum(len(each) for each in self._waiting)

    @property
    def quick_waiting(self) -> int:
        """How many of them would be answered soon, if somebody were free."""
        return len(self._waiting[False])

    async def take(self, *, is_long: bool, seconds_max: float) -> Taken:
        """Return a worker, which the caller hands back with `finished`, and perhaps `give`.

        Raises a Problem where too many wait already, or none becomes free in time.
        """
        line = self._waiting[is_long]
        if len(line) >= (LONG_WAITING_MAX if is_long else WAITING_MAX):
            raise busy("too many questions wait for an answer")
        self._count += 1
        waiting = _Waiting[Taken](self._count)
        line.append(waiting)
        self._serve()
        try:
            async with asyncio.timeout(seconds_max):
                return await asyncio.shield(waiting.taken)
        except TimeoutError:
            self._leave(waiting, is_long=is_long)
            raise busy("nobody was free to answer in time") from None
        except asyncio.CancelledError:
            self._leave(waiting, is_long=is_long)
            raise

    def _leave(self, waiting: _Waiting[Taken], *, is_long: bool) -> None:
        """Let somebody go who waits no more; a worker that was given in the same moment goes to the next."""
        if waiting.taken.done():
            self.finished(is_long=is_long)
            self.give(waiting.taken.result())
            return
        self._waiting[is_long].remove(waiting)
        waiting.taken.cancel()

    def finished(self, *, is_long: bool) -> None:
        """Note that a question is answered, or never will be."""
        self._long_running -= is_long
        self._serve()

    def give(self, worker: Taken) -> None:
        """Add a worker that has nothing to do."""
        self._free.append(worker)
        self._serve()

    def withdraw(self, worker: Taken) -> None:
        """Take a worker away that may or may not have something to do."""
        if worker in self._free:
            self._free.remove(worker)

    def withdraw_all(self) -> list[Taken]:
        """Take all workers away that have nothing to do."""
        found = list(self._free)
        self._free.clear()
        return found

    def _serve(self) -> None:
        quick, long = self._waiting
        while self._free:
            may_long = bool(long) and self._long_running < self._long_max
            if may_long and (not quick or long[0].number < quick[0].number):
                self._long_running += 1
                long.popleft().taken.set_result(self._free.popleft())
            elif quick:
                quick.popleft().taken.set_result(self._free.popleft())
            else:
                return
