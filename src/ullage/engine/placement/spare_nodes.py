"""Nodes that could be added, kept beside the cluster: a trial in which all are lost, and found at need.

To make a trial of the cluster with more nodes costs as much as the cluster is large; to find a few nodes in
one that is there already costs what they are. The hard thing is to keep that trial in step with the one the
question is asked on: it takes back what the other has taken back, and repeats what was placed there since.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec
import numpy as np

from ullage.engine.placement.at_most import AtMost, rows_allowed
from ullage.engine.placement.batches import all_fit, place_replicas
from ullage.engine.placement.new_drives import with_new_drives
from ullage.engine.placement.node_rules import closed_by
from ullage.engine.placement.room import RowArray
from ullage.engine.placement.shapes import Shape
from ullage.engine.trial import Mark, Placement, Trial
from ullage.model.cluster import Node, Workload
from ullage.model.delta import Delta

SPARES_MAX: Final = 512
"""Spare nodes of all kinds together."""
OF_A_KIND_MAX: Final = 32


class Spares(NamedTuple):
    """The spare nodes of one kind: the node they are like, their rows, and the daemons that run on them."""

    model: Node
    rows: RowArray
    daemons: tuple[Workload, ...]


class _Step(NamedTuple):
    """So many placements of the other trial are repeated at this moment of the own one."""

    repeated: int
    mark: Mark


class SpareNodes:
    """A trial of the cluster and of spare nodes, all of them lost, which follows another trial."""

    def __init__(self, trial: Trial, models: Sequence[Node], daemons: Sequence[Workload]) -> None:
        self._followed = trial
        each = min(OF_A_KIND_MAX, max(1, SPARES_MAX // max(1, len(models))))
        named = [_unused(model, each, trial) for model in models]
        self.trial = larger_trial(trial, Delta(nodes=tuple(node for nodes in named for node in nodes)))
        row_of = self.trial.row_of
        self._row_of = np.array([row_of[node.name] for node in trial.nodes], np.intp)
        self.kinds = [
            Spares(
                model,
                np.array([row_of[node.name] for node in nodes], np.intp),
                tuple(daemon for daemon in daemons if not closed_by(nodes[0], daemon)),
            )
            for model, nodes in zip(models, named, strict=True)
        ]
        for kind in self.kinds:
            for row in kind.rows.tolist():
                self.trial.lose(row)
        self._repeated: list[Placement] = []
        self._steps = [_Step(0, self.trial.mark())]

    def follow(self) -> None:
        """Bring the trial into the state of the other one."""
        log, repeated = self._followed.log, self._repeated
        while self._steps[-1].repeated > _in_common(log, repeated):
            self._steps.pop()
        same, mark = self._steps[-1]
        self.trial.undo(mark)
        repeat(log[same:], self.trial, self._row_of)
        repeated[same:] = log[same:]
        self._steps.append(_Step(len(log), self.trial.mark()))

    def find(self, kind: Spares, count: int) -> None:
        """Bring so many spare nodes of a kind into the cluster, with their daemons, until undone."""
        rows = kind.rows[:count]
        for row in rows.tolist():
            self.trial.regain(row)
        for daemon in kind.daemons:
            self.trial.place_many(self.trial.shape_of(daemon), rows, np.ones(len(rows), np.int64))

    def takes_one(self, kind: Spares, shape: Shape) -> bool:
        """Whether an empty node of a kind is open to a shape and large enough."""
        row = kind.rows[:1]
        if not shape.open[row[0]]:
            return False
        mark = self.trial.mark()
        self.find(kind, 1)
        is_allowed = len(rows_allowed(self.trial, shape, row, with_size=True)) > 0
        has_room = bool((self.trial.room.free[shape.columns, row[0]] >= shape.amounts).all())
        self.trial.undo(mark)
        return is_allowed and has_room

    def at_most(self, kind: Spares, count: int, shape: Shape) -> int:
        """Return how many replicas of a shape there could be at most beside so many nodes of a kind."""
        own = rows_allowed(self.trial, shape)
        added = rows_allowed(self.trial, shape, kind.rows[:count])
        mark = self.trial.mark()
        if self.trial.failover is not None:  # what groups can promise depends on the nodes that are there
            self.find(kind, count)
        most = AtMost(self.trial, shape, np.union1d(own, added)).replicas(shape.amounts)
        self.trial.undo(mark)
        return most

    def take_the_rest(self, kind: Spares, count: int, shape: Shape, rest: int) -> bool:
        """Whether so many nodes take what is left of a shape; nothing is left placed."""
        mark = self.trial.mark()
        self.find(kind, count)
        placed = sum(place_replicas(self.trial, shape, rest).values())
        self.trial.undo(mark)
        return placed == rest

    def take_all(self, kind: Spares, count: int, shape: Shape, replicas: int) -> bool:
        """Whether all replicas of a shape fit beside so many nodes; nothing is left placed."""
        mark = self.trial.mark()
        self.find(kind, count)
        fits = all_fit(self.trial, shape, replicas)
        self.trial.undo(mark)
        return fits


def larger_trial(trial: Trial, more: Delta) -> Trial:
    """Return a trial of its own of the cluster with more nodes, on which nothing is placed."""
    columns = trial.columns.copy().advance(more)
    larger = Trial(columns, trial.policy, like=trial, keeps_spare=trial.failover is not None)
    larger.devices.expect(trial.devices.expected)
    return larger


def repeat(log: Sequence[Placement], other: Trial, row_of: RowArray) -> None:
    """Place on a trial what the log of another one says, each row of which has one here."""
    for shape, rows, counts in log:
        twin = other.shape_of(shape.workload)
        if isinstance(rows, np.ndarray):
            other.place_many(twin, row_of[rows], np.asarray(counts))
        else:
            other.place(twin, int(row_of[rows]), int(counts))


def node_like(model: Node, number: int) -> Node:
    """Return a new node like a model, its drives empty: labels that hold its name hold the new one's."""
    name = f"{model.name}-new-{number + 1}"
    labels = {key: name if value == model.name else value for key, value in model.labels.items()}
    new = with_new_drives(model) if model.drives or model.volume_groups else model
    return msgspec.structs.replace(new, name=name, labels=labels, actual=None, state="ready")


def _unused(model: Node, count: int, trial: Trial) -> list[Node]:
    """Return new nodes like a model with names that the cluster does not have."""
    found: list[Node] = []
    number = 0
    while len(found) < count:
        node = node_like(model, number)
        number += 1
        if node.name not in trial.row_of:
            found.append(node)
    return found


def _in_common(one: Sequence[Placement], other: Sequence[Placement]) -> int:
    """Return how many entries two logs have in common: where one is the same, so are all before it."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high) // 2
        if one[middle] is other[middle]:
            low = middle + 1
        else:
            high = middle
    return low
