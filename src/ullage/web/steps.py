"""How far a worker is with a question, told to the process that speaks HTTP.

A search takes thousands of steps a second, and whoever asks how a job stands looks at it once in a while: so
a step is told only when the last one was told long enough ago. What is counted may change on the way; that is
told sooner, because what comes next may be one long step.
"""

import socket
import time
from collections.abc import Callable
from typing import Final

from ullage.web.frames import EndedError, Stepped, send

AGAIN_SECONDS: Final = 0.25
"""After so long the same is told again."""
OTHER_SECONDS: Final = 0.02
"""After so long something else is told that is counted."""


class Telling:
    """What is told over one connection about one question."""

    def __init__(self, connection: socket.socket, clock: Callable[[], float] = time.monotonic) -> None:
        self._connection = connection
        self._clock = clock
        self._what = ""
        self._told_at = float("-inf")

    def __call__(self, what: str, done: int, total: int) -> None:
        """Tell a step, if it is time; raises an EndedError where nobody is there any more."""
        now = self._clock()
        if now - self._told_at < (AGAIN_SECONDS if what == self._what else OTHER_SECONDS):
            return
        self._what, self._told_at = what, now
        try:
            send(self._connection, Stepped(what, done, total))
        except OSError as error:
            raise EndedError("the process that asked has ended") from error
