"""Lines of JSON on standard error: what happened, to what, and when.

Lines are written together, a few times in a second: a slow terminal holds up no answer for each of them.
No token, no body and no query is ever given to a log.
"""

import asyncio
import sys
import time
from typing import Any, Final, TextIO

import msgspec

WRITE_SECONDS: Final = 0.1
WAITING_MAX: Final = 10_000


class Log:
    """The log of a component."""

    def __init__(self, component: str = "serve", target: TextIO | None = None) -> None:
        self._component = component
        self._target = target
        self._waiting: list[bytes] = []
        self._dropped = 0
        self._timer: asyncio.TimerHandle | None = None

    def say(self, message: str, **facts: Any) -> None:
        """Write one line, soon; at once where no loop runs."""
        told = {
            "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "component": self._component,
            "message": message,
            **facts,
        }
        if len(self._waiting) >= WAITING_MAX:
            self._dropped += 1
            return
        self._waiting.append(msgspec.json.encode(told) + b"\n")
        if self._timer is None:
            try:
                self._timer = asyncio.get_running_loop().call_later(WRITE_SECONDS, self.write)
            except RuntimeError:
                self.write()

    def write(self) -> None:
        """Write what waits."""
        self._timer = None
        lines, self._waiting = self._waiting, []
        dropped, self._dropped = self._dropped, 0
        target = self._target or sys.stderr
        target.write(b"".join(lines).decode())
        target.flush()
        if dropped:
            self.say("left out lines: too many came at once", count=dropped)
