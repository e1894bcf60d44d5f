"""The scores of pairs of hosts for a new machine, equal to those of the plain code to the last bit.

What is known of a term is corrected for the primary, then for the standby, in the order of the plain code.
Only the memory that a standby keeps depends on both hosts at once: it is asked for by pair, or by standby
where it is the same for every primary.
"""

from typing import Final

import numpy as np

from ullage.engine.balance.facts import Machine
from ullage.engine.balance.space_columns import Columns, Floats, Integers
from ullage.engine.balance.space_scores import (
    BUSY,
    DISK_LOAD,
    DISKS,
    FAILING,
    LOCATION,
    PRIMARY_ONLY,
    RESERVED,
    RESERVED_TOTAL,
    WEIGHTS,
    changes_of,
    known_of,
)

SQUARE: Final = 2


class Changing:
    """The terms that a machine changes, and by how much: first those that change with both of its hosts.

    Terms that are the same as another one are left out.
    """

    def __init__(self, columns: Columns, machine: Machine) -> None:
        both = [at for at in (*DISKS, *BUSY) if at not in columns.twins]
        chosen = [*both, DISK_LOAD, *(at for at in PRIMARY_ONLY if at not in columns.twins)]
        self.machine, self.twins = machine, len(columns.twins)
        self.both = len(both) + 1
        self.terms: Integers = np.array(chosen)
        places = {at: place for place, at in enumerate(chosen)}
        self.place = [places.get(at, places.get(columns.twins.get(at, at))) for at in range(len(WEIGHTS))]
        """Where each term is among these, None for those that do not change or not in proportion."""
        self.amounts = changes_of(columns, machine)[chosen]
        self.weights: Floats = np.array([WEIGHTS[at] for at in chosen])[:, None]

    def suits(self, columns: Columns, machine: Machine) -> bool:
        """Whether it tells what a machine changes."""
        return self.machine is machine and self.twins == len(columns.twins)


class PairScores:
    """The scores of all hosts with a machine on a pair of them, as columns are: rows are primaries."""

    def __init__(self, columns: Columns, machine: Machine, changing: Changing | None = None) -> None:
        self.columns = columns
        self.machine = machine
        self.count = float(len(columns.numbers))
        self.known = known_of(columns)
        self.changing = changing or Changing(columns, machine)

    def kept(self, rows: Integers, others: Integers) -> Integers:
        """Return what hosts would keep as the standby of a machine that runs on another, by pair."""
        peers = self.columns.peers[np.ix_(rows, others)]
        kept: Integers = np.maximum(self.columns.reserved[others], peers + self.machine.memory)
        return kept

    def scores(self, rows: Integers, others: Integers, kept: Integers) -> Floats:
        """Return the scores of some pairs: these primaries with these standbys, which then keep so much."""
        columns, known = self.columns, self.known
        both, alone = self._changed(rows, others)
        made = [*both, *alone]
        new = kept / columns.memory.amounts[others]
        if columns.memory.any_nothing:
            new[..., columns.memory.is_nothing[others]] = 0.0
        old = columns.values[RESERVED][others]
        more = new - old
        score: Floats = np.zeros((rows.size, others.size))
        for at, place in enumerate(self.changing.place):
            weight = WEIGHTS[at]
            if place is not None:
                score += made[place]
            elif at == RESERVED:
                apart = self.count * (new * new - old * old) - SQUARE * known.totals[at] * more - more * more
                variance = known.variances[at] + apart / (self.count * self.count)
                score += weight * np.sqrt(np.maximum(variance, 0.0))
            elif at == RESERVED_TOTAL:
                score += weight * (known.totals[at] + more)
            elif at == FAILING and columns.fails.any():
                failing = (known.totals[at] + columns.fails[rows].astype(np.float64))[:, None]
                score += weight * (failing + columns.fails[others][None, :])
            elif at == LOCATION and columns.shared is not None:
                score += weight * (known.totals[at] + columns.shared[np.ix_(rows, others)])
            elif known.totals[at]:
                score += weight * known.totals[at]
        return score

    def _changed(self, rows: Integers, others: Integers) -> tuple[Floats, Floats]:
        """Return the terms that a new machine changes for any host, weighted: of both hosts, and of one."""
        changing, known, count = self.changing, self.known, self.count
        terms, both = changing.terms, changing.both
        total, variance = known.totals[terms][:, None], known.variances[terms][:, None]
        old, new = self._values(terms, rows, changing.amounts)
        more = new - old
        apart = (count * (new * new - old * old) - SQUARE * total * more) - more * more
        variance = np.maximum(0.0, variance + apart / (count * count))
        alone: Floats = (np.sqrt(variance[both:]) * changing.weights[both:])[:, :, None]
        total = SQUARE * (total + more)[:both, :, None]
        old, new = self._values(terms[:both], others, changing.amounts[:both])
        old, new = old[:, None], new[:, None]
        more = new - old
        found: Floats = count * (new * new - old * old) - total * more
        found -= more * more
        found /= count * count
        found += variance[:both, :, None]
        np.maximum(found, 0.0, out=found)
        np.sqrt(found, out=found)
        found *= changing.weights[:both, :, None]
        return found, alone

    def _values(self, terms: Integers, places: Integers, changes: Floats) -> tuple[Floats, Floats]:
        """Return the values of terms at some places, as they are and with a machine there."""
        index = terms[:, None], places
        more = changes if changes.shape[1] == 1 else changes[:, places]
        return self.columns.values[index], self.columns.shares(self.columns.amounts[index] + more, index)
