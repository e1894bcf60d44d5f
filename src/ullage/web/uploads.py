"""Documents that are being read into clusters: a small one beside a large one, and no two of one name.

A reading may take as much memory as a cluster may, so that few are read at once. The hard thing is who waits:
a large document is read for minutes, and what others send in that time is read beside it if it is small, or
waits for its turn. Of one client one is read at a time, so that others have theirs.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from typing import Final

from ullage.web.problems import busy

SMALL_BYTES_MAX: Final = 4 << 20
WAIT_SECONDS_MAX: Final = 30.0
"""For so long a document waits for its turn."""


class Uploads:
    """Whose documents are being read, for clusters of which names."""

    def __init__(self, wait_seconds_max: float = WAIT_SECONDS_MAX) -> None:
        self._wait_seconds_max = wait_seconds_max
        self._small, self._large = asyncio.Lock(), asyncio.Lock()
        self._names: set[str] = set()
        self._clients: set[tuple[str, bool]] = set()

    @contextlib.asynccontextmanager
    async def turn(self, name: str, client: str, size: int) -> AsyncIterator[None]:
        """Give somebody the turn to read a document of a size; raises a Problem where that is not soon."""
        is_small = size <= SMALL_BYTES_MAX
        lock = self._small if is_small else self._large
        if (client, is_small) in self._clients:
            raise busy("another document of yours is being read")
        with self.alone(name):
            self._clients.add((client, is_small))
            try:
                try:
                    async with asyncio.timeout(self._wait_seconds_max):
                        await lock.acquire()
                except TimeoutError:
                    raise busy(f"another {'' if is_small else 'large '}document is being read") from None
                try:
                    yield
                finally:
                    lock.release()
            finally:
                self._clients.discard((client, is_small))

    @contextlib.contextmanager
    def alone(self, name: str) -> Iterator[None]:
        """Keep everybody else from the cluster of a name; raises a Problem where somebody does so already."""
        if name in self._names:
            raise busy(f"cluster {name} is being uploaded or removed already")
        self._names.add(name)
        try:
            yield
        finally:
            self._names.discard(name)
