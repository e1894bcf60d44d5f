"""Fair shares of one resource in Python integers of any size: the rules as they are written.

Going up, a quota's demand is that of its own workloads and its children's, each within its ceiling. Going
down, each family divides what its parent was given. The hard thing is a lending limit when capacity is
short: it holds back from what would be lent, never from what is guaranteed to somebody who asks for it.
"""

from collections.abc import Sequence
from fractions import Fraction

from ullage.engine.quota.divisors import divided
from ullage.engine.quota.quota_tree import QuotaTree


def family_shares(
    capacity: int,
    minimums: Sequence[int],
    demands: Sequence[int],
    weights: Sequence[int | Fraction],
    lending: Sequence[int | None],
) -> list[int]:
    """Return the shares of one family; `demands` are within the ceilings.

    First everybody gets min(min, demand), by min where capacity is short of these. The surplus, less what
    lending limits hold back of unused guarantees, goes by weight.
    """
    first = [min(minimum, demand) for minimum, demand in zip(minimums, demands, strict=True)]
    surplus = capacity - sum(first)
    if surplus < 0:
        return divided(capacity, minimums, first)
    for minimum, used, limit in zip(minimums, first, lending, strict=True):
        if limit is not None:
            surplus -= max(0, minimum - used - limit)
    rooms = [demand - used for demand, used in zip(demands, first, strict=True)]
    more = divided(max(0, surplus), weights, rooms)
    return [used + extra for used, extra in zip(first, more, strict=True)]


def plain_shares(tree: QuotaTree, resource: int, demands: Sequence[int], capacity: int) -> list[int]:
    """Return the share of every row of one resource; `demands` has what each row's own workloads ask for."""
    minimums = [amounts[resource] for amounts in tree.minimums]
    wanted = [max(0, demand) for demand in demands]
    for level in reversed(tree.levels):
        for row in range(level.start, level.stop):
            ceiling = tree.ceilings[row][resource] if row in tree.ceilings else None
            if ceiling is not None:
                wanted[row] = min(wanted[row], ceiling)
        if level.start:
            for parent, start, stop in _families(level.parents, level.starts, level.stop):
                wanted[parent] = sum(wanted[start:stop])
    weights = [tree.weights.get(row, minimum) for row, minimum in enumerate(minimums)]
    lending = [tree.lending[row][resource] if row in tree.lending else None for row in range(len(wanted))]
    shares = [0] * len(wanted)
    for level in tree.levels:
        for parent, start, stop in _families(level.parents, level.starts, level.stop):
            part = slice(start, stop)
            room = max(0, capacity) if parent < 0 else shares[parent]
            shares[part] = family_shares(room, minimums[part], wanted[part], weights[part], lending[part])
    return shares


def _families(parents: Sequence[int], starts: Sequence[int], stop: int) -> list[tuple[int, int, int]]:
    return list(zip(parents, starts, [*starts[1:], stop], strict=True))
