"""How full a cluster is: the terms of every node, summed by group, with what failover needs.

    spare  = the largest sum of (free + committed) over any k nodes of the group
    ullage = sum of free over the group - spare

Free room counts only where new workloads may go: what a cordoned or offline node has left is `blocked`.
A node that fails takes its free room with it and hands over what it holds, hence free + committed. Room that
nodes hold for failover already (standby) is not free, but is there for the failure: it counts towards spare.
"""

from typing import NamedTuple

import numpy as np

from ullage.engine.capacity.bounds import free_of
from ullage.engine.columns import SUM_MAX, Columns, Flags, Integers
from ullage.model.cluster import Node
from ullage.model.constraints import Record
from ullage.model.resources import NOTHING, Resources
from ullage.model.settings import rules_for


class Summary(Record, frozen=True):
    """Sums over a set of nodes by resource.

    What a node has without a bound is in none of the sums that need one: limit, free, blocked, spare, ullage.
    `standby` is what nodes hold free for failover of others; nothing where none does.
    """

    name: str
    nodes: int
    ready: int
    capacity: Resources
    reserve: Resources
    allocatable: Resources
    limit: Resources
    promised: Resources
    committed: Resources
    free: Resources
    blocked: Resources
    spare_nodes: int
    spare: Resources
    ullage: Resources
    standby: Resources = NOTHING


class Taken(NamedTuple):
    """What is taken and free on every node: worked out once, however many sets of them are summed."""

    committed: Integers
    free: Integers


def summarise_groups(columns: Columns) -> list[Summary]:
    """Return the summary of every group that has nodes, by name."""
    rows_of: dict[str, list[int]] = {}
    for row, node in enumerate(columns.nodes):
        rows_of.setdefault(node.group, []).append(row)
    snapshot = columns.snapshot
    taken = Taken(columns.committed, columns.free)
    found: list[Summary] = []
    for group in sorted(rows_of):
        rules = rules_for(snapshot.policy, snapshot.resource_types, group)
        found.append(_summarise(columns, taken, group, rows_of[group], rules.spare_nodes))
    return found


def summarise_domains(columns: Columns) -> list[Summary]:
    """Return the summary of every failure domain that has nodes, by name; no spare is kept in a domain."""
    rows_of: dict[str, list[int]] = {}
    for row, node in enumerate(columns.nodes):
        if node.domain:
            rows_of.setdefault(node.domain, []).append(row)
    taken = Taken(columns.committed, columns.free)
    return [_summarise(columns, taken, domain, rows_of[domain], 0) for domain in sorted(rows_of)]


def total(summaries: list[Summary], name: str) -> Summary:
    """Return the sum of several summaries."""
    none = Resources()
    amounts = {
        field: sum((getattr(each, field) for each in summaries), none)
        for field in Summary.__struct_fields__
        if field not in {"name", "nodes", "ready", "spare_nodes"}
    }
    amounts["standby"] = amounts["standby"] or NOTHING
    return Summary(
        name=name,
        nodes=sum(each.nodes for each in summaries),
        ready=sum(each.ready for each in summaries),
        spare_nodes=sum(each.spare_nodes for each in summaries),
        **amounts,
    )


def takes_workloads(node: Node) -> bool:
    """Whether something new may be placed on a node."""
    return node.state == "ready"


def _summarise(columns: Columns, taken: Taken, name: str, rows: list[int], spare_nodes: int) -> Summary:
    ready = np.array([takes_workloads(columns.nodes[row]) for row in rows], np.bool_)[:, None]
    online = np.array([columns.nodes[row].state != "offline" for row in rows], np.bool_)[:, None]
    bounded = columns.bounded[rows] & (columns.capacity[rows] > 0)
    committed = taken.committed[rows]
    room = np.where(bounded, taken.free[rows], 0)
    free = np.where(ready, room, 0)
    nothing = np.zeros_like(room)
    usable = np.where(ready & bounded, free_of(columns.limit[rows], committed, nothing), 0)
    needed = _largest(np.where(bounded & online, usable + committed, 0), spare_nodes)
    held = _exact_sum(usable - free)
    spare = [max(0, most - there) for most, there in zip(needed, held, strict=True)]
    some: Flags = np.logical_or.reduce(bounded, axis=0)
    every = np.ones(len(columns.resources), np.bool_)

    def summed(values: Integers, only: Flags = every) -> Resources:
        return _by_resource(columns, _exact_sum(values), only)

    return Summary(
        name=name,
        nodes=len(rows),
        ready=int(ready.sum()),
        capacity=summed(columns.capacity[rows]),
        reserve=summed(np.minimum(columns.reserve[rows], columns.capacity[rows])),
        allocatable=summed(columns.allocatable[rows]),
        limit=summed(np.where(bounded, columns.limit[rows], 0), some),
        promised=summed(columns.promised[rows]),
        committed=summed(committed),
        free=summed(free, some),
        blocked=summed(room - free, some),
        spare_nodes=spare_nodes,
        spare=_by_resource(columns, spare, some),
        ullage=summed(free, some) - _by_resource(columns, spare, some),
        standby=summed(columns.standby[rows]).without_zeros() or NOTHING,
    )


def _largest(values: Integers, count: int) -> list[int]:
    """Return, column by column, the sum of the largest values."""
    kept = min(count, len(values))
    if not kept:
        return [0] * values.shape[1]
    return _exact_sum(np.partition(values, len(values) - kept, axis=0)[len(values) - kept :])


def _exact_sum(values: Integers) -> list[int]:
    """Return the sum of each column, in integers without bound where 64 bits might not do."""
    if np.abs(values.astype(np.float64)).sum(axis=0).max(initial=0) < SUM_MAX:
        return [int(each) for each in values.sum(axis=0)]
    return [sum(int(each) for each in column) for column in values.T]


def _by_resource(columns: Columns, values: list[int], only: Flags) -> Resources:
    return Resources(
        {resource: values[column] for column, resource in enumerate(columns.resources) if only[column]}
    )
