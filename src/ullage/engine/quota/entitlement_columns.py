"""Fair shares of every quota and resource at once, in NumPy columns: the rules of entitlement_plain.py.

Columns are made once for a tree and asked for any demand. They are [resource, row], so that a level's
families of every resource stand side by side and are divided together. Amounts that may not fit 64 bits once
they are added up send their resource to the plain form: the answer never depends on the form.
"""

from math import lcm
from typing import Final

import numpy as np
import numpy.typing as npt

from ullage.engine.quota.divisor_columns import Families, divided_columns
from ullage.engine.quota.entitlement_plain import plain_shares
from ullage.engine.quota.quota_tree import Level, Limits, QuotaTree

Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

SUM_MAX: Final = 1 << 61
"""What all rows of a resource together stay below; a limit that is not stated is this."""


class LevelColumns:
    """One level: what its rows state, each resource after the other, and its families."""

    def __init__(self, level: Level, columns: "EntitlementColumns") -> None:
        self.rows = slice(level.start, level.stop)
        self.parents = np.array(level.parents)
        sizes = np.diff(level.starts, append=level.stop)
        self.families = Families(np.tile(sizes, len(columns.minimum)))
        self.minimum = columns.minimum[:, self.rows].ravel()
        self.ceiling = columns.ceiling[:, self.rows].ravel()
        self.by_minimum = self._reduced(self.minimum)
        self.by_weight = self._reduced(columns.weight[:, self.rows].ravel())
        lending = columns.lending[:, self.rows].ravel()
        self.lending = lending if (lending < SUM_MAX).any() else None

    def _reduced(self, weights: Integers) -> Integers:
        """Return weights divided by what divides all of a family: only their ratio counts."""
        factor = np.maximum(np.gcd.reduceat(weights, self.families.starts), 1)
        reduced: Integers = weights // factor[self.families.family]
        return reduced

    def shares(self, capacity: Integers, wanted: Integers) -> Integers:
        """Return the shares of a level; `capacity` is each family's, `wanted` what each cell asks for."""
        families = self.families
        first = np.minimum(self.minimum, wanted)
        surplus = capacity - families.sums(first)
        short = surplus < 0
        if self.lending is not None:
            surplus -= families.sums(np.maximum(self.minimum - first - self.lending, 0))
        surplus = np.maximum(surplus, 0)
        rooms = wanted - first
        if not short.any():
            return first + divided_columns(surplus, self.by_weight, rooms, families)
        scaled = short[families.family]
        more = divided_columns(
            np.where(short, capacity, surplus),
            np.where(scaled, self.by_minimum, self.by_weight),
            np.where(scaled, first, rooms),
            families,
        )
        return np.where(scaled, more, first + more)


class EntitlementColumns:
    """What the quotas of a tree state, as columns [resource, row]."""

    def __init__(self, tree: QuotaTree) -> None:
        self.tree = tree
        self._row_most = (SUM_MAX - 1) // max(1, len(tree))
        scale = lcm(*(weight.denominator for weight in tree.weights.values()))
        stated = [int(weight * scale) for weight in tree.weights.values()]
        highest = [max(column) for column in zip(*tree.minimums, strict=True)]
        weightiest = max(stated, default=0)
        self._large = np.array(
            [max(weightiest, scale * max(1, most)) > self._row_most for most in highest], np.bool_
        )
        self.minimum = np.array(tree.minimums, np.int64).T.copy()
        self.minimum[self._large] = 0
        self.weight = self.minimum.copy()
        if not self._large.all():
            self.weight *= scale
            self.weight[:, list(tree.weights)] = np.array(stated, np.int64)
        self.ceiling = _with_limits(tree.ceilings, tree)
        self.lending = _with_limits(tree.lending, tree)
        self._levels = [LevelColumns(level, self) for level in tree.levels]

    def shares(self, demands: Integers, capacity: Integers) -> Integers:
        """Return the share of every resource and row; `demands` has what each row's own workloads ask for."""
        large = self._large | (demands.max(axis=1, initial=0) > self._row_most)
        wanted = np.maximum(demands, 0, order="C")
        wanted[large] = 0
        asked: list[Integers] = []
        for level in reversed(self._levels):
            asked.append(np.minimum(wanted[:, level.rows].ravel(), level.ceiling))
            if level.rows.start:
                sums = level.families.sums(asked[-1])
                wanted[:, level.parents] = sums.reshape(len(wanted), len(level.parents))
        shares = np.zeros(wanted.shape, np.int64)
        for level in self._levels:
            room = shares[:, level.parents].ravel() if level.rows.start else np.maximum(capacity, 0)
            shares[:, level.rows] = level.shares(room, asked.pop()).reshape(shares[:, level.rows].shape)
        for resource in np.flatnonzero(large):
            amounts = demands[resource].tolist()
            shares[resource] = plain_shares(self.tree, int(resource), amounts, int(capacity[resource]))
        return shares


def _with_limits(stated: dict[int, Limits], tree: QuotaTree) -> Integers:
    """Return limits as columns; one that is too large to be reached is as good as none."""
    found = np.full((len(tree), len(tree.resources)), SUM_MAX, np.int64)
    if stated:
        found[list(stated)] = [
            [SUM_MAX if limit is None or limit > SUM_MAX else limit for limit in limits]
            for limits in stated.values()
        ]
    return np.ascontiguousarray(found.T)
