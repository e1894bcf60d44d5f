"""What others could claim of a quota: judged by the orders in which its workloads really go."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import quota
from ullage.engine.quota.book import Book, Member
from ullage.engine.quota.claimable import claimable
from ullage.engine.quota.claimed_back import ClaimedBack
from ullage.engine.quota.rights import Rules
from ullage.engine.quota.risk import Risks
from ullage.engine.quota.standing import Standing
from ullage.model.resources import NOTHING, Resources


def standing_of(mins, used, mode="fair", **fields):
    book = Book([quota(name, min=Resources(least), **fields) for name, least in mins.items()], mode)
    members = [
        Member(f"{name}/{number}", book.index[name], (1,), Resources({"cpu": 1}), "n", 0, number)
        for name, count in used.items()
        for number in range(count)
    ]
    return Standing(book, members), members


@pytest.mark.parametrize(
    ("mins", "used", "mode", "found"),
    [
        ({"a": {}, "b": {"cpu": 4}}, {"a": 4}, "fair", (4, 0)),
        ({"a": {"cpu": 4}, "b": {"cpu": 4}}, {"a": 4}, "fair", (2, 0)),
        ({"a": {"cpu": 1}, "b": {"cpu": 1}}, {"a": 2, "b": 2}, "fair", (0, 0)),
        ({"a": {"cpu": 1}, "b": {"cpu": 3}}, {"a": 4}, "nos", (3, 0)),
        ({"a": {"cpu": 1}, "b": {"cpu": 1}}, {"a": 4}, "nos", (1, 0)),
        ({"a": {}, "b": {"cpu": 4}}, {"a": 4}, "nos", (0, 0)),
    ],
)
def test_how_much_others_could_claim(mins, used, mode, found):
    standing, _ = standing_of(mins, used, mode)
    assert tuple(each[0] for each in claimable(standing, (), {"cpu": 4})) == found


@settings(max_examples=80, deadline=None)
@given(
    st.fixed_dictionaries(
        {name: st.one_of(st.just({}), st.integers(0, 5).map(lambda n: {"cpu": n})) for name in "abc"}
    ),
    st.fixed_dictionaries({name: st.integers(0, 4) for name in "abc"}),
    st.integers(0, 2),
)
def test_in_mode_fair_somebody_of_a_quota_goes_if_and_only_if_something_of_it_can_be_claimed(
    mins, used, free
):
    standing, running = standing_of({**mins, "d": {"cpu": 2}}, used)
    capacity = {"cpu": len(running) + free}
    rules = Rules(standing, standing.entitlements((), capacity))
    found = Risks(rules, (), capacity, room={"cpu": free}, evictable=running).of_all()
    goes = {each.member.quota for each in found.pods if each.goes}
    exposed = claimable(standing, (), capacity)
    assert goes == {place for place, amounts in enumerate(exposed) if any(amounts)}


def test_a_quota_of_which_nothing_can_be_claimed_loses_nobody_in_any_order():
    """Whether candidates of such quotas are left out makes no difference."""
    standing, running = standing_of({"a": {"cpu": 2}, "b": {"cpu": 2}, "c": {}}, {"a": 2, "c": 2})
    rules = Rules(standing, standing.entitlements((), {"cpu": 4}))
    back = ClaimedBack(rules, (), {"cpu": 4}, room={"cpu": 0}, candidates=running)
    assert [each.member.key for each in back.order([1], 0).gone] == ["c/1", "c/0"]
    assert claimable(standing, (), {"cpu": 4}) == ((0,), (0,), (2,))


def test_what_has_no_bound_is_never_short():
    standing, _ = standing_of({"a": {}, "b": {"cpu": 4}}, {"a": 4})
    assert claimable(standing, [Member("w", 1, (9,), NOTHING)], {"cpu": (1 << 63) - 1}) == ((0,), (0,))
