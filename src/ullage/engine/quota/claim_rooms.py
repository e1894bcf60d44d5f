"""Where those who claim under quotas could go: the room of nodes, and whether more than room is against it.

Many of several shapes are placed on a trial one after the other, in their order; whatever a rule between them
says is said there. Nothing of a trial is copied: what does not go is taken back.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from ullage.engine.placement.batches import place_replicas
from ullage.engine.placement.shapes import Shape
from ullage.engine.quota.gang_columns import Flags
from ullage.engine.quota.victims import Nodes
from ullage.engine.trial import Trial
from ullage.model.cluster import Workload
from ullage.model.resources import NOTHING


class Wanted(NamedTuple):
    """So many replicas of a workload that are to run together with others."""

    workload: Workload
    shape: Shape
    replicas: int


def summed(wanted: Sequence[Wanted]) -> Workload:
    """Return one workload that asks for all that is wanted."""
    requests = NOTHING
    for each in wanted:
        for _ in range(each.replicas):
            requests = requests + each.workload.requests
    return msgspec.structs.replace(wanted[0].workload, requests=requests, containers=())


def room_for(trial: Trial, capacity: Mapping[str, int], shape: Shape) -> Nodes:
    """Return the nodes that could have one of a shape; those that rules over zones leave, if any."""
    is_open = shape.open & ~trial.lost
    wide = trial.wide_open(shape)
    if wide is not None and (wide & is_open).any():
        is_open = wide & is_open
    return Nodes(_room(trial, [shape], is_open), capacity)


def room_for_all(trial: Trial, capacity: Mapping[str, int], shapes: Iterable[Shape]) -> Nodes:
    """Return the nodes that could have one of any of these shapes."""
    distinct = list(dict.fromkeys(shapes))
    is_open = np.logical_or.reduce([shape.open for shape in distinct], axis=0) & ~trial.lost
    return Nodes(_room(trial, distinct, is_open), capacity)


def _room(trial: Trial, shapes: Sequence[Shape], is_open: Flags) -> dict[str, dict[str, int]]:
    columns = sorted({column for shape in shapes for column in shape.columns.tolist()})
    names = [trial.columns.resources[column] for column in columns]
    free = trial.room.free[columns]
    rows = np.flatnonzero(is_open).tolist()
    return {trial.nodes[row].name: dict(zip(names, free[:, row].tolist(), strict=True)) for row in rows}


def open_to(trial: Trial, shapes: Sequence[Shape], nodes: Sequence[str]) -> Flags:
    """Return which of these nodes each of these shapes may go to at all."""
    rows = [trial.row_of[name] for name in nodes]
    by_shape = {shape: shape.open[rows] for shape in dict.fromkeys(shapes)}
    return np.array([by_shape[shape] for shape in shapes], np.bool_).reshape(len(shapes), len(nodes))


def placed_on(trial: Trial, shapes: Sequence[Shape], nodes: Sequence[str], goes: Iterable[Workload]) -> bool:
    """Whether these shapes are placed on these nodes once some have gone; nothing is changed if not."""
    mark = trial.mark()
    for workload in goes:
        trial.evict(workload)
    for shape, node in zip(shapes, nodes, strict=True):
        row = trial.row_of[node]
        if not trial.feasible(shape)[row]:
            trial.undo(mark)
            return False
        trial.place(shape, row)
    return True


def placed_all(
    trial: Trial, wanted: Sequence[Wanted], nodes: Sequence[str], goes: Sequence[Workload]
) -> Sequence[str]:
    """Return nodes of all that are wanted, placed once some have gone; none if one has no place.

    They are those given, or where nodes do not take them the ones that scores choose.
    """
    if placed_on(trial, [each.shape for each in wanted for _ in range(each.replicas)], nodes, goes):
        return nodes
    mark = trial.mark()
    for workload in goes:
        trial.evict(workload)
    found: list[str] = []
    for each in wanted:
        counts = place_replicas(trial, each.shape, each.replicas)
        if sum(counts.values()) < each.replicas:
            trial.undo(mark)
            return []
        found += [trial.nodes[row].name for row, count in sorted(counts.items()) for _ in range(count)]
    return found
