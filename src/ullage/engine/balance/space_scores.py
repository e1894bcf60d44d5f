"""The scores of all places for a new machine at once, equal to those of the plain code to the last bit.

The order of every sum is that of the plain code: hosts from left to right, terms in their order, and for
pairs the primary's correction before the standby's. Terms that a machine does not change are added as they
are.
"""

from math import sqrt
from typing import Final, NamedTuple

import numpy as np

from ullage.engine.balance.facts import Machine
from ullage.engine.balance.score import TERMS
from ullage.engine.balance.space_columns import Columns, Floats, Integers

WEIGHTS: Final = [term.weight for term in TERMS]
FREE_MEMORY, FREE_DISK, FAILING, RESERVED = 0, 1, 2, 3
CPU, LOADS, DISK_LOAD, SPINDLES = 6, range(7, 11), 9, 12
MEMORY_LATER, DISK_LATER, CPU_LATER, SPINDLES_LATER = 13, 14, 15, 16
LOCATION, RESERVED_TOTAL = 17, 19


class Known(NamedTuple):
    """What is known of every term over all hosts: the sum, and the variance where it is a deviation."""

    totals: list[float]
    variances: list[float]


def known_of(columns: Columns) -> Known:
    """Return what is known of every term."""
    count = len(columns.numbers)
    rows = columns.values
    totals = np.add.accumulate(rows, axis=1)[:, -1]
    apart = rows - (totals / count)[:, None]
    variances = np.add.accumulate(apart * apart, axis=1)[:, -1] / count
    found = totals.tolist()
    for at, total in columns.fixed:
        found[at] = total
    return Known(found, variances.tolist())


def as_primary(columns: Columns, machine: Machine) -> dict[int, Floats]:
    """Return the values of the terms that change, for each host with a machine as its primary."""
    memory, _, cpu, _, _ = columns.now
    after = {
        FREE_MEMORY: columns.memory_whole.share(memory - machine.memory),
        CPU: columns.cpu_whole.share(cpu + machine.cpu) / columns.cpu_speed,
        MEMORY_LATER: columns.memory_whole.share(columns.later[0] - machine.memory),
        CPU_LATER: columns.cpu_whole.share(columns.later[2] + machine.cpu) / columns.cpu_speed,
    }
    for at, load in zip(LOADS, machine.load, strict=True):
        after[at] = columns.values[at] + load
    if machine.local or columns.any_exclusive:
        after |= _disks(columns, machine)
    return after


def _disks(columns: Columns, machine: Machine) -> dict[int, Floats]:
    """Return the values of the terms about disks, which are the same for a primary and a standby."""
    found = {}
    sides = ((FREE_DISK, SPINDLES, columns.now), (DISK_LATER, SPINDLES_LATER, columns.later))
    for free_at, busy_at, (_, disk, _, spindles_free, spindles) in sides:
        left: Integers | Floats = disk - machine.disk if machine.local else disk
        busy = spindles + machine.spindle_use if machine.local else spindles
        if columns.any_exclusive:
            taken = spindles_free - machine.spindles if machine.spindles is not None else -1
            left = np.where(columns.exclusive, taken, left)
            busy = np.where(columns.exclusive, 0.0, busy)
        found[free_at] = columns.disk_whole.share(left, 1.0)
        found[busy_at] = columns.spindles_whole.share(busy)
    return found


def single_scores(columns: Columns, machine: Machine, places: Integers) -> Floats:
    """Return the score of all hosts with a machine on one of them, for each of some places."""
    known = known_of(columns)
    after = as_primary(columns, machine)
    failing = known.totals[FAILING] + columns.fails[places]
    score = np.zeros(places.size)
    made: dict[bytes, Floats] = {}
    for at, weight in enumerate(WEIGHTS):
        if at in after:
            key = columns.values[at].tobytes() + after[at].tobytes()
            if key not in made:
                made[key] = deviations(columns.values[at][None], after[at][None], places)[0]
            score += weight * made[key]
        elif at == FAILING:
            score += weight * failing
        elif unchanged(known, at):
            score += weight * unchanged(known, at)
    return score


def deviations(before: Floats, after: Floats, places: Integers | None = None) -> Floats:
    """Return the deviation of each row with one value changed, for each place of the change."""
    rows, count = before.shape
    chosen = np.arange(count) if places is None else places
    every = np.empty((count, rows, chosen.size))
    every[:] = before.T[:, :, None]
    every[chosen, :, np.arange(chosen.size)] = after.T[chosen]
    every -= np.add.reduce(every, axis=0) / count
    every *= every
    found: Floats = np.sqrt(np.add.reduce(every, axis=0) / count)
    return found


def unchanged(known: Known, at: int) -> float:
    """Return the value of a term as it is."""
    return sqrt(known.variances[at]) if TERMS[at].kind == "deviation" else known.totals[at]


class PairScores:
    """The scores of all hosts with a machine on a pair of them: rows are primaries, columns standbys."""

    def __init__(self, columns: Columns, machine: Machine) -> None:
        self.columns = columns
        self.machine = machine
        self.count = float(len(columns.numbers))
        self.known = known_of(columns)
        self.primary = as_primary(columns, machine)
        self.standby = _disks(columns, machine)
        self.standby[DISK_LOAD] = columns.values[DISK_LOAD] + machine.load.disk

    def scores(self, rows: Integers, at_columns: Integers) -> Floats:
        """Return the scores of some pairs: these primaries with these standbys."""
        score: Floats = np.zeros((rows.size, 1))
        made: dict[bytes, Floats] = {}
        for at, weight in enumerate(WEIGHTS):
            if at in self.standby:
                score = score + self._both(at, rows, at_columns, made)
            elif at == RESERVED:
                score = score + self._reserved(rows, at_columns)
            elif at in self.primary:
                score = score + (weight * np.sqrt(self._primary(at, rows)[1]))[:, None]
            else:
                score = score + weight * self._sum(at, rows, at_columns)
        return score

    def _sum(self, at: int, rows: Integers, at_columns: Integers) -> Floats | float:
        total = self.known.totals[at]
        if at == FAILING:
            fails = self.columns.fails
            failing: Floats = (total + fails[rows].astype(np.float64))[:, None] + fails[at_columns][None, :]
            return failing
        if at == LOCATION and self.columns.shared is not None:
            return total + self.columns.shared[np.ix_(rows, at_columns)]
        if at == RESERVED_TOTAL:
            return total + self._reserved_change(rows, at_columns)[0]
        return unchanged(self.known, at)

    def _primary(self, at: int, rows: Integers) -> tuple[Floats, Floats]:
        """Return sum and variance of a term after the primary's change."""
        old, new = self.columns.values[at][rows], self.primary[at][rows]
        return self._corrected(self.known.totals[at], self.known.variances[at], old, new)

    def _corrected(self, total: float, variance: float, old: Floats, new: Floats) -> tuple[Floats, Floats]:
        more = new - old
        squares = new * new - old * old
        apart = (self.count * squares - 2 * total * more) - more * more
        return total + more, np.maximum(0.0, variance + apart / (self.count * self.count))

    def _both(self, at: int, rows: Integers, at_columns: Integers, made: dict[bytes, Floats]) -> Floats:
        """Return the deviation of a term that changes with both hosts, times its weight."""
        old, new = self.columns.values[at][at_columns], self.standby[at][at_columns]
        total, variance = self._primary(at, rows)
        key = b"".join(each.tobytes() for each in (old, new, total, variance))
        if key in made:
            return WEIGHTS[at] * made[key]
        more = new - old
        apart = np.multiply.outer(2 * total, more)
        np.subtract(self.count * (new * new - old * old), apart, out=apart)
        apart -= more * more
        apart /= self.count * self.count
        apart += variance[:, None]
        np.maximum(apart, 0.0, out=apart)
        made[key] = np.sqrt(apart, out=apart)
        weighed: Floats = WEIGHTS[at] * apart
        return weighed

    def _reserved_change(self, rows: Integers, at_columns: Integers) -> tuple[Floats, Floats]:
        """Return by how much shares of reserved memory grow, and their squares."""
        columns = self.columns
        block = np.ix_(rows, at_columns)
        old = columns.values[RESERVED][at_columns]
        kept = np.maximum(columns.reserved[at_columns], columns.peers[block] + self.machine.memory)
        new = kept / columns.memory.amounts[at_columns]
        if columns.memory.any_nothing:
            new[:, columns.memory.is_nothing[at_columns]] = 0.0
        return new - old, new * new - old * old

    def _reserved(self, rows: Integers, at_columns: Integers) -> Floats:
        more, squares = self._reserved_change(rows, at_columns)
        total, variance = self.known.totals[RESERVED], self.known.variances[RESERVED]
        apart = (self.count * squares - 2 * total * more) - more * more
        return WEIGHTS[RESERVED] * np.sqrt(np.maximum(0.0, variance + apart / (self.count * self.count)))
