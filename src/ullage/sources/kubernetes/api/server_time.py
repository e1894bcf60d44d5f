"""The time of day as the API server has it, from the Date of its answers.

Clocks of machines differ, and what is held until a time is held by all of them. The own clock only measures
how time goes on. An answer says the second in which it was sent, and comes some time later; one that was
late, or came from a server whose clock is wrong, is outvoted by the others.
"""

import time
from collections import deque
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from statistics import median_low
from typing import Final

ANSWERS: Final = 15
"""So many seconds of which there was an answer are compared."""


class ServerTime:
    """What is known of a server's clock."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._date = b""
        self._offsets: deque[float] = deque(maxlen=ANSWERS)
        self._offset: float | None = None

    def note(self, date: bytes) -> None:
        """Take note of the Date of an answer; of those of one second the first counts."""
        if date == self._date:
            return
        self._date = date
        try:
            sent = parsedate_to_datetime(date.decode("ascii")).timestamp()
        except (ValueError, OverflowError):
            return
        self._offsets.append(sent - self._now())
        self._offset = median_low(self._offsets)

    def seconds(self) -> int | None:
        """Return the time, in seconds since 1970; None where the server has not said it."""
        return None if self._offset is None else int(self._now() + self._offset)
