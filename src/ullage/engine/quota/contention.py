"""How much more others must ask for before a quota's entitlement falls below an amount (mode fair).

Additional demand comes from those that leave some of their min unused, in proportion to it, then from all
others, each up to its share if everybody asked for everything. Along this way an entitlement only falls, so
the least demand is found between two points; most ways are straight in pieces, so the next point is where a
straight line would pass, and the middle every third time. What was looked at is kept for the next amount.
"""

from bisect import bisect_left, insort
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from ullage.engine.quota.book import NO_QUOTA, Amounts, Member, Terms
from ullage.engine.quota.divisors import divided
from ullage.engine.quota.shares import unused
from ullage.engine.quota.standing import Standing
from ullage.model.quantity import INT64_MAX
from ullage.model.resources import NOTHING

LOOKS_MAX: Final = 400
"""How many points are looked at for one quota; after that an answer is a lower bound."""

ALL_MAX: Final = INT64_MAX >> 2


class Contention:
    """What quotas are entitled to when others ask for more than they do now."""

    def __init__(self, standing: Standing, waiting: Iterable[Member], capacity: Mapping[str, int]) -> None:
        self._standing = standing
        self._book = standing.book
        self._waiting = tuple(waiting)
        self._capacity = capacity
        count = max(1, len(self._book.quotas))
        offered = self._book.amounts({name: capacity.get(name, 0) for name in self._book.shared})
        self._everything = tuple(0 if each >= INT64_MAX else min(each, ALL_MAX // count) for each in offered)
        self._demand = [list(own) for own in standing.own_used]
        for member in self._waiting:
            if member.quota != NO_QUOTA:
                for place, amount in enumerate(member.amounts):
                    self._demand[member.quota][place] += amount
        everyone = [self._everything] * len(self._book.quotas)
        self.least = self.entitlements(everyone)
        """What each is entitled to if everybody asks for everything."""

    def entitlements(self, more: Sequence[Amounts]) -> tuple[Terms, ...]:
        """Return what each quota is entitled to if it asks for so much more."""
        asking = (Member("", quota, amounts, NOTHING) for quota, amounts in enumerate(more) if any(amounts))
        return self._standing.entitlements((*self._waiting, *asking), self._capacity)

    def alone(self, quota: int) -> Terms:
        """Return what a quota is entitled to if it alone asks for everything."""
        nothing = (0,) * len(self._everything)
        more = [self._everything if each == quota else nothing for each in range(len(self._book.quotas))]
        return self.entitlements(more)[quota]

    def way_of(self, quota: int) -> "Way":
        """Return the way on which all others ask for more and more."""
        book = self._book
        rooms: list[Amounts] = []
        weights: list[Amounts] = []
        for other in range(len(book.quotas)):
            terms = self.least[other]
            room = tuple(
                max(0, (most or 0) - asked) if other != quota else 0
                for most, asked in zip(terms, self._demand[other], strict=True)
            )
            rooms.append(room)
            weights.append(unused(self._standing.own_used[other], book.own_mins[other]))
        return Way(self, quota, weights, rooms)


class Way:
    """The entitlement of one quota by what all others ask for beyond their demand, resource by resource."""

    def __init__(
        self, contention: Contention, quota: int, weights: Sequence[Amounts], rooms: Sequence[Amounts]
    ) -> None:
        self._contention = contention
        self._quota = quota
        self._weights = weights
        self._rooms = rooms
        self._looks = LOOKS_MAX
        self._ends = [sum(each) for each in zip(*rooms, strict=True)]
        self._seen: list[list[tuple[int, int]]] = [[] for _ in self._ends]
        self._look([0] * len(self._ends))
        self._look(self._ends)

    def until_below(self, amounts: Sequence[int]) -> Terms:
        """Return for each resource the least that others ask for when the entitlement is below an amount.

        None where it never is, or where no share is kept. Where too many points would have to be looked at,
        it is the most that surely is not enough yet, and one more.
        """
        brackets = [self._bracket(place, amount) for place, amount in enumerate(amounts)]
        for turn in range(self._looks):
            guesses = [
                0 if bracket is None else _between(bracket, amounts[place] - 1, halve=turn % 3 == 2)
                for place, bracket in enumerate(brackets)
            ]
            if not any(guesses):
                break
            self._look(guesses)
            brackets = [self._bracket(place, amount) for place, amount in enumerate(amounts)]
        return tuple(
            None if bracket is None else bracket[1][0] if not _is_open(bracket) else bracket[0][0] + 1
            for bracket in brackets
        )

    def _bracket(self, place: int, amount: int) -> tuple[tuple[int, int], tuple[int, int]] | None:
        """Return the last point seen that is not below an amount, and the first that is."""
        seen = self._seen[place]
        first = next((number for number, point in enumerate(seen) if point[1] < amount), None)
        if first is None:
            return None
        return (seen[first - 1] if first else (-1, amount), seen[first])

    def _look(self, asked: Sequence[int]) -> None:
        self._looks -= 1
        more = [[0] * len(asked) for _ in self._rooms]
        for place, amount in enumerate(asked):
            rooms = [room[place] for room in self._rooms]
            for row, share in zip(
                more, divided(amount, [weight[place] for weight in self._weights], rooms), strict=True
            ):
                row[place] = share
        terms = self._contention.entitlements([tuple(row) for row in more])[self._quota]
        for place, entitled in enumerate(terms):
            point = (asked[place], entitled or 0)
            seen = self._seen[place]
            at = bisect_left(seen, point)
            if entitled is not None and (at == len(seen) or seen[at] != point):
                insort(seen, point)


def _is_open(bracket: tuple[tuple[int, int], tuple[int, int]]) -> bool:
    """Whether there are points between that were not looked at."""
    return bracket[1][0] - bracket[0][0] > 1


def _between(bracket: tuple[tuple[int, int], tuple[int, int]], wanted: int, *, halve: bool) -> int:
    """Return the next point to look at, 0 if there is none between."""
    if not _is_open(bracket):
        return 0
    (low, high_value), (high, low_value) = bracket
    if halve or low < 0:
        return (low + high) // 2 or 1
    guess = low - (wanted - high_value) * (high - low) // (high_value - low_value)
    return min(max(guess, low + 1), high - 1)
