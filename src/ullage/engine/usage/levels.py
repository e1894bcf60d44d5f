"""How high streams stood over time: the peak of each slot of each day, so that simultaneous peaks are known.

A row is one stream on one day (days since 1970, UTC), or in one week where a day is a slot. A slot in which
nothing was observed is MISSING, which is below every amount: a peak is a maximum, whatever the order in which
observations come.
"""

from typing import Final

import numpy as np

from ullage.engine.usage.buckets import Integers

DAY_SECONDS: Final = 86_400
MISSING: Final = -1


class Levels:
    """Rows of so many slots; without a number, of those of a day, which `slot_seconds` divides."""

    __slots__ = ("slot_seconds", "slots", "table")

    def __init__(self, slot_seconds: int, slots: int | None = None) -> None:
        self.slot_seconds = slot_seconds
        self.slots = DAY_SECONDS // slot_seconds if slots is None else slots
        self.table = np.empty((0, self.slots), np.int64)

    def __len__(self) -> int:
        return len(self.table)

    def grow(self, rows: int) -> None:
        """Have at least so many rows; in new ones nothing was observed.

        The table is made longer where it stands: a copy of all of it would take as much memory once more. So
        nobody may keep a part of it that is no copy.
        """
        before = len(self)
        if rows > before:
            self.table.resize((max(rows, before + before // 8), self.slots), refcheck=False)
            self.table[before:] = MISSING

    def raise_to(self, rows: Integers, at_seconds: Integers, amounts: Integers) -> None:
        """Note amounts, each in its row; of those of one slot the largest counts."""
        slots = at_seconds // self.slot_seconds % self.slots
        np.maximum.at(self.table.reshape(-1), rows * self.slots + slots, amounts)

    def put(self, row: int, slots: Integers) -> None:
        """Add what another table has of one stream on the day of a row."""
        np.maximum(self.table[row], slots, out=self.table[row])
