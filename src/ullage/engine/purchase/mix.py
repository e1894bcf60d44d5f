"""The cheapest mix of new nodes: patterns found one after the other, then whole numbers of them.

A pattern says what one new node of a kind holds. The programme over all patterns would be huge, so it starts
with a few and asks again and again, at the prices of its own answer, which pattern of each kind would pay
best (a small knapsack); when none would, its cost is a bound that no purchase is below. Whole numbers of the
patterns found then make a purchase. Where that costs more than the bound, a programme with every node in it
closes the gap, if it is small enough.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import ceil, gcd
from typing import Final, NamedTuple

from ullage.engine.programme import Programme, Solution
from ullage.engine.purchase.offers import Offer
from ullage.engine.purchase.problem import Kind, Problem
from ullage.engine.steps import Steps, counted

ROUNDS_MAX: Final = 200
"""How often new patterns are looked for."""
KNAPSACK_SECONDS: Final = 2
NODES_UNKNOWNS_MAX: Final = 3000
"""Unknowns of the programme that has every new node in it."""
TOLERANCE: Final = Fraction(1, 10**6)

Pattern = tuple[int, ...]
Kept = tuple[tuple[tuple[int, int], ...], ...]
"""For each shape the rows of nodes that take some, and how many."""


class Bought(NamedTuple):
    """One new node: the offers that are equally good for it, and what it is to hold of each shape."""

    offers: tuple[Offer, ...]
    pattern: Pattern


class Mix(NamedTuple):
    """A purchase with what it costs, and what no purchase costs less than; `kept` is what old nodes take.

    No purchase at all (`bought` is None) means that none suffices.
    """

    bought: tuple[Bought, ...] | None
    cost_micro: int
    bound_micro: int
    kept: Kept = ()


class _Rows(NamedTuple):
    """A programme and where its parts are: unknowns of patterns and old nodes, rows of shapes and items."""

    programme: Programme
    patterns: list[tuple[int, Pattern]]
    kept: list[list[int]]
    shapes: list[int]
    items: dict[str, int]


class Optimiser:
    """The search for the cheapest mix of one problem."""

    def __init__(self, problem: Problem, seconds_max: int, steps: Steps | None = None) -> None:
        self._problem = problem
        self._steps = steps
        self._seconds_max = seconds_max
        self._step = gcd(*(kind.price_micro for kind in problem.kinds)) or 1
        self._prices = [kind.price_micro // self._step for kind in problem.kinds]
        self._patterns: list[list[Pattern]] = [self._first(kind) for kind in problem.kinds]

    def _first(self, kind: Kind) -> list[Pattern]:
        """Return patterns of one shape each, so that there is something to start with."""
        return [
            tuple(min(slots, wished) if number == place else 0 for number in range(len(kind.slots)))
            for place, (slots, wished) in enumerate(zip(kind.slots, self._problem.demands, strict=True))
            if slots
        ]

    def best(self) -> Mix:
        """Return the cheapest mix that was found, with its bound."""
        missing = self._generate(priced=False)
        if missing is None or missing > TOLERANCE:
            return Mix(None, 0, 0)
        least = self._generate(priced=True)
        bound = 0 if least is None else max(0, rounded_up(least))
        rows = self._master(whole=True, priced=True)
        solution = rows.programme.solve(self._seconds_max)
        mix = self._mix(rows, solution, bound) if solution.is_solved else Mix(None, 0, bound * self._step)
        if mix.bought is None or mix.cost_micro > mix.bound_micro:
            mix = self._with_every_node(mix)
        return mix

    # Patterns

    def _generate(self, *, priced: bool) -> Fraction | None:
        """Add patterns until none pays, and return the least cost; unpriced, that is what stays unplaced."""
        kinds = self._problem.kinds
        bound: Fraction | None = None
        for _ in counted(range(ROUNDS_MAX), ROUNDS_MAX, "rounds of prices at most", self._steps):
            rows = self._master(whole=False, priced=priced)
            solution = rows.programme.solve(self._seconds_max)
            if solution.status != "optimal" or solution.cost is None:
                return bound
            worth = [max(Fraction(0), solution.prices[row]) for row in rows.shapes]
            below = Fraction(0)
            added = False
            for number, kind in enumerate(kinds):
                cost = Fraction(self._prices[number] if priced else 0)
                if kind.name in rows.items:
                    cost -= min(Fraction(0), solution.prices[rows.items[kind.name]])
                pattern, most = self._knapsack(kind, worth)
                below += min(Fraction(0), cost - most) * sum(self._problem.demands)
                if most > cost + TOLERANCE and any(pattern) and pattern not in self._patterns[number]:
                    self._patterns[number].append(pattern)
                    added = True
            if not added:
                return solution.cost
            bound = max(bound or Fraction(0), solution.cost + below)
        return bound

    def _knapsack(self, kind: Kind, worth: Sequence[Fraction]) -> tuple[Pattern, Fraction]:
        """Return what a node of a kind holds best at these prices, and what that is worth at most."""
        programme = Programme()
        unknowns = [
            programme.unknown(min(slots, wished), cost=-price)
            for slots, wished, price in zip(kind.slots, self._problem.demands, worth, strict=True)
        ]
        self._add_room(programme, unknowns, kind.room, 1)
        solution = programme.solve(KNAPSACK_SECONDS)
        if not solution.is_solved or solution.bound is None:
            return (0,) * len(unknowns), Fraction(0)
        pattern = tuple(solution.counts())
        worth_of = sum((price * count for price, count in zip(worth, pattern, strict=True)), Fraction(0))
        return pattern, worth_of if solution.status == "optimal" else -solution.bound

    def _add_room(
        self, programme: Programme, unknowns: Sequence[int], room: Sequence[int | None], nodes: int
    ) -> None:
        """Bind what a place takes by its room; one shape alone is bound by its slots already."""
        for amounts, free in zip(self._problem.amounts, room, strict=True):
            terms = [(each, amount) for each, amount in zip(unknowns, amounts, strict=True) if amount]
            if free is not None and len(terms) > 1:
                programme.at_most(terms, free * nodes)

    # Programmes

    def _add_kept(self, programme: Programme) -> list[list[int]]:
        """Add what nodes that are there take, by place and shape."""
        found = []
        for place in self._problem.places:
            nodes = len(place.rows)
            unknowns = [
                programme.unknown(min(wished, slots * nodes))
                for slots, wished in zip(place.slots, self._problem.demands, strict=True)
            ]
            self._add_room(programme, unknowns, place.room, nodes)
            found.append(unknowns)
        return found

    def _master(self, *, whole: bool, priced: bool) -> _Rows:
        programme = Programme(whole=whole)
        patterns: list[tuple[int, Pattern]] = []
        by_item: dict[str, list[tuple[int, int]]] = {}
        for number, kind in enumerate(self._problem.kinds):
            for pattern in self._patterns[number]:
                patterns.append((number, pattern))
                unknown = programme.unknown(cost=self._prices[number] if priced else 0)
                by_item.setdefault(kind.name, []).append((unknown, 1))
        kept = self._add_kept(programme)
        shapes = []
        for shape, wished in enumerate(self._problem.demands):
            terms = [(unknown, pattern[shape]) for unknown, (_, pattern) in enumerate(patterns)]
            terms += [(unknowns[shape], 1) for unknowns in kept]
            if not priced:
                terms.append((programme.unknown(cost=1), 1))
            shapes.append(programme.at_least([term for term in terms if term[1]], wished))
        items = {
            kind.name: programme.at_most(by_item[kind.name], kind.count_max)
            for kind in {each.name: each for each in self._problem.kinds}.values()
            if kind.count_max is not None
        }
        return _Rows(programme, patterns, kept, shapes, items)

    def _mix(self, rows: _Rows, solution: Solution, bound: int) -> Mix:
        values = solution.counts()
        bought = [
            Bought(self._problem.kinds[kind].offers, pattern)
            for unknown, (kind, pattern) in enumerate(rows.patterns)
            for _ in range(values[unknown])
        ]
        kept = self._kept(rows.kept, values)
        cost = sum(each.offers[0].item.price_micro for each in bought)
        return Mix(tuple(bought), cost, bound * self._step, kept)

    def _kept(
        self, unknowns: Sequence[Sequence[int]], values: Sequence[int]
    ) -> tuple[tuple[tuple[int, int], ...], ...]:
        """Return what single nodes that are there take of each shape; equal ones are not told apart."""
        places = self._problem.places
        if any(len(place.rows) > 1 for place in places):
            return ()
        return tuple(
            tuple(
                (place.rows[0], values[row[shape]])
                for place, row in zip(places, unknowns, strict=True)
                if values[row[shape]]
            )
            for shape in range(len(self._problem.demands))
        )

    # Every node by itself

    def _with_every_node(self, mix: Mix) -> Mix:
        """Return the cheapest mix by a programme with each new node in it, where that is small enough."""
        counts = [self._most(kind, mix) for kind in self._problem.kinds]
        shapes = len(self._problem.demands)
        size = (sum(counts) + len(self._problem.places)) * (shapes + 1)
        if size > NODES_UNKNOWNS_MAX:
            return mix
        programme = Programme()
        nodes: list[tuple[int, int, list[int]]] = []
        for number, count in enumerate(counts):
            before = None
            for _ in range(count):
                there, held = self._add_node(programme, number)
                nodes.append((number, there, held))
                if before is not None:
                    programme.at_most([(there, 1), (before, -1)], 0)
                before = there
        kept = self._add_kept(programme)
        for shape, wished in enumerate(self._problem.demands):
            terms = [(held[shape], 1) for _, _, held in nodes] + [(row[shape], 1) for row in kept]
            programme.at_least(terms, wished)
        for name, most in {kind.name: kind.count_max for kind in self._problem.kinds}.items():
            if most is not None:
                mine = [(there, 1) for kind, there, _ in nodes if self._problem.kinds[kind].name == name]
                programme.at_most(mine, most)
        return self._closed(programme.solve(self._seconds_max), nodes, kept, mix)

    def _closed(
        self, solution: Solution, nodes: Sequence[tuple[int, int, list[int]]], kept: list[list[int]], mix: Mix
    ) -> Mix:
        bound = mix.bound_micro
        if solution.bound is not None:
            least = rounded_up(solution.bound) * self._step
            bound = max(bound, min(least, mix.cost_micro) if mix.bought is not None else least)
        if not solution.is_solved:
            return mix._replace(bound_micro=bound)
        values = solution.counts()
        bought = tuple(
            Bought(self._problem.kinds[kind].offers, tuple(values[each] for each in held))
            for kind, there, held in nodes
            if values[there]
        )
        cost = sum(each.offers[0].item.price_micro for each in bought)
        if mix.bought is not None and cost >= mix.cost_micro:
            return mix._replace(bound_micro=bound)
        return Mix(bought, cost, bound, self._kept(kept, values))

    def _most(self, kind: Kind, mix: Mix) -> int:
        """Return how many nodes of a kind could be part of a cheapest mix."""
        most = sum(wished for wished, slots in zip(self._problem.demands, kind.slots, strict=True) if slots)
        if mix.bought is not None:
            most = min(most, mix.cost_micro // kind.price_micro)
        return most if kind.count_max is None else min(most, kind.count_max)

    def _add_node(self, programme: Programme, number: int) -> tuple[int, list[int]]:
        """Add one new node that is there or not, and what it holds of each shape."""
        kind = self._problem.kinds[number]
        there = programme.unknown(1, cost=self._prices[number])
        limits = [min(slots, wished) for slots, wished in zip(kind.slots, self._problem.demands, strict=True)]
        held = [programme.unknown(most) for most in limits]
        for unknown, most in zip(held, limits, strict=True):
            programme.at_most([(unknown, 1), (there, -most)], 0)
        self._add_room(programme, held, kind.room, 1)
        return there, held


def rounded_up(cost: Fraction) -> int:
    """Return the least whole cost that is not below one that the solver has computed."""
    size = max(Fraction(1), abs(cost))
    return ceil(cost - TOLERANCE * size)
