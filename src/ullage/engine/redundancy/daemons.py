"""Workloads that belong to their node: daemons of it, parts of the node, and what is promised there."""

from collections.abc import Sequence
from typing import Final

import msgspec

from ullage.engine.placement.node_rules import NAME_FIELD, closed_by
from ullage.model.cluster import Node, Snapshot, Workload
from ullage.model.constraints import Constraints, NodeSelector, NodeSelectorTerm

DAEMON_SET: Final = "DaemonSet/"
DAEMONS: Final = (DAEMON_SET, "Node/")
RESERVATION: Final = "Reservation"
"""The kind of what stands on a node for a promise whose workload the cluster does not know."""


def is_daemon(workload: Workload) -> bool:
    """Whether a workload belongs to its node and is started on no other."""
    return workload.promised or workload.owner.startswith(DAEMONS)


def daemons_of(snapshot: Snapshot) -> list[Workload]:
    """Return one pod of each set of daemons, freed of the node it was made for."""
    found: dict[tuple[str, str], Workload] = {}
    for workload in snapshot.workloads:
        if workload.owner.startswith(DAEMON_SET) and workload.holds_capacity:
            found.setdefault((workload.namespace, workload.owner), workload)
    return [_freed(found[key]) for key in sorted(found)]


def daemons_on(nodes: Sequence[Node], daemons: Sequence[Workload]) -> list[Workload]:
    """Return the daemons that would run on new nodes."""
    return [
        msgspec.structs.replace(
            daemon, name=f"{daemon.owner.removeprefix(DAEMON_SET)}-{node.name}", node=node.name
        )
        for node in nodes
        for daemon in daemons
        if not closed_by(node, daemon)
    ]


def _freed(daemon: Workload) -> Workload:
    """Return a daemon without the field by which its controller ties each pod to its node."""
    affinity = daemon.constraints.affinity
    nodes = affinity.node_affinity if affinity else None
    if affinity is None or nodes is None or nodes.required is None:
        return daemon
    terms = [
        NodeSelectorTerm(
            term.match_expressions, tuple(each for each in term.match_fields if each.key != NAME_FIELD)
        )
        for term in nodes.required.node_selector_terms
    ]
    kept = tuple(term for term in terms if term.match_expressions or term.match_fields)
    required = NodeSelector(kept) if len(kept) == len(terms) else None
    freed = msgspec.structs.replace(nodes, required=required)
    constraints: Constraints = msgspec.structs.replace(
        daemon.constraints, affinity=msgspec.structs.replace(affinity, node_affinity=freed)
    )
    return msgspec.structs.replace(daemon, constraints=constraints)
