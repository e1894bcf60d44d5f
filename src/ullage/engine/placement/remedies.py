"""The smallest single changes that make something fit; each is tried before it is named.

In this order: those on their way out waited for, a smaller request of one resource or volume, a drive added,
a node opened, room that is kept for failover, fewer replicas, workloads evicted, nodes added. A remedy speaks
of all replicas that were asked for, and what it says was tried: applied to the cluster or to the request,
everything fits, where the other batches of the question stay as they are.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final

import msgspec
import numpy as np

from ullage.engine.placement.added_nodes import AddedNodes, Market
from ullage.engine.placement.at_most import AtMost, rows_allowed
from ullage.engine.placement.batches import all_fit, place_replicas
from ullage.engine.placement.before import LimitRanges
from ullage.engine.placement.disk_remedies import DiskRemedies
from ullage.engine.placement.node_columns import CORDON
from ullage.engine.placement.refused_batch import NONE_OWN, Own, RefusedBatch
from ullage.engine.placement.shapes import Shape
from ullage.engine.placement.smaller_requests import SmallerRequests
from ullage.engine.placement.spare_nodes import OF_A_KIND_MAX
from ullage.engine.placement.victims import EVICTED_MAX, Victims
from ullage.engine.trial import Trial
from ullage.model.cluster import Workload
from ullage.model.constraints import Constraints, NodeAffinity, Toleration
from ullage.model.plan import Remedy

TAINT: Final = "taint "
REST_MAX: Final = 32
"""Replicas without a place for which evictions are looked for."""
NOTHING_HELPS: Final = (
    "no single change of those tried helps: a smaller request, nodes opened, fewer replicas, "
    f"up to {EVICTED_MAX} evictions, up to {OF_A_KIND_MAX} nodes of one kind"
)


class Around:
    """What the remedies of all batches on one trial share, read when it is first needed."""

    def __init__(self, trial: Trial) -> None:
        self.trial = trial
        self.market = Market(trial)

    @cached_property
    def victims(self) -> Victims:
        """What could be evicted."""
        return Victims(self.trial)

    @cached_property
    def leaving(self) -> list[Workload]:
        """What is on its way out, and still holds its place."""
        workloads = self.trial.columns.snapshot.workloads
        return [each for each in workloads if each.terminating and each.holds_capacity]

    @cached_property
    def ranges(self) -> LimitRanges | None:
        """What bounds requests; None where nothing does."""
        snapshot = self.trial.columns.snapshot
        return LimitRanges(snapshot) if len(snapshot.limit_ranges) else None


class Remedies:
    """What would help a batch that does not fit, on a trial in the state before it was placed.

    Its `own` running replicas are counted in what is said, and never evicted.
    """

    def __init__(
        self, around: Around, asked: Workload, replicas: int, placed: int, own: Own = NONE_OWN
    ) -> None:
        self._around = around
        self._trial = around.trial
        self._asked = asked
        self._shape = around.trial.shape_of(asked)
        self._batch = RefusedBatch(around.trial, asked, self._shape, replicas, placed, own)

    def find(self) -> tuple[Remedy, ...]:
        """Return the remedies that were tried and help, the smallest change first."""
        batch = self._batch
        found = [
            *self._waited(),
            *SmallerRequests(batch, self._around.ranges).find(),
            *DiskRemedies(batch).find(),
            *self._opened(),
        ]
        found += self._without_spare()
        fitting = batch.placed + batch.own.kept
        if fitting:
            count = f"{fitting} replica{'s' if fitting > 1 else ''}"
            found.append(Remedy("replicas", f"ask for {count} only", replicas=fitting))
        added = AddedNodes(batch, self._around.market)
        mark = self._trial.mark()
        place_replicas(self._trial, self._shape, batch.replicas)
        victims, models = self._victims(), added.models()
        self._trial.undo(mark)
        if victims and self._fits_after(victims):
            text = f"evict {_listed(victims)}: {batch.then}"
            found.append(Remedy("evict", text, evicted=tuple(victims)))
        return (*found, *added.find(models))

    def _where(self, shape: Shape) -> dict[int, int] | None:
        """Return where all replicas of a shape would go; None where they do not all fit."""
        trial, replicas = self._trial, self._batch.replicas
        mark = trial.mark()
        counts = place_replicas(trial, shape, replicas)
        trial.undo(mark)
        return counts if sum(counts.values()) == replicas else None

    # Workloads on their way out

    def _waited(self) -> Iterator[Remedy]:
        """Yield to wait until workloads are gone: those in whose place replicas go, or all that are going."""
        trial, leaving = self._trial, self._around.leaving
        if not leaving:
            return
        mark = trial.mark()
        for each in leaving:
            trial.evict(each)
        counts = place_replicas(trial, self._shape, self._batch.replicas)
        needed = [each for each in leaving if not self._is_back(each, counts)]
        trial.undo(mark)
        if sum(counts.values()) < self._batch.replicas:
            return
        if not self._fits_after([each.key for each in needed]):
            needed = leaving
        names = [f"{each.key} ({each.node})" for each in needed]
        text = f"wait until {_listed(names)} {'is' if len(names) == 1 else 'are'} gone: {self._batch.then}"
        yield Remedy("wait", text, waits_for=tuple(each.key for each in needed))

    def _is_back(self, leaving: Workload, counts: Mapping[int, int]) -> bool:
        """Whether one that was taken away has its place beside the replicas; it is put back there."""
        trial = self._trial
        shape, row = trial.shape_of(leaving), trial.row_of[leaving.node]
        if row in counts and not trial.feasible(shape)[row]:
            return False
        trial.place(shape, row)
        return True

    # A node opened

    def _opened(self) -> Iterator[Remedy]:
        closed = self._shape.closed
        then = self._batch.then
        for code in np.unique(closed.codes[closed.codes > 0]).tolist():
            reason = closed.reasons[code]
            constraints = constraints_without(self._asked.constraints, reason)
            if constraints is None or not self._has_room_behind(code):
                continue
            counts = self._where(self._batch.variant(constraints=constraints))
            if counts is None:
                continue
            names = sorted(self._trial.nodes[row].name for row in counts if closed.codes[row] == code)
            if reason == "cordoned":
                text = f"uncordon {_listed(names)}: {then}"
                yield Remedy("open", text, nodes=tuple(names))
            elif reason.startswith(TAINT):
                text = f"tolerate the {reason} ({_listed(names)}): {then}"
                yield Remedy("open", text, nodes=tuple(names), toleration=_toleration(reason))
            else:
                text = f"drop its {reason} ({_listed(names)} would take it): {then}"
                yield Remedy("open", text, nodes=tuple(names), without=reason)

    def _has_room_behind(self, code: int) -> bool:
        """Whether nodes that are open, or closed by one reason, have room for all replicas together."""
        shape = self._shape
        closed = np.flatnonzero((shape.closed.codes == code) & ~self._trial.lost)
        rows = np.union1d(rows_allowed(self._trial, shape), closed)
        return AtMost(self._trial, shape, rows).by_room(shape.amounts) >= self._batch.replicas

    # Room that is kept

    def _without_spare(self) -> Iterator[Remedy]:
        failover = self._trial.failover
        if failover is None:
            return
        with failover.waived():
            fits = all_fit(self._trial, self._shape, self._batch.replicas)
        if fits:
            text = f"promise what is kept for failover (policy spare-nodes=0): {self._batch.then}"
            yield Remedy("spare", text)

    # Workloads evicted

    def _victims(self) -> list[str]:
        """Return whom to evict, node by node, the least important first, for each replica without a place.

        The trial has all replicas that fit, and is left with the others too, as far as they got.
        """
        batch, trial, shape = self._batch, self._trial, self._shape
        if batch.rest > REST_MAX or not self._around.victims.could_help(shape, batch.rest):
            return []
        gone = self._around.victims.users(shape, self._asked.priority, batch.own.keys)
        for user in gone:
            trial.evict(user)
        for _ in range(batch.rest):
            row = trial.pick(shape) if gone else -1
            if row < 0:
                victims = self._around.victims.fewest(shape, self._asked.priority, batch.own.keys, gone)
                gone += victims
                if not victims or len(gone) > EVICTED_MAX:
                    return []
                for victim in victims:
                    trial.evict(victim)
                row = trial.row_of[victims[0].node]
            trial.place(shape, row)
        return [victim.key for victim in gone]

    def _fits_after(self, gone: Sequence[str]) -> bool:
        trial = self._trial
        mark = trial.mark()
        for key in gone:
            trial.evict(trial.columns.snapshot.workloads[key])
        fits = all_fit(trial, self._shape, self._batch.replicas)
        trial.undo(mark)
        return fits


def constraints_without(asked: Constraints, reason: str) -> Constraints | None:
    """Return the constraints under which nodes closed for a reason are open; None where none would."""
    if reason == "cordoned":
        tolerations = (*asked.tolerations, Toleration(CORDON.key, "Exists"))
        return msgspec.structs.replace(asked, tolerations=tolerations)
    if reason.startswith(TAINT):
        return msgspec.structs.replace(asked, tolerations=(*asked.tolerations, _toleration(reason)))
    if reason == "node selector":
        return msgspec.structs.replace(asked, node_selector={})
    if reason == "node affinity" and asked.affinity is not None and asked.affinity.node_affinity:
        kept = NodeAffinity(preferred=asked.affinity.node_affinity.preferred)
        affinity = msgspec.structs.replace(asked.affinity, node_affinity=kept)
        return msgspec.structs.replace(asked, affinity=affinity)
    return None


def _toleration(reason: str) -> Toleration:
    return Toleration(reason.removeprefix(TAINT), "Exists")


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:3])
    return f"{shown} and {len(names) - 3} more" if len(names) > 3 else shown
