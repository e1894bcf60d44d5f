"""Many amounts divided by weight at once: the rule of divisors.py over families side by side in columns.

A family's amount, less half a unit for each member, over its weights is a multiplier that gives nobody too
much; the amount and half a unit more, one that gives enough. Rounds over all families find both while
members reach their bounds; what lies between them, two units a member at most, is sorted. Products stay
within 64 bits because a multiplier is kept as quotient and remainder: only the square of a family's weights
must fit. A family whose weights are larger is divided by the plain form.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from ullage.engine.quota.divisors import divided

Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

WEIGHTS_MAX: Final = (1 << 30) - 1
"""The sum of a family's weights: twice its square fits 64 bits, and so does a key of twice its digits."""


class Families:
    """Cells in families of some sizes: the first cell of each family, and the family of each cell."""

    def __init__(self, sizes: Integers) -> None:
        ends = sizes.cumsum()
        self.sizes = sizes
        self.starts = ends - sizes
        self.family = np.arange(len(sizes)).repeat(sizes)
        self.cells = len(self.family)

    def sums(self, values: Integers) -> Integers:
        """Return the sum of each family."""
        found: Integers = np.add.reduceat(values, self.starts)
        return found

    def having(self, cells: Flags) -> Flags:
        """Say which families have one of some cells."""
        found: Flags = np.logical_or.reduceat(cells, self.starts)
        return found

    def only(self, cells: Flags) -> "Families":
        """Return the families of some cells; a family without such a cell is left out."""
        sizes = np.bincount(self.family[cells], minlength=1)
        return Families(sizes[sizes > 0])


def divided_columns(amounts: Integers, weights: Integers, bounds: Integers, families: Families) -> Integers:
    """Return the shares of each family's amount, as `divided` does for one."""
    contested = amounts < families.sums(bounds)
    shares = bounds.copy()
    if not contested.any():
        return shares
    dividing = contested[families.family] & (bounds > 0)
    light = weights <= 0
    if light.any():
        rest = amounts - families.sums(np.where(light, 0, bounds))
        remains = rest >= 0  # for those of weight 0: all others have their bounds
        later = remains[families.family]
        shares[dividing & light] = 0
        dividing &= light == later
        amounts = np.where(remains, rest, amounts)
        weights = np.where(light, 1, weights)
    inner = families.only(dividing)
    if inner.cells:
        parts = amounts[families.having(dividing)]
        shares[dividing] = Division(parts, weights[dividing], bounds[dividing], inner).shares()
    return shares


class Division:
    """An amount for each family, at most the sum of its bounds; no weight and no bound is 0."""

    def __init__(self, amounts: Integers, weights: Integers, bounds: Integers, families: Families) -> None:
        self.amounts = amounts
        self.weights = weights
        self.bounds = bounds
        self.families = families

    def shares(self) -> Integers:
        """Return the shares, by columns where the weights allow it."""
        large = self.families.sums(self.weights) > WEIGHTS_MAX
        if not large.any():
            return self.by_columns()
        shares = np.zeros_like(self.bounds)
        if not large.all():
            small = ~large[self.families.family]
            shares[small] = self.of(small, self.amounts[~large]).by_columns()
        self._divide_plainly(large, shares)
        return shares

    def of(self, cells: Flags, amounts: Integers) -> "Division":
        """Return the division of some cells; `amounts` are those of the families that have such cells."""
        return Division(amounts, self.weights[cells], self.bounds[cells], self.families.only(cells))

    def _divide_plainly(self, which: Flags, shares: Integers) -> None:
        for index in np.flatnonzero(which):
            start = int(self.families.starts[index])
            part = slice(start, start + int(self.families.sizes[index]))
            weights, bounds = self.weights[part].tolist(), self.bounds[part].tolist()
            shares[part] = divided(int(self.amounts[index]), weights, bounds)

    def by_columns(self) -> Integers:
        """Return the shares; no family weighs more than WEIGHTS_MAX."""
        shares, left, below = self.bounded(-1)
        unfinished = self.amounts > self.families.sums(shares)
        if not unfinished.any():
            return shares
        opened = below & unfinished[self.families.family]
        shares[opened] = self.of(opened, left[unfinished]).finished(shares[opened])
        return shares

    def multiplied(self, slack: int) -> Integers:
        """Return what the multiplier (amount + slack x members / 2) / weights gives without bounds."""
        families, every = self.families, self.families.family
        total = families.sums(self.weights)
        quotient, remainder = np.divmod(2 * self.amounts + slack * families.sizes, 2 * total)
        found = remainder[every] * self.weights
        found += total[every]
        found //= (2 * total)[every]
        found += quotient[every] * self.weights
        return found

    def bounded(self, slack: int) -> tuple[Integers, Integers, Flags]:
        """Return what a multiplier gives within bounds, what it divides among those below, and who these are.

        A slack of -1 gives nobody more than the true share, one of 1 nobody less. Each round takes out those
        who reach their bounds, and the families where nobody did; for the others the multiplier only grows.
        """
        given, left = self.bounds.copy(), self.amounts.copy()
        below = np.zeros(self.families.cells, np.bool_)
        cells, which, part = np.arange(self.families.cells), np.arange(len(left)), self
        for _ in range(self.families.cells + 1):
            found = part.multiplied(slack)
            full = found > part.bounds if slack > 0 else found >= part.bounds
            changed = part.families.having(full)[part.families.family]
            done = cells[~changed]
            given[done] = np.maximum(found[~changed], 0)
            below[done] = True
            going = changed & ~full
            if not going.any():
                break
            left[which] -= part.families.sums(np.where(full, part.bounds, 0))
            which = which[part.families.having(going)]
            cells = cells[going]
            part = part.of(going, left[which])
        return given, left, below

    def finished(self, sure: Integers) -> Integers:
        """Return the shares of families that have units left after the sure shares."""
        every = self.families.family
        shares = np.minimum(self.multiplied(0), self.bounds)
        units = self.amounts - self.families.sums(shares)
        unfinished = units != 0
        if not unfinished.any():
            return shares
        enough = shares.copy()
        few = units > 0
        if few.any():
            cells = few[every]
            enough[cells] = self.of(cells, self.amounts[few]).bounded(1)[0]
        low = np.where(few[every], shares, sure)
        opened = unfinished[every]
        rest = self.of(opened, self.amounts[unfinished])
        shares[opened] = rest.with_units(low[opened], enough[opened])
        return shares

    def with_units(self, sure: Integers, enough: Integers) -> Integers:
        """Return sure shares with the units left over, by the smallest (2 x share + 1) / weight, then place.

        The order is that of an exact key: the whole part, and so many binary digits of the fraction that two
        different fractions differ in them. The multipliers of both ends differ by less than the members left
        over their weights, so by less than 1, and the whole parts of a family by 2 at most.
        """
        families, offered = self.families, enough - sure
        cells = np.arange(families.cells).repeat(offered)
        before = offered.cumsum() - offered
        share = (sure - before)[cells] + np.arange(len(cells))
        weight = self.weights[cells]
        bits = int(self.weights.max()).bit_length()
        whole, fraction = np.divmod(2 * share + 1, weight)
        high, fraction = np.divmod(fraction << bits, weight)
        low = (fraction << bits) // weight
        family, starts = families.family[cells], before[families.starts]
        whole -= np.minimum.reduceat(whole, starts)[family]
        order = np.lexsort(((whole << 2 * bits) + (high << bits) + low, family))
        units = self.amounts - families.sums(sure)
        taken = order[np.arange(len(cells)) - starts[family] < units[family]]
        return sure + np.bincount(cells[taken], minlength=families.cells)
