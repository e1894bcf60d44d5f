"""Searches for victims that keep disruption budgets: who evicts through the API of a cluster can break none.

What a set costs weighs budgets that it breaks, and takes one that does where there is no better. Where that
is not to be, those whom a budget keeps are no candidates, and it is searched again: once more for each budget
at most, so that of those under it the first that were found may go.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TypeVar

from ullage.engine.placement.outcome import Outcome
from ullage.engine.quota.accounts import Accounts
from ullage.engine.quota.book import Member
from ullage.engine.quota.decision import Barred, Decision
from ullage.engine.quota.gang_victims import GangSearch
from ullage.engine.redundancy.budgets import Budgets

Found = TypeVar("Found", Decision, GangSearch)


def left_of(budgets: Budgets, evicted: Sequence[Member]) -> list[int]:
    """Return how many each budget still lets go, after some went."""
    left = [budget.allowed for budget in budgets.all]
    for victim in evicted:
        for budget in victim.budgets:
            left[budget] = max(0, left[budget] - 1)
    return left


def heeding(
    search: Callable[[Sequence[Member]], Found], candidates: Sequence[Member], left: Sequence[int] | None
) -> tuple[Found, frozenset[int]]:
    """Return what is found while each budget lets only so many go, and the budgets that kept somebody.

    With None they are not heeded.
    """
    kept: frozenset[int] = frozenset()
    found = search(candidates)
    while left is not None and (broken := _broken(_victims_of(found), left)):
        kept |= broken.keys()
        candidates = [
            each
            for each in candidates
            if all(each.key in broken[budget] for budget in each.budgets if budget in broken)
        ]
        found = search(candidates)
    return found, kept


def kept_by(decision: Decision, kept: Collection[int], budgets: Budgets) -> Decision:
    """Return a decision for which budgets have kept somebody."""
    if not kept:
        return decision
    barred: Barred = "kept-by-budgets" if decision.verdict == "refuse" else ""
    names = tuple(sorted(budgets.all[each].key for each in kept))
    return decision._replace(proven=False, barred=barred, budgets=names)


def with_broken(outcomes: Iterable[Outcome], accounts: Accounts) -> list[Outcome]:
    """Return outcomes that say of each who goes which budgets do not let it, as those before it go."""
    if not accounts.budgets.all:
        return list(outcomes)
    left = left_of(accounts.budgets, ())
    found = []
    for outcome in outcomes:
        told = []
        for victim in outcome.evicted:
            under = accounts.running[victim.workload].budgets
            breaks = tuple(accounts.budgets.all[each].key for each in under if left[each] <= 0)
            told.append(victim._replace(breaks=breaks))
            for each in under:
                left[each] -= 1
        found.append(outcome._replace(evicted=tuple(told)))
    return found


def _victims_of(found: Decision | GangSearch) -> Sequence[Member]:
    if isinstance(found, Decision):
        return found.victims
    return found.found.victims if found.found is not None else ()


def _broken(victims: Sequence[Member], left: Sequence[int]) -> dict[int, set[str]]:
    """Return the budgets of which too many victims would go, each with the first of them, who may."""
    by_budget: dict[int, list[str]] = {}
    for victim in victims:
        for budget in victim.budgets:
            by_budget.setdefault(budget, []).append(victim.key)
    return {
        budget: set(keys[: left[budget]]) for budget, keys in by_budget.items() if len(keys) > left[budget]
    }
