"""Bounds of the search for victims: never above what a set costs, and tight where that is plain to see."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.quota.gang_cases import random_case, seeded
from ullage.engine.quota.victim_order import candidates_of
from ullage.engine.quota.victim_search import Needs, NodeSearch, with_all_as_one
from ullage.engine.quota.victim_tally import Candidate, Cost, Tally


def searched(seed: int) -> tuple[NodeSearch, Tally, list[Candidate], Needs, list[Cost]]:
    """Return a search that keeps every set it is asked about, and the costs of these sets."""
    random = seeded(seed)
    case = random_case(random)
    candidates = candidates_of(case.rules, case.claim, case.running)
    tally = Tally(case.rules, case.claim, case.nodes.capacity, case.budgets)
    names = sorted(case.nodes.capacity)
    needs = Needs(
        tuple(random.randint(1, 4) for _ in names),
        [tuple(each.member.takes.of(name) for name in names) for each in candidates],
        tuple(tally.room_place(name) for name in names),
        tuple(case.rules.book.resources.index(name) for name in names),
    )
    kept: list[Cost] = []

    def accepts() -> bool:
        kept.append(tally.cost())
        return True

    search = NodeSearch(tally, candidates, needs, accepts, lambda: min(kept, default=None))
    search.work_left = 100_000
    return search, tally, candidates, needs, kept


def enough(candidates: list[Candidate], tally: Tally, needs: Needs) -> list[Cost]:
    """Return the costs of all legal sets that give what is needed."""
    costs = []
    for size in range(1, len(candidates) + 1):
        for places in combinations(range(len(candidates)), size):
            given = [sum(needs.given[place][one] for place in places) for one in range(len(needs.short))]
            added = 0
            for place in places:
                if not tally.may_go(candidates[place]):
                    break
                tally.add(candidates[place])
                added += 1
            if added == size and all(one >= two for one, two in zip(given, needs.short, strict=True)):
                costs.append(tally.cost())
            for _ in range(added):
                tally.drop()
    return costs


@given(st.integers(0, 1 << 40))
def test_the_best_of_all_sets_is_asked_about(seed):
    search, tally, candidates, needs, kept = searched(seed)
    best = min(enough(candidates, tally, needs), default=None)
    search.run()
    assert min(kept, default=None) == best
    assert search.work_left > 0


@given(st.integers(0, 1 << 40))
def test_no_set_has_fewer_than_the_bound(seed):
    search, tally, candidates, needs, _ = searched(seed)
    costs = enough(candidates, tally, needs)
    least = search.victims_min()
    if costs:
        assert least is not None
        assert least <= min(cost.victims for cost in costs)


@given(st.integers(0, 1 << 40))
def test_a_dive_offers_a_set_that_is_legal_and_enough(seed):
    search, tally, candidates, needs, kept = searched(seed)
    search.dive()
    assert set(kept) <= set(enough(candidates, tally, needs))
    assert not tally.chosen


@given(st.integers(0, 1 << 40))
def test_a_search_stops_when_its_work_is_done(seed):
    search, tally, _, _, _ = searched(seed)
    search.work_left = 3
    search.run()
    assert search.work_left >= -12
    assert not tally.chosen


@pytest.mark.parametrize(
    ("short", "given", "summed"),
    [((2, 4), [(1, 1), (0, 4)], (8, [3, 4])), ((3,), [(1,)], (3, [1]))],
)
def test_all_needs_as_one(short, given, summed):
    found = with_all_as_one(Needs(short, given, (0,) * len(short), (0,) * len(short)))
    assert (found.short[-1], [each[-1] for each in found.given]) == summed
