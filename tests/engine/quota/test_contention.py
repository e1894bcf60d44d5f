"""How much more others must ask for before an entitlement falls below an amount."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import quota
from ullage.engine.quota import contention
from ullage.engine.quota.book import Book, Member
from ullage.engine.quota.contention import Contention
from ullage.engine.quota.standing import Standing
from ullage.model.resources import NOTHING, Resources


def contention_of(quotas, use, capacity, waiting=()):
    book = Book(quotas, "fair")

    def members(given):
        return [
            Member(f"{name}/{number}", book.index[name], book.amounts(Resources({"cpu": amount})), NOTHING)
            for number, (name, amount) in enumerate(given)
        ]

    return Contention(Standing(book, members(use)), members(waiting), {"cpu": capacity}), book.index


def flat(*mins):
    return [quota(name, min=Resources({"cpu": least})) for name, least in zip("abcde", mins, strict=False)]


SEED = (flat(40, 10, 30), [("a", 40), ("b", 40)], 80)


@pytest.mark.parametrize(
    ("below", "asked"), [(41, 0), (40, 1), (39, 2), (30, 11), (12, 29), (11, 30), (10, None), (0, None)]
)
def test_the_lender_asks_until_the_borrower_is_above_its_entitlement(below, asked):
    found, index = contention_of(*SEED)
    assert found.way_of(index["b"]).until_below([below]) == (asked,)


def test_what_everybody_is_sure_of_and_what_one_may_claim_alone():
    found, index = contention_of(*SEED)
    assert found.least == ((40,), (10,), (30,))
    assert found.alone(index["a"]) == (64,)
    assert found.alone(index["c"]) == (30,)


def test_after_too_many_looks_the_answer_is_a_lower_bound(monkeypatch):
    monkeypatch.setattr(contention, "LOOKS_MAX", 2)
    found, index = contention_of(flat(400, 100, 300), [("a", 700), ("b", 100)], 800)
    (asked,) = found.way_of(index["a"]).until_below([600])
    monkeypatch.setattr(contention, "LOOKS_MAX", 400)
    (exact,) = found.way_of(index["a"]).until_below([600])
    assert 0 < asked < exact


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.integers(0, 12), min_size=2, max_size=4),
    st.data(),
)
def test_the_least_demand_is_found_as_by_looking_at_all(mins, data):
    quotas = flat(*mins)
    names = [each.name for each in quotas]
    pods = st.lists(st.tuples(st.sampled_from(names), st.integers(0, 9)), max_size=6)
    found, _ = contention_of(quotas, data.draw(pods), data.draw(st.integers(0, 40)), data.draw(pods))
    way = found.way_of(0)
    below = data.draw(st.lists(st.integers(0, 30), min_size=1, max_size=4))
    end = way._ends[0]
    shares = {}
    for asked in range(end + 1):
        way._look([asked])
        shares[asked] = dict(way._seen[0])[asked]
    assert list(shares.values()) == sorted(shares.values(), reverse=True)
    fresh = found.way_of(0)
    for amount in below:
        expected = next((asked for asked, share in shares.items() if share < amount), None)
        assert fresh.until_below([amount]) == (expected,)
