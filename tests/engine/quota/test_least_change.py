"""The least raise of a bound with which something holds: first in the order, and proven where it is said."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.engine.quota import least_change
from ullage.engine.quota.least_change import Least, Range, Tries, guess, least

MANY = 10**6


def searched(ranges, holds, left=MANY):
    tries = Tries(holds, left)
    return least(ranges, tries, guess(ranges, tries))


def order(ranges, values):
    return sum(value > each.before for value, each in zip(values, ranges, strict=True)), values


@st.composite
def worlds(draw):
    """Ranges of one to three resources, and amounts with which it holds: any set, below no need."""
    ranges = []
    for name in "abc"[: draw(st.integers(1, 3))]:
        before, step = draw(st.integers(0, 3)), draw(st.sampled_from((1, 2)))
        enough = before + step * draw(st.integers(1, 3))
        needed = draw(st.integers(0, enough))
        likely = tuple(draw(st.lists(st.integers(0, 9), max_size=2)))
        ranges.append(Range(name, before, needed, enough, likely, step))
    box = list(product(*(range(each.before, each.enough + 1, each.step) for each in ranges)))
    able = [
        values
        for values in box
        if all(value >= each.needed for value, each in zip(values, ranges, strict=True))
    ]
    return ranges, draw(st.sets(st.sampled_from(able)))


@given(worlds(), st.integers(0, 80))
def test_what_is_proven_is_the_first_of_all_that_hold(world, left):
    ranges, good = world
    found = searched(ranges, lambda amounts: tuple(amounts.values()) in good, left)
    if found is None:
        assert not good or left < len(list(product(*(each.amounts for each in ranges))))
        return
    values = tuple(found.amounts.values())
    assert values in good
    if found.proven:
        assert values == min(good, key=lambda each: order(ranges, each))


@given(worlds())
def test_with_enough_tries_all_is_proven(world):
    ranges, good = world
    found = searched(ranges, lambda amounts: tuple(amounts.values()) in good)
    assert (found is not None) == bool(good)
    assert found is None or found.proven


@pytest.mark.parametrize(
    ("holds", "expected"),
    [
        (lambda each: each["a"] + each["b"] >= 3, {"a": 0, "b": 3}),
        (lambda each: each["a"] >= 3 or (each["a"] >= 1 and each["b"] >= 1), {"a": 3, "b": 0}),
        (lambda each: each["a"] == 1 and each["b"] >= 2, {"a": 1, "b": 2}),
        (lambda each: each["a"] == 2, {"a": 2, "b": 0}),
    ],
    ids=["later names first", "one resource before two", "not above it", "not above it, alone"],
)
def test_the_order(holds, expected):
    ranges = [Range("a", 0, 0, 4), Range("b", 0, 0, 4)]
    assert searched(ranges, holds) == Least(expected, proven=True)


def test_what_is_needed_at_least_needs_no_tries():
    found = searched([Range("a", 0, 10**12, 10**12)], lambda _: True, left=1)
    assert found == Least({"a": 10**12}, proven=True)


def test_what_was_not_all_tried_is_not_proven(monkeypatch):
    ranges = [Range("a", 0, 0, 1000)]
    holds = lambda each: each["a"] >= 700  # noqa: E731 - a question
    assert searched(ranges, holds, left=50) == Least({"a": 700}, proven=False)
    monkeypatch.setattr(least_change, "BOX_MAX", 10)
    assert searched(ranges, holds) == Least({"a": 700}, proven=False)


def test_steps_make_few_of_many():
    asked = []

    def holds(amounts):
        asked.append(amounts["a"])
        return amounts["a"] >= 2500

    assert searched([Range("a", 1000, 0, 5000, step=1000)], holds, left=6) == Least({"a": 3000}, proven=True)
    assert set(asked) <= {1000, 2000, 3000, 4000, 5000}
    assert len(asked) == len(set(asked)), "nothing is asked twice"
