"""One amount divided by weight, in whole units, with a bound on each share: Webster's divisor method.

The rule is one unit at a time: the next goes to whoever has the smallest (2 x share + 1) / weight and is
below its bound; ties go to the first. Amounts are bytes, so units are never counted out. A multiplier m
gives everybody round(m x weight) or the bound; with n members whose bounds are not reached, the amount less
n / 2 over their weights is a multiplier that never gives too much, and what it leaves is at most n units.
These alone are handed out one by one. All is integer arithmetic of any size.
"""

from collections.abc import Sequence
from fractions import Fraction
from heapq import heapify, heappop, heapreplace
from math import lcm


def divided(amount: int, weights: Sequence[int | Fraction], bounds: Sequence[int]) -> list[int]:
    """Return the shares of an amount; they sum to it, or to the bounds where these are less.

    Whoever has weight 0 gets something only when all others have reached their bounds; those of weight 0
    share what is left equally.
    """
    if amount >= sum(bounds):
        return list(bounds)
    shares = [0] * len(bounds)
    scale = lcm(*(weight.denominator for weight in weights))
    whole = [weight.numerator * (scale // weight.denominator) for weight in weights]
    weighty = [member for member, weight in enumerate(whole) if weight > 0 and bounds[member] > 0]
    left = amount - sum(bounds[member] for member in weighty)
    if left < 0:
        _divide(amount, weighty, whole, bounds, shares)
        return shares
    for member in weighty:
        shares[member] = bounds[member]
    weightless = [member for member, weight in enumerate(whole) if weight <= 0 and bounds[member] > 0]
    _divide(left, weightless, [1] * len(whole), bounds, shares)
    return shares


def _divide(
    amount: int, members: list[int], weights: Sequence[int], bounds: Sequence[int], shares: list[int]
) -> None:
    """Divide an amount that is less than the sum of the members' bounds; all weights are above 0."""
    left, below = amount, members
    while below:  # every round takes a member out, or is the last
        total = sum(weights[member] for member in below)
        twice = 2 * left - len(below)
        for member in below:
            shares[member] = max(0, (twice * weights[member] + total) // (2 * total))
        full = [member for member in below if shares[member] >= bounds[member]]
        if not full:
            break
        for member in full:
            shares[member] = bounds[member]
            left -= bounds[member]
        below = [member for member in below if shares[member] < bounds[member]]
    left -= sum(shares[member] for member in below)  # at most one unit for each of them
    waiting = [(Fraction(2 * shares[member] + 1, weights[member]), member) for member in below]
    heapify(waiting)
    for _ in range(left):
        member = waiting[0][1]
        shares[member] += 1
        if shares[member] < bounds[member]:
            heapreplace(waiting, (Fraction(2 * shares[member] + 1, weights[member]), member))
        else:
            heappop(waiting)
