"""What to buy where volumes on local disks are asked for: drives for nodes, new nodes, or both.

Mixes come in order of price from a programme that knows room and disks (disk_mix.py), and each is checked in
the cluster itself, first as the policy places, then as the mix itself was meant. The first that holds is the
cheapest if every one before it has no place by any search. Where none of those that are tried holds, parts
are added to the best of them until it does, and what is needless is taken out again.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

from ullage.engine.purchase.answer import Proof, Purchase, still_wrong
from ullage.engine.purchase.check import Check, Checked
from ullage.engine.purchase.disk_mix import DiskMix, DiskOptimiser, Part
from ullage.engine.purchase.disk_patterns import Patterns
from ullage.engine.purchase.disk_places import places_of, wishes_of
from ullage.engine.purchase.mix import Optimiser
from ullage.engine.purchase.offers import Market, Offer, Upgrade, counts_of
from ullage.engine.purchase.problem import Problem
from ullage.engine.steps import Steps, counted, tell
from ullage.model.quantity import readable_bytes

TRIES_MAX: Final = 40
TRIED_NODES_MAX: Final = 20_000
"""Mixes that are tried: so many, and so many nodes over all of them."""
UNSURE_MAX: Final = 6
"""Mixes that are tried after one of which it is not known whether it has a place."""
REPAIRS_MAX: Final = 32
"""How often a part is added to a mix that is not enough."""
PARTS: Final = 5
"""The part of the time that each further search may take."""


class Lot(NamedTuple):
    """A purchase as it is checked."""

    offers: tuple[Offer, ...]
    upgrades: tuple[Upgrade, ...]


class DiskSearch:
    """The search for one purchase."""

    def __init__(
        self, market: Market, check: Check, problem: Problem, seconds_max: int, steps: Steps | None = None
    ) -> None:
        self._market = market
        self._steps = steps
        self._check = check
        self._problem = problem
        self._seconds_max = seconds_max
        wishes = wishes_of(problem)
        self._patterns = Patterns(wishes, places_of(problem, market, wishes))
        self._optimiser = DiskOptimiser(self._patterns, market.catalog)
        self._tries_left = TRIES_MAX
        self._nodes_left = TRIED_NODES_MAX

    def find(self, nothing: Checked) -> Purchase:
        """Return the cheapest purchase that holds; `nothing` is what there is without one."""
        bound = min(each.price_micro for each in self._market.catalog.everything)
        if self._market.offers:
            by_room = Optimiser(self._problem, self._seconds_max, self._steps).best()
            if by_room.bought is None:
                reason = "the counts that the catalog has do not suffice"
                return Purchase((), 0, 0, "bound", nothing, reason)
            bound = max(bound, by_room.bound_micro)
        mix, is_proven = self._optimiser.best(self._seconds_max)
        is_proven = is_proven and self._patterns.complete
        if mix is None:
            return Purchase((), 0, 0, "bound" if is_proven else "none", nothing, self._why_none())
        if self._patterns.complete:
            bound = max(bound, mix.bound_micro)
        return self._tried(mix, bound, nothing)

    def _tried(self, mix: DiskMix, bound_micro: int, nothing: Checked) -> Purchase:
        """Try mixes in order of price, the first of which is given."""
        best, best_parts = nothing, list[Part]()
        is_sure, tried = self._patterns.complete, 0
        following: DiskMix | None = mix
        while following is not None and self._may_try():
            tell(self._steps, "mixes tried at most", tried, TRIES_MAX)
            parts = following.parts(self._patterns)
            lot = self._lot(parts)
            checked = self._checked(lot, self._plan(following, lot))
            is_sure = is_sure and following.is_cheapest
            if checked.holds:
                return self._found(lot, checked, bound_micro, tried, is_sure=is_sure)
            tried += bool(parts)
            is_sure = is_sure and checked.is_final
            if not is_sure:
                self._tries_left = min(self._tries_left, UNSURE_MAX)
            if not best_parts or checked.badness < best.badness:
                best, best_parts = checked, parts
            self._optimiser.forbid(parts)
            following, is_proven = self._optimiser.best(max(1, self._seconds_max // PARTS))
            if following is None and is_proven and is_sure:
                return Purchase((), 0, bound_micro, "bound", best, still_wrong(best), tried)
        parts, checked = self._repaired(best_parts, best)
        if not checked.holds:
            return Purchase((), 0, bound_micro, "none", checked, still_wrong(checked), tried)
        parts, checked = self._pruned(parts, checked)
        return self._found(self._lot(parts), checked, bound_micro, tried, is_sure=False)

    def _found(self, lot: Lot, checked: Checked, bound_micro: int, tried: int, *, is_sure: bool) -> Purchase:
        cost_micro = self._market.catalog.price_of(counts_of(lot.offers, lot.upgrades))
        proof: Proof = "search" if is_sure else "none"
        if cost_micro <= bound_micro or (is_sure and not tried):
            proof, bound_micro = "bound", cost_micro
        return Purchase(
            lot.offers, cost_micro, bound_micro, proof, checked, tried=tried, upgrades=lot.upgrades
        )

    def _may_try(self) -> bool:
        self._tries_left -= 1
        return self._tries_left >= 0 and self._nodes_left > 0

    def _checked(self, lot: Lot, plan: list[dict[str, int]] | None = None) -> Checked:
        self._nodes_left -= len(self._market.snapshot.nodes) + len(lot.offers)
        searches = plan is not None
        return self._check.of(lot.offers, plan, upgrades=lot.upgrades, searches=searches)

    # What a mix is in the cluster

    def _lot(self, parts: Sequence[Part]) -> Lot:
        """Return which nodes get drives, and which are bought: new ones spread over the domains."""
        places = self._patterns.places
        used: Counter[int] = Counter()
        upgrades, bought = [], []
        for number, bundle in sorted(parts, key=self._order):
            if places[number].offers:
                bought.append((number, bundle))
            else:
                upgrades.append(Upgrade(places[number].names[used[number]], bundle))
                used[number] += 1
        offers = self._market.spread([places[number].offers for number, _ in bought])
        return Lot(
            tuple(offer._replace(drives=bundle) for offer, (_, bundle) in zip(offers, bought, strict=True)),
            tuple(upgrades),
        )

    @staticmethod
    def _order(part: Part) -> tuple[int, tuple[str, ...]]:
        return part[0], tuple(each.name for each in part[1])

    def _plan(self, mix: DiskMix, lot: Lot) -> list[dict[str, int]]:
        """Return where a mix puts everything, shape by shape."""
        patterns = self._patterns
        plan: list[dict[str, int]] = [{} for _ in self._problem.demands]
        left = list(self._problem.demands)
        new = iter(node.name for node in self._market.nodes(lot.offers))
        chosen = sorted(
            (each for each, count in mix.chosen for _ in range(count)),
            key=lambda each: (
                each.place,
                not (each.bundle or patterns.places[each.place].offers),
                self._order((each.place, each.bundle)),
            ),
        )
        for number, place in enumerate(patterns.places):
            mine = [each for each in chosen if each.place == number]
            names = [*place.names] if place.names else [next(new) for _ in mine]
            held = list(mix.held[number])
            for wish in range(len(held)):
                for position, name in enumerate(names):
                    most = place.slots[wish]
                    if wish < patterns.width:
                        most = mine[position].counts[wish] if position < len(mine) else 0
                    count = min(most, held[wish])
                    held[wish] -= count - self._deal(wish, count, name, plan, left)
        return plan

    def _deal(self, wish: int, count: int, name: str, plan: list[dict[str, int]], left: list[int]) -> int:
        """Deal so many of a wish to its shapes on a node, and return how many were too many."""
        together = self._patterns.wishes[wish].together
        for shape in self._patterns.wishes[wish].shapes:
            dealt = left[shape] if together and count else min(count, left[shape])
            if dealt:
                plan[shape][name] = plan[shape].get(name, 0) + dealt
                left[shape] -= dealt
                count -= 0 if together else dealt
        return 0 if together else count

    # Mixes that are not enough

    def _repaired(self, parts: list[Part], checked: Checked) -> tuple[list[Part], Checked]:
        """Add the cheapest part that helps until the purchase holds, or none helps."""
        options = sorted({(each.place, each.bundle) for each in self._patterns.found}, key=self._price_of)
        options = [each for each in options if each[1] or self._patterns.places[each[0]].offers]
        for _ in counted(range(REPAIRS_MAX), REPAIRS_MAX, "additions at most", self._steps):
            if checked.holds:
                break
            for option in options:
                more = [*parts, option]
                if self._nodes_left <= 0 or not self._is_within(more):
                    continue
                found = self._checked(self._lot(more))
                if found.badness < checked.badness:
                    parts, checked = more, found
                    break
            else:
                break
        return parts, checked

    def _pruned(self, parts: list[Part], checked: Checked) -> tuple[list[Part], Checked]:
        """Take out again what is not needed, the dearest first."""
        for part in sorted(parts, key=self._price_of, reverse=True):
            less = list(parts)
            less.remove(part)
            found = self._checked(self._lot(less))
            if found.holds:
                parts, checked = less, found
        return parts, checked

    def _price_of(self, part: Part) -> tuple[int, tuple[int, tuple[str, ...]]]:
        item = self._patterns.places[part[0]].item
        drives_micro = sum(each.price_micro for each in part[1])
        return drives_micro + (item.price_micro if item else 0), self._order(part)

    def _is_within(self, parts: Sequence[Part]) -> bool:
        """Whether there are enough nodes to take drives, and no more is bought than there is."""
        places = self._patterns.places
        taken = Counter(number for number, _ in parts if places[number].names)
        if any(count > len(places[number].names) for number, count in taken.items()):
            return False
        lot = self._lot(parts)
        counts = counts_of(lot.offers, lot.upgrades)
        catalog = self._market.catalog
        return all(
            item.count_max is None or counts.get(item.name, 0) <= item.count_max
            for item in catalog.everything
        )

    def _why_none(self) -> str:
        """Return why no mix is enough: a wish that nobody can hold, or counts."""
        for number, wish in enumerate(self._patterns.wishes[: self._patterns.width]):
            if not wish.requests or any(each.counts[number] for each in self._patterns.found):
                continue
            shape, _ = self._problem.wanted[wish.shapes[0]]
            volumes = ", ".join(
                f"{each.name} of {readable_bytes(each.size_bytes)} {each.storage_class}"
                for each in wish.requests
            )
            return f"no item of the catalog gives {shape.workload.key} its local disks ({volumes})"
        return "the counts that the catalog has, and what each node takes, do not suffice"
