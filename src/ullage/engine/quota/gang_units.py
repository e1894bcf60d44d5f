"""Gangs that run, on columns: which rows go as one, and which sets would leave a gang with too few.

A set is closed if of every gang it takes all, or no more than are to spare. The rows of a gang that goes
whole are one unit: they have the place of their last in label order and the highest priority of them, so
that in the order of going nobody comes between them.
"""

from collections.abc import Sequence

import numpy as np

from ullage.engine.quota.gang_columns import NOWHERE, Columns, Flags, Ints
from ullage.engine.quota.victim_gangs import Gangs


class Units:
    """The rows of gangs that run; `whole` says which gangs may go as one."""

    def __init__(self, columns: Columns, gangs: Gangs) -> None:
        self._columns = columns
        self.rows: list[Ints] = []
        self.of_row: Ints = np.full(len(columns.members), NOWHERE, np.int64)
        for number, name in enumerate(sorted(gangs)):
            rows = np.sort(np.array([columns.row[each.key] for each in gangs[name].members], np.int64))
            self.rows.append(rows)
            self.of_row[rows] = number
        self._spare: Ints = np.array([gangs[name].spare for name in sorted(gangs)], np.int64)
        self._sizes: Ints = np.array([len(rows) for rows in self.rows], np.int64)
        self.whole: Flags = np.zeros(len(self.rows), np.bool_)

    def spare_of(self, row: int) -> int:
        """Return how many of a row's gang can go while it stays of use; no bound for a row of no gang."""
        gang = int(self.of_row[row])
        return int(self._spare[gang]) if gang != NOWHERE else len(self.of_row)

    @property
    def alone(self) -> Flags:
        """Which rows may go while the others of their gang stay."""
        found: Flags = np.append(self._spare, 1)[self.of_row] > 0
        return found

    @property
    def ungrouped(self) -> Flags:
        """Which rows are of no gang."""
        found: Flags = self.of_row == NOWHERE
        return found

    def _counts(self, rows: Ints) -> Ints:
        gangs = self.of_row[rows]
        return np.bincount(gangs[gangs != NOWHERE], minlength=len(self.rows))

    def closed(self, rows: Ints) -> Ints | None:
        """Return a set with all that go with it; None where a gang that cannot go whole has too few left."""
        counts = self._counts(rows)
        broken = (counts > self._spare) & (counts < self._sizes)
        if not broken.any():
            return rows
        if not self.whole[broken].all():
            return None
        return np.union1d(rows, np.concatenate([self.rows[gang] for gang in np.flatnonzero(broken).tolist()]))

    def gone(self, rows: Ints) -> list[int]:
        """Return the gangs of which all go."""
        return np.flatnonzero(self._counts(rows) == self._sizes).tolist()

    def standing_of(self, rows: Ints) -> tuple[Ints, Ints]:
        """Return the priority and the place in label order by which each row goes; a whole gang has one."""
        priority, rank = self._columns.priority[rows], self._columns.rank[rows]
        for gang in self.gone(rows):
            here = self.of_row[rows] == gang
            priority[here] = priority[here].max()
            rank[here] = rank[here].max()
        return priority, rank

    def split(self, rows: Ints) -> list[Ints]:
        """Return a set as those who go together: single rows, and gangs of which all go."""
        gone = self.gone(rows)
        single = rows[~np.isin(self.of_row[rows], gone)]
        return [*single[:, None], *(self.rows[gang] for gang in gone)]

    def dragged(self) -> Ints:
        """Return how many more go with each row, beyond those of its gang that are to spare by preference."""
        found = np.zeros(len(self.of_row), np.int64)
        for rows, spare in zip(self.rows, self._spare.tolist(), strict=True):
            preferred = rows[np.argsort(self._columns.taste[rows])]
            found[preferred[spare:]] = len(rows) - 1
        return found


def choices_of(units: Units | None, usable: Flags, singles: Sequence[int]) -> list[Ints]:
    """Return who can be chosen: rows by themselves in their order, then gangs that may go whole."""
    if units is None:
        return [np.array([row], np.int64) for row in singles]
    found = [np.array([row], np.int64) for row in singles if units.alone[row]]
    whole = np.flatnonzero(units.whole).tolist()
    return [*found, *(units.rows[gang] for gang in whole if usable[units.rows[gang]].all())]
