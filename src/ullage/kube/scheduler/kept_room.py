"""Room that others made for a pod which is then not bound: a few times it is kept, for nobody else.

Else those who had to go would have gone for somebody who may not have their place. The hard thing is a pod
that cannot be bound at all: its room is for others in the end, and those must not be asked to go for it
again, one after the other. So for a while nobody is.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

import msgspec

from ullage.model.cluster import Workload

TRIES_MAX: Final = 5
"""How often in a row; the room of a pod that cannot be bound at all is for others."""
SPENT_SECONDS: Final = 300.0
"""How long nobody is evicted for such a pod after it was not bound."""


class _Failed(NamedTuple):
    tries: int
    at_seconds: float


class KeptRoom:
    """How often pods were not bound that had a place, and when last."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._failed: dict[str, _Failed] = {}

    def is_kept(self, key: str) -> bool:
        """Take note that a pod was not bound, and return whether its room is kept for it."""
        before = self._failed.get(key)
        tries = 1 + (before.tries if before else 0)
        self._failed[key] = _Failed(tries, self._now())
        return tries <= TRIES_MAX

    def is_spent(self, key: str) -> bool:
        """Whether nobody is to go for a pod now: it was not bound too often, and not long ago."""
        failed = self._failed.get(key)
        if failed is None or failed.tries <= TRIES_MAX:
            return False
        return self._now() - failed.at_seconds < SPENT_SECONDS

    def judged(self, waiting: Workload) -> Workload:
        """Return a pod as it is to be judged: nobody goes for one that cannot be bound."""
        spent = waiting.preempts and self.is_spent(waiting.key)
        return msgspec.structs.replace(waiting, preempts=False) if spent else waiting

    def forget(self, is_there: Callable[[str], bool]) -> None:
        """Forget pods that neither wait nor are being bound any more."""
        for key in [key for key in self._failed if not is_there(key)]:
            del self._failed[key]
