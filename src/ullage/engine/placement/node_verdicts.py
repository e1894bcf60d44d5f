"""What every node says to one workload, asked again and again while the cluster changes.

A trial, and what quotas use, cost a pass over the whole cluster; here both are kept, and follow it delta by
delta. The hard thing is what they cannot follow: nodes, quotas and policies make them anew, and volumes do
as soon as a workload that has some is asked about. Whoever has a right to a place that others still leave
is `held`: it counts there for everybody else. Devices by resource claims are for whoever asks to allocate,
and whether others of its gang have places too is for a cycle of the scheduler to say.
"""

from collections.abc import Iterable, Iterator, KeysView, Mapping
from contextlib import contextmanager
from typing import Final, NamedTuple

import msgspec
import numpy as np

from ullage.engine.capacity.units import refused_by_kind
from ullage.engine.columns import Columns
from ullage.engine.placement.before import BeforePlacement
from ullage.engine.placement.chosen_volumes import with_volumes
from ullage.engine.placement.outcome import Outcome
from ullage.engine.placement.reasons import RESERVED, reasons_of
from ullage.engine.placement.scheduling import Bound
from ullage.engine.placement.shapes import Integers, Shape
from ullage.engine.quota.admitted_use import NOTHING_AGAINST, AdmittedUse
from ullage.engine.trial import Mark, Trial
from ullage.model.cluster import Batch, Workload
from ullage.model.delta import Delta
from ullage.model.settings import rules_for

FOLLOWED_MAX: Final = 50_000
"""Workloads that come and go before all is made anew: what is kept of them does not grow for ever."""
SCORE_BEST: Final = 10
"""The score of the node that would be chosen; all others have less."""
UNKNOWN_NODE: Final = "the node is not known yet"
_ANEW: Final = ("nodes", "groups", "quotas", "namespaces")
_OF_VOLUMES: Final = (
    "reservations",
    "claims",
    "volumes",
    "storage_classes",
    "storage_capacities",
    "storage_drivers",
)
NOBODY: Final[Mapping[str, str]] = {}


class NodeVerdicts:
    """The nodes of a cluster that changes, and what they say."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._kept: _Kept | None = None

    def advance(self, columns: Columns, delta: Delta) -> None:
        """Take a change into account."""
        before, self._columns = self._columns.snapshot, columns
        kept = self._kept
        if kept is None:
            return
        anew = columns.snapshot.policy is not before.policy or _touches(delta, _ANEW)
        if anew or not kept.follow(delta):
            self._kept = None

    def reasons(
        self, workload: Workload, nodes: Iterable[str], held: Mapping[str, str] = NOBODY
    ) -> dict[str, str]:
        """Return what keeps a workload off each of these nodes; nothing where it may go there now."""
        with self._asking(workload, held) as asking:
            return asking.reasons(nodes)

    def scores(
        self, workload: Workload, nodes: Iterable[str], held: Mapping[str, str] = NOBODY
    ) -> dict[str, int]:
        """Return how well these nodes suit a workload, from 0 to 10."""
        with self._asking(workload, held) as asking:
            return asking.scores(nodes)

    def bound(self, workload: Workload, node: str, held: Mapping[str, str] = NOBODY) -> Bound | str:
        """Return what a workload would get on a node, or why it may not go there."""
        with self._asking(workload, held) as asking:
            return asking.reasons((node,))[node] or asking.placed_on(node)

    @contextmanager
    def _asking(self, workload: Workload, held: Mapping[str, str]) -> Iterator["_Asking"]:
        columns, kept = self._columns, self._kept
        if kept is None or (kept.are_volumes_stale and workload.volumes):
            kept = self._kept = _Kept(columns)
        rows = {
            key: msgspec.structs.replace(found, node=node, state="ok")
            for key, node in held.items()
            if key != workload.key and (found := columns.snapshot.workloads.get(key)) is not None
        }
        mark = kept.hold(columns, rows)
        try:
            yield _Asking(columns, kept, workload)
        finally:
            kept.let_go(mark, {key: columns.snapshot.workloads.get(key) for key in rows})


class _Kept:
    """A trial and the use of quotas that follow the cluster."""

    def __init__(self, columns: Columns) -> None:
        snapshot = columns.snapshot
        self.rules = rules_for(snapshot.policy, snapshot.resource_types)
        self.trial = Trial(columns.copy(), self.rules.placement, keeps_spare=True)
        self.are_volumes_stale = False
        self._first = snapshot.workloads
        self._since: dict[str, Workload | None] = {}
        self._use: AdmittedUse | None = None
        self._followed = 0

    def use(self, columns: Columns) -> AdmittedUse:
        """Return what quotas use, counted when it is first asked for."""
        if self._use is None:
            self._use = AdmittedUse(columns)
        return self._use

    def follow(self, delta: Delta) -> bool:
        """Take a change into account; return whether that was possible."""
        known = self.trial.columns.resource_index.keys()
        gone = delta.dropped.get("workloads", ())
        self._followed += len(gone) + len(delta.workloads)
        if self._followed > FOLLOWED_MAX or not all(self._is_known(row, known) for row in delta.workloads):
            return False
        self.are_volumes_stale |= _touches(delta, _OF_VOLUMES)
        for key in gone:
            self._replace(key, None)
        for row in delta.workloads:
            self._replace(row.key, row)
        return True

    def _is_known(self, row: Workload, resources: KeysView[str]) -> bool:
        """Whether the trial can count a workload: its node and all that it takes are there."""
        trial = self.trial
        return not row.holds_capacity or (
            row.node in trial.row_of and trial.columns.taken(row).keys() <= resources
        )

    def _replace(self, key: str, row: Workload | None) -> None:
        before = self._since[key] if key in self._since else self._first.get(key)
        self._since[key] = row
        if self._use is not None:
            self._use.replace(key, row)
        old = before if before is not None and before.holds_capacity else None
        new = row if row is not None and row.holds_capacity else None
        if old is not None and new is not None and _is_alike(old, new):
            self._since[key] = old
            return
        if old is not None:
            self.trial.evict(_plain(old))
            self.are_volumes_stale |= bool(old.volumes)
        if new is not None:
            self._place(new)
            self.are_volumes_stale |= bool(new.volumes)

    def _place(self, row: Workload) -> None:
        self.trial.place(self.trial.shape_of(_plain(row)), self.trial.row_of[row.node])

    def hold(self, columns: Columns, rows: Mapping[str, Workload]) -> Mark:
        """Let workloads count on their nodes until they are let go."""
        mark = self.trial.mark()
        for key, row in rows.items():
            if row.node in self.trial.row_of:
                self._place(row)
                self.use(columns).replace(key, row)
        return mark

    def let_go(self, mark: Mark, rows: Mapping[str, Workload | None]) -> None:
        """Have everything as it was before; `rows` are those that were held, as they are."""
        self.trial.undo(mark)
        if self._use is not None:
            for key, row in rows.items():
                self._use.replace(key, row)


class _Asking(NamedTuple):
    """One question about one workload."""

    columns: Columns
    kept: _Kept
    workload: Workload

    def _completed(self, workload: Workload) -> Workload:
        return BeforePlacement(self.columns.snapshot).completed(workload)

    def _shape(self) -> Shape:
        return self.kept.trial.shape_of(self._completed(self.workload))

    def reasons(self, nodes: Iterable[str]) -> dict[str, str]:
        everywhere = self._against()
        if everywhere:
            return dict.fromkeys(nodes, everywhere)
        trial = self.kept.trial
        use = self.kept.use(self.columns) if self.columns.snapshot.quotas else None
        asked = self._completed(self.workload)
        by_quota = use.refusals(asked) if use is not None else NOTHING_AGAINST
        if by_quota.everywhere:
            return dict.fromkeys(nodes, by_quota.everywhere)
        reserved = self.columns.reserved
        found = reasons_of(trial, trial.shape_of(asked), reserved)
        texts, row_of = found.texts, trial.row_of
        codes = [*found.codes.tolist(), len(texts)]  # the last for nodes that have no row
        texts = (*texts, UNKNOWN_NODE)
        told = {name: texts[codes[row_of.get(name, -1)]] for name in nodes}
        told |= {name: self._with_amount(told[name], name) for name in reserved.nodes() if name in told}
        if by_quota.sizes is None:
            return told
        return {name: reason or by_quota.on(trial.nodes[row_of[name]]) for name, reason in told.items()}

    def _with_amount(self, reason: str, node: str) -> str:
        """Return a reason that speaks of reservations with what they hold of a node."""
        if not reason.endswith(RESERVED):
            return reason
        resource = reason.removesuffix(RESERVED).strip()
        held = self.columns.reserved.of(node).of(resource)
        return f"{reason}: {self.columns.snapshot.resource_types[resource].readable(held)}"

    def _against(self) -> str:
        """Return what stops a workload before any node is looked at."""
        workload, snapshot = self.workload, self.columns.snapshot
        too_small = refused_by_kind(workload.kind, workload.requests, self.kept.rules)
        return too_small or BeforePlacement(snapshot).refusal(workload)

    def scores(self, nodes: Iterable[str]) -> dict[str, int]:
        trial, shape = self.kept.trial, self._shape()
        rows = np.flatnonzero(trial.feasible(shape))
        totals = _totals(trial, shape)[: len(rows)] if len(rows) else np.zeros(0, np.int64)
        least = int(totals.min(initial=np.iinfo(np.int64).max)) if len(rows) else 0
        apart = max(1, int(totals.max(initial=0)) - least)
        scaled = (totals - least) * (SCORE_BEST - 1) // apart
        by_row = dict(zip(rows.tolist(), scaled.tolist(), strict=True))
        best = trial.pick(shape)
        if best >= 0:
            by_row[best] = SCORE_BEST
        return {name: int(by_row.get(trial.row_of.get(name, -1), 0)) for name in nodes}

    def placed_on(self, node: str) -> Bound:
        trial, shape = self.kept.trial, self._shape()
        row = trial.row_of[node]
        trial.place(shape, row)  # taken back with all that is held for this question
        outcome = Outcome(self.workload.key, self.workload.kind, 1, 1, "ok", ((node, 1),))
        (found,) = with_volumes(trial, self._completed, (Batch(self.workload),), (outcome,))
        return Bound(self.workload.key, node, found.disks, found.chosen)


def _totals(trial: Trial, shape: Shape) -> Integers:
    """Return what the policy scores the nodes with that would take a shape, in their order."""
    scores, wide = trial.scores(shape), trial.wide_open(shape)
    if trial.preferences is not None:
        found: Integers = np.sum(list(trial.preferences.by_plugin(shape, scores, wide).values()), axis=0)
        return found
    return scores[trial.feasible(shape)]


def _touches(delta: Delta, tables: Iterable[str]) -> bool:
    return any(getattr(delta, table) or delta.dropped.get(table) for table in tables)


def _plain(workload: Workload) -> Workload:
    """Return a workload as nodes count it whose volumes nobody asks about."""
    return msgspec.structs.replace(workload, volumes=()) if workload.volumes else workload


def _is_alike(one: Workload, other: Workload) -> bool:
    """Whether two rows of one workload count the same on their node."""
    return (
        one.node == other.node
        and one.terminating == other.terminating
        and one.requests == other.requests
        and one.labels == other.labels
        and one.constraints == other.constraints
        and one.volumes == other.volumes
    )
