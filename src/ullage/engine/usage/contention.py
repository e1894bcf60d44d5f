"""Who gets what of an amount that is not enough for all: four rules, exact to the last step.

Each rule pours the supply into the claimants level by level, in proportion to their weights, until everybody
has what it wants or nothing is left: nobody gets more than it wants, and nothing is lost. By `equal` all
weigh the same; by `request` and by `limit` they weigh what they were promised and what they may have; by
`priority` the most important are served first, and equals among them by request. The hard thing is the rest
of a division: it goes step by step to the largest fractions, then by name.
"""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import groupby
from typing import Final, NamedTuple

RULES: Final = ("equal", "request", "limit", "priority")


class Claimant(NamedTuple):
    """Who wants some of an amount; without a `limit` it may have all of it."""

    name: str
    demand: int
    request: int = 0
    limit: int | None = None
    priority: int = 0


class Portion(NamedTuple):
    """What one claimant wants and gets by each rule, in the order of RULES."""

    claimant: Claimant
    given: tuple[int, ...]


def portions(claimants: Sequence[Claimant], supply: int) -> list[Portion]:
    """Return what everybody gets by each of the rules, in the order in which they were given."""
    by_rule = [shared(claimants, supply, rule) for rule in RULES]
    return [
        Portion(claimant, tuple(given[place] for given in by_rule))
        for place, claimant in enumerate(claimants)
    ]


def shared(claimants: Sequence[Claimant], supply: int, rule: str) -> list[int]:
    """Return what each claimant gets by a rule; together that is all of the supply, or all that is wanted."""
    left = max(0, supply)
    given = [0] * len(claimants)
    for turn in _turns(claimants, rule):
        weighed = [
            _Wanting(place, claimants[place], _weight(claimants[place], rule, supply)) for place in turn
        ]
        left -= _pour(given, [each for each in weighed if each.weight], left)
        # Those without weight share equally what the others leave.
        left -= _pour(given, [each._replace(weight=1) for each in weighed if not each.weight], left)
    return given


class _Wanting(NamedTuple):
    place: int
    claimant: Claimant
    weight: int

    @property
    def demand(self) -> int:
        return max(0, self.claimant.demand)


def _turns(claimants: Sequence[Claimant], rule: str) -> Iterable[list[int]]:
    """Yield who is served together, the first first."""
    if rule != "priority":
        yield list(range(len(claimants)))
        return
    places = sorted(range(len(claimants)), key=lambda place: -claimants[place].priority)
    for _, turn in groupby(places, key=lambda place: claimants[place].priority):
        yield list(turn)


def _weight(claimant: Claimant, rule: str, supply: int) -> int:
    if rule == "equal":
        return 1
    if rule == "limit":
        return max(0, supply if claimant.limit is None else claimant.limit)
    return max(0, claimant.request)


def _pour(given: list[int], wanting: Sequence[_Wanting], supply: int) -> int:
    """Raise all to one level of demand by weight, and return what that took.

    Whoever wants least for its weight is full first; in that order the level need never be lowered again.
    """
    before, weight, full = supply, sum(each.weight for each in wanting), 0
    order = sorted(
        wanting, key=lambda each: (Fraction(each.demand, each.weight), each.claimant.name, each.place)
    )
    for each in order:
        if each.demand * weight > supply * each.weight:
            break
        given[each.place] = each.demand
        supply -= each.demand
        weight -= each.weight
        full += 1
    rest, shares = order[full:], supply
    for each in rest:
        given[each.place] = shares * each.weight // weight
        supply -= given[each.place]
    # The share of each of them is below what it wants, so there is room for one step more.
    rest.sort(key=lambda each: (-(shares * each.weight % weight), each.claimant.name, each.place))
    for each in rest[:supply]:
        given[each.place] += 1
    return before - supply + min(supply, len(rest))
