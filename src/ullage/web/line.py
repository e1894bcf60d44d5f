"""Who waits for a worker of a cluster, and who gets one.

The hard thing is fairness. Questions that may take long never hold all workers, so that quick ones find one
soon. Clients take turns, however much one of them asks: within one, whoever came first goes first. Long
questions of one client leave others a worker, if need be one more that is forked for them (helping.py). What
waits is bounded, of each client and of all: who would have to wait behind too many is told so at once.
"""

import asyncio
from collections import Counter, deque
from collections.abc import Callable
from typing import Final, Generic, NamedTuple, TypeVar

from ullage.web.problems import busy

WAITING_MAX: Final = 512
WAITING_EACH_MAX: Final = 128
LONG_WAITING_MAX: Final = 64
LONG_WAITING_EACH_MAX: Final = 16
Taken = TypeVar("Taken")


class Kind(NamedTuple):
    """Whose question it is (the server's own are nobody's), and whether it may take long."""

    client: str = ""
    is_long: bool = False


class _Waiting(Generic[Taken]):
    def __init__(self, number: int, kind: Kind) -> None:
        self.number = number
        self.kind = kind
        self.taken: asyncio.Future[Taken] = asyncio.get_running_loop().create_future()


class _Turns(Generic[Taken]):
    """Those who wait, by client, in the order in which clients have their turns."""

    def __init__(self, most: int, most_each: int) -> None:
        self._most, self._most_each = most, most_each
        self._clients: dict[str, deque[_Waiting[Taken]]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._clients.values()))

    def add(self, waiting: _Waiting[Taken]) -> None:
        own = self._clients.get(waiting.kind.client, ())
        if len(own) >= self._most_each:
            raise busy(f"{len(own)} questions of yours wait for an answer")
        if len(self) >= self._most:
            raise busy("too many questions wait for an answer")
        self._clients.setdefault(waiting.kind.client, deque()).append(waiting)

    def next(self, may: Callable[[str], bool] = lambda _: True) -> _Waiting[Taken] | None:
        """Return who is next, of the clients that may have a turn."""
        return next((own[0] for client, own in self._clients.items() if may(client)), None)

    def remove(self, waiting: _Waiting[Taken]) -> None:
        """Let somebody go; their client has its next turn behind all others."""
        client = waiting.kind.client
        own = self._clients.pop(client)
        own.remove(waiting)
        if own:
            self._clients[client] = own


class Line(Generic[Taken]):
    """The workers of a cluster that are free, and those who wait for one.

    There are so many `workers` as a rule, and more for a while: `present` tells how many.
    """

    def __init__(self, workers: int, present: Callable[[], int] | None = None) -> None:
        self._long_each_max = max(1, workers - 1)
        self._present = present or (lambda: workers)
        self._free: deque[Taken] = deque()
        self._long_running: Counter[str] = Counter()
        self._quick: _Turns[Taken] = _Turns(WAITING_MAX, WAITING_EACH_MAX)
        self._long: _Turns[Taken] = _Turns(LONG_WAITING_MAX, LONG_WAITING_EACH_MAX)
        self._count = 0

    @property
    def waiting(self) -> int:
        """How many wait."""
        return len(self._quick) + len(self._long)

    @property
    def quick_waiting(self) -> int:
        """How many of them would be answered soon, if somebody were free."""
        return len(self._quick)

    @property
    def has_claim(self) -> bool:
        """Whether a client waits whose long questions all wait, while others have theirs answered."""
        running = self._long_running
        return bool(running) and self._long.next(lambda client: not running[client]) is not None

    async def take(self, kind: Kind, *, seconds_max: float) -> Taken:
        """Return a worker, which the caller hands back with `finished`, and perhaps `give`.

        Raises a Problem where too many wait already, or none becomes free in time.
        """
        self._count += 1
        waiting = _Waiting[Taken](self._count, kind)
        self._turns(kind).add(waiting)
        self._serve()
        try:
            async with asyncio.timeout(seconds_max):
                return await asyncio.shield(waiting.taken)
        except TimeoutError:
            self._leave(waiting)
            raise busy("nobody was free to answer in time") from None
        except asyncio.CancelledError:
            self._leave(waiting)
            raise

    def _turns(self, kind: Kind) -> _Turns[Taken]:
        return self._long if kind.is_long else self._quick

    def _leave(self, waiting: _Waiting[Taken]) -> None:
        """Let somebody go who waits no more; a worker that was given in the same moment goes to the next."""
        if waiting.taken.done():
            self.finished(waiting.kind)
            self.give(waiting.taken.result())
            return
        self._turns(waiting.kind).remove(waiting)
        waiting.taken.cancel()

    def finished(self, kind: Kind) -> None:
        """Note that a question is answered, or never will be."""
        if kind.is_long:
            self._long_running[kind.client] -= 1
            self._long_running += Counter()  # those that have none are forgotten
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

    def _may_be_long(self, client: str) -> bool:
        """Whether a client may have one more long question answered: one is always left for quick ones."""
        if self._long_running.total() < self._long_each_max:
            return True
        return not self._long_running[client] and self._long_running.total() < self._present() - 1

    def _serve(self) -> None:
        while self._free:
            quick, long = self._quick.next(), self._long.next(self._may_be_long)
            chosen = min((each for each in (quick, long) if each), key=lambda each: each.number, default=None)
            if chosen is None:
                return
            self._turns(chosen.kind).remove(chosen)
            if chosen.kind.is_long:
                self._long_running[chosen.kind.client] += 1
            chosen.taken.set_result(self._free.popleft())
