"""Whom single claims of a quota take: one of the size of a workload takes it rather than several small ones.

Which claims are tried is the hard thing, for each of them is a search. They are those of the size of some
workload, the one up to the min, whose right is another than that of a larger one, and the largest one that
evicts; all of them where these are few.
"""

from typing import Final

from ullage.engine.quota.claimed_back import SEARCHED_MAX, ClaimedBack

SIZES_MAX: Final = 12
"""Sizes of workloads that are tried, of the smallest and of the largest as many."""


def single_claims(
    back: ClaimedBack, quota: int, resource: int, free: int, most: int | None
) -> dict[int, frozenset[str]]:
    """Return whom single claims of more than is free take, by how much they ask for: little first."""
    if len(back.candidates) > SEARCHED_MAX:
        return {}
    alone = {each.amounts[resource] for each in back.candidates if each.quota != quota}
    sizes = sorted((alone | back.gangs.amounts(resource)) - {0})
    if len(sizes) > 2 * SIZES_MAX:
        sizes = [*sizes[:SIZES_MAX], *sizes[-SIZES_MAX:]]
    limit = free + sum(each.amounts[resource] for each in back.candidates) if most is None else most
    standing, book = back.rules.standing, back.rules.book
    own = (book.own_mins[quota][resource] or 0) - standing.own_used[quota][resource]
    asked = {min(limit, amount) for amount in (*(free + size for size in sizes), own)}
    if limit - free <= 2 * SIZES_MAX:
        asked |= set(range(free + 1, limit + 1))
    found = {amount: back.by_one(quota, resource, amount) for amount in asked if amount > free}
    granted = max((amount for amount, taken in found.items() if taken), default=free)
    refused = limit + 1
    tried = limit
    while refused - granted > 1:
        if tried not in found:
            found[tried] = back.by_one(quota, resource, tried)
        if found[tried]:
            granted = tried
        else:
            refused = tried
        tried = (granted + refused) // 2
    return {amount: found[amount] for amount in sorted(found)}
