"""Which keys have which deadline: asking for those that are due costs what is due, not what there is."""

from heapq import heapify, heappop, heappush
from typing import Final

from ullage.engine.ledger.view import Key

SLACK: Final = 64
"""Times that nobody has any more are tolerated in the heap up to so many beyond the number in use."""


class Deadlines:
    """Sets of keys by time, and a heap of the times.

    Times whose last key is gone stay in the heap until they come to its top or are too many, so that taking a
    key away is cheap.
    """

    __slots__ = ("_keys", "_times")

    def __init__(self) -> None:
        self._keys: dict[int, set[Key]] = {}
        self._times: list[int] = []

    def add(self, at_seconds: int, key: Key) -> None:
        """Note that a key has this deadline."""
        keys = self._keys.get(at_seconds)
        if keys is None:
            self._keys[at_seconds] = {key}
            heappush(self._times, at_seconds)
        else:
            keys.add(key)

    def discard(self, at_seconds: int, key: Key) -> None:
        """Note that a key has this deadline no longer."""
        keys = self._keys[at_seconds]
        keys.discard(key)
        if keys:
            return
        del self._keys[at_seconds]
        times = self._times
        while times and times[0] not in self._keys:
            heappop(times)
        if len(times) > 2 * len(self._keys) + SLACK:
            self._times = list(self._keys)
            heapify(self._times)

    def due(self, at_seconds: int) -> set[Key]:
        """Return the keys whose deadline is not after a time; in a heap they all stand above the others."""
        found: set[Key] = set()
        times = self._times
        open_places = [0]
        while open_places:
            place = open_places.pop()
            if place < len(times) and times[place] <= at_seconds:
                found |= self._keys.get(times[place], frozenset())
                open_places += (2 * place + 1, 2 * place + 2)
        return found
