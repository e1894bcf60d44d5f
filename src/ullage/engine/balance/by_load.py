"""Balancing by load: memory that is really in use as one more term, which counts by the memory ratio."""

from collections.abc import Mapping
from fractions import Fraction
from typing import NamedTuple

from ullage.engine.balance.facts import NO_LOAD, Load
from ullage.engine.balance.of_snapshot import MEMORY
from ullage.engine.balance.score import DYNAMIC, Term, with_load, with_weights
from ullage.engine.columns import Columns, RulesByPlace
from ullage.model.cluster import Snapshot


class Loads(NamedTuple):
    """Memory that is really in use, in bytes: by workloads, and beside them on nodes."""

    workloads: Mapping[str, int]
    beyond: Mapping[str, int]


def loads_of(snapshot: Snapshot, loads: Loads | None) -> dict[str, Load]:
    """Return the loads of all workloads by name; none where nothing is known."""
    if loads is None:
        return {}
    used = loads.workloads
    return {each.key: NO_LOAD._replace(memory=float(used.get(each.key, 0))) for each in snapshot.workloads}


def terms_by_load(snapshot: Snapshot, group: str, weights: Mapping[str, float]) -> tuple[Term, ...]:
    """Return terms with that of memory in use, weighed by the highest memory ratio of a group's nodes."""
    return with_load(with_weights(weights), ratio_in_force(snapshot, group), weights.get(DYNAMIC.name))


def ratio_in_force(snapshot: Snapshot, group: str) -> Fraction:
    """Return the highest memory ratio of a group's nodes; without bound, the highest that is promised."""
    rules, nodes = RulesByPlace(snapshot), [each for each in snapshot.nodes if each.group == group]
    ratios = [rules.of(each).ratio(MEMORY) for each in nodes]
    if all(each is not None for each in ratios):
        return max([each for each in ratios if each is not None], default=Fraction(1))
    columns = Columns(snapshot)
    column = columns.resource_index.get(MEMORY)
    relative = [
        Fraction(int(columns.promised[row, column]), int(columns.allocatable[row, column]))
        for row, node in enumerate(columns.nodes)
        if node.group == group and column is not None and columns.allocatable[row, column] > 0
    ]
    return max([*relative, *(each for each in ratios if each is not None)], default=Fraction(1))
