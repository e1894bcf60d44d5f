"""The terms of one node, each a map by resource: what `status` shows of it, and what is written about it."""

from ullage.engine.columns import Columns
from ullage.model.constraints import Record
from ullage.model.resources import NOTHING, Resources, ResourceTypes


class NodeTerms(Record, frozen=True):
    """The figures of a node by term; a resource without a bound has no limit and no free.

    `standby` is what it holds free for failover of others; nothing where none does.
    """

    capacity: Resources
    reserve: Resources
    allocatable: Resources
    limit: Resources
    promised: Resources
    committed: Resources
    free: Resources
    standby: Resources = NOTHING

    def beyond(self) -> Resources:
        """Return how much more is committed than the limit, of what is over-committed."""
        over = {name: self.committed.of(name) - limit for name, limit in self.limit.items()}
        return Resources({name: amount for name, amount in over.items() if amount > 0})


def node_terms(columns: Columns, row: int) -> NodeTerms:
    """Return the terms of the node of a row."""
    figures = columns.figures(row)
    bounds = {name: each.bounds for name, each in figures.items()}
    return NodeTerms(
        capacity=Resources({name: each.capacity for name, each in bounds.items()}),
        reserve=Resources({name: each.reserve for name, each in bounds.items()}),
        allocatable=Resources({name: each.allocatable for name, each in bounds.items()}),
        limit=Resources({name: each.limit for name, each in bounds.items() if each.limit is not None}),
        promised=Resources({name: each.promised for name, each in figures.items()}),
        committed=Resources({name: each.committed for name, each in figures.items()}),
        free=Resources({name: each.free for name, each in figures.items() if each.free is not None}),
        standby=Resources({name: each.standby for name, each in figures.items() if each.standby}) or NOTHING,
    )


def over_limit(terms: NodeTerms, resource: str, types: ResourceTypes) -> str:
    """Return in words by how much a resource of a node is over-committed."""
    show = types[resource].readable
    taken, limit = terms.committed[resource], terms.limit[resource]
    what = "in use beyond the reserve" if terms.promised.of(resource) < taken else "promised"
    return f"{show(taken)} of {resource} {what}, {show(taken - limit)} over its limit {show(limit)}"
