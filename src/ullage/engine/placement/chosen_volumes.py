"""Which disks and which volumes serve what has just been placed: what has to be reserved and bound for it."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from ullage.engine.placement.disk_holders import served_on
from ullage.engine.placement.outcome import ChosenVolume, Outcome, Served
from ullage.engine.placement.shapes import Shape
from ullage.engine.placement.volume_binding import VolumeHold
from ullage.engine.trial import Trial
from ullage.model.cluster import Batch, Workload


def with_volumes(
    trial: Trial,
    completed: Callable[[Workload], Workload],
    batches: Sequence[Batch],
    found: Sequence[Outcome],
) -> list[Outcome]:
    """Return outcomes with what serves the volumes of batches that were placed just now, in this order."""
    later: Counter[tuple[Shape, int]] = Counter()
    told = []
    for batch, outcome in zip(reversed(batches), reversed(found), strict=True):
        served: list[Served] = []
        chosen: list[ChosenVolume] = []
        if batch.workload.volumes and outcome.nodes and outcome.action == "place":
            shape = trial.shape_of(completed(batch.workload))
            for name, count in outcome.nodes:
                row = trial.row_of[name]
                served += served_on(shape, row, count, before=later[shape, row])
                chosen += _chosen_on(shape, row, count, later[shape, row])
                later[shape, row] += count
        if outcome.replanned:  # those whose claims are known were placed one by one, and are told already
            served = list(outcome.disks)
        if served or chosen:
            outcome = outcome._replace(disks=tuple(served), chosen=tuple(chosen))  # noqa: PLW2901 - the same, told
        told.append(outcome)
    return told[::-1]


def _chosen_on(shape: Shape, row: int, count: int, before: int) -> Iterator[ChosenVolume]:
    for hold in shape.takes:
        if isinstance(hold, VolumeHold):
            yield from (ChosenVolume(claim, volume.name) for claim, volume in hold.chosen(row, count, before))
