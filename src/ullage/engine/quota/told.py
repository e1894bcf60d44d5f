"""Decisions about quotas in words: which bound is passed by how much, and why nobody is evicted."""

from collections.abc import Iterator, Sequence
from typing import Final

from ullage.engine.quota.book import NO_QUOTA, Book, Terms, plus
from ullage.engine.quota.decision import Decision
from ullage.engine.quota.rights import Refusal, Rules
from ullage.model.resources import ResourceTypes

BOUNDS_TOLD: Final = 3
GUARANTEED: Final = "its min and its part of what others leave unused"


class Words:
    """Words for what is decided under one set of rules."""

    def __init__(self, rules: Rules, types: ResourceTypes) -> None:
        self._rules = rules
        self._types = types

    @property
    def _book(self) -> Book:
        return self._rules.book

    def amount(self, place: int, value: int) -> str:
        """Return an amount of one of the book's resources with its unit and name."""
        return f"{self._print(place, value)} of {self._book.resources[place]}"

    def _print(self, place: int, value: int | None) -> str:
        return self._types[self._book.resources[place]].readable(value or 0)

    def refusals(self, decision: Decision) -> str:
        """Return the bounds that stand against a claim as it is; nothing where there are none."""
        bounds: dict[tuple[str, int], list[Refusal]] = {}
        for each in decision.refusals:
            bounds.setdefault((each.barrier, each.quota), []).append(each)
        told = [self._bound(refusals) for refusals in list(bounds.values())[:BOUNDS_TOLD]]
        more = len(bounds) - BOUNDS_TOLD
        return "; ".join(told) + (f"; and {more} more bounds" if more > 0 else "")

    def _bound(self, refusals: Sequence[Refusal]) -> str:
        """Return one bound of one quota that is passed, by how much of which resources."""
        book, first = self._book, refusals[0]
        name = book.quotas[first.quota].name
        if first.barrier == "max":
            whose, mosts = f"quota {name} would use more than its max", book.maxes[first.quota]
        elif first.barrier == "borrowing-limit":
            whose, mosts = f"quota {name} would borrow more than it may", book.most_borrowed[first.quota]
        else:
            whose, mosts = "all quotas together would use more than their mins", book.sum_of_mins
        parts = [
            f"{self.amount(place, short)} beyond {self._print(place, mosts[place])}"
            for _, _, place, short in refusals
        ]
        return f"{whose}, {', '.join(parts)}"

    def barred(self, decision: Decision) -> str:
        """Return why nobody is evicted for a claim."""
        quota = decision.claim.quota
        if quota == NO_QUOTA or not decision.barred:
            return ""
        if decision.barred == "nobody-to-take":
            whom = "quota" if decision.claim.others_below is None else "other quota with lower priorities"
            return f"nobody is evicted for it: no {whom} uses enough beyond what is its own"
        if decision.barred == "kept-by-budgets":
            names = ", ".join(decision.budgets)
            return f"nobody is evicted for it: disruption budget {names} keeps those who would have to go"
        if decision.barred == "asks-nobody":
            return "nobody is evicted for it: it is not to preempt others"
        if decision.barred == "never-evicts":
            name = self._book.quotas[quota].name
            return f"nobody is evicted for it: quota {name} never evicts workloads of others"
        if decision.barred == "would-take-turns":
            return "nobody is evicted for it: they could take the place back, or those of others, in turn"
        name = self._book.quotas[quota].name
        what = "its entitlement" if decision.barred == "above-entitlement" else GUARANTEED
        above = ", ".join(self._above(decision, self._rules.bound_of(quota, "guaranteed")))
        return f"nobody is evicted for it: quota {name} would pass {what}, {above}"

    def _above(self, decision: Decision, bound: Terms) -> Iterator[str]:
        quota = decision.claim.quota
        use = self._rules.standing.own_used if self._book.modes[quota] == "nos" else self._rules.standing.used
        total = plus(use[quota], decision.claim.amounts)
        for place, (amount, most) in enumerate(zip(total, bound, strict=True)):
            if most is not None and amount > most:
                yield f"{self.amount(place, amount)} where {self._print(place, most)} is its own"
