"""Room that groups keep so that some of their nodes may fail: what is new leaves it untouched.

    spare  = the largest sum of (free + committed) over any k nodes of the group
    budget = what the group has left - spare: what can still be promised there, resource by resource

A workload goes to a group only while what it takes is within the budget, whichever node it goes to. Daemons
belong to their node and are not started elsewhere: nothing is kept for them, and nothing keeps them off.
Nodes that a question does not mean are of no group here: what they have free is no room for those that it
means. The hard thing is to follow a trial: a placement changes one node, and only the shapes that have looked
at the budget since are told to look again.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

import numpy as np

from ullage.engine.columns import Columns
from ullage.engine.placement.node_columns import Flags
from ullage.engine.placement.node_rules import NOT_MEANT
from ullage.engine.placement.room import Room, RowArray
from ullage.engine.placement.rules import Rows
from ullage.engine.placement.shapes import Integers, Shape
from ullage.engine.redundancy.daemons import is_daemon
from ullage.model.cluster import Node
from ullage.model.settings import rules_for

REASON: Final = "room kept for failover"
_NO_GROUP: Final = -1


class _Group:
    """What one group has left and what it needs for a failure, by resource, in integers without bound."""

    def __init__(self, name: str, spare_nodes: int, resources: int) -> None:
        self.name = name
        self.spare_nodes = spare_nodes
        self.rows: list[int] = []
        self.left = [0] * resources
        self.needed: list[int] | None = None


class FailoverRoom:
    """The groups of a trial that keep spare nodes, and what can still be promised in each."""

    def __init__(self, columns: Columns, nodes: Sequence[Node], room: Room, lost: Flags) -> None:
        self._columns = columns
        self._nodes = nodes
        self._room = room
        self._lost = lost
        self._is_waived = False
        self._lookers: list[Shape] = []
        self._counted: Flags = room.bounded & (room.capacity > 0)
        shape = room.free.shape
        self._left: Integers = np.zeros(shape, np.int64)
        self._whole: Integers = np.zeros(shape, np.int64)
        self._groups: list[_Group] = []
        self._code_of: list[int] = [_NO_GROUP] * len(nodes)
        self._find_groups()
        self._codes = np.array(self._code_of, np.intp)
        for group in self._groups:
            for row in group.rows:
                self._count(group, row)

    def _find_groups(self) -> None:
        snapshot, resources = self._columns.snapshot, len(self._columns.resources)
        codes: dict[str, int] = {}
        for row, node in enumerate(self._nodes):
            if NOT_MEANT in node.taints:
                continue
            code = codes.get(node.group)
            if code is None:
                spare = rules_for(snapshot.policy, snapshot.resource_types, node.group).spare_nodes
                code = codes[node.group] = len(self._groups) if spare else _NO_GROUP
                if spare:
                    self._groups.append(_Group(node.group, spare, resources))
            if code != _NO_GROUP:
                self._code_of[row] = code
                self._groups[code].rows.append(row)

    @property
    def keeps_some(self) -> bool:
        """Whether any group keeps spare nodes."""
        return bool(self._groups)

    # What changes

    def look_at(self, row: int) -> None:
        """Take note that a node has changed: something was placed there or taken away, or it was lost."""
        code = self._code_of[row]
        if code != _NO_GROUP:
            self._count(self._groups[code], row)
            self._tell()

    def _count(self, group: _Group, row: int) -> None:
        node, counted = self._nodes[row], self._counted[:, row]
        beyond = self._room.left_of_limit(row)
        is_there = not self._lost[row]
        left = np.where(counted & (is_there and node.state == "ready"), np.maximum(beyond, 0), 0)
        committed = self._room.limit[:, row] - beyond
        whole = np.where(counted & (is_there and node.state != "offline"), left + committed, 0)
        for column, change in enumerate((left - self._left[:, row]).tolist()):
            group.left[column] += change
        if group.needed is not None and (whole != self._whole[:, row]).any():
            group.needed = None
        self._left[:, row], self._whole[:, row] = left, whole

    def _tell(self) -> None:
        for shape in self._lookers:
            shape.stale = True
        self._lookers.clear()

    def _needed(self, group: _Group) -> list[int]:
        """Return what any so many nodes that fail would take with them or hand over, at most."""
        if group.needed is None:
            wholes = self._whole[:, group.rows].tolist()
            group.needed = [sum(sorted(each)[-group.spare_nodes :]) for each in wholes]
        return group.needed

    @contextmanager
    def waived(self) -> Iterator[None]:
        """Judge as if nothing were kept, for as long as this lasts."""
        self._is_waived = True
        self._tell()
        try:
            yield
        finally:
            self._is_waived = False
            self._tell()

    # What holds

    def rule_of(self, shape: Shape) -> "FailoverRule | None":
        """Return what keeps a shape from the room that is kept; None where nothing does."""
        return None if is_daemon(shape.workload) else FailoverRule(self, shape)

    def allows(self, shape: Shape, rows: Rows) -> Flags:
        """Return which of some nodes are of groups that can promise one more of a shape."""
        self._lookers.append(shape)
        codes = self._codes[rows]
        if self._is_waived:
            return np.ones(len(codes), np.bool_)
        can = [not any(self._lacks(group, shape)) for group in self._groups]
        return np.array([*can, True], np.bool_)[codes]  # the last is for nodes of no such group

    def _lacks(self, group: _Group, shape: Shape) -> Iterator[tuple[int, int]]:
        """Yield each resource of which a group cannot promise what a shape takes, and how much is missing."""
        needed = self._needed(group)
        for column, amount in shape.takings:
            missing = amount - (group.left[column] - needed[column])
            if missing > 0 and self._counted[column, group.rows].any():
                yield column, missing

    def missing(self, shape: Shape) -> Integers:
        """Return what the groups of nodes lack of what a shape takes, [resource that it takes, node]."""
        by_group = np.zeros((len(shape.takings), len(self._groups) + 1), np.int64)
        places = {column: place for place, (column, _) in enumerate(shape.takings)}
        for code, group in enumerate(self._groups if not self._is_waived else ()):
            for column, missing in self._lacks(group, shape):
                by_group[places[column], code] = missing
        return by_group[:, self._codes]

    def budgets(self) -> Iterator[tuple[RowArray, dict[int, int]]]:
        """Yield the nodes of each group that keeps something, and what it can still promise by column."""
        for group in self._groups if not self._is_waived else ():
            needed = self._needed(group)
            bounded = self._counted[:, group.rows].any(axis=1)
            yield (
                np.array(group.rows, np.intp),
                {
                    column: max(0, group.left[column] - needed[column])
                    for column in np.flatnonzero(bounded).tolist()
                },
            )

    def keeps_from_growing(self, row: int, shape: Shape, before: Shape) -> str:
        """Return why what was taken off a node may not come back larger; '' where it may."""
        code = self._code_of[row]
        if code == _NO_GROUP or is_daemon(shape.workload):
            return ""
        group, held = self._groups[code], dict(before.takings)
        grown = {column for column, amount in shape.takings if amount > held.get(column, 0)}
        lacks = {column: missing for column, missing in self._lacks(group, shape) if column in grown}
        return self._words(group, shape, lacks) if lacks else ""

    def why(self, shape: Shape, openly: Flags) -> str:
        """Return what a group with open nodes keeps that a shape would need: of several the nearest to it."""
        found: list[tuple[int, float, str]] = []
        for group in self._groups:
            lacks = dict(self._lacks(group, shape))
            if not lacks or not openly[group.rows].any():
                continue
            amounts = dict(shape.takings)
            part = max(missing / amounts[column] for column, missing in lacks.items())
            found.append((len(lacks), part, self._words(group, shape, lacks)))
        return min(found)[2] if found else ""

    def _words(self, group: _Group, shape: Shape, lacks: Mapping[int, int]) -> str:
        """Return the terms of the resource that a group lacks most of, measured by what is asked for."""
        amounts = dict(shape.takings)
        column = max(lacks, key=lambda each: lacks[each] / amounts[each])
        name = self._columns.resources[column]
        show = self._columns.snapshot.resource_types[name].readable
        nodes = "node" if group.spare_nodes == 1 else "nodes"
        return (
            f"group {group.name} has {show(group.left[column])} of {name} left and keeps "
            f"{show(self._needed(group)[column])} for {group.spare_nodes} {nodes} to fail: "
            f"{show(lacks[column])} short"
        )


class FailoverRule:
    """A shape takes nothing of what the groups of nodes keep."""

    reason = REASON
    local = False
    once = False

    def __init__(self, room: FailoverRoom, shape: Shape) -> None:
        self.room = room
        self._shape = shape

    def allows(self, rows: Rows) -> Flags:
        """Return the nodes of groups that can promise one more."""
        return self.room.allows(self._shape, rows)
