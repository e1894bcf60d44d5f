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
    """Return the values of the terms that change, for each host with a machine as its primary.

    Terms that are the same as another one are left out.
    """
    twins = columns.twins
    after = as_disk(columns, machine) if machine.local or columns.any_exclusive else {}
    sides = ((FREE_MEMORY, CPU, columns.now), (MEMORY_LATER, CPU_LATER, columns.later))
    for memory_at, cpu_at, (memory, _, cpu, _, _) in sides:
        if memory_at not in twins:
            after[memory_at] = columns.memory_whole.share(memory - machine.memory)
        if cpu_at not in twins:
            shares = columns.cpu_whole.share(cpu + machine.cpu)
            after[cpu_at] = shares / columns.cpu_speed if columns.any_speed else shares
    for at, load in zip(LOADS, machine.load, strict=True):
        if at not in twins:
            after[at] = columns.values[at] + load
    return after


def as_disk(columns: Columns, machine: Machine) -> dict[int, Floats]:
    """Return the values of the terms about disks, which are the same for a primary and a standby."""
    found = {}
    sides = ((FREE_DISK, SPINDLES, columns.now), (DISK_LATER, SPINDLES_LATER, columns.later))
    for free_at, busy_at, (_, disk, _, spindles_free, spindles) in sides:
        if free_at in columns.twins and busy_at in columns.twins:
            continue
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
    chosen = list(after)
    rows = deviations(columns.values[chosen], np.array([after[at] for at in chosen]), places)
    changed = dict(zip(chosen, rows, strict=True))
    score = np.zeros(places.size)
    for at, weight in enumerate(WEIGHTS):
        other = columns.twins.get(at, at)
        if at in changed or other in changed:
            score += weight * changed[at if at in changed else other]
        elif at == FAILING:
            score += weight * (known.totals[FAILING] + columns.fails[places])
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
