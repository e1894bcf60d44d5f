"""Machines that are all the same, and where they are: of many, balancing looks at some that stand for all."""

from collections.abc import Sequence
from typing import Final

from ullage.engine.balance.fleet import Fleet

ALIKE_MAX: Final = 2
"""Of machines that are all the same, so many are looked at."""


class Alike:
    """Machines that are the same in all that balancing looks at, and where they are: some stand for all."""

    def __init__(self, fleet: Fleet, subjects: Sequence[int], kind_of: Sequence[int]) -> None:
        self._key_of: dict[int, object] = {}
        self._left: dict[object, int] = {}
        self._others: set[object] = set()
        first = []
        for number in subjects:
            _, _, *size, _ = fleet.machines[number]
            key = (fleet.places[number], kind_of[number], *size)
            count = self._left.get(key, 0)
            if count >= ALIKE_MAX:
                self._others.add(key)
                continue
            self._left[key] = count + 1
            self._key_of[number] = key
            first.append(number)
        self.first = tuple(first)

    def are_used_up(self, number: int) -> bool:
        """Whether the last of those that stand for others has moved with this one."""
        key = self._key_of.pop(number, None)
        if key is None:
            return False
        self._left[key] -= 1
        return self._left[key] == 0 and key in self._others
