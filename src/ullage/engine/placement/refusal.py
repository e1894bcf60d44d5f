"""Why something does not fit, over all nodes: which resource is short how often, and the nearest remedy.

The remedy is the smallest single change that would let one more replica in: the node that lacks fewest
resources, and there the request that would just fit.
"""

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Final

from ullage.engine.capacity.admission import Place, explain_shortfall, shortfall_of, show_down
from ullage.model.cluster import Workload
from ullage.model.plan import Refusal
from ullage.model.verdict import Shortfall

SHOWN_NODES: Final = 3


def explain_refusal(asked: Workload, count: int, places: Sequence[Place], nodes: int) -> Refusal:
    """Return why `count` replicas have no place among the nodes that were considered."""
    if not places:
        return _nowhere(asked, count, nodes)
    short = [(place, _shortfalls(place, asked)) for place in places]
    tally = Counter(each.resource for _, shortfalls in short for each in shortfalls)
    resources = ", ".join(f"{name} short on {tally[name]}" for name in sorted(tally))
    nearest = sorted((pair for pair in short if pair[1]), key=_distance)[:SHOWN_NODES]
    place, shortfalls = nearest[0]
    lines = "; ".join(explain_shortfall(each, place) for each in shortfalls)
    reason = f"0/{len(places)} nodes have room ({resources}); nearest is {lines}"
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
    if any(amount <= 0 for _, amount in fitting):
        missing = ", ".join(
            f"{place.types[each.resource].readable(each.missing.value)} of {each.resource}"
            for each in shortfalls
        )
        return f"free {missing} on node {place.node}, or add a node that has it"
    smaller = " and ".join(f"{name} to {show_down(name, amount, place.types)}" for name, amount in fitting)
    return f"lower the request of {smaller}: one more then fits on node {place.node}"


def _nowhere(asked: Workload, count: int, nodes: int) -> Refusal:
    if asked.node:
        return Refusal(
            asked.key,
            count,
            f"node {asked.node}, which it names, is unknown",
            remedy="name a node of the cluster",
        )
    return Refusal(
        asked.key, count, f"none of {nodes} nodes takes workloads", remedy="uncordon a node or add one"
    )
