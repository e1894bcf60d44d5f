"""Whose turn it is: those who wait, the quota that has least of what it is entitled to first.

Turn by turn the quota with the smallest part of its entitlement in use goes, by the resource of which it has
most; what goes counts as used at once. Inside a quota the order that was given stays. Parts are compared as
exact fractions, ties by the name of the quota.
"""

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from heapq import heapify, heappop, heappush
from typing import Final, TypeVar

from ullage.engine.quota.book import NO_QUOTA, Member, Terms

Asking = TypeVar("Asking")

NO_SHARE: Final = 1 << 62
"""The part in use of a quota that uses something of which it is entitled to nothing: it comes last."""


def by_entitlement(
    waiting: Iterable[Asking],
    member_of: Callable[[Asking], Member],
    used: Sequence[Sequence[int]],
    entitlements: Sequence[Terms],
) -> list[Asking]:
    """Return those who wait in the order of their turns; who has no quota comes first, as given."""
    queues: dict[int, list[tuple[Asking, Member]]] = {}
    ordered: list[Asking] = []
    for each in waiting:
        member = member_of(each)
        if member.quota == NO_QUOTA:
            ordered.append(each)
        else:
            queues.setdefault(member.quota, []).append((each, member))
    if len(queues) == 1:
        return ordered + [each for queue in queues.values() for each, _ in queue]
    taken = {quota: list(used[quota]) for quota in queues}
    turns = [(part_in_use(taken[quota], entitlements[quota]), quota, 0) for quota in queues]
    heapify(turns)
    while turns:
        _, quota, place = heappop(turns)
        each, member = queues[quota][place]
        ordered.append(each)
        for resource, amount in enumerate(member.amounts):
            taken[quota][resource] += amount
        if place + 1 < len(queues[quota]):
            heappush(turns, (part_in_use(taken[quota], entitlements[quota]), quota, place + 1))
    return ordered


def part_in_use(used: Sequence[int], entitlement: Terms) -> Fraction:
    """Return the largest part of an entitlement that is in use, over the resources it names."""
    return max(
        (
            Fraction(amount, share) if share else Fraction(NO_SHARE if amount else 0)
            for amount, share in zip(used, entitlement, strict=True)
            if share is not None
        ),
        default=Fraction(0),
    )
