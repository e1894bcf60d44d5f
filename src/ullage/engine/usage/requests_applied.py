"""A cluster in which advice was followed: whether everything still has its place, and what room is gained.

Pods that only shrink stay where they are. Of those that grow, a node may hold more than it can: then they are
placed anew, one after the other, in the cluster as it would be, and whoever finds no place is named.
"""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from ullage.engine.capacity.summary import Summary, summarise_groups, total
from ullage.engine.columns import Columns
from ullage.engine.placement.fit import fit
from ullage.engine.placement.headroom import headroom
from ullage.engine.usage.advice import WorkloadAdvice, changed_workloads
from ullage.model.cluster import Batch, Snapshot, Workload


class Room(NamedTuple):
    """How much room a cluster has: its sums, how many of a shape more, and how many of those that wait."""

    summary: Summary
    more: int
    bounded: bool
    waiting_placed: int


class Homeless(NamedTuple):
    """A pod that outgrows its node and finds no other place, with the reason."""

    workload: str
    node: str
    reason: str


class Applied(NamedTuple):
    """What following advice comes to; `moved` outgrow their nodes and have a place elsewhere."""

    snapshot: Snapshot
    before: Room
    after: Room
    waiting: int
    moved: tuple[tuple[str, str, str], ...]
    homeless: tuple[Homeless, ...]


def with_advice(snapshot: Snapshot, advice: Sequence[WorkloadAdvice]) -> Snapshot:
    """Return a cluster whose workloads ask for what is advised."""
    changed: list[Workload] = []
    for each in advice:
        if each.changes:
            changed += changed_workloads(each.crew.pods, each.containers)
    return msgspec.structs.replace(snapshot, workloads=snapshot.workloads.changed(changed))


def applied(columns: Columns, advice: Sequence[WorkloadAdvice], shape: Batch) -> Applied:
    """Return what following advice comes to; room is counted in a shape, too."""
    after = with_advice(columns.snapshot, advice)
    grown = {pod.key for each in advice if "grow" in each.verdicts() for pod in each.crew.pods}
    settled, moved, homeless = _settled(after, grown)
    waiting = _waiting(after)
    return Applied(
        settled,
        _room(columns, shape, _waiting(columns.snapshot)),
        _room(Columns(settled), shape, waiting),
        len(waiting),
        moved,
        homeless,
    )


def _waiting(snapshot: Snapshot) -> list[Workload]:
    return [each for each in snapshot.workloads if each.state == "init" and not each.node]


def _settled(
    snapshot: Snapshot, grown: set[str]
) -> tuple[Snapshot, tuple[tuple[str, str, str], ...], tuple[Homeless, ...]]:
    """Return a cluster in which pods that outgrow their nodes have gone elsewhere, where they can."""
    columns = Columns(snapshot)
    rows, _ = np.nonzero(columns.bounded & (columns.promised > columns.limit))
    over = {columns.nodes[row].name for row in rows}
    growing = (each for each in snapshot.workloads if each.key in grown and each.holds_capacity)
    leaving = sorted(
        (each for each in growing if each.node in over), key=lambda each: (-each.priority, each.key)
    )
    if not leaving:
        return snapshot, (), ()
    freed = msgspec.structs.replace(
        snapshot, workloads=snapshot.workloads.changed([], [each.key for each in leaving])
    )
    batches = [Batch(msgspec.structs.replace(each, node="", state="init")) for each in leaving]
    answer = fit(Columns(freed), batches, names_remedies=False)
    placed, moved, homeless = [], [], []
    outcomes = {each.subject: each for each in answer.outcomes}
    for each in leaving:
        found = outcomes[each.key]
        node = found.nodes[0][0] if found.nodes else ""
        placed.append(_at(each, node))
        if not node:
            reason = found.refusal.reason if found.refusal is not None else "no place"
            homeless.append(Homeless(each.key, each.node, reason))
        elif node != each.node:
            moved.append((each.key, each.node, node))
    return (
        msgspec.structs.replace(freed, workloads=freed.workloads.changed(placed)),
        tuple(moved),
        tuple(homeless),
    )


def _at(workload: Workload, node: str) -> Workload:
    return msgspec.structs.replace(workload, node=node, state="ok" if node else "init")


def _room(columns: Columns, shape: Batch, waiting: Sequence[Workload]) -> Room:
    (found,) = headroom(columns, (shape,))
    answer = fit(columns, [Batch(each) for each in waiting], names_remedies=False) if waiting else None
    placed = 0 if answer is None else sum(not each.refusal and not each.evicted for each in answer.outcomes)
    name = columns.snapshot.name
    return Room(total(summarise_groups(columns), name), found.replicas, found.bounded, placed)
