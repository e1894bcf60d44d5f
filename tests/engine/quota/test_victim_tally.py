"""What victims cost and leave, kept up one by one: as counted anew, and taken back without a trace."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from engine.quota.gang_cases import Case, cost_of, is_legal, random_case, seeded
from ullage.engine.quota.victim_order import candidates_of
from ullage.engine.quota.victim_tally import Candidate, Tally


def tallied(case: Case) -> tuple[Tally, list[Candidate]]:
    candidates = candidates_of(case.rules, case.claim, case.running)
    return Tally(case.rules, case.claim, case.nodes.capacity, case.budgets), candidates


def chosen(random: Random, candidates: list[Candidate]) -> list[Candidate]:
    return [each for each in candidates if random.random() < 0.6]


@given(st.integers(0, 1 << 40))
def test_costs_are_those_by_definition(seed):
    random = seeded(seed)
    case = random_case(random)
    tally, candidates = tallied(case)
    some = chosen(random, candidates)
    for each in some:
        tally.add(each)
    if some:
        assert tally.cost() == cost_of(case, [each.member for each in some])


@given(st.integers(0, 1 << 40))
def test_each_may_go_after_those_before_it_where_the_set_is_legal(seed):
    random = seeded(seed)
    case = random_case(random)
    tally, candidates = tallied(case)
    taken: list[Candidate] = []
    for each in chosen(random, candidates):
        legal = is_legal(case, [one.member for one in (*taken, each)])
        assert tally.may_go(each) == legal
        if legal:
            tally.add(each)
            taken.append(each)


@given(st.integers(0, 1 << 40))
def test_what_is_dropped_leaves_no_trace(seed):
    random = seeded(seed)
    case = random_case(random)
    tally, candidates = tallied(case)
    if not candidates:
        return
    tally.add(candidates[0])
    before = tally.cost()
    answers = [tally.may_go(each) for each in candidates[1:]]
    some = chosen(random, candidates[1:])
    for each in some:
        tally.add(each)
    for _ in some:
        tally.drop()
    assert tally.cost() == before
    assert [tally.may_go(each) for each in candidates[1:]] == answers


@given(st.integers(0, 1 << 40))
def test_a_quota_that_gives_more_than_it_can_spare_ends_below(seed):
    random = seeded(seed)
    case = random_case(random)
    tally, candidates = tallied(case)
    others = [each for each in candidates if not each.own and each.member.quota >= 0]
    if not others:
        return
    first = others[0].member
    spare = [tally.spare(first.quota, place) for place in range(len(first.amounts))]
    tally.add(others[0])
    claimed = case.rules.book.chains[case.claim.quota]
    if first.quota not in claimed and any(one > two for one, two in zip(first.amounts, spare, strict=True)):
        assert tally.below >= 1
    if tally.below == 0:
        assert all(one <= two for one, two in zip(first.amounts, spare, strict=True))
