"""The snapshot as NumPy columns: one row for each node, one column for each resource.

Building them costs one pass over the cluster; a delta costs what it changes. The arrays are changed in
place when a delta is applied, so a Columns belongs to exactly one revision: `advance` hands the arrays to
its successor and the old one refuses to be read. What-ifs that need both keep a `copy`.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable
from typing import Final

import numpy as np
import numpy.typing as npt

from ullage.engine.capacity.bounds import Bounds, Figures, bounds_of, committed_of, free_of
from ullage.model.cluster import Node, Snapshot, Workload
from ullage.model.delta import Delta
from ullage.model.delta import apply as apply_delta
from ullage.model.errors import InputError
from ullage.model.resources import Resources
from ullage.model.settings import Rules, rules_for

Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

ARRAYS: Final = ("capacity", "reserve", "allocatable", "limit", "promised", "actual", "bounded")

BY_NODE: Final = ("counts_actual", "strict")
"""Rules as columns of width one: whether actual use counts, and what a limit must keep unfilled."""

SUM_MAX: Final = float(2**62)
"""Sums of promises beyond this are refused: the next addition could wrap."""


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
    """Capacity, reserve, limit, promises and actual use of every node, as arrays [node, resource]."""

    __slots__ = (
        "_bounds_cache", "_rules", "_stale", "_workloads", "actual", "allocatable", "bounded", "capacity",
        "counts_actual", "limit", "node_index", "nodes", "promised", "reserve", "resource_index",
        "resources", "snapshot", "strict",
    )  # fmt: skip

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self._stale = False
        self._rules = RulesByPlace(snapshot)
        self._bounds_cache: dict[object, dict[str, Bounds]] = {}
        self.nodes = list(snapshot.nodes)
        self.node_index = {node.name: row for row, node in enumerate(self.nodes)}
        self.resources = sorted(_named_resources(snapshot))
        self.resource_index = {name: column for column, name in enumerate(self.resources)}
        shape = (len(self.nodes), len(self.resources))
        self.capacity, self.reserve, self.allocatable = (np.zeros(shape, np.int64) for _ in range(3))
        self.limit, self.promised, self.actual = (np.zeros(shape, np.int64) for _ in range(3))
        self.bounded = np.ones(shape, np.bool_)
        self.counts_actual = np.zeros((len(self.nodes), 1), np.bool_)
        self.strict = np.zeros((len(self.nodes), 1), np.int64)
        self._set_nodes(range(len(self.nodes)))
        self._workloads: dict[str, tuple[str, Resources]] = {}
        self._add_all(snapshot.workloads)

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
        return free_of(self.limit, self.committed)

    def rules(self, row: int) -> Rules:
        """Return the rules that apply to the node of a row."""
        return self._rules.of(self.nodes[row])

    def figures(self, row: int) -> dict[str, Figures]:
        """Return the terms of one node."""
        self._check_current()
        rules = self.rules(row)
        bounds = self._bounds(self.nodes[row], rules)
        known = self.nodes[row].actual
        found: dict[str, Figures] = {}
        for resource, column in self.resource_index.items():
            promised, actual = int(self.promised[row, column]), int(self.actual[row, column])
            bound = bounds.get(resource)
            if bound is None:
                if not promised:
                    continue
                bound = Bounds(0, 0, "none", 0, rules.ratio(resource), 0)
            committed = committed_of(
                promised, actual, bound.reserve, counts_actual=rules.committed == "actual"
            )
            free = None if bound.limit is None else free_of(bound.limit, committed)
            seen = actual if known is not None and resource in known else None
            found[resource] = Figures(bound, promised, seen, committed, free)
        return found

    # What changes

    def advance(self, delta: Delta) -> "Columns":
        """Return the columns of the next revision.

        Workloads and changed nodes cost what they are; a node that appears or goes, or a resource nobody
        named before, moves the arrays once in memory.
        """
        self._check_current()
        after = apply_delta(self.snapshot, delta)
        successor = self._shallow()
        successor.snapshot = after
        try:
            successor._change(delta)  # noqa: SLF001 - the successor is a Columns too
        except InputError:
            self.__init__(self.snapshot)  # type: ignore[misc]  # the arrays are half changed: count again
            raise
        self._stale = True
        return successor

    def _change(self, delta: Delta) -> None:
        for key in delta.dropped.get("workloads", ()):
            self._remove(key)
        for workload in delta.workloads:
            self._remove(workload.key)
        self._change_nodes(delta.nodes, delta.dropped.get("nodes", ()))
        self._name_resources(name for each in delta.workloads for name in each.requests)
        for workload in delta.workloads:
            self._add(workload)

    def copy(self) -> "Columns":
        """Return columns with arrays of their own."""
        self._check_current()
        other = self._shallow()
        other.nodes = list(self.nodes)
        for name in (*ARRAYS, *BY_NODE):
            setattr(other, name, getattr(self, name).copy())
        other._workloads = dict(self._workloads)  # noqa: SLF001 - likewise
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
        gone = [self.node_index[name] for name in dropped if name in self.node_index]
        if gone:
            self._check_empty({self.nodes[row].name for row in gone})
            self._move_rows(lambda column: np.delete(column, gone, axis=0))
            self._index_nodes([node for row, node in enumerate(self.nodes) if row not in set(gone)])
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
        for key, (node, _) in self._workloads.items():
            if node in gone:
                raise _unknown_node(key, node)

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

    def _add_all(self, workloads: Iterable[Workload]) -> None:
        """Count all workloads in one pass: their requests are few shapes, summed shape by shape."""
        shapes: dict[Resources, int] = {}
        rows: list[int] = []
        kinds: list[int] = []
        for workload in workloads:
            if workload.holds_capacity:
                row = self._row(workload)
                rows.append(row)
                kinds.append(shapes.setdefault(workload.requests, len(shapes)))
                self._workloads[workload.key] = (workload.node, workload.requests)
        table = np.zeros((len(shapes), len(self.resources)), np.int64)
        for requests, shape in shapes.items():
            for resource, amount in requests.items():
                table[shape, self.resource_index[resource]] = amount
        if not rows:
            return
        totals = np.bincount(kinds, minlength=len(shapes)).astype(np.float64) @ np.abs(table).astype(
            np.float64
        )
        if totals.max(initial=0) > SUM_MAX:
            raise _too_much(self.resources[int(totals.argmax())])
        np.add.at(self.promised, np.array(rows), table[np.array(kinds)])

    def _row(self, workload: Workload) -> int:
        row = self.node_index.get(workload.node)
        if row is None:
            raise _unknown_node(workload.key, workload.node)
        return row

    def _add(self, workload: Workload) -> None:
        if not workload.holds_capacity:
            return
        row = self._row(workload)
        for resource, amount in workload.requests.items():
            column = self.resource_index[resource]
            total = int(self.promised[row, column]) + amount
            if abs(total) > SUM_MAX:
                raise _too_much(resource)
            self.promised[row, column] = total
        self._workloads[workload.key] = (workload.node, workload.requests)

    def _remove(self, key: str) -> None:
        if key not in self._workloads:
            return
        node, requests = self._workloads.pop(key)
        row = self.node_index[node]
        for resource, amount in requests.items():
            self.promised[row, self.resource_index[resource]] -= amount


def _named_resources(snapshot: Snapshot) -> set[str]:
    named = {name for maps in {node.capacity for node in snapshot.nodes} for name in maps}
    named.update(name for node in snapshot.nodes if node.actual for name in node.actual)
    named.update(name for maps in {each.requests for each in snapshot.workloads} for name in maps)
    return named


def _too_much(resource: str) -> InputError:
    return InputError(
        f"the promises of {resource} add up beyond 64 bits", remedy="correct the largest request"
    )


def _unknown_node(workload: str, node: str) -> InputError:
    return InputError(
        f"workload {workload} runs on node {node!r}, which is unknown",
        remedy="add the node, or remove the workload",
    )
