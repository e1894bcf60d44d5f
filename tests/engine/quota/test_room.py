"""How much more a quota may run: exactly as much as the rules refuse nothing for."""

from hypothesis import given, settings
from hypothesis import strategies as st

from builders import quota
from ullage.engine.quota.book import Book, Member
from ullage.engine.quota.rights import Rules
from ullage.engine.quota.room import quota_room
from ullage.engine.quota.standing import Standing
from ullage.model.resources import NOTHING, Resources


def rules_of(quotas, use, mode):
    book = Book(quotas, mode)
    members = [Member(name, book.index[name], (amount,), NOTHING) for name, amount in use.items()]
    standing = Standing(book, members)
    return Rules(standing, standing.entitlements((), {"cpu": 20}))


def amounts(**named):
    return {name: Resources({"cpu": each}) for name, each in named.items()}


def test_every_bound_is_told_and_the_least_holds():
    top = quota("top", **amounts(min=10, max=15))
    below = quota("a", parent="top", **amounts(min=4, max=12, borrowing_limit=3))
    found = quota_room(rules_of([top, below], {"a": 5}, "fair"), 0, {"cpu": 9})
    assert (found.max, found.borrowing_limit, found.sum_of_min) == ((7,), (2,), (None,))
    assert (found.nodes, found.admitted) == ((9,), (2,))


def test_in_mode_nos_the_sum_of_all_mins_is_a_bound():
    quotas = [quota("a", **amounts(min=4)), quota("b", **amounts(min=3))]
    found = quota_room(rules_of(quotas, {"a": 5}, "nos"), 0, {})
    assert (found.max, found.sum_of_min, found.nodes, found.admitted) == ((None,), (2,), (None,), (2,))


def test_what_nothing_bounds_has_no_bound_and_what_is_passed_leaves_nothing():
    quotas = [quota("a", **amounts(min=4))]
    assert quota_room(rules_of(quotas, {}, "fair"), 0, {}).admitted == (None,)
    assert quota_room(rules_of(quotas, {"a": 9}, "nos"), 0, {}).admitted == (0,)


optional = st.none() | st.integers(0, 9)


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(("nos", "fair")), st.data())
def test_so_much_is_refused_nothing_and_one_more_is(mode, data):
    quotas = []
    for name, parent in (("a", "top"), ("b", "top"), ("top", ""), ("z", "")):
        given_ = {key: data.draw(optional) for key in ("min", "max", "borrowing_limit")}
        named = amounts(**{key: each for key, each in given_.items() if each is not None})
        quotas.append(quota(name, parent=parent, **{"min": NOTHING, **named}))
    quotas[0] = quota("a", min=Resources({"cpu": 1}), parent="top")
    rules = rules_of(quotas, data.draw(st.dictionaries(st.sampled_from("abz"), st.integers(0, 5))), mode)
    for place in range(4):
        (most,) = quota_room(rules, place, {}).admitted
        if most is None:
            assert not rules.refusals(place, (10**6,))
        else:
            assert rules.refusals(place, (most + 1,))
            assert most == 0 or not rules.refusals(place, (most,))
