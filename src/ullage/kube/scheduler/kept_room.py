"""Room that others made for a pod which is then not bound: a few times it is kept, for nobody else.

Else those who had to go would have gone for somebody who may not have their place, and others would follow.
"""

from collections import Counter
from collections.abc import Callable
from typing import Final

TRIES_MAX: Final = 5
"""How often in a row; the room of a pod that cannot be bound at all is for others."""


class KeptRoom:
    """How often pods were not bound for which others were evicted."""

    def __init__(self) -> None:
        self._tries: Counter[str] = Counter()

    def is_kept(self, key: str) -> bool:
        """Take note that a pod was not bound, and return whether its room is kept for it."""
        self._tries[key] += 1
        return self._tries[key] <= TRIES_MAX

    def forget(self, is_there: Callable[[str], bool]) -> None:
        """Forget pods that neither wait nor are being bound any more."""
        for key in [key for key in self._tries if not is_there(key)]:
            del self._tries[key]
