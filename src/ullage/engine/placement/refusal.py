"""Why something does not fit, over all nodes: which resource is short how often, and the nearest remedy.

The remedy is the smallest single change that would let one more replica in, on the node that lacks fewest
resources: the request that would just fit there, else what would have to go, else a node that has it.
"""

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

import msgspec

from ullage.engine.capacity.admission import Place, explain_shortfall, shortfall_of, show_down
from ullage.engine.placement.node_rules import closed_by
from ullage.model.cluster import Node, Workload
from ullage.model.plan import Refusal
from ullage.model.resources import ResourceTypes
from ullage.model.verdict import Shortfall


def explain_refusal(
    asked: Workload,
    count: int,
    places: Sequence[Place],
    nodes: Sequence[Node],
    closed: Sequence[Place] = (),
) -> Refusal:
    """Return why `count` replicas have no place among the places that it may have of all nodes.

    `closed` are the places on nodes that are closed to it: one that has room is a remedy of its own.
    """
    refusal = _refusal(asked, count, places, nodes)
    for place in closed:
        if not _shortfalls(place, asked):
            node = next(each for each in nodes if each.name == place.node)
            opening = f"open node {node.name} to it ({closed_by(node, asked)}): it has room"
            remedy = f"{refusal.remedy}; or {opening}" if places else opening
            return msgspec.structs.replace(refusal, remedy=remedy)
    return refusal


def _refusal(asked: Workload, count: int, places: Sequence[Place], nodes: Sequence[Node]) -> Refusal:
    if not places:
        return _nowhere(asked, count, nodes)
    short = [(place, _shortfalls(place, asked)) for place in places]
    tally = Counter(each.resource for _, shortfalls in short for each in shortfalls)
    resources = ", ".join(f"{name} short on {tally[name]}" for name in sorted(tally))
    place, shortfalls = min(short, key=_distance)
    lines = "; ".join(explain_shortfall(each, place) for each in shortfalls)
    reason = f"0/{len(places)} nodes have room ({resources}{_closed(asked, nodes)}); nearest: {lines}"
    return Refusal(asked.key, count, reason, shortfalls, _remedy(place, shortfalls))


def _shortfalls(place: Place, asked: Workload) -> tuple[Shortfall, ...]:
    found = (shortfall_of(place, name, amount) for name, amount in asked.requests.items())
    return tuple(each for each in found if each is not None)


def _distance(pair: tuple[Place, tuple[Shortfall, ...]]) -> tuple[int, Fraction, str]:
    """Order nodes by how many resources they lack, then by how much of the request that is."""
    place, shortfalls = pair
    lacking = max(Fraction(each.missing.value, each.requested.value) for each in shortfalls)
    return len(shortfalls), lacking, place.node


def _remedy(place: Place, shortfalls: Sequence[Shortfall]) -> str:
    fitting = [(each.resource, each.requested.value - each.missing.value) for each in shortfalls]
    if all(amount > 0 for _, amount in fitting):
        smaller = " and ".join(
            f"{name} to {show_down(name, amount, place.types)}" for name, amount in fitting
        )
        return f"lower the request of {smaller}: one more then fits on node {place.node}"
    if all(each.eviction_could_help for each in shortfalls):
        freed = [(each.resource, each.missing.value + _over(each)) for each in shortfalls]
        return f"free {_amounts(freed, place.types)} on node {place.node}, or add a node that has it"
    needed = [(each.resource, each.requested.value) for each in shortfalls]
    return f"add a node with {_amounts(needed, place.types)}"


def resize_remedy(shortfalls: Sequence[Shortfall], types: ResourceTypes) -> str:
    """Return how far a workload that runs already could grow where it is."""
    sizes = [(each.resource, each.requested.value - each.missing.value) for each in shortfalls]
    grown = " and ".join(f"{name} to {show_down(name, amount, types)}" for name, amount in sizes)
    return f"grow {grown} at most, or move it to a node with more room"


def _over(short: Shortfall) -> int:
    """Return what is committed beyond the limit: it has to go before anything is free."""
    return max(0, short.committed.value - short.limit.value)


def _amounts(pairs: Sequence[tuple[str, int]], types: ResourceTypes) -> str:
    return " and ".join(f"{types[name].readable(amount)} of {name}" for name, amount in pairs)


def _nowhere(asked: Workload, count: int, nodes: Sequence[Node]) -> Refusal:
    if not asked.node:
        reason = f"none of {len(nodes)} nodes may take it{_closed(asked, nodes)}"
        return Refusal(asked.key, count, reason, remedy="open a node to it, or add one")
    named = next((node for node in nodes if node.name == asked.node), None)
    if named is None:
        reason, remedy = f"node {asked.node}, which it names, is unknown", "name a node of the cluster"
    else:
        reason = f"node {named.name}, which it names, is closed to it ({closed_by(named, asked)})"
        remedy = "open the node to it, or name another"
    return Refusal(asked.key, count, reason, remedy=remedy)


def _closed(asked: Workload, nodes: Sequence[Node]) -> str:
    """Return how many nodes are closed to a workload, by what closes them."""
    tally = Counter(reason for node in nodes if (reason := closed_by(node, asked)))
    counts = ", ".join(f"{tally[reason]} {reason}" for reason in sorted(tally))
    return f"; closed to it: {counts}" if tally else ""
