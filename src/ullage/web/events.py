"""What happens on a server, as a stream that anybody may follow: new revisions, steps of ledgers, plans.

Events are numbered, and the last ones are kept. Who lost the connection says which one they had last and
misses nothing. The hard thing is readers that are slow: each has a place in what is kept and nothing else, so
none of them costs memory; one that falls behind all of it is told so and let go.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from typing import Any, Final, NamedTuple

import msgspec

from ullage.web.caching import RUN

KEPT_MAX: Final = 1000
QUIET_SECONDS: Final = 15.0
"""After so long without an event a comment is sent, so that nobody on the way takes the stream for dead."""
GATHER_SECONDS: Final = 0.2
"""Steps of a ledger that are taken within so long are one event."""
LOST: Final = "lost"
_COMMENT: Final = b": quiet\n\n"


class Event(NamedTuple):
    """Something that happened, to a cluster if one is named."""

    number: int
    kind: str
    cluster: str
    text: bytes

    def part(self) -> bytes:
        """Return the event as browsers read it."""
        return b"id: %b-%d\nevent: %b\ndata: %b\n\n" % (
            RUN.encode(),
            self.number,
            self.kind.encode(),
            self.text,
        )


class Events:
    """The events of a server."""

    def __init__(
        self,
        kept_max: int = KEPT_MAX,
        quiet_seconds: float = QUIET_SECONDS,
        gather_seconds: float = GATHER_SECONDS,
    ) -> None:
        self._kept: deque[Event] = deque(maxlen=kept_max)
        self._last = 0
        self._quiet_seconds = quiet_seconds
        self._gather_seconds = gather_seconds
        self._moved: dict[str, int] = {}
        self._woken = asyncio.Event()
        self.listeners = 0

    def tell(self, kind: str, cluster: str = "", **facts: Any) -> None:
        """Tell everybody who listens that something has happened."""
        self._last += 1
        text = msgspec.json.encode({"cluster": cluster, **facts} if cluster else facts)
        self._kept.append(Event(self._last, kind, cluster, text))
        woken, self._woken = self._woken, asyncio.Event()
        woken.set()

    def ledger_moved(self, cluster: str, revision: int) -> None:
        """Tell that steps of a ledger were taken, once for all that are taken at about the same time."""
        if not self._moved:
            asyncio.get_running_loop().call_later(self._gather_seconds, self._tell_moved)
        self._moved[cluster] = max(revision, self._moved.get(cluster, 0))

    def _tell_moved(self) -> None:
        moved, self._moved = self._moved, {}
        for cluster, revision in moved.items():
            self.tell("ledger", cluster, revision=revision)

    async def listen(self, after: str = "", cluster: str = "") -> AsyncIterator[bytes]:
        """Yield events as they happen: after the one that is named, else from now on.

        Where some of those are not kept any more, or were of another run of the server, it is said first that
        events were lost. Who is too slow for what is kept is told the same, and that is the end.
        """
        place, is_lost = self._place(after)
        self.listeners += 1
        try:
            yield b"retry: 2000\n\n"
            if is_lost:
                yield self._lost()
            while True:
                if place < self._first - 1:
                    yield self._lost()
                    return
                woken = self._woken
                if place < self._last:
                    event = self._kept[place + 1 - self._first]
                    place = event.number
                    if cluster in {"", event.cluster}:
                        yield event.part()
                    continue
                try:
                    async with asyncio.timeout(self._quiet_seconds):
                        await woken.wait()
                except TimeoutError:
                    yield _COMMENT
        finally:
            self.listeners -= 1

    @property
    def last(self) -> str:
        """The last event, by the name that whoever listens from here on says."""
        return f"{RUN}-{self._last}"

    @property
    def _first(self) -> int:
        return self._kept[0].number if self._kept else self._last + 1

    def _place(self, after: str) -> tuple[int, bool]:
        """Return the number of the last event that somebody had, and whether some were lost since."""
        if not after:
            return self._last, False
        run, _, digits = after.rpartition("-")
        number = int(digits) if digits.isascii() and digits.isdecimal() and len(digits) < 18 else -1
        if run != RUN or not self._first - 1 <= number <= self._last:
            return self._last, True
        return number, False

    def _lost(self) -> bytes:
        return Event(self._last, LOST, "", b'{"remedy":"look at everything again"}').part()
