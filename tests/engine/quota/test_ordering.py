"""Turns: the quota that has least of its entitlement goes first, and what goes counts at once."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import resources
from ullage.engine.quota.book import NO_QUOTA, Member
from ullage.engine.quota.ordering import NO_SHARE, by_entitlement, part_in_use


def member(name: str, amount: int = 1) -> Member:
    quota = {"a": 0, "b": 1, "-": NO_QUOTA}[name[0]]
    return Member(name, quota, (amount,), resources())


def turns(*waiting: Member, used=((0,), (0,)), shares=((4,), (4,))) -> list[str]:
    return [each.key for each in by_entitlement(waiting, lambda each: each, used, shares)]


@pytest.mark.parametrize(
    ("used", "entitlement", "part"),
    [
        ((2, 3), (4, 4), Fraction(3, 4)),
        ((2, 3), (4, None), Fraction(1, 2)),
        ((9,), (None,), Fraction(0)),
        ((0,), (0,), Fraction(0)),
        ((1,), (0,), Fraction(NO_SHARE)),
    ],
)
def test_the_resource_of_which_most_is_in_use_counts(used, entitlement, part):
    assert part_in_use(used, entitlement) == part


def test_equal_quotas_take_turns_by_name():
    assert turns(member("b1"), member("b2"), member("a1"), member("a2")) == ["a1", "b1", "a2", "b2"]


def test_who_has_less_goes_first_until_both_have_as_much():
    waiting = (member("a1"), member("a2"), member("b1"), member("b2"), member("b3"))
    assert turns(*waiting, used=((2,), (0,))) == ["b1", "b2", "a1", "b3", "a2"]


def test_who_is_entitled_to_more_goes_more_often():
    waiting = (member("a1"), member("a2"), member("b1"), member("b2"), member("b3"), member("b4"))
    assert turns(*waiting, shares=((2,), (6,))) == ["a1", "b1", "b2", "b3", "a2", "b4"]


def test_who_has_no_quota_comes_first_as_given():
    assert turns(member("a1"), member("-2"), member("b1"), member("-1")) == ["-2", "-1", "a1", "b1"]


@given(st.lists(st.tuples(st.sampled_from("ab-"), st.integers(0, 5)), max_size=12))
def test_everybody_has_one_turn_and_the_order_inside_a_quota_stays(given_order):
    waiting = [member(f"{quota}{place}", amount) for place, (quota, amount) in enumerate(given_order)]
    ordered = turns(*waiting)
    assert sorted(ordered) == sorted(each.key for each in waiting)
    for quota in "ab-":
        mine = [key for key in ordered if key[0] == quota]
        assert mine == [each.key for each in waiting if each.key[0] == quota]
