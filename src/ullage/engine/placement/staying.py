"""Replicas of a set that run or are promised already, and stay where they are while their node has room.

One gives up its place where its node has too little for the new size. A mere promise does so for its disks,
too; where a volume exists that cannot become what is asked for, nothing of the set changes.
"""

from collections.abc import Sequence
from typing import NamedTuple

from ullage.engine.capacity.admission import judge
from ullage.engine.placement.kept_disks import KeptDisks
from ullage.engine.placement.outcome import Outcome, Replanned
from ullage.engine.placement.shapes import Shape
from ullage.engine.trial import Trial
from ullage.model.cluster import Workload
from ullage.model.disk_plan import DiskWitness
from ullage.model.plan import Refusal


class Stayed(NamedTuple):
    """How many stay on each node, the disks of those that have others now, and the names of all who stay."""

    counts: dict[str, int]
    replanned: tuple[Replanned, ...]
    names: frozenset[str]


def stayed(trial: Trial, asked: Workload, running: Sequence[Workload], outcome: Outcome) -> Stayed | Outcome:
    """Take replicas off their nodes and put those back that stay; an outcome where none may be changed."""
    shape, mark = trial.shape_of(asked), trial.mark()
    disks = KeptDisks(trial, asked, running)
    counts: dict[str, int] = {}
    replanned: list[Replanned] = []
    names: set[str] = set()
    for position, replica in enumerate(running):
        held = trial.columns.taken(replica)
        row = trial.row_of[replica.node]
        stays = position < outcome.replicas and (
            held == outcome.requests
            or judge(trial.place_of(row), asked.key, outcome.requests, held=held).admitted
        )
        trial.evict(replica)
        stays = stays and not _lacking(trial, shape, row, trial.shape_of(replica))
        missing = disks.lacking(replica) if stays else None
        if missing is not None and disks.of(replica).has_data:
            trial.undo(mark)
            return without_disks(outcome._replace(action="resize"), replica, missing)
        if not stays or missing is not None:
            disks.leave(replica)
            continue
        others = disks.place(replica)
        replanned += [others] if others else []
        counts[replica.node] = counts.get(replica.node, 0) + 1
        names.add(replica.name)
    return Stayed(counts, tuple(replanned), frozenset(names))


def resized(trial: Trial, disks: KeptDisks, running: Workload, asked: Workload, outcome: Outcome) -> Outcome:
    """Give a workload its new size on its node, which has room for that, if it has the devices, too."""
    mark, row = trial.mark(), trial.row_of[running.node]
    trial.evict(running)
    lacking = _lacking(trial, trial.shape_of(asked), row, trial.shape_of(running))
    if lacking:
        trial.undo(mark)
        remedy = "ask for less of it, or move it to where more is free"
        refusal = Refusal(outcome.subject, 1, f"{running.node}: {lacking}", remedy=remedy)
        return outcome._replace(state="error", verdict=None, refusal=refusal)
    others = disks.place(running)
    return outcome._replace(
        placed=1,
        nodes=((running.node, 1),),
        disks=others.disks if others else (),
        replanned=(others,) if others else (),
    )


def _lacking(trial: Trial, shape: Shape, row: int, before: Shape) -> str:
    """Return what keeps one that was taken off a node from coming back as another: devices, or failover."""
    kept = trial.failover.keeps_from_growing(row, shape, before) if trial.failover is not None else ""
    return trial.devices.lacking(shape, row, before) or kept


def without_disks(outcome: Outcome, replica: Workload, missing: DiskWitness) -> Outcome:
    """Return the outcome of something that runs and whose volumes cannot become what is asked for."""
    reason = f"{replica.node}: {missing.reason}"
    refusal = Refusal(outcome.subject, outcome.replicas, reason, remedy=missing.remedy)
    return outcome._replace(state="error", refusal=refusal, certificate="impossible")
