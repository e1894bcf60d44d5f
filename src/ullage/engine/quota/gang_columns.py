"""Those that run and the nodes they run on as columns, made once for a snapshot and kept up afterwards.

Rows are members by key and nodes by name, so that no answer depends on the order of the input. The hard thing
is the label order: the place of a member in it and the sum of those before it are columns too, and are made
anew for the members that are left whenever some go or come.
"""

from bisect import insort
from collections.abc import Iterable, Mapping, Sequence
from copy import copy

import numpy as np
import numpy.typing as npt

from ullage.engine.quota.book import NO_QUOTA, Member
from ullage.engine.quota.standing import Standing
from ullage.engine.quota.victims import Nodes
from ullage.model.errors import InputError
from ullage.model.resources import Resources

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
NOWHERE = -1


class Columns:
    """Every member that runs, and what is free on every node; the standing is kept up with them."""

    def __init__(self, standing: Standing, running: Iterable[Member], nodes: Nodes) -> None:
        self.standing = standing
        members = sorted(running, key=lambda each: each.key)
        self._in_order: list[tuple[tuple[object, ...], Member]] = sorted(
            ((standing.order_of(each), each) for each in members if each.quota != NO_QUOTA),
            key=lambda pair: pair[0],
        )
        self._fill(members)
        self._set_nodes(nodes)

    def on(self, nodes: Nodes) -> "Columns":
        """Return the same members on nodes that have other room, or on other nodes."""
        found = copy(self)
        found._in_order = list(self._in_order)  # noqa: SLF001 - the copy is one of these
        found._set_nodes(nodes)  # noqa: SLF001 - and so here
        return found

    def _set_nodes(self, nodes: Nodes) -> None:
        """Make the columns of nodes, and what depends on them."""
        self.capacity: Mapping[str, int] = nodes.capacity
        self.nodes: tuple[str, ...] = tuple(sorted(nodes.free))
        self.node_row: dict[str, int] = {name: row for row, name in enumerate(self.nodes)}
        named = {name for free in nodes.free.values() for name in free}
        named.update(name for takes in self._shapes for name in takes)
        self.resources: tuple[str, ...] = tuple(sorted(named))
        self.free: Ints = _table(
            [[nodes.free[name].get(each, 0) for each in self.resources] for name in self.nodes]
        )
        self.free = self.free.reshape(len(self.nodes), len(self.resources))
        self._fill_nodes()

    def _fill(self, members: Sequence[Member]) -> None:
        """Make the columns of members, which are given by key."""
        self.members: tuple[Member, ...] = tuple(members)
        self.row: dict[str, int] = {each.key: row for row, each in enumerate(members)}
        if len(self.row) < len(members):
            raise InputError("two running workloads have the same key", remedy="give each a key of its own")
        count = len(members)
        self.quota: Ints = _column([each.quota for each in members])
        self.amounts: Ints = _table([each.amounts for each in members]).reshape(
            count, len(self.standing.book.resources)
        )
        self._shapes: dict[Resources, int] = {}
        self._shape: Ints = _column(
            [self._shapes.setdefault(each.takes, len(self._shapes)) for each in members]
        )
        self._places: dict[str, int] = {}
        self._place: Ints = _column(
            [self._places.setdefault(each.node, len(self._places)) for each in members]
        )
        self.priority: Ints = _column([each.priority for each in members])
        self.created: Ints = _column([each.created_seconds for each in members])
        most = max((len(each.budgets) for each in members), default=0)
        self.budgets: Ints = np.full((count, most), NOWHERE, np.int64)
        for row, each in enumerate(members):
            if each.budgets:
                self.budgets[row, : len(each.budgets)] = each.budgets
        self._order()

    def _fill_nodes(self) -> None:
        """Make the columns of members that depend on the nodes."""
        takes = _table([[takes.of(name) for name in self.resources] for takes in self._shapes])
        self.takes: Ints = takes.reshape(len(self._shapes), len(self.resources))[self._shape]
        self.node: Ints = _column([self.node_row.get(name, NOWHERE) for name in self._places])[self._place]
        self.by_node: Ints = np.lexsort((self.taste, self.node))

    def _order(self) -> None:
        """Make the columns that depend on who else runs: place in the label order, label, preference."""
        count = len(self.members)
        in_order = _column([self.row[member.key] for _, member in self._in_order])
        self.rank: Ints = np.full(count, NOWHERE, np.int64)
        self.rank[in_order] = np.arange(len(in_order))
        by_quota = in_order[np.argsort(self.quota[in_order], kind="stable")]
        sums = np.cumsum(self.amounts[by_quota], axis=0)
        quotas = self.quota[by_quota]
        starts = np.flatnonzero(np.diff(quotas, prepend=NO_QUOTA))
        offsets = np.where(starts[:, None] > 0, sums[starts - 1], 0) if len(starts) else sums[:0]
        self.sum_to: Ints = np.zeros_like(self.amounts)
        self.sum_to[by_quota] = sums - np.repeat(offsets, np.diff(starts, append=len(quotas)), axis=0)
        self.over: Flags = np.zeros(count, np.bool_)
        bound = bounds(self.standing.book.own_mins, np.iinfo(np.int64).max)
        self.over[by_quota] = (self.sum_to[by_quota] > bound[quotas]).any(axis=1)
        self.taste: Ints = np.empty(count, np.int64)
        self.taste[np.lexsort((np.arange(count), -self.created, self.priority))] = np.arange(count)

    def rows_of(self, members: Iterable[Member]) -> Flags:
        """Return which rows are these members."""
        found = np.zeros(len(self.members), np.bool_)
        found[[self.row[each.key] for each in members]] = True
        return found

    def evict(self, members: Iterable[Member]) -> None:
        """Take members away, here and from the standing, and give back what they took."""
        gone = self.rows_of(members)
        rows = np.flatnonzero(gone)
        for row in rows:
            self.standing.remove(self.members[row])
        somewhere = rows[self.node[rows] != NOWHERE]
        np.add.at(self.free, self.node[somewhere], self.takes[somewhere])
        keys = {self.members[row].key for row in rows}
        self._in_order = [pair for pair in self._in_order if pair[1].key not in keys]
        self._fill([each for each in self.members if each.key not in keys])
        self._fill_nodes()

    def place(self, members: Iterable[Member]) -> None:
        """Let members run on the nodes they name, here and in the standing."""
        added = list(members)
        unknown = next((name for each in added for name in each.takes if name not in self.resources), None)
        if unknown is not None:
            raise InputError(f"no node and no workload names {unknown}", remedy="make the columns anew")
        for member in added:
            self.standing.add(member)
            if member.quota != NO_QUOTA:
                insort(self._in_order, (self.standing.order_of(member), member), key=lambda pair: pair[0])
            row = self.node_row.get(member.node, NOWHERE)
            if row != NOWHERE:
                self.free[row] -= _column([member.takes.of(name) for name in self.resources])
        self._fill(sorted((*self.members, *added), key=lambda each: each.key))
        self._fill_nodes()


def bounds(terms: Sequence[Sequence[int | None]], unnamed: int) -> Ints:
    """Return bounds of quotas as a table, with a value where a resource is not named."""
    rows = [[unnamed if each is None else each for each in row] for row in terms]
    return _table(rows).reshape(len(rows), len(rows[0]) if rows else 0)


def _table(rows: Sequence[Sequence[int]]) -> Ints:
    return np.array(rows, np.int64)


def _column(values: Sequence[int]) -> Ints:
    return np.array(values, np.int64)
