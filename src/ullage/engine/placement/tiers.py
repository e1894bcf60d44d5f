"""How many more of a shape that shrinks as the cluster fills: all of it first, then ever smaller ones.

Sizes go down in steps: 64Mi of memory, 256Mi of disk, a processor (a tenth of one below that). The next size
is the one that some node has room for after the fewest steps, so no size is left out for which there was room
and none is tried for which there was not. Devices and everything else that is asked for stay as they are.
"""

from typing import Final, NamedTuple

import msgspec
import numpy as np

from ullage.engine.columns import Columns
from ullage.engine.placement.batches import place_replicas
from ullage.engine.placement.before import BeforePlacement
from ullage.engine.placement.headroom import BY_SLOT, COUNT_MAX, ONE_BY_ONE_MAX, goes_by_slots
from ullage.engine.placement.reasons import reasons_of
from ullage.engine.placement.shapes import Integers
from ullage.engine.quota.admission import elastic_of
from ullage.engine.trial import Trial
from ullage.model.cluster import Batch, Workload
from ullage.model.resources import Resources

MIB: Final = 1 << 20
CPU: Final = "cpu"
STEPS: Final = {
    "memory": (64 * MIB,),
    "storage-space": (256 * MIB,),
    "ephemeral-storage": (256 * MIB,),
    CPU: (1000, 100),
}
"""How much smaller a size gets at once; where it cannot get smaller by the first step, by the next."""
TIERS_MAX: Final = 1000


class Tier(NamedTuple):
    """How many of one size were placed, on which nodes."""

    requests: Resources
    replicas: int
    nodes: tuple[tuple[str, int], ...]


class Tiers(NamedTuple):
    """All sizes that were placed, the largest first; then what keeps the smallest off each node.

    `bounded` is False where counting stopped although more would fit; `refusal` is what the namespace has
    against more of it.
    """

    tiers: tuple[Tier, ...]
    bounded: bool
    reasons: dict[str, int]
    refusal: str = ""


def tiers_of(columns: Columns, workload: Workload, *, placement: str = "spread") -> Tiers:
    """Return how many more of a workload fit as it shrinks."""
    trial = Trial(columns, BY_SLOT, keeps_spare=True)
    before = BeforePlacement(columns.snapshot, elastic_of(trial))
    workload = before.completed(workload)
    by_slots = goes_by_slots(trial, trial.shape_of(workload))
    trial = trial if by_slots else Trial(columns, placement, keeps_spare=True)
    trial.devices.expect([Batch(workload)])
    return _Shrinking(trial, before, COUNT_MAX if by_slots else ONE_BY_ONE_MAX).run(workload)


class _Shrinking:
    """A cluster that is being filled with one workload in ever smaller sizes."""

    def __init__(self, trial: Trial, before: BeforePlacement, most: int) -> None:
        self._trial = trial
        self._before = before
        self._most = most
        self._refusal = ""

    def run(self, workload: Workload) -> Tiers:
        """Return every size that was placed."""
        found: list[Tier] = []
        size: Workload | None = workload
        while size is not None and len(found) < TIERS_MAX:
            workload = size
            tier = self._fill(workload)
            if tier.replicas:
                found.append(tier)
            size = None if self._refusal or tier.replicas >= self._most else self._next(workload)
        reasons = reasons_of(self._trial, self._trial.shape_of(workload)).tally()
        bounded = size is None and all(each.replicas < self._most for each in found)
        return Tiers(tuple(found), bounded, reasons, self._refusal)

    def _fill(self, workload: Workload) -> Tier:
        """Place as many of a size as nodes and the namespace take."""
        trial, before = self._trial, self._before
        shape = trial.shape_of(workload)
        self._refusal = before.refusal(workload)
        mark = trial.mark()
        counts = {} if self._refusal else place_replicas(trial, shape, self._most)
        total = sum(counts.values())
        if total:
            charged = before.mark()
            admitted, bound = before.admits(workload, total, ())
            before.undo(charged)
            if admitted < total:
                trial.undo(mark)
                counts, self._refusal = place_replicas(trial, shape, admitted), bound
                total = admitted
            before.take(workload, total)
        nodes = tuple(sorted((trial.nodes[row].name, count) for row, count in counts.items()))
        return Tier(workload.requests, total, nodes)

    def _next(self, workload: Workload) -> Workload | None:
        """Return the size that some node has room for after the fewest steps; None where there is none."""
        asked = workload.requests
        shrinks = [
            name for name in STEPS if asked.of(name) > 0 and name in self._trial.columns.resource_index
        ]
        smallest = _resized(workload, {name: min(asked[name], STEPS[name][-1]) for name in shrinks})
        rows = np.flatnonzero(self._trial.feasible(self._trial.shape_of(smallest)))
        taken = self._trial.columns.taken(workload)
        sizes = {}
        steps = np.zeros(rows.size, np.int64)
        for name in shrinks:
            beside = taken.of(name) - asked[name]
            sizes[name], needed = _stepped_down(name, asked[name], self._room(name)[rows] - beside)
            steps += needed
        possible = np.flatnonzero((steps > 0) & np.all([sizes[name] > 0 for name in shrinks], axis=0))
        if not shrinks or not possible.size:
            return None
        at = possible[np.argmin(steps[possible])]
        return _resized(workload, {name: int(sizes[name][at]) for name in shrinks})

    def _room(self, name: str) -> Integers:
        """Return what each node has left for one workload; none gets more processors than there are."""
        column = self._trial.columns.resource_index[name]
        free: Integers = self._trial.room.free[column]
        return np.minimum(free, self._trial.room.capacity[column]) if name == CPU else free


def _stepped_down(name: str, amount: int, room: Integers) -> tuple[Integers, Integers]:
    """Return the largest size at each node that fits into its room, 0 for none; and in how many steps."""
    size = np.where(room >= amount, amount, 0)
    steps = np.zeros(room.size, np.int64)
    for step in STEPS[name]:
        needed = -((room - amount) // step)
        left = amount - needed * step
        chosen = (size == 0) & (left >= step)
        size, steps = np.where(chosen, left, size), np.where(chosen, needed, steps)
    return size, steps


def _resized(workload: Workload, sizes: dict[str, int]) -> Workload:
    requests = Resources({**workload.requests, **sizes})
    return msgspec.structs.replace(workload, requests=requests)
