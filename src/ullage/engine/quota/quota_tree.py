"""Quotas as a tree in rows: level by level, the children of one parent side by side, in order of names.

The workloads that a parent holds itself are one more child of it, of the same name: a row of their own in
the level below, with the part of the parent's guarantee that no child has. Amounts are lists [row][resource]
over the resources that some `min` names; what is seldom stated is kept for the rows that state it.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from ullage.model.cluster import Quota
from ullage.model.errors import InputError
from ullage.model.resources import Resources

Limits = list[int | None]
"""A limit for each resource; None where none is stated."""


class Level(NamedTuple):
    """Rows of one depth; `starts` has the first row of each family, `parents` the row of its parent."""

    start: int
    stop: int
    starts: list[int]
    parents: list[int]


class QuotaTree:
    """The rows of some quotas, what they state, and their levels from the roots down.

    `rows` has the row of each quota, `own_rows` that of the workloads it holds itself where it has children.
    A quota whose parent is not among them is a root. The roots have no parent: `parents` of level 0 is [-1].
    """

    def __init__(self, quotas: Sequence[Quota]) -> None:
        self.resources = tuple(sorted({name for quota in quotas for name in quota.min}))
        self.rows: dict[str, int] = {}
        self.own_rows: dict[str, int] = {}
        self.minimums: list[list[int]] = []
        self.weights: dict[int, Fraction] = {}
        self.ceilings: dict[int, Limits] = {}
        self.lending: dict[int, Limits] = {}
        self.levels: list[Level] = []
        by_name = {quota.name: quota for quota in sorted(quotas, key=lambda quota: quota.name)}
        children: dict[str, list[Quota]] = {}
        for quota in by_name.values():
            children.setdefault(quota.parent if quota.parent in by_name else "", []).append(quota)
        families: list[tuple[Quota | None, list[Quota]]] = [(None, children[""])] if "" in children else []
        while families:
            self._place(families)
            parents = [quota for _, members in families for quota in members if quota.name in children]
            families = [(quota, children[quota.name]) for quota in parents]
        if len(self.rows) < len(by_name):
            lost = next(name for name in by_name if name not in self.rows)
            raise InputError(f"quota {lost}: its parents form a circle", remedy="let one of them have none")

    def __len__(self) -> int:
        return len(self.minimums)

    def _place(self, families: list[tuple[Quota | None, list[Quota]]]) -> None:
        """Add a level: the children of each parent, among them the workloads that it holds itself."""
        start, starts, parents = len(self), [], []
        for parent, members in families:
            starts.append(len(self))
            parents.append(-1 if parent is None else self.rows[parent.name])
            for member in members:
                if parent is not None and parent.name not in self.own_rows and parent.name < member.name:
                    self._add_own(parent)
                self._add(member)
            if parent is not None:
                if parent.name not in self.own_rows:
                    self._add_own(parent)
                self._leave_to_own(parent, starts[-1])
        self.levels.append(Level(start, len(self), starts, parents))

    def _add(self, quota: Quota) -> None:
        row = self.rows[quota.name] = len(self)
        self.minimums.append([quota.min.of(name) for name in self.resources])
        if quota.weight is not None:
            self.weights[row] = quota.weight
        if quota.max or quota.borrowing_limit:
            self.ceilings[row] = self._ceilings(row, quota)
        if quota.lending_limit:
            self.lending[row] = self._limits(quota.lending_limit)

    def _add_own(self, quota: Quota) -> None:
        """Add the workloads that a parent holds itself; they have its weight where one is stated."""
        row = self.own_rows[quota.name] = len(self)
        self.minimums.append([0] * len(self.resources))
        if quota.weight is not None:
            self.weights[row] = quota.weight

    def _leave_to_own(self, parent: Quota, start: int) -> None:
        """Give a parent's own workloads what its children, from row `start` on, leave of its guarantee."""
        taken = map(sum, zip(*self.minimums[start:], strict=True))
        whole = self.minimums[self.rows[parent.name]]
        left = [max(0, all_of_it - part) for all_of_it, part in zip(whole, taken, strict=True)]
        self.minimums[self.own_rows[parent.name]] = left

    def _limits(self, given: Resources) -> Limits:
        return [given.of(name) if name in given else None for name in self.resources]

    def _ceilings(self, row: int, quota: Quota) -> Limits:
        """Return the most a quota may have of each resource: its max, or its min with what it may borrow."""
        found = self._limits(quota.max)
        if quota.borrowing_limit:
            for place, limit in enumerate(self._limits(quota.borrowing_limit)):
                if limit is not None:
                    most, bound = self.minimums[row][place] + limit, found[place]
                    found[place] = most if bound is None else min(bound, most)
        return found
