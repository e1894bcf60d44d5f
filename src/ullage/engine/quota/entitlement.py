"""What every quota is entitled to in mode fair: shares of the cluster from demand, never from what runs.

Each resource for itself, level by level: min(min, demand) for everybody first, the surplus by weight, in
whole units. Two forms give the same answer: plain integers, and columns for many quotas.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Final, NamedTuple

import numpy as np

from ullage.engine.quota.entitlement_columns import EntitlementColumns
from ullage.engine.quota.entitlement_plain import plain_shares
from ullage.engine.quota.quota_tree import QuotaTree
from ullage.model.cluster import Quota
from ullage.model.resources import NOTHING, Resources

CELLS_MIN: Final = 200
"""From so many rows and resources on, columns are faster than plain integers."""

Amounts = Sequence[int]


class Shares(NamedTuple):
    """For each quota: what it may have with all below it, and what the workloads it holds itself may have."""

    whole: list[list[int]]
    own: list[list[int]]


class FairTable:
    """Quotas read once, to be asked for any demand; amounts are lists over `resources`.

    Quotas stand in the order in which they were given; `resources` are those that some min names.
    """

    def __init__(self, quotas: Sequence[Quota]) -> None:
        self._tree = QuotaTree(quotas)
        self.resources = self._tree.resources
        rows, own = self._tree.rows, self._tree.own_rows
        self._rows = [rows[quota.name] for quota in quotas]
        self._own_rows = [own.get(quota.name, rows[quota.name]) for quota in quotas]
        self._columns: EntitlementColumns | None = None
        if len(self._tree) * len(self.resources) >= CELLS_MIN:
            self._columns = EntitlementColumns(self._tree)

    def shares(self, demands: Iterable[Amounts], capacity: Amounts) -> Shares:
        """Return the entitlements; `demands` has what each quota's own workloads ask for, running or not."""
        if self._columns is None:
            found = self._plainly(demands, capacity)
        else:
            asked = np.zeros((len(self._tree), len(capacity)), np.int64)
            given = np.fromiter(chain.from_iterable(demands), np.int64)
            asked[self._own_rows] = given.reshape(len(self._rows), -1)
            found = self._columns.shares(asked.T, np.array(capacity, np.int64)).T.tolist()
        return Shares([found[row] for row in self._rows], [found[row] for row in self._own_rows])

    def _plainly(self, demands: Iterable[Amounts], capacity: Amounts) -> list[list[int]]:
        asked: list[Amounts] = [[0] * len(capacity)] * len(self._tree)
        for row, amounts in zip(self._own_rows, demands, strict=True):
            asked[row] = amounts
        columns = [
            plain_shares(self._tree, place, [amounts[place] for amounts in asked], room)
            for place, room in enumerate(capacity)
        ]
        return [[column[row] for column in columns] for row in range(len(asked))]


def fair_shares(
    quotas: Sequence[Quota], demand: Mapping[str, Resources], capacity: Resources
) -> dict[str, Resources]:
    """Return the entitlement of every quota, with all below it, over the resources that some min names.

    `demand` has what the workloads of each quota itself ask for, whether they run or wait.
    """
    table = FairTable(quotas)
    names = table.resources
    asked = (demand.get(quota.name, NOTHING) for quota in quotas)
    shares = table.shares(
        ([amounts.of(name) for name in names] for amounts in asked), [capacity.of(name) for name in names]
    )
    return {
        quota.name: Resources(zip(names, share, strict=True))
        for quota, share in zip(quotas, shares.whole, strict=True)
    }
