"""Pods told why they have no node: behind the work, each with what was said of it last.

Ten thousand pods may have no place at once, and to tell one costs the API server as much as to bind one. So
they wait in line, a pod once, few are told at a time, and slowly while others are bound. The hard thing is
not to say what is no longer so: who has got a place meanwhile is not told that there is none.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple

WAITING_MAX: Final = 10_000
WRITERS: Final = 6
BUSY_SECONDS: Final = 0.1
"""How long each writer waits with a pod while others are to be bound."""


class Reason(NamedTuple):
    """Which pod of a name has no node, and why; `has_place` is one that could not be bound to it."""

    uid: str
    message: str
    has_place: bool = False


class Reasons:
    """The pods that are to be told, in the order in which they came."""

    def __init__(
        self, tell: Callable[[str, Reason], Awaitable[None]], is_busy: Callable[[], bool] = lambda: False
    ) -> None:
        self._tell = tell
        self._is_busy = is_busy
        self._waiting: OrderedDict[str, Reason] = OrderedDict()
        self._telling: set[str] = set()
        self._some = asyncio.Event()

    def __len__(self) -> int:
        return len(self._waiting)

    def say(self, key: str, reason: Reason) -> bool:
        """Have a pod told; return whether it will be. What it was to be told before is not said any more."""
        if key not in self._waiting and len(self._waiting) >= WAITING_MAX:
            return False
        self._waiting[key] = reason
        self._some.set()
        return True

    def drop(self, key: str) -> None:
        """Say nothing to a pod that is still to be told something."""
        self._waiting.pop(key, None)

    async def write(self) -> None:
        """Tell one pod after the other until cancelled."""
        while True:
            await self._some.wait()
            if self._is_busy():
                await asyncio.sleep(BUSY_SECONDS)
            key = next((key for key in self._waiting if key not in self._telling), None)
            if key is None:
                self._some.clear()
                continue
            reason = self._waiting.pop(key)
            self._telling.add(key)  # nobody else tells it something newer first
            try:
                await self._tell(key, reason)
            finally:
                self._telling.discard(key)
                self._some.set()
