"""Who gets what: sums are conserved, nobody gets more than it wants, and each rule is what it says."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.engine.usage.contention import RULES, Claimant, portions, shared

AMOUNTS = st.integers(0, 1 << 40)
CLAIMANTS = st.lists(
    st.builds(
        Claimant,
        st.sampled_from(("a", "b", "c", "d")),
        AMOUNTS,
        st.one_of(st.just(0), AMOUNTS),
        st.one_of(st.none(), AMOUNTS),
        st.integers(-3, 3),
    ),
    max_size=8,
)


def given_to(rule: str, supply: int, *claimants: Claimant) -> list[int]:
    return shared(claimants, supply, rule)


@pytest.mark.parametrize(
    ("rule", "wanted"),
    [
        ("equal", [2, 5, 5]),
        ("request", [2, 3, 7]),
        ("limit", [2, 6, 4]),
        ("priority", [0, 2, 10]),
    ],
)
def test_each_rule_shares_twelve_among_three(rule, wanted):
    found = given_to(
        rule,
        12,
        Claimant("small", demand=2, request=3, limit=4, priority=0),
        Claimant("modest", demand=10, request=3, limit=6, priority=5),
        Claimant("greedy", demand=10, request=6, limit=4, priority=9),
    )
    assert found == wanted


def test_where_there_is_enough_everybody_has_what_it_wants():
    claimants = [Claimant("a", 3, 1), Claimant("b", 4, 0), Claimant("c", 5, 9, 1, 2)]
    assert all(shared(claimants, 12, rule) == [3, 4, 5] for rule in RULES)


def test_what_was_promised_nothing_shares_what_the_others_leave():
    promised, first, second = Claimant("p", 6, 4), Claimant("q", 9), Claimant("r", 9)
    assert given_to("request", 10, promised, first, second) == [6, 2, 2]
    assert given_to("request", 5, promised, first, second) == [5, 0, 0]


def test_a_claimant_without_a_limit_may_have_all_of_it():
    assert given_to("limit", 12, Claimant("bounded", 12, limit=4), Claimant("free", 12)) == [3, 9]


def test_a_step_that_cannot_be_divided_goes_to_the_largest_fraction_then_by_name():
    assert given_to("equal", 2, Claimant("b", 9), Claimant("a", 9), Claimant("c", 9)) == [1, 1, 0]
    assert given_to("request", 4, Claimant("a", 9, 1), Claimant("b", 9, 2)) == [1, 3]


def test_nothing_is_shared_of_nothing():
    assert given_to("equal", 0, Claimant("a", 5)) == [0]
    assert given_to("priority", -3, Claimant("a", 5)) == [0]
    assert shared((), 5, "limit") == []


@given(CLAIMANTS, AMOUNTS, st.sampled_from(RULES))
def test_nothing_is_lost_and_nobody_gets_more_than_it_wants(claimants, supply, rule):
    found = shared(claimants, supply, rule)
    assert sum(found) == min(supply, sum(each.demand for each in claimants))
    assert all(0 <= got <= each.demand for got, each in zip(found, claimants, strict=True))


@given(CLAIMANTS, AMOUNTS)
def test_by_equal_nobody_lacks_anything_while_another_has_more(claimants, supply):
    found = shared(claimants, supply, "equal")
    lacking = [got for got, each in zip(found, claimants, strict=True) if got < each.demand]
    assert not lacking or max(found) <= min(lacking) + 1


@given(CLAIMANTS, AMOUNTS)
def test_by_request_nobody_lacks_anything_while_another_has_more_for_its_request(claimants, supply):
    found = shared(claimants, supply, "request")
    of_weight = [(got, each) for got, each in zip(found, claimants, strict=True) if each.request]
    lacking = [Fraction(got + 1, each.request) for got, each in of_weight if got < each.demand]
    assert not lacking or all(
        Fraction(max(0, got - 1), each.request) <= min(lacking) for got, each in of_weight
    )


@given(CLAIMANTS, AMOUNTS)
def test_by_priority_the_less_important_get_nothing_before_the_others_are_full(claimants, supply):
    found = shared(claimants, supply, "priority")
    lacking = [each.priority for got, each in zip(found, claimants, strict=True) if got < each.demand]
    assert not lacking or all(
        not got for got, each in zip(found, claimants, strict=True) if each.priority < max(lacking)
    )


@given(CLAIMANTS, AMOUNTS, st.integers(0, 1000), st.sampled_from(RULES))
def test_nobody_gets_less_of_more_but_for_a_step(claimants, supply, more, rule):
    if rule == "limit":
        claimants = [each._replace(limit=each.limit or 0) for each in claimants]
    before, after = shared(claimants, supply, rule), shared(claimants, supply + more, rule)
    assert all(late >= early - 1 for early, late in zip(before, after, strict=True))


@given(CLAIMANTS, AMOUNTS)
def test_portions_are_those_of_every_rule(claimants, supply):
    found = portions(claimants, supply)
    assert [each.claimant for each in found] == claimants
    for place, rule in enumerate(RULES):
        assert [each.given[place] for each in found] == shared(claimants, supply, rule)
