"""Places that clients have in turns, however much one of them asks.

Files are read in a few threads, and the plans of a cluster are decided one after the other. The hard thing is
a client that asks for as much as it may at once: were they served in the order in which they come, everybody
else would wait behind all of that. So each place that is left goes to the client whose turn it is.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator


class Turns:
    """So many places, and those who wait for one, by client."""

    def __init__(self, places: int) -> None:
        self._free = places
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

    @contextlib.asynccontextmanager
    async def of(self, client: str) -> AsyncIterator[None]:
        """Give a client a place, once it is its turn."""
        if self._free:
            self._free -= 1
        else:
            await self._wait(client)
        try:
            yield
        finally:
            self._next()

    async def _wait(self, client: str) -> None:
        given: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(client, deque()).append(given)
        try:
            await given
        except asyncio.CancelledError:
            if given.done() and not given.cancelled():
                self._next()  # it was given in the same moment
            else:
                self._leave(client, given)
            raise

    def _leave(self, client: str, given: "asyncio.Future[None]") -> None:
        own = self._waiting[client]
        own.remove(given)
        if not own:
            del self._waiting[client]

    def _next(self) -> None:
        """Give a place that is left to whoever is next; their client has its next turn behind all others."""
        client = next(iter(self._waiting), None)
        if client is None:
            self._free += 1
            return
        own = self._waiting.pop(client)
        own.popleft().set_result(None)
        if own:
            self._waiting[client] = own
