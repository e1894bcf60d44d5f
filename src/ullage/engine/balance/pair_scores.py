"""The scores of all pairs of hosts for a new machine, equal to those of the plain code to the last bit.

What is known of a term is corrected for the primary, then for the standby, in the order of the plain code.
Only the memory that a standby keeps depends on both hosts at once: its matrix is kept, and renewed in the
columns of hosts that were touched.
"""

from collections.abc import Iterable
from typing import Final

import numpy as np

from ullage.engine.balance.facts import Machine
from ullage.engine.balance.space_columns import Columns, Floats, Integers
from ullage.engine.balance.space_scores import (
    DISK_LOAD,
    FAILING,
    LOCATION,
    RESERVED,
    RESERVED_TOTAL,
    WEIGHTS,
    Known,
    as_disk,
    as_primary,
    known_of,
    unchanged,
)

SQUARE: Final = 2


class PairScores:
    """The scores of all hosts with a machine on a pair of them: rows are primaries, columns standbys."""

    def __init__(self, columns: Columns, machine: Machine) -> None:
        self.columns = columns
        self.machine = machine
        self.count = float(len(columns.numbers))
        shape = columns.peers.shape
        self.more: Floats = np.empty(shape)
        self.more_squared: Floats = np.empty(shape)
        self.squares: Floats = np.empty(shape)
        self.renew(range(len(columns.numbers)))

    def renew(self, places: Iterable[int]) -> None:
        """Work out anew what hosts would keep as the standby of a machine that runs on any other."""
        columns = self.columns
        at = np.array(list(places), dtype=np.int64)
        old = columns.values[RESERVED][at]
        kept = np.maximum(columns.reserved[at], columns.peers[:, at] + self.machine.memory)
        new = kept / columns.memory.amounts[at]
        if columns.memory.any_nothing:
            new[:, columns.memory.is_nothing[at]] = 0.0
        more = new - old
        self.more[:, at] = more
        self.more_squared[:, at] = more * more
        self.squares[:, at] = self.count * (new * new - old * old)

    def scores(self, rows: Integers, others: Integers) -> Floats:
        """Return the scores of some pairs: these primaries with these standbys."""
        columns, known = self.columns, known_of(self.columns)
        primary = as_primary(columns, self.machine)
        standby = as_disk(columns, self.machine)
        standby[DISK_LOAD] = columns.values[DISK_LOAD] + self.machine.load.disk
        if DISK_LOAD not in primary:
            primary[DISK_LOAD] = standby[DISK_LOAD]
        chosen = list(primary)
        totals, variances = self._corrected(known, chosen, primary, rows)
        made: dict[int, Floats] = {}
        for row, at in enumerate(chosen):
            if at in standby:
                old, new = columns.values[at][others], standby[at][others]
                made[at] = self._both(totals[row], variances[row], old, new)
            else:
                made[at] = np.sqrt(variances[row])[:, None]
            made[at] *= WEIGHTS[at]
        whole = rows.size == others.size == len(columns.numbers)
        block = (slice(None), slice(None)) if whole else np.ix_(rows, others)
        more, squares, more_squared = self.more[block], self.squares[block], self.more_squared[block]
        score: Floats = np.zeros((rows.size, others.size))
        for at, weight in enumerate(WEIGHTS):
            if at in made or columns.twins.get(at) in made:
                score += made[at if at in made else columns.twins[at]]
            elif at == RESERVED:
                score += weight * self._reserved(known, more, squares, more_squared)
            elif at == RESERVED_TOTAL:
                score += weight * (known.totals[at] + more)
            elif at == FAILING and columns.fails.any():
                failing = (known.totals[at] + columns.fails[rows].astype(np.float64))[:, None]
                score += weight * (failing + columns.fails[others][None, :])
            elif at == LOCATION and columns.shared is not None:
                score += weight * (known.totals[at] + columns.shared[block])
            elif unchanged(known, at):
                score += weight * unchanged(known, at)
        return score

    def _corrected(
        self, known: Known, chosen: list[int], primary: dict[int, Floats], rows: Integers
    ) -> tuple[Floats, Floats]:
        """Return sums and variances of terms after the primary's change."""
        old = self.columns.values[chosen][:, rows]
        new = np.array([primary[at] for at in chosen])[:, rows]
        total = np.array([known.totals[at] for at in chosen])[:, None]
        variance = np.array([known.variances[at] for at in chosen])[:, None]
        more = new - old
        apart = (self.count * (new * new - old * old) - SQUARE * total * more) - more * more
        return total + more, np.maximum(0.0, variance + apart / (self.count * self.count))

    def _both(self, total: Floats, variance: Floats, old: Floats, new: Floats) -> Floats:
        """Return the deviation of a term that changes with both hosts."""
        more = new - old
        apart: Floats = np.multiply.outer(SQUARE * total, more)
        np.subtract(self.count * (new * new - old * old), apart, out=apart)
        apart -= more * more
        apart /= self.count * self.count
        apart += variance[:, None]
        np.maximum(apart, 0.0, out=apart)
        return np.sqrt(apart, out=apart)

    def _reserved(self, known: Known, more: Floats, squares: Floats, more_squared: Floats) -> Floats:
        """Return the deviation of the memory that hosts keep for each other."""
        apart = SQUARE * known.totals[RESERVED] * more
        np.subtract(squares, apart, out=apart)
        apart -= more_squared
        apart /= self.count * self.count
        apart += known.variances[RESERVED]
        np.maximum(apart, 0.0, out=apart)
        return np.sqrt(apart, out=apart)
