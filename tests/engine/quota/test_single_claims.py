"""Whom single claims take: judged by every claim there is."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import quota
from ullage.engine.quota import single_claims
from ullage.engine.quota.book import Book, Member
from ullage.engine.quota.claimed_back import ClaimedBack
from ullage.engine.quota.rights import Rules
from ullage.engine.quota.standing import Standing
from ullage.model.resources import Resources


def back_of(mins, sizes, mode="nos", free=0):
    """Quota `b` runs pods of some sizes, the first the oldest; nobody else runs any."""
    book = Book([quota(name, min=Resources({"cpu": least})) for name, least in mins.items()], mode)
    running = [
        Member(f"b/{number}", book.index["b"], (size,), Resources({"cpu": size}), "n", 0, number)
        for number, size in enumerate(sizes)
    ]
    standing = Standing(book, running)
    capacity = {"cpu": sum(sizes) + free}
    rules = Rules(standing, standing.entitlements((), capacity))
    return ClaimedBack(rules, (), capacity, room={"cpu": free}, candidates=running)


def found(back, most, free=0, quota=0):
    return single_claims.single_claims(back, quota, 0, free, most)


def test_one_of_the_size_of_a_workload_takes_it_rather_than_several():
    taken = found(back_of({"a": 6, "b": 0}, (3, 1, 1, 1)), 6)
    assert taken[1] == {"b/3"}
    assert taken[3] == {"b/0"}
    assert list(taken) == sorted(taken)


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(("nos", "fair")),
    st.integers(0, 6),
    st.integers(0, 3),
    st.lists(st.integers(1, 3), min_size=1, max_size=5),
)
def test_who_is_taken_by_any_claim_of_a_lender_is_taken_by_one_of_these(mode, least, own, sizes):
    back = back_of({"a": least, "b": own, "c": max(0, sum(sizes) - least - own)}, sizes, mode)
    taken = found(back, 9)
    assert all(keys == back.by_one(0, 0, amount) for amount, keys in taken.items())
    everyone = {key for amount in range(1, 10) for key in back.by_one(0, 0, amount)}
    assert max((amount for amount, keys in taken.items() if keys), default=0) == max(
        (amount for amount in range(1, 10) if back.by_one(0, 0, amount)), default=0
    )
    assert {key for keys in taken.values() for key in keys} == everyone


def test_of_many_sizes_some_are_tried(monkeypatch):
    monkeypatch.setattr(single_claims, "SIZES_MAX", 1)
    taken = found(back_of({"a": 10, "b": 0}, (4, 3, 2, 1)), 10)
    assert {1, 4, 10} <= taken.keys()
    assert 3 not in taken


def test_where_too_many_could_go_none_is_tried(monkeypatch):
    monkeypatch.setattr(single_claims, "SEARCHED_MAX", 1)
    assert found(back_of({"a": 6, "b": 0}, (3, 3)), 6) == {}


@pytest.mark.parametrize(("most", "largest"), [(None, 6), (2, 2)])
def test_the_largest_is_what_may_be_claimed_or_all_there_is(most, largest):
    assert max(found(back_of({"a": 6, "b": 0}, (3, 3)), most)) == largest
