"""The one place where the ledger's time is read, and how moments are told.

Below this layer times are given. `$ULLAGE_NOW` sets the time for a rehearsal; a ledger never goes back in
time, so a step that was taken in the future keeps later ones there.
"""

import os
import time
from datetime import UTC, datetime, timedelta
from typing import Final

from ullage.model.errors import InputError

NOW_VARIABLE: Final = "ULLAGE_NOW"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
TOLD_SECONDS_MAX: Final = 253_402_300_799
"""The end of the year 9999."""


def now_seconds() -> int:
    """Return the time, in seconds since 1970."""
    given = os.environ.get(NOW_VARIABLE, "")
    if not given:
        return int(time.time())
    if not (given.isascii() and given.isdecimal()) or int(given) > TOLD_SECONDS_MAX:
        raise InputError(f"{given!r} is no time", where=NOW_VARIABLE, remedy="give seconds since 1970")
    return int(given)


def told_time(seconds: int | None) -> str:
    """Return a moment as people and machines read it; nothing where there is none."""
    if seconds is None:
        return ""
    if not 0 <= seconds <= TOLD_SECONDS_MAX:
        return f"{seconds} s since 1970"
    return (_EPOCH + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")
