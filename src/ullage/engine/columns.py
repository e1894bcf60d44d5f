"""The snapshot as NumPy columns: one row for each node, one column for each resource.

Building them costs one pass over the cluster; a delta costs what it changes. The arrays are changed in
place when a delta is applied, so a Columns belongs to exactly one revision: `advance` hands the arrays to
its successor and the old one refuses to be read. What-ifs that need both keep a `copy`.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

import numpy as np
import numpy.typing as npt

from ullage.engine.capacity.admission import Place
from ullage.engine.capacity.bounds import Bounds, Figures, bounds_of, committed_of, figures_of, free_of
from ullage.engine.capacity.reserved import Reserved
from ullage.engine.capacity.standby import MEMORY, Standbys
from ullage.engine.capacity.units import consumption
from ullage.model.cluster import HOLDING_STATES, Node, Snapshot, Workload
from ullage.model.delta import Delta
from ullage.model.delta import apply as apply_delta
from ullage.model.errors import InputError
from ullage.model.quantity import INT64_MAX
from ullage.model.resources import NOTHING, Resources
from ullage.model.settings import Rules, rules_for

Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

ARRAYS: Final = ("capacity", "reserve", "allocatable", "limit", "promised", "standby", "actual", "bounded")

BY_NODE: Final = ("counts_actual", "strict")
"""Rules as columns of width one: whether actual use counts, and what a limit must keep unfilled."""

SUM_MAX: Final = 1 << 61
"""Sums that floating point puts below this surely fit 64 bits; larger ones are added up exactly."""


class RulesByPlace:
    """The rules of each node, resolved once for each group and each node that has settings of its own."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._policy = snapshot.policy
        self._types = snapshot.resource_types
        self._own = frozenset(name for layer in snapshot.policy.layers for name in layer.nodes)
        self._found: dict[tuple[str, str], Rules] = {}

    def of(self, node: Node) -> Rules:
        """Return the rules that apply to a node."""
        place = (node.group, node.name if node.name in self._own else "")
        rules = self._found.get(place)
        if rules is None:
            rules = self._found[place] = rules_for(self._policy, self._types, *place)
        return rules


class Columns:
    """Capacity, reserve, limit, promises, standby, actual use of every node, as arrays [node, resource]."""

    __slots__ = (
        "_bounds_cache", "_cluster_rules", "_rules", "_stale", "actual", "allocatable", "bounded", "capacity",
        "counts_actual", "limit", "node_index", "nodes", "promised", "reserve", "reserved",
        "resource_index", "resources", "snapshot", "standby", "standbys", "strict",
    )  # fmt: skip

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self._stale = False
        self._rules = RulesByPlace(snapshot)
        self._cluster_rules = rules_for(snapshot.policy, snapshot.resource_types)
        self._bounds_cache: dict[object, dict[str, Bounds]] = {}
        self.nodes = list(snapshot.nodes)
        self.node_index = {node.name: row for row, node in enumerate(self.nodes)}
        self.standbys, self.reserved = Standbys(), Reserved()
        shapes = _Shapes(self)
        self.resources = sorted(_named_resources(self.nodes) | shapes.named())
        self.resource_index = {name: column for column, name in enumerate(self.resources)}
        size = (len(self.nodes), len(self.resources))
        self.capacity, self.reserve, self.allocatable = (np.zeros(size, np.int64) for _ in range(3))
        self.limit, self.promised, self.actual = (np.zeros(size, np.int64) for _ in range(3))
        self.standby = np.zeros(size, np.int64)
        self.bounded = np.ones(size, np.bool_)
        self.counts_actual = np.zeros((len(self.nodes), 1), np.bool_)
        self.strict = np.zeros((len(self.nodes), 1), np.int64)
        self._set_nodes(range(len(self.nodes)))
        shapes.add_to(self.promised, self.resources)
        self._set_standby(self.standbys.nodes())

    # What is read

    @property
    def committed(self) -> Integers:
        """What is taken on each node."""
        self._check_current()
        counted = committed_of(self.promised, self.actual, self.reserve, counts_actual=True)
        return np.where(self.counts_actual, counted, self.promised)

    @property
    def free(self) -> Integers:
        """What each node can still promise; read it only where `bounded`."""
        return free_of(self.limit, self.committed, self.standby)

    def taken(self, workload: Workload) -> Resources:
        """Return what a workload takes from its node, which by the policy may be more than it asks for."""
        return consumption(workload.kind, workload.requests, self._cluster_rules)

    def rules_of(self, node: Node) -> Rules:
        """Return the rules that apply to a node."""
        return self._rules.of(node)

    def figures(self, row: int) -> Mapping[str, Figures]:
        """Return the terms of one node."""
        return self.place_of(row).figures

    def place_of(self, row: int) -> Place:
        """Return the node of a row as admission sees it."""
        self._check_current()
        return self.place(self.nodes[row], self.promised[row].tolist())

    def place(self, node: Node, promised: list[int]) -> Place:
        """Return a node on which so much of each resource is promised as admission sees it."""
        rules = self.rules_of(node)
        amounts = Resources(zip(self.resources, promised, strict=True))
        held = self.standbys.held(node.name)
        standby = Resources({MEMORY: held}) if held else NOTHING
        figures = figures_of(node, rules, amounts, self._bounds(node, rules), standby)
        return Place(node.name, figures, rules, self.snapshot.resource_types)

    # What changes

    def advance(self, delta: Delta) -> "Columns":
        """Return the columns of the next revision.

        Workloads and changed nodes cost what they are; a node that appears or goes, or a resource nobody
        named before, moves the arrays once in memory.
        """
        self._check_current()
        after = apply_delta(self.snapshot, delta)
        successor = self._shallow()
        try:
            successor._change(delta, after)  # noqa: SLF001 - the successor is a Columns too
        except InputError:
            self.__init__(self.snapshot)  # type: ignore[misc]  # the arrays are half changed: count again
            raise
        self._stale = True
        return successor

    def _change(self, delta: Delta, after: Snapshot) -> None:
        before = self.snapshot.workloads
        put = dict.fromkeys(workload.key for workload in delta.workloads)
        relied_on = {node.name for node in delta.nodes}
        for key in {**put, **dict.fromkeys(delta.dropped.get("workloads", ()))}:
            old = before.get(key)
            if old is not None and old.holds_capacity:
                self.promise(old.node, self.taken(old) * -1)
                self.standbys.count(old, -1)
                self.reserved.count(old, self.taken(old), -1)
                relied_on.add(old.standby)
        self.snapshot = after
        self._change_nodes(delta.nodes, delta.dropped.get("nodes", ()))
        self._name_resources(name for each in delta.workloads for name in self.taken(each))
        for key in put:
            new = after.workloads[key]
            if new.holds_capacity:
                if new.node not in self.node_index:
                    raise _unknown_node(new)
                self.promise(new.node, self.taken(new))
                self.standbys.count(new)
                self.reserved.count(new, self.taken(new))
                relied_on.add(new.standby)
        self._set_standby(relied_on)

    def _set_standby(self, names: Iterable[str]) -> None:
        """Fill in what nodes hold for failover; of nodes that are not there nothing is held."""
        held = {self.node_index[name]: self.standbys.held(name) for name in names if name in self.node_index}
        if any(held.values()):
            self._name_resources((MEMORY,))
        if MEMORY in self.resource_index:
            for row, amount in held.items():
                if amount > SUM_MAX:
                    raise _too_much(MEMORY)
                self.standby[row, self.resource_index[MEMORY]] = amount

    def promise(self, node: str, requests: Resources) -> None:
        """Count requests on a node; a negative amount is given back."""
        row = self.node_index[node]
        for resource, amount in requests.items():
            if not amount:
                continue
            column = self.resource_index[resource]
            total = int(self.promised[row, column]) + amount
            if total > INT64_MAX:
                raise _too_much(resource)
            self.promised[row, column] = total

    def copy(self) -> "Columns":
        """Return columns with arrays of their own."""
        self._check_current()
        other = self._shallow()
        other.nodes = list(self.nodes)
        other.standbys, other.reserved = self.standbys.copy(), self.reserved.copy()
        for name in (*ARRAYS, *BY_NODE):
            setattr(other, name, getattr(self, name).copy())
        return other

    def after(self, snapshot: Snapshot) -> "Columns":
        """Return columns, with arrays of their own, of a cluster that has other workloads."""
        put, dropped = self.snapshot.workloads.difference(snapshot.workloads)
        other = self.copy()
        other._change(Delta(workloads=tuple(put), dropped={"workloads": tuple(dropped)}), snapshot)  # noqa: SLF001 - the other one is a Columns too
        return other

    def without_standby(self) -> "Columns":
        """Return columns in which nothing is held for failover, for those who say themselves who fails."""
        if not self.standby.any():
            return self
        other = self.copy()
        other.standbys = Standbys()
        other.standby[...] = 0
        return other

    def _shallow(self) -> "Columns":
        other = object.__new__(Columns)
        for name in Columns.__slots__:
            setattr(other, name, getattr(self, name))
        other._stale = False
        return other

    def _check_current(self) -> None:
        if self._stale:
            raise RuntimeError(f"columns of revision {self.snapshot.revision} were advanced: keep a copy()")

    def _change_nodes(self, put: Iterable[Node], dropped: Iterable[str]) -> None:
        """Replace rows in place; insert and delete rows so that they stay in order of names."""
        changed = {node.name: node for node in put}
        gone = {self.node_index[name] for name in dropped if name in self.node_index and name not in changed}
        if gone:
            self._check_empty({self.nodes[row].name for row in gone})
            self._move_rows(lambda column: np.delete(column, sorted(gone), axis=0))
            self._index_nodes([node for row, node in enumerate(self.nodes) if row not in gone])
        self._name_resources(
            name for node in changed.values() for name in {*node.capacity, *(node.actual or ())}
        )
        new = sorted(name for name in changed if name not in self.node_index)
        if new:
            names = [node.name for node in self.nodes]
            places = [bisect_left(names, name) for name in new]
            self._move_rows(lambda column: np.insert(column, places, 0, axis=0))
            self._index_nodes(
                sorted((*self.nodes, *(changed[name] for name in new)), key=lambda node: node.name)
            )
        rows = [self.node_index[name] for name in changed]
        for row, node in zip(rows, changed.values(), strict=True):
            self.nodes[row] = node
        self._set_nodes(rows)

    def _check_empty(self, gone: set[str]) -> None:
        for workload in self.snapshot.workloads:
            if workload.node in gone and workload.holds_capacity:
                raise _unknown_node(workload)

    def _move_rows(self, move: Callable[[npt.NDArray[np.generic]], npt.NDArray[np.generic]]) -> None:
        for name in (*ARRAYS, *BY_NODE):
            setattr(self, name, move(getattr(self, name)))

    def _index_nodes(self, nodes: list[Node]) -> None:
        self.nodes = nodes
        self.node_index = {node.name: row for row, node in enumerate(nodes)}

    def _name_resources(self, names: Iterable[str]) -> None:
        """Give every resource that is not yet known a column of its own, in order of names."""
        new = sorted(set(names) - set(self.resources))
        if not new:
            return
        places = [bisect_left(self.resources, name) for name in new]
        for name in ARRAYS:
            setattr(self, name, np.insert(getattr(self, name), places, name == "bounded", axis=1))
        self.resources = sorted((*self.resources, *new))
        self.resource_index = {name: column for column, name in enumerate(self.resources)}

    def _bounds(self, node: Node, rules: Rules) -> dict[str, Bounds]:
        place = (node.capacity, node.reserve, node.cpu_conversion_factor, id(rules))
        found = self._bounds_cache.get(place)
        if found is None:
            found = self._bounds_cache[place] = bounds_of(node, rules)
        return found

    def _set_nodes(self, rows: Iterable[int]) -> None:
        """Fill the rows of nodes, class by class: equal nodes have equal bounds."""
        chosen = list(rows)
        for name in ("capacity", "reserve", "allocatable", "limit", "actual"):
            getattr(self, name)[chosen] = 0
        self.bounded[chosen] = True
        classes: dict[int, tuple[dict[str, Bounds], list[int]]] = {}
        for row in chosen:
            node = self.nodes[row]
            rules = self._rules.of(node)
            bounds = self._bounds(node, rules)
            classes.setdefault(id(bounds), (bounds, []))[1].append(row)
            self.counts_actual[row, 0] = rules.committed == "actual"
            self.strict[row, 0] = rules.fill == "below"
            if node.actual:
                for resource, amount in node.actual.items():
                    self.actual[row, self.resource_index[resource]] = amount
        for bounds, members in classes.values():
            for resource, bound in bounds.items():
                column = self.resource_index[resource]
                self.capacity[members, column] = bound.capacity
                self.reserve[members, column] = bound.reserve
                self.allocatable[members, column] = bound.allocatable
                self.limit[members, column] = bound.limit or 0
                self.bounded[members, column] = bound.limit is not None


class _Shapes:
    """The workloads that hold capacity, as pairs of node row and shape: requests come in few shapes.

    One pass over the workloads, and nothing but numbers kept of it: a cluster of millions of workloads is
    larger than every cache, so each further look at all of them costs more than the work itself.
    """

    def __init__(self, columns: Columns) -> None:
        self.shapes: dict[Resources, int] = {}
        nodes = max(1, len(columns.node_index))
        pairs = np.fromiter(self._pairs(columns), np.int64)
        self.kinds, self.rows = np.divmod(pairs, nodes)

    def _pairs(self, columns: Columns) -> Iterator[int]:
        """Yield shape * number of nodes + row for each workload that holds capacity."""
        node_index = columns.node_index
        rules = rules_for(columns.snapshot.policy, columns.snapshot.resource_types)
        nodes = max(1, len(node_index))
        by_kind = rules.consumption == "by-kind"
        # Equal requests are mostly one object: its identity is found faster than its value.
        by_identity: dict[object, int] = {}
        for run in columns.snapshot.workloads.runs():
            for workload in run:
                if not workload.node or workload.state not in HOLDING_STATES:
                    continue
                row = node_index.get(workload.node)
                if row is None:
                    raise _unknown_node(workload)
                if workload.standby:
                    columns.standbys.count(workload)
                if workload.promised:
                    columns.reserved.count(workload, columns.taken(workload))
                requests = workload.requests
                identity = (id(requests), workload.kind) if by_kind else id(requests)
                first = by_identity.get(identity)
                if first is None:
                    taken = consumption(workload.kind, requests, rules)
                    first = nodes * self.shapes.setdefault(taken, len(self.shapes))
                    by_identity[identity] = first
                yield first + row

    def named(self) -> set[str]:
        """Return every resource that some workload requests."""
        return {name for requests in self.shapes for name in requests}

    def add_to(self, promised: Integers, resources: list[str]) -> None:
        """Add the requests of all workloads to the rows of their nodes."""
        if not len(self.rows):
            return
        table = np.array([[requests.of(name) for name in resources] for requests in self.shapes], np.int64)
        totals = np.bincount(self.kinds).astype(np.float64) @ table.astype(np.float64)
        if totals.max(initial=0) < SUM_MAX:
            np.add.at(promised, self.rows, table[self.kinds])
            return
        exact = np.zeros(promised.shape, object)
        np.add.at(exact, self.rows, table.astype(object)[self.kinds])
        over = (exact > INT64_MAX).any(axis=0)
        if over.any():
            raise _too_much(resources[int(over.argmax())])
        promised += exact.astype(np.int64)


def _named_resources(nodes: Iterable[Node]) -> set[str]:
    maps = {each for node in nodes for each in (node.capacity, node.actual) if each is not None}
    return {name for each in maps for name in each}


def _too_much(resource: str) -> InputError:
    return InputError(
        f"the promises of {resource} add up beyond 64 bits", remedy="correct the largest request"
    )


def _unknown_node(workload: Workload) -> InputError:
    return InputError(
        f"workload {workload.key} runs on node {workload.node!r}, which is unknown",
        remedy="add the node, or remove the workload",
    )
