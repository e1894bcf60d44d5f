"""Remedies found and applied: the cluster or the request after the change that a remedy names."""

from collections.abc import Sequence
from typing import Any

import msgspec

from builders import batch as batch_of
from builders import cluster, policy
from ullage.engine.columns import Columns
from ullage.engine.placement.fit import fit
from ullage.engine.placement.limit_ranges import with_requests
from ullage.engine.placement.spare_nodes import node_like
from ullage.engine.redundancy.daemons import daemons_of, daemons_on
from ullage.model.cluster import Batch, Snapshot, Workload
from ullage.model.constraints import NodeAffinity
from ullage.model.delta import Delta, apply
from ullage.model.plan import Remedy
from ullage.model.policy import Layer

replace = msgspec.structs.replace


def applied(remedy: Remedy, snapshot: Snapshot, batch: Batch) -> tuple[Snapshot, Batch]:
    """Return the cluster and the batch after a remedy."""
    workload = batch.workload
    if remedy.kind == "request":
        return snapshot, replace(batch, workload=with_requests(workload, remedy.requests))
    if remedy.kind == "replicas":
        return snapshot, replace(batch, replicas=remedy.replicas)
    if remedy.kind == "evict":
        return apply(snapshot, Delta(dropped={"workloads": remedy.evicted})), batch
    if remedy.kind == "wait":
        return apply(snapshot, Delta(dropped={"workloads": remedy.waits_for})), batch
    if remedy.kind == "node":
        added = tuple(node_like(remedy.node, number) for number in range(remedy.count))
        daemons = tuple(daemons_on(added, daemons_of(snapshot)))
        return apply(snapshot, Delta(nodes=added, workloads=daemons)), batch
    if remedy.kind == "spare":
        none = {"spare-nodes": "0"}
        layer = Layer("remedy", cluster=none, groups={node.group: none for node in snapshot.nodes})
        return replace(snapshot, policy=snapshot.policy.with_layer(layer)), batch
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


def found_for(snapshot: Snapshot, wanted: Batch) -> list[Remedy]:
    """The remedies of a batch that does not fit, each of which makes it fit."""
    refusal = fit(Columns(snapshot), [wanted]).outcomes[0].refusal
    assert refusal is not None
    for remedy in refusal.remedies:
        after, then = applied(remedy, snapshot, wanted)
        assert fit(Columns(after), [then]).fits, remedy.text
    return list(refusal.remedies)


def remedies(parts: Sequence[Any], asked: Workload, replicas: int = 1, **settings: str) -> list[Remedy]:
    return found_for(cluster(*parts, policy=policy(**settings)), batch_of(replicas, asked))


def texts(parts: Sequence[Any], asked: Workload, replicas: int = 1, **settings: str) -> list[str]:
    return [each.text for each in remedies(parts, asked, replicas, **settings)]


def _constrained(batch: Batch, **changes: object) -> Batch:
    constraints = replace(batch.workload.constraints, **changes)
    return replace(batch, workload=replace(batch.workload, constraints=constraints))
