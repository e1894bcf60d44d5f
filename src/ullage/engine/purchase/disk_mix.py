"""The cheapest mix of drives and nodes: how many nodes of each place hold which pattern.

An integer programme over the patterns (disk_patterns.py) has every mix in it, so its cost is a bound. A mix
that turns out not to hold under the rules that it does not know is forbidden together with all that is part
of it, and the next one is the cheapest of the others: asked again and again, mixes come in order of price.
"""

from collections.abc import Sequence
from math import gcd
from typing import NamedTuple

from ullage.engine.programme import Programme
from ullage.engine.purchase.catalog import Catalog
from ullage.engine.purchase.disk_patterns import Bundle, Pattern, Patterns
from ullage.engine.purchase.mix import rounded_up

Part = tuple[int, Bundle]
"""A node of a place that is bought, or that gets drives, or both."""


class DiskMix(NamedTuple):
    """Patterns with how many nodes hold them, what of each wish is where, and what no mix costs less than.

    `held[place][wish]` may be less than the patterns allow. Where time was up, it may not be the cheapest.
    """

    chosen: tuple[tuple[Pattern, int], ...]
    held: tuple[tuple[int, ...], ...]
    bound_micro: int
    is_cheapest: bool

    def parts(self, patterns: Patterns) -> list[Part]:
        """Return what is bought, node by node."""
        return [
            (pattern.place, pattern.bundle)
            for pattern, count in self.chosen
            if pattern.bundle or patterns.places[pattern.place].offers
            for _ in range(count)
        ]


class DiskOptimiser:
    """The mixes of one question, one after the other."""

    def __init__(self, patterns: Patterns, catalog: Catalog) -> None:
        self._patterns = patterns
        self._catalog = catalog
        self._columns = patterns.found
        self._prices = [self._price(each) for each in self._columns]
        self._step = gcd(*self._prices) or 1
        self._forbidden: list[dict[Part, int]] = []

    def _price(self, pattern: Pattern) -> int:
        item = self._patterns.places[pattern.place].item
        return pattern.drives_micro + (item.price_micro if item else 0)

    def forbid(self, parts: Sequence[Part]) -> None:
        """Leave out a mix from now on, and all that is part of it."""
        self._forbidden.append({part: parts.count(part) for part in set(parts)})

    def best(self, seconds_max: int) -> tuple[DiskMix | None, bool]:
        """Return the cheapest mix; where there is none, whether that is proven."""
        programme = Programme()
        total = sum(wish.demand for wish in self._patterns.wishes)
        nodes = [
            programme.unknown(len(self._patterns.places[each.place].names) or total, cost=price // self._step)
            for each, price in zip(self._columns, self._prices, strict=True)
        ]
        held = [self._add_place(programme, number, nodes) for number in range(len(self._patterns.places))]
        for number, wish in enumerate(self._patterns.wishes):
            programme.at_least([(row[number], 1) for row in held], wish.demand)
        self._add_counts(programme, nodes)
        for forbidden in self._forbidden:
            self._add_forbidden(programme, nodes, forbidden)
        solution = programme.solve(seconds_max)
        if not solution.is_solved:
            return None, solution.status == "infeasible"
        values = solution.counts()
        chosen = [
            (each, values[node]) for each, node in zip(self._columns, nodes, strict=True) if values[node]
        ]
        rows = tuple(tuple(values[each] for each in row) for row in held)
        bound = 0 if solution.bound is None else max(0, rounded_up(solution.bound))
        return DiskMix(tuple(chosen), rows, bound * self._step, solution.status == "optimal"), True

    def _add_place(self, programme: Programme, number: int, nodes: Sequence[int]) -> list[int]:
        """Add what the nodes of a place hold of each wish: no more than their patterns and their room."""
        place = self._patterns.places[number]
        mine = [
            (node, each.counts)
            for node, each in zip(nodes, self._columns, strict=True)
            if each.place == number
        ]
        count = len(place.names)
        if count:
            programme.at_most([(node, 1) for node, _ in mine], count)
        held = []
        for wish, (slots, wished) in enumerate(zip(place.slots, self._patterns.wishes, strict=True)):
            unknown = programme.unknown(min(wished.demand, slots * count) if count else wished.demand)
            held.append(unknown)
            if wish < self._patterns.width:
                most = [(node, -counts[wish]) for node, counts in mine if counts[wish]]
            elif count:
                continue
            else:
                most = [(node, -slots) for node, _ in mine if slots]
            programme.at_most([(unknown, 1), *most], 0)
        for column, room in enumerate(place.room):
            amounts = [wish.amounts[column] for wish in self._patterns.wishes]
            terms = [(each, amount) for each, amount in zip(held, amounts, strict=True) if amount]
            if room is None or not terms:
                continue
            if count:
                programme.at_most(terms, room * count)
            else:
                programme.at_most([*terms, *((node, -room) for node, _ in mine)], 0)
        return held

    def _add_counts(self, programme: Programme, nodes: Sequence[int]) -> None:
        """Add how many of each item there are."""
        for item in self._catalog.everything:
            if item.count_max is None:
                continue
            terms = []
            for node, each in zip(nodes, self._columns, strict=True):
                sold = self._patterns.places[each.place].item
                often = sum(drive.name == item.name for drive in each.bundle)
                often += sold is not None and sold.name == item.name
                if often:
                    terms.append((node, often))
            programme.at_most(terms, item.count_max)

    def _add_forbidden(self, programme: Programme, nodes: Sequence[int], forbidden: dict[Part, int]) -> None:
        """Ask for more of something than a mix has that was not enough."""
        by_part: dict[Part, list[int]] = {}
        for node, each in zip(nodes, self._columns, strict=True):
            if each.bundle or self._patterns.places[each.place].offers:
                by_part.setdefault((each.place, each.bundle), []).append(node)
        more = []
        for part, members in by_part.items():
            is_more = programme.unknown(1)
            more.append((is_more, 1))
            least = forbidden.get(part, 0) + 1
            programme.at_least([*((node, 1) for node in members), (is_more, -least)], 0)
        programme.at_least(more, 1)
