"""How many more: replicas of a shape until nothing more fits, and whole sets of several shapes.

A set is all of its workloads together (two of this and one of that); the number of sets is found by doubling
and halving, each try placed from the start, its largest workloads first. Quotas and limit ranges of the
namespace hold as they do for `fit`, and of a gang only as many count as would be placed together.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec

from ullage.engine.columns import Columns
from ullage.engine.placement.batches import BY_SLOTS, place_replicas
from ullage.engine.placement.before import BeforePlacement
from ullage.engine.placement.gangs import Gang, Gangs, gang_key, gangs_of
from ullage.engine.placement.reasons import reasons_of
from ullage.engine.placement.running import Running
from ullage.engine.placement.shapes import Shape, size_of
from ullage.engine.quota.admission import elastic_of
from ullage.engine.steps import Steps, counted
from ullage.engine.trial import Trial
from ullage.model.cluster import Batch
from ullage.model.errors import InputError

BY_SLOT: Final = "spread"
"""How shapes are placed whose replicas do not see each other: then all nodes are filled, in any order."""
COUNT_MAX: Final = 10_000_000
"""Replicas after which counting stops: a shape that takes nothing fits without end."""
ONE_BY_ONE_MAX: Final = 1_000_000
"""The same for shapes whose replicas are placed one by one."""
SETS_MAX: Final = 1_000_000


class Headroom(NamedTuple):
    """How many more of one shape fit, where, and what keeps the next one off each node.

    `bounded` is False where counting stopped although more would fit. `refusal` is what the namespace has
    against it: a quota or a limit range that binds before nodes are full; or that its gang needs more.
    """

    subject: str
    replicas: int
    bounded: bool
    nodes: tuple[tuple[str, int], ...]
    reasons: dict[str, int]
    refusal: str = ""


class Sets(NamedTuple):
    """How many whole sets fit; `missing` is the workload that the next one lacks, and why."""

    sets: int
    bounded: bool
    missing: tuple[str, ...]


def headroom(
    columns: Columns, batches: Sequence[Batch], *, placement: str = "spread", steps: Steps | None = None
) -> list[Headroom]:
    """Return how many more of each workload fit, each asked about alone.

    Of a gang of several workloads, the others are taken to have a place.
    """
    gangs = gangs_of(batches, Running(columns.snapshot), more=True)
    trials = {name: Trial(columns, name, keeps_spare=True) for name in dict.fromkeys((BY_SLOT, placement))}
    for trial in trials.values():
        trial.devices.expect(batches)
    before = BeforePlacement(columns.snapshot, elastic_of(trials[placement]))
    found = []
    for batch in counted(batches, len(batches), "workloads counted", steps):
        workload = before.completed(batch.workload)
        by_slot = goes_by_slots(trials[BY_SLOT], trials[BY_SLOT].shape_of(workload))
        trial = trials[BY_SLOT if by_slot else placement]
        found.append(_alone(trial, before, msgspec.structs.replace(batch, workload=workload), gangs))
    return found


def _alone(trial: Trial, before: BeforePlacement, batch: Batch, gangs: Gangs) -> Headroom:
    workload = batch.workload
    shape = trial.shape_of(workload)
    most = COUNT_MAX if goes_by_slots(trial, shape) else ONE_BY_ONE_MAX
    refusal = before.refusal(workload)
    mark = trial.mark()
    counts = {} if refusal else place_replicas(trial, shape, most)
    total = sum(counts.values())
    if total:
        charged = before.mark()
        admitted, bound = before.admits(workload, total, ())
        before.undo(charged)
        if admitted < total:
            trial.undo(mark)
            counts, total, refusal = place_replicas(trial, shape, admitted), admitted, bound
    reasons = reasons_of(trial, shape).tally()
    bounded = total < most
    whole, too_few = _whole(batch, gangs.get(gang_key(workload)), total)
    if whole < total:
        trial.undo(mark)
        counts, total, refusal = place_replicas(trial, shape, whole), whole, refusal or too_few
    nodes = tuple(sorted((trial.nodes[row].name, count) for row, count in counts.items()))
    trial.undo(mark)
    return Headroom(workload.key, total, bounded, nodes, reasons, refusal)


def _whole(batch: Batch, gang: Gang | None, count: int) -> tuple[int, str]:
    """Return how many of so many a gang would place, and why not all of them.

    One that does not say how many are enough is placed as often as all that are asked for fit.
    """
    if gang is not None:
        besides = gang.asked - batch.replicas
        return (count, "") if gang.is_enough(besides + count) else (0, gang.too_few_placed(besides + count))
    if not batch.workload.gang or batch.replicas <= 1:
        return count, ""
    return (
        count - count % batch.replicas,
        f"its gang {batch.workload.gang} is placed {batch.replicas} at once",
    )


def goes_by_slots(trial: Trial, shape: Shape) -> bool:
    """Whether replicas of a shape are counted node by node, and not placed one after the other."""
    by_room = shape.by_room_alone and not trial.devices.goes_one_by_one(shape)
    return by_room and trial.policy in BY_SLOTS


def headroom_of_sets(columns: Columns, batches: Sequence[Batch], *, placement: str = "spread") -> Sets:
    """Return how many times all of these batches fit together."""
    if not batches or not any(batch.replicas for batch in batches):
        raise InputError("an empty set fits without end", remedy="name workloads with at least one replica")
    trial = Trial(columns, placement, keeps_spare=True)
    trial.devices.expect(batches)
    before = BeforePlacement(columns.snapshot, elastic_of(trial))
    completed = [Batch(before.completed(each.workload), each.replicas) for each in batches]
    ordered = _largest_first(trial, completed)
    found = _most_sets(trial, before, ordered)
    gangs = gangs_of(completed, Running(columns.snapshot), more=True)
    for each in ordered:
        gang = gangs.get(gang_key(each.workload))
        if found.sets and gang is not None and not gang.is_enough(gang.asked * found.sets):
            return Sets(0, bounded=True, missing=(each.key, gang.too_few_placed(gang.asked * found.sets)))
    return found


def _most_sets(trial: Trial, before: BeforePlacement, ordered: Sequence[Batch]) -> Sets:
    fits, fails = 0, 1
    while fails <= SETS_MAX and not _short(trial, before, ordered, fails):
        fits, fails = fails, fails * 2
    if fails > SETS_MAX:
        return Sets(fits, bounded=False, missing=())
    while fails - fits > 1:
        middle = (fits + fails) // 2
        if _short(trial, before, ordered, middle):
            fails = middle
        else:
            fits = middle
    return Sets(fits, bounded=True, missing=_short(trial, before, ordered, fits + 1))


def _largest_first(trial: Trial, batches: Sequence[Batch]) -> list[Batch]:
    """Return batches by the largest part that one replica takes of all there is of a resource."""
    wholes = trial.wholes()
    return sorted(batches, key=lambda batch: (-size_of(trial.shape_of(batch.workload), wholes), batch.key))


def _short(trial: Trial, before: BeforePlacement, batches: Sequence[Batch], sets: int) -> tuple[str, ...]:
    """Return the workload that lacks a place when so many sets are placed, and what keeps it away."""
    mark, charged = trial.mark(), before.mark()
    short: tuple[str, ...] = ()
    for batch in batches:
        wanted = batch.replicas * sets
        shape = trial.shape_of(batch.workload)
        refusal = before.refusal(batch.workload)
        admitted, bound = (0, refusal) if refusal else before.admits(batch.workload, wanted, ())
        placed = sum(place_replicas(trial, shape, admitted).values())
        before.take(batch.workload, placed)
        if placed < wanted:
            tally = reasons_of(trial, shape).tally()
            words = ", ".join(f"{reason} on {count}" for reason, count in tally.items())
            short = (batch.key, bound if placed == admitted else words)
            break
    trial.undo(mark)
    before.undo(charged)
    return short
