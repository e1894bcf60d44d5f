"""A cluster in which advice was followed: whether everything still has its place, and what room is gained.

Pods that only shrink stay where they are. Of those that grow, a node may hold more than it can: then they are
placed anew, one after the other, in the cluster as it would be, and whoever finds no place is named.
"""

from collections import Counter
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
    together = _alike(leaving)
    asked = [Batch(msgspec.structs.replace(pods[0], node="", state="init"), len(pods)) for pods in together]
    outcomes = {each.subject: each for each in fit(Columns(freed), asked, names_remedies=False).outcomes}
    placed: dict[str, Workload] = {}
    moved, homeless = [], []
    for pods in together:
        found = outcomes[pods[0].key]
        reason = found.refusal.reason if found.refusal is not None else "no place"
        for pod, node in zip(pods, _shared_out(pods, found.nodes), strict=True):
            placed[pod.key] = _at(pod, node)
            if not node:
                homeless.append(Homeless(pod.key, pod.node, reason))
            elif node != pod.node:
                moved.append((pod.key, pod.node, node))
        for victim in found.evicted:
            placed[victim.workload] = _at(snapshot.workloads[victim.workload], "")
            homeless.append(Homeless(victim.workload, victim.node, f"goes for {pods[0].key}"))
    return (
        msgspec.structs.replace(freed, workloads=freed.workloads.changed([*placed.values()])),
        tuple(moved),
        tuple(homeless),
    )


def _alike(pods: Sequence[Workload]) -> list[list[Workload]]:
    """Return pods with those behind them that ask for just the same, which are placed as one batch."""
    found: list[list[Workload]] = []
    for pod in pods:
        if found and not pod.volumes and _template(pod) == _template(found[-1][0]):
            found[-1].append(pod)
        else:
            found.append([pod])
    return found


def _template(pod: Workload) -> Workload:
    return msgspec.structs.replace(
        pod, name="", node="", created_seconds=None, started_seconds=None, outages=()
    )


def _shared_out(pods: Sequence[Workload], nodes: Sequence[tuple[str, int]]) -> list[str]:
    """Return the node of each pod, none as '': whoever can stays where it is, then the first by name."""
    left = Counter(dict(nodes))
    staying = set()
    for pod in pods:
        if left[pod.node]:
            left[pod.node] -= 1
            staying.add(pod.key)
    others = left.elements()
    return [pod.node if pod.key in staying else next(others, "") for pod in pods]


def _at(workload: Workload, node: str) -> Workload:
    return msgspec.structs.replace(workload, node=node, state="ok" if node else "init")


def _room(columns: Columns, shape: Batch, waiting: Sequence[Workload]) -> Room:
    (found,) = headroom(columns, (shape,))
    answer = fit(columns, [Batch(each) for each in waiting], names_remedies=False) if waiting else None
    placed = 0 if answer is None else sum(not each.refusal and not each.evicted for each in answer.outcomes)
    name = columns.snapshot.name
    return Room(total(summarise_groups(columns), name), found.replicas, found.bounded, placed)
