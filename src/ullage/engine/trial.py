"""A trial: workloads placed, moved and evicted on the side, with undo; the cluster itself is never copied.

    trial = Trial(columns)
    shape = trial.shape_of(workload)
    mark = trial.mark()
    row = trial.pick(shape)            # the best node, or -1
    trial.place(shape, row)
    trial.undo(mark)

The hard thing is to look only at what has changed. Every placement notes its row in `touched`; a shape's
scores are brought up to date for the rows touched since it was last looked at, and its rules over zones only
when a counter that they depend on has moved.
"""

from functools import cached_property
from typing import Final, NamedTuple

import msgspec
import numpy as np

from ullage.engine.capacity.admission import Place
from ullage.engine.columns import Columns
from ullage.engine.placement.devices import Devices
from ullage.engine.placement.failover_room import FailoverRoom
from ullage.engine.placement.node_columns import Flags, NodeColumns
from ullage.engine.placement.own_rules import own_rules
from ullage.engine.placement.preferences import Preferences
from ullage.engine.placement.room import Room, RowArray
from ullage.engine.placement.rule_book import RuleBook
from ullage.engine.placement.rules import EVERY, Rows, Spread
from ullage.engine.placement.scoring import CLOSED, SCORES, best_row
from ullage.engine.placement.shapes import Integers, Shape
from ullage.engine.placement.volumes import Volumes
from ullage.model.cluster import Node, Workload

SCORES_BYTES_MAX: Final = 128 << 20
"""What the scores of all shapes may take; those of shapes not asked about for longest are made anew."""
BYTES_FOR_NODE: Final = 32
"""What a shape keeps for each node: its score, and what it would take of three resources."""


class Placement(NamedTuple):
    """So many workloads of a shape put on nodes, or taken from them where counts are negative."""

    shape: Shape
    rows: int | RowArray
    counts: int | Integers


class Mark(NamedTuple):
    """A moment of a trial."""

    placements: int
    losses: int
    changes: int
    epoch: int
    looks: int


class Look(NamedTuple):
    """Scores as they were before they were brought up to date; rows of None for all of them."""

    shape: Shape
    seen: int
    rows: RowArray | None
    scores: Integers | None


class Trial:
    """The cluster as it would be; rows are nodes in the order in which ties are decided.

    With a seed the order of nodes is shuffled by it, else it is that of their names. `like` is a trial of a
    cluster from which this one differs little, and whose counts of running workloads serve again. What is new
    may be asked to leave the room that groups keep for failover (`keeps_spare`).
    """

    def __init__(
        self,
        columns: Columns,
        policy: str = "spread",
        seed: int | None = None,
        like: "Trial | None" = None,
        *,
        keeps_spare: bool = False,
    ) -> None:
        self.columns = columns
        self.policy = policy
        count = len(columns.nodes)
        order = np.arange(count) if seed is None else np.random.default_rng(seed).permutation(count)
        self.nodes: list[Node] = [columns.nodes[row] for row in order]
        self.row_of = {node.name: row for row, node in enumerate(self.nodes)}
        self.room = Room(columns, order)
        self.log: list[Placement] = []
        self._epoch = 0
        self._losses: list[int] = []
        self._looks: list[Look] | None = None
        self.lost: Flags = np.zeros(count, np.bool_)
        self.failover = FailoverRoom(columns, self.nodes, self.room, self.lost) if keeps_spare else None
        if self.failover is not None and not self.failover.keeps_some:
            self.failover = None
        self._spreads: list[tuple[Spread, Shape]] = []
        self._score = SCORES[policy]
        self._shapes: dict[tuple[object, ...], Shape] = {}
        self._of: dict[int, tuple[Shape, Workload]] = {}
        self._known: dict[tuple[object, ...], tuple[Shape, Workload]] = {}
        self._scored: dict[Shape, None] = {}
        self._scored_max = max(8, SCORES_BYTES_MAX // max(BYTES_FOR_NODE * count, 1))
        nodes = self.node_columns = NodeColumns(self.nodes)
        self.rules: RuleBook = RuleBook(columns.snapshot, nodes, self.log, like.rules if like else None)
        self.devices = Devices(columns, self.node_columns, self.room, self.log, weighs=policy == "pack")
        self.preferences: Preferences | None = None
        if policy == "preferences":
            self.preferences = Preferences(columns, order, self.rules, like.preferences if like else None)
            self.room.watch_tight_nodes()

    # Shapes

    def shape_of(self, workload: Workload) -> Shape:
        """Return the shape of a workload, compiled when first seen."""
        found = self._of.get(id(workload))
        if found is None:
            found = self._of[id(workload)] = (self._shape_of(workload), workload)
        return found[0]

    def _shape_of(self, workload: Workload) -> Shape:
        waits = workload.state == "init"
        told_apart = None if self.preferences is None else self.preferences.told_apart_by(workload)
        # Replicas mostly share their parts: whose parts are the same objects is found without comparing them.
        parts = (
            workload.namespace, workload.kind, workload.owner if workload.volumes else "",
            workload.node if waits else "", workload.terminating, id(workload.requests), id(workload.labels),
            id(workload.constraints), id(workload.volumes), told_apart,
        )  # fmt: skip
        known = self._known.get(parts)
        if known is not None:
            return known[0]
        key = (
            *parts[:5],
            self.columns.taken(workload),
            frozenset(workload.labels.items()),
            msgspec.msgpack.encode((workload.constraints, workload.volumes)),
            told_apart,
        )
        shape = self._shapes.get(key)
        if shape is None:
            shape = self._shapes[key] = self.compile(workload)
        self._known[parts] = (shape, workload)
        return shape

    @cached_property
    def volumes(self) -> Volumes:
        """What is known about volumes, made when the first workload with volumes is seen."""
        return Volumes(self.columns, self.node_columns)

    def compile(self, workload: Workload) -> Shape:
        """Return the shape of a workload, made anew."""
        requests = self.columns.taken(workload)
        vector = np.array([requests.of(name) for name in self.columns.resources], np.int64)
        closed = self.node_columns.closed_to(workload.constraints)
        shape = Shape(workload, requests, vector, self.rules.members.of(workload), closed)
        for rule in own_rules(shape, self.columns, self.room, self.row_of):
            shape.add_rule(rule)
        self.rules.compile(shape)
        kept = self.failover.rule_of(shape) if self.failover is not None else None
        if kept is not None:
            shape.add_rule(kept)
        spreads = [rule for rule in shape.wide_rules if isinstance(rule, Spread)]
        for spread in spreads:
            for row in np.flatnonzero(self.lost).tolist():
                spread.lose(row, back=False)
        self._spreads += [(rule, shape) for rule in spreads]
        if workload.volumes:
            for volume_rule in self.volumes.rules_of(workload, shape):
                shape.add_rule(volume_rule)
        self.devices.compile(shape)
        if self.preferences is not None:
            self.preferences.compile(shape)
            self.room.expect(shape)
        return shape

    def place_of(self, row: int) -> Place:
        """Return a node as admission sees it, with everything that was placed on it so far."""
        return self.columns.place(self.nodes[row], self.room.promised(row))

    def wholes(self) -> list[int]:
        """Return what there is of each resource on all nodes together, at least 1."""
        return [max(1, sum(row)) for row in self.room.limit.tolist()]

    @property
    def shapes_known(self) -> int:
        """How many kinds of workloads were seen so far."""
        return len(self._of)

    # Where something may go

    def scores(self, shape: Shape) -> Integers:
        """Return the scores of a shape on all nodes, CLOSED where it cannot go by all but its wide rules."""
        if shape.terms_seen < self.rules.terms:
            self.rules.add_terms_of_others(shape)
        room = self.room
        behind = room.changes - shape.seen
        if shape.scores is None or behind * 2 > len(self.nodes):
            if self._looks is not None:
                self._looks.append(Look(shape, 0, None, None))
            shape.scores = self._scores(shape, EVERY)
            self._keep_scores(shape)
        elif behind:
            rows = room.last_changed(behind)
            if self._looks is not None:
                self._looks.append(Look(shape, shape.seen, rows.copy(), shape.scores[rows]))
            shape.scores[rows] = self._scores(shape, rows)
        shape.seen = room.changes
        return shape.scores

    def _keep_scores(self, shape: Shape) -> None:
        self._scored.pop(shape, None)
        self._scored[shape] = None
        if len(self._scored) > self._scored_max:
            oldest = next(iter(self._scored))
            del self._scored[oldest]
            oldest.forget_scores()

    def _scores(self, shape: Shape, rows: Rows) -> Integers:
        if self.preferences is None:
            scores = self._score(self.room, shape, rows)
        else:
            scores = self.preferences.room_scores(shape, rows)
            fits = self.room.has_room(shape, rows)
            if fits is not None:
                scores = np.where(fits, scores, CLOSED)
        if self.devices.aside is not None:
            scores = np.where(scores >= 0, scores + self.devices.aside[rows], scores)
        if self._losses:
            scores = np.where(self.lost[rows], CLOSED, scores)
        if not shape.open_everywhere:
            scores = np.where(shape.open[rows], scores, CLOSED)
        for rule in shape.local_rules:
            scores = np.where(rule.allows(rows), scores, CLOSED)
        return scores

    def wide_open(self, shape: Shape) -> Flags | None:
        """Return the nodes that the rules over zones allow; None where there are no such rules."""
        if not shape.wide_rules:
            return None
        if shape.stale or shape.wide_open is None:
            allowed = shape.wide_rules[0].allows(EVERY)
            for rule in shape.wide_rules[1:]:
                allowed = allowed & rule.allows(EVERY)
            shape.wide_open = allowed
            shape.stale = False
        return shape.wide_open

    def feasible(self, shape: Shape) -> Flags:
        """Return the nodes that would take one more workload of a shape now."""
        fits: Flags = self.scores(shape) >= 0
        wide = self.wide_open(shape)
        return fits if wide is None else fits & wide

    def pick(self, shape: Shape) -> int:
        """Return the best node for one more workload of a shape, -1 where there is none."""
        scores = self.scores(shape)
        wide = self.wide_open(shape) if shape.wide_rules else None
        if shape.disks is not None and (self.preferences is None or self.preferences.after_disks):
            scores = np.where(shape.disks.cheapest(self.feasible(shape)), scores, CLOSED)
        if self.preferences is not None:
            return self.preferences.pick(shape, scores, wide)
        row = best_row(scores, wide)
        if row < 0 or not self.devices.weighs(row):
            return row
        return self.devices.pick(shape, scores if wide is None else np.where(wide, scores, CLOSED))

    # What changes

    def place(self, shape: Shape, row: int, count: int = 1) -> None:
        """Put workloads of a shape on a node; a negative count takes them away."""
        self.log.append(Placement(shape, row, count))
        self._apply(shape, row, count)

    def place_many(self, shape: Shape, rows: RowArray, counts: Integers) -> None:
        """Put so many workloads of a shape on each of these nodes, no node twice."""
        self.log.append(Placement(shape, rows, counts))
        self._apply_many(shape, rows, counts)

    def _apply(self, shape: Shape, row: int, count: int) -> None:
        room = self.room
        if room.changes == room.changes_max:
            self._make_space(1)
        room.take(shape, row, count)
        for counter in self.rules.counted_by(shape.member):
            counter.add(row, count)
        for taken in shape.takes:
            taken.add(row, count)
        if self.failover is not None:
            self.failover.look_at(row)

    def _apply_many(self, shape: Shape, rows: RowArray, counts: Integers) -> None:
        self._make_space(len(rows))
        self.room.take_many(shape, rows, counts)
        for counter in self.rules.counted_by(shape.member):
            counter.add_many(rows, counts)
        for taken in shape.takes:
            for row, count in zip(rows.tolist(), counts.tolist(), strict=True):
                taken.add(row, count)
        if self.failover is not None:
            for row in rows.tolist():
                self.failover.look_at(row)

    def is_counted(self, shape: Shape) -> bool:
        """Whether a workload of a shape is seen by others, and not only by the room of its node."""
        return bool(shape.takes or self.rules.counted_by(shape.member))

    def evict(self, workload: Workload) -> None:
        """Take a running workload off its node, if it has one."""
        if workload.node:
            self.place(self.shape_of(workload), self.row_of[workload.node], -1)

    def mark(self) -> Mark:
        """Return a point in time to which `undo` can go back."""
        return Mark(len(self.log), len(self._losses), self.room.changes, self._epoch, len(self._looks or ()))

    def undo(self, mark: Mark) -> None:
        """Take back everything since a mark, the last first.

        Scores that nobody has looked at since the mark are right again as they are.
        """
        if len(self.log) == mark.placements and len(self._losses) == mark.losses:
            return
        while len(self._losses) > mark.losses:
            loss = self._losses.pop()
            self._set_lost(max(loss, ~loss), lost=loss < 0)
        while len(self.log) > mark.placements:
            shape, rows, counts = self.log.pop()
            if isinstance(rows, int):
                self._apply(shape, rows, -int(counts))
            else:
                self._apply_many(shape, rows, np.negative(counts))
        if self._epoch != mark.epoch:
            return
        changed = np.unique(self.room.changed_since(mark.changes))
        self.room.changes = mark.changes
        self.devices.rewind(changed, mark.changes)
        if self._looks is not None:
            self._look_back(self._looks, mark.looks)
        for shape in self._scored:
            # Also those that an undo within this one has scored: of its looks nothing is left.
            if shape.seen > mark.changes and shape.scores is not None:
                shape.scores[changed] = self._scores(shape, changed)
                shape.seen = mark.changes

    def remember_looks(self) -> None:
        """From now on, keep scores that are brought up to date, so that `undo` puts them back at once.

        For questions that try and undo a great many times; what is kept is let go of by each undo.
        """
        self._looks = []

    def _look_back(self, looks: list[Look], count: int) -> None:
        """Put back scores that were brought up to date; those of shapes that were scored whole stay."""
        whole: set[Shape] = set()
        while len(looks) > count:
            shape, seen, rows, scores = looks.pop()
            if rows is None or scores is None:
                whole.add(shape)
            elif shape.scores is not None and shape not in whole:
                shape.scores[rows] = scores
                shape.seen = seen

    def lose(self, row: int) -> None:
        """Take a node out of the cluster until undone; what runs there is not evicted by this."""
        self._losses.append(row)
        self._set_lost(row, lost=True)

    def regain(self, row: int) -> None:
        """Bring a lost node back until undone."""
        self._losses.append(~row)
        self._set_lost(row, lost=False)

    def _set_lost(self, row: int, *, lost: bool) -> None:
        self._make_space(1)
        self.lost[row] = lost
        self.room.note(row)
        if self.failover is not None:
            self.failover.look_at(row)
        for rule, shape in self._spreads:
            rule.lose(row, back=not lost)
            shape.stale = True

    def _make_space(self, coming: int) -> None:
        """Forget all scores where no more changes can be noted."""
        if self.room.changes + coming <= self.room.changes_max:
            return
        self.room.forget_changes(coming)
        self._epoch += 1
        for shape in self._shapes.values():
            shape.forget_scores()
            shape.seen = 0
        self._scored.clear()
        if self._looks is not None:
            self._looks.clear()
        self.devices.forget()
