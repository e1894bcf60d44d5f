"""Findings: what is wrong or worth knowing in a snapshot, each with its number and a remedy."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np

from ullage.engine.capacity.cache import cache_without_ssd
from ullage.engine.capacity.node_terms import node_terms, over_limit
from ullage.engine.capacity.summary import Summary
from ullage.engine.columns import Columns, Integers
from ullage.engine.quota.cluster_capacity import cluster_capacity
from ullage.engine.quota.use import QuotaUse
from ullage.engine.quota.validation import findings as quota_findings
from ullage.engine.storage.edits import volumes_on
from ullage.model.cluster import HOLDING_STATES, Node, Snapshot
from ullage.model.drives import Drive
from ullage.model.resources import ResourceTypes
from ullage.model.verdict import Finding, Severity

MEMORY: Final = "memory"
SHOWN_NAMES: Final = 3
BUSY_LEFT: Final = 10
"""A node is busy when at most one part in so many of a resource is left."""
_ORDER: Final = {"error": 0, "warning": 1, "info": 2}


def findings_of(
    columns: Columns, groups: list[Summary], quotas: list[QuotaUse], observed: Integers | None = None
) -> tuple[Finding, ...]:
    """Return every finding, the worst first, then by subject.

    `observed` is what lasts of the use of every node, by resource, below 0 where nobody looked: there what
    the source tells of one moment counts.
    """
    snapshot = columns.snapshot
    found = [
        *_over_committed(columns),
        *_hollow(columns, observed),
        *_without_spare(groups, snapshot.resource_types),
        *_node_states(columns),
        *_drives(columns),
        *_quotas(quotas, snapshot.resource_types),
        *_wrong_quotas(columns),
        *_workloads(snapshot),
    ]
    return worst_first(found)


def worst_first(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return findings in the order in which they should be read."""
    return tuple(sorted(findings, key=lambda each: (_ORDER[each.severity], each.code, each.subject)))


def _over_committed(columns: Columns) -> Iterator[Finding]:
    committed = columns.committed
    over = columns.bounded & (committed > columns.limit)
    types = columns.snapshot.resource_types
    for row, column in zip(*over.nonzero(), strict=True):
        node, resource = columns.nodes[row].name, columns.resources[column]
        missing = types[resource].readable(int(committed[row, column] - columns.limit[row, column]))
        yield Finding(
            "over-committed",
            "error",
            f"node/{node}",
            f"node {node}: {over_limit(node_terms(columns, int(row)), resource, types)}",
            f"move or shrink workloads of {missing}, or raise {resource}-ratio",
        )


def _hollow(columns: Columns, observed: Integers | None) -> Iterator[Finding]:
    """Yield nodes that are nearly full by use and yet count more as free than they have.

    Where the policy promises an amount more than once, what is left may be promised as often.
    """
    free_room = columns.free
    actual = columns.actual if observed is None else np.where(observed < 0, columns.actual, observed)
    left = np.maximum(columns.capacity - actual, 0)
    busy = left <= columns.capacity // BUSY_LEFT
    hollow = columns.bounded & ~columns.counts_actual & (actual > 0) & busy & (free_room > left)
    types = columns.snapshot.resource_types
    for row, column in zip(*hollow.nonzero(), strict=True):
        node, resource = columns.nodes[row].name, columns.resources[column]
        ratio = columns.rules_of(columns.nodes[row]).ratio(resource)
        if ratio is None or int(free_room[row, column]) <= ratio * int(left[row, column]):
            continue
        used, capacity, free = (
            types[resource].readable(int(values[row, column]))
            for values in (actual, columns.capacity, free_room)
        )
        lasts = observed is not None and observed[row, column] >= 0
        really = "in use (no more 95% of a week)" if lasts else "really in use"
        yield Finding(
            "promise-hollow",
            "warning",
            f"node/{node}",
            f"node {node}: {used} of {capacity} {resource} {really}, yet {free} of it counts as free",
            f"find what uses more {resource} than it asked for, or count actual use (committed=actual)",
        )


def _without_spare(groups: list[Summary], types: ResourceTypes) -> Iterator[Finding]:
    for group in groups:
        short = {name: -amount for name, amount in group.ullage.items() if amount < 0}
        for name, amount in short.items():
            yield Finding(
                "no-spare",
                "error",
                f"group/{group.name}",
                f"group {group.name}: losing {group.spare_nodes} of {group.nodes} nodes needs "
                f"{types[name].readable(amount)} more {name} than is free",
                "add a node, or lower what is promised",
            )


def _node_states(columns: Columns) -> Iterator[Finding]:
    away = {node.name: node for node in columns.nodes if node.state != "ready"}
    if not away:
        return
    holding = Counter(
        workload.node
        for run in columns.snapshot.workloads.runs()
        for workload in run
        if workload.node in away and workload.holds_capacity
    )
    for node in away.values():
        count = holding[node.name]
        offline = node.state == "offline"
        severity: Severity = "error" if offline and count else "warning" if offline else "info"
        yield Finding(
            f"node-{node.state}",
            severity,
            f"node/{node.name}",
            f"node {node.name} is {node.state} and holds {count} workload{'' if count == 1 else 's'}",
            "bring it back or remove it" if offline else "uncordon it when its work is done",
        )


def _drives(columns: Columns) -> Iterator[Finding]:
    for row, node in enumerate(columns.nodes):
        yield from (_failing(node, drive) for drive in node.drives if not drive.is_healthy)
        rules = columns.rules_of(columns.nodes[row])
        if rules.storage_mode == "zos" and node.drives and not _has_ssd(node):
            yield cache_without_ssd(node.name, rules)[1]


def _failing(node: Node, drive: Drive) -> Finding:
    """Return the finding about a drive that cannot be relied upon, with the volumes that may be lost."""
    volumes = [each.name for each in volumes_on(node, drive.uuid)]
    message = (
        f"drive {drive.uuid} on node {node.name} is {drive.health} and {drive.status}: it offers nothing"
    )
    remedy = "replace it"
    if volumes:
        more = f" and {len(volumes) - SHOWN_NAMES} more" if len(volumes) > SHOWN_NAMES else ""
        count = f"{len(volumes)} volume{'' if len(volumes) == 1 else 's'}"
        message += f", and {count} may be lost with it ({', '.join(volumes[:SHOWN_NAMES])}{more})"
        remedy = f"copy the data and replace it; ullage check --lose drive/{drive.uuid} says who starts again"
    severity: Severity = "error" if drive.health == "BAD" else "warning"
    return Finding("drive-unhealthy", severity, f"drive/{drive.uuid}", message, remedy)


def _has_ssd(node: Node) -> bool:
    return any(drive.drive_class != "HDD" for drive in node.drives)


def _quotas(quotas: list[QuotaUse], types: ResourceTypes) -> Iterator[Finding]:
    for use in quotas:
        quota = use.quota
        for name, bound in quota.max.items():
            if use.used.of(name) > bound:
                yield Finding(
                    "quota-exceeded",
                    "error",
                    f"quota/{quota.name}",
                    f"quota {quota.name} uses {types[name].readable(use.used.of(name))} of {name}, "
                    f"more than its max {types[name].readable(bound)}",
                    "stop a workload of the quota, or raise max",
                )
        borrowed = use.borrowed.without_zeros()
        if borrowed:
            amounts = ", ".join(f"{types[name].readable(amount)} {name}" for name, amount in borrowed.items())
            yield Finding(
                "quota-borrowing",
                "info",
                f"quota/{quota.name}",
                f"quota {quota.name} borrows {amounts} beyond its min",
                "its owner may be asked to give it back",
            )


def _wrong_quotas(columns: Columns) -> tuple[Finding, ...]:
    """Return what is wrong with the quotas themselves, whatever runs under them."""
    snapshot = columns.snapshot
    if not snapshot.quotas:
        return ()
    return quota_findings(snapshot.quotas, cluster_capacity(columns), snapshot.resource_types)


def _workloads(snapshot: Snapshot) -> Iterator[Finding]:
    waiting: list[str] = []
    unbounded: list[str] = []
    inverted: list[str] = []
    # Equal limits and requests are mostly one object each: a pair of them is looked at once.
    wrong: dict[tuple[int, int], tuple[list[str], ...]] = {}
    for run in snapshot.workloads.runs():
        for workload in run:
            state = workload.state
            if state == "init":
                waiting.append(workload.key)
            if not workload.node or state not in HOLDING_STATES:
                continue
            limits, requests = workload.limits, workload.requests
            lists = wrong.get((id(limits), id(requests)))
            if lists is None:
                is_inverted = any(amount < requests.of(name) for name, amount in limits.items())
                lists = (unbounded,) * (MEMORY not in limits) + (inverted,) * is_inverted
                wrong[id(limits), id(requests)] = lists
            for each in lists:
                each.append(workload.key)
    if waiting:
        yield Finding(
            "pending",
            "warning",
            "cluster",
            f"{_counted(waiting)} to be placed",
            "ask ullage fit why",
        )
    if unbounded:
        yield Finding(
            "memory-unbounded",
            "info",
            "cluster",
            f"{_counted(unbounded, 'without a memory limit', 'without a memory limit')}: "
            "bounded only by the node",
            "give them memory limits",
        )
    if inverted:
        yield Finding(
            "limit-below-request",
            "warning",
            "cluster",
            f"{_counted(inverted, 'has a limit below its request', 'have limits below their requests')}",
            "raise the limit to the request",
        )


def _counted(keys: list[str], one: str = "waits", many: str = "wait") -> str:
    shown = ", ".join(keys[:SHOWN_NAMES])
    more = f" and {len(keys) - SHOWN_NAMES} more" if len(keys) > SHOWN_NAMES else ""
    noun = "workload" if len(keys) == 1 else "workloads"
    return f"{len(keys)} {noun} ({shown}{more}) {one if len(keys) == 1 else many}"
