"""Remedies applied: the cluster or the request as it would be after the change that a remedy names."""

import msgspec

from ullage.engine.placement.spare_nodes import node_like
from ullage.engine.redundancy.daemons import daemons_of, daemons_on
from ullage.model.cluster import Batch, Snapshot
from ullage.model.constraints import NodeAffinity
from ullage.model.delta import Delta, apply
from ullage.model.plan import Remedy

replace = msgspec.structs.replace


def applied(remedy: Remedy, snapshot: Snapshot, batch: Batch) -> tuple[Snapshot, Batch]:
    """Return the cluster and the batch after a remedy."""
    workload = batch.workload
    if remedy.kind == "request":
        return snapshot, replace(batch, workload=replace(workload, requests=remedy.requests))
    if remedy.kind == "replicas":
        return snapshot, replace(batch, replicas=remedy.replicas)
    if remedy.kind == "evict":
        return apply(snapshot, Delta(dropped={"workloads": remedy.evicted})), batch
    if remedy.kind == "node":
        added = tuple(node_like(remedy.node, number) for number in range(remedy.count))
        daemons = tuple(daemons_on(added, daemons_of(snapshot)))
        return apply(snapshot, Delta(nodes=added, workloads=daemons)), batch
    if remedy.toleration is not None:
        tolerations = (*workload.constraints.tolerations, remedy.toleration)
        return snapshot, _constrained(batch, tolerations=tolerations)
    if remedy.without == "node selector":
        return snapshot, _constrained(batch, node_selector={})
    if remedy.without == "node affinity":
        affinity = replace(workload.constraints.affinity, node_affinity=NodeAffinity())
        return snapshot, _constrained(batch, affinity=affinity)
    opened = tuple(replace(snapshot.nodes[name], state="ready") for name in remedy.nodes)
    return apply(snapshot, Delta(nodes=opened)), batch


def _constrained(batch: Batch, **changes: object) -> Batch:
    constraints = replace(batch.workload.constraints, **changes)
    return replace(batch, workload=replace(batch.workload, constraints=constraints))
