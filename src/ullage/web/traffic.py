"""What is asked and answered, counted: for figures, and so that there is never too much at once.

The hard thing is that one client may ask as much as it likes: of requests, of streams and of files that are
read each has a bounded share, or its turn, so that others are answered meanwhile.
"""

import contextlib
from collections import Counter, defaultdict
from collections.abc import AsyncIterator
from typing import Final

from ullage.web.problems import busy
from ullage.web.routes import Route
from ullage.web.turns import Turns

AT_ONCE_MAX: Final = 512
AT_ONCE_EACH_MAX: Final = 256
"""So many requests are answered at once, of all and of each client."""
READING_MAX: Final = 4
"""For so many requests files are read at once; there are a few more threads, for what is written."""
STREAMS_MAX: Final = 256
STREAMS_EACH_MAX: Final = 128
"""So many streams are open, of all and of each client."""
LISTEN_AGAIN_SECONDS: Final = 10
_KNOWN: Final = frozenset(("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"))


class Traffic:
    """All requests and streams of a server."""

    def __init__(self) -> None:
        self.answers: Counter[tuple[str, str, int]] = Counter()
        """By method, path of the route and status."""
        self.seconds: defaultdict[tuple[str, str], float] = defaultdict(float)
        """Time spent, by method and path of the route."""
        self.at_once: Counter[str] = Counter()
        """Requests that are being answered, by who has asked."""
        self.streams: Counter[str] = Counter()
        """Streams that are open, by who listens."""
        self._reading = Turns(READING_MAX)

    def add(self, route: Route | None, method: str, status: int, seconds: float) -> None:
        """Count one answer."""
        name = (route.method, route.path) if route else (method if method in _KNOWN else "other", "")
        self.answers[*name, status] += 1
        self.seconds[name] += seconds

    @contextlib.asynccontextmanager
    async def answering(self, client: str, *, is_bounded: bool, in_turns: bool) -> AsyncIterator[None]:
        """Count a request while it is answered; raises a Problem where there is too much to do already."""
        if is_bounded and self.at_once[client] >= AT_ONCE_EACH_MAX:
            raise busy("too many requests of yours are being answered")
        if is_bounded and self.at_once.total() >= AT_ONCE_MAX:
            raise busy("too many requests are being answered")
        self.at_once[client] += 1
        try:
            async with self._reading.of(client) if in_turns else contextlib.nullcontext():
                yield
        finally:
            self.at_once[client] -= 1
            if not self.at_once[client]:
                del self.at_once[client]

    def check_stream(self, client: str) -> None:
        """Raise a Problem where a client, or all together, have as many streams as they may."""
        own = self.streams[client]
        if own >= STREAMS_EACH_MAX:
            raise busy(f"{own} of yours are listening already", LISTEN_AGAIN_SECONDS)
        if self.streams.total() >= STREAMS_MAX:
            raise busy("too many are listening already", LISTEN_AGAIN_SECONDS)
