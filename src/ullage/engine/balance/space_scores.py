"""The scores of all places for a new machine at once, equal to those of the plain code to the last bit.

The order of every sum is that of the plain code: hosts from left to right, and terms in their order. Terms
that a machine does not change are added as they are.
"""

from math import sqrt
from typing import Final, NamedTuple

import numpy as np

from ullage.engine.balance.facts import Machine
from ullage.engine.balance.score import TERMS
from ullage.engine.balance.space_columns import Columns, Floats, Integers

WEIGHTS: Final = [term.weight for term in TERMS]
FREE_MEMORY, FREE_DISK, FAILING, RESERVED = 0, 1, 2, 3
CPU, LOADS, DISK_LOAD = 6, [7, 8, 9, 10], 9
MEMORY_LATER, CPU_LATER = 13, 15
DISKS, BUSY = [1, 14], [12, 16]
PRIMARY_ONLY: Final = (FREE_MEMORY, MEMORY_LATER, CPU, CPU_LATER, 7, 8, 10)
"""Terms about free disks and busy ones change with both hosts of a machine, as does the load of disks."""
LOCATION, RESERVED_TOTAL = 17, 19


class Known(NamedTuple):
    """What is known of every term over all hosts: the sum, and the variance where it is a deviation."""

    totals: Floats
    variances: Floats


def known_of(columns: Columns) -> Known:
    """Return what is known of every term."""
    count = len(columns.numbers)
    rows = columns.values
    totals = np.add.accumulate(rows, axis=1)[:, -1]
    apart = rows - (totals / count)[:, None]
    variances = np.add.accumulate(apart * apart, axis=1)[:, -1] / count
    for at, total in columns.fixed:
        totals[at] = total
    return Known(totals, variances)


def changes_of(columns: Columns, machine: Machine) -> Floats:
    """Return what a machine changes of the amounts of its host, by term: one for all hosts, or for each."""
    found = np.zeros((len(TERMS), 1))
    found[[FREE_MEMORY, MEMORY_LATER]] = -machine.memory
    found[[CPU, CPU_LATER]] = machine.cpu
    found[LOADS, 0] = machine.load
    if machine.local:
        found[DISKS] = -machine.disk
        found[BUSY] = machine.spindle_use
    if columns.any_exclusive:
        found = np.repeat(found, len(columns.numbers), axis=1)
        found[DISKS] = np.where(columns.exclusive, -(machine.spindles or 0), found[DISKS])
        found[BUSY] = np.where(columns.exclusive, 0.0, found[BUSY])
    return found


class SingleScores:
    """The scores of all hosts with a machine on one of them, as long as the same terms are alike."""

    def __init__(self, columns: Columns, machine: Machine) -> None:
        self.machine, self.twins = machine, len(columns.twins)
        moving = (*DISKS, *BUSY) if machine.local or columns.any_exclusive else ()
        chosen = [at for at in (*PRIMARY_ONLY, DISK_LOAD, *moving) if at not in columns.twins]
        self.terms: Integers = np.array(chosen)
        self.changes = changes_of(columns, machine)[chosen]
        places = {at: place for place, at in enumerate(chosen)}
        self.place = [places.get(at, places.get(columns.twins.get(at, at))) for at in range(len(TERMS))]

    def suits(self, columns: Columns, machine: Machine) -> bool:
        """Whether it tells what a machine changes."""
        return self.machine is machine and self.twins == len(columns.twins)

    def scores(self, columns: Columns, places: Integers) -> Floats:
        """Return the scores for each of some places."""
        known, terms = known_of(columns), self.terms
        after = columns.shares(columns.amounts[terms] + self.changes, (terms, slice(None)))
        made = deviations(columns.values[terms], after, places)
        score = np.zeros(places.size)
        for at, place in enumerate(self.place):
            if place is not None:
                score += WEIGHTS[at] * made[place]
            elif at == FAILING:
                score += WEIGHTS[at] * (known.totals[FAILING] + columns.fails[places])
            elif unchanged(known, at):
                score += WEIGHTS[at] * unchanged(known, at)
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
    return sqrt(known.variances[at]) if TERMS[at].kind == "deviation" else float(known.totals[at])
