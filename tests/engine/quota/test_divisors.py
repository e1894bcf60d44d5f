"""An amount divided by weight gives what handing out one unit after the other gives."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quota_trees import unit_by_unit
from ullage.engine.quota.divisors import divided

MEMBERS = st.lists(
    st.tuples(
        st.one_of(st.integers(0, 4), st.integers(0, 1 << 40), st.fractions(0, 3, max_denominator=9)),
        st.integers(0, 15),
    ),
    max_size=7,
)


@pytest.mark.parametrize(
    ("amount", "weights", "bounds", "shares"),
    [
        pytest.param(10, [1, 1], [10, 10], [5, 5], id="equal weights share equally"),
        pytest.param(9, [2, 1], [10, 10], [6, 3], id="twice the weight has twice as much"),
        pytest.param(1, [1, 1, 1], [9, 9, 9], [1, 0, 0], id="a tie goes to the first"),
        pytest.param(10, [1, 1], [2, 20], [2, 8], id="what one cannot take goes to the others"),
        pytest.param(50, [1, 1], [2, 20], [2, 20], id="nobody gets more than its bound"),
        pytest.param(3, [3, 0], [4, 4], [3, 0], id="weight 0 comes after all others"),
        pytest.param(9, [3, 0, 0], [4, 4, 4], [4, 3, 2], id="those of weight 0 share the rest equally"),
        pytest.param(4, [0, 0], [9, 9], [2, 2], id="all of weight 0 share equally"),
        pytest.param(
            6, [Fraction(1, 2), Fraction(1, 4)], [9, 9], [4, 2], id="only the ratio of weights counts"
        ),
        pytest.param(0, [1, 2], [5, 5], [0, 0], id="of nothing there is nothing"),
        pytest.param(5, [], [], [], id="nobody"),
        pytest.param(10, [1] * 20, [5] * 20, [1] * 10 + [0] * 10, id="fewer units than members"),
        pytest.param(4, [5, 1, 1], [9, 9, 9], [3, 1, 0], id="the remainder follows the divisors"),
        pytest.param(100, [97, 1, 1, 1], [200] * 4, [97, 1, 1, 1], id="what comes out even stays even"),
    ],
)
def test_division(amount, weights, bounds, shares):
    assert divided(amount, weights, bounds) == shares


@given(MEMBERS, st.integers(0, 110))
def test_shares_are_those_of_one_unit_after_the_other(members, amount):
    weights, bounds = [weight for weight, _ in members], [bound for _, bound in members]
    assert divided(amount, weights, bounds) == unit_by_unit(amount, weights, bounds)


@given(
    st.lists(st.tuples(st.integers(0, 1 << 63), st.integers(0, 1 << 63)), max_size=7), st.integers(0, 1 << 65)
)
def test_huge_amounts_are_divided_to_the_last_unit(members, amount):
    weights, bounds = [weight for weight, _ in members], [bound for _, bound in members]
    shares = divided(amount, weights, bounds)
    assert sum(shares) == min(amount, sum(bounds))
    assert all(0 <= share <= bound for share, bound in zip(shares, bounds, strict=True))
    next_units = [
        (weight == 0, Fraction(2 * share + 1, weight or 1), member)
        for member, (share, weight, bound) in enumerate(zip(shares, weights, bounds, strict=True))
        if share < bound
    ]
    last_units = [
        (weight == 0, Fraction(2 * share - 1, weight or 1), member)
        for member, (share, weight) in enumerate(zip(shares, weights, strict=True))
        if share
    ]
    assert not next_units or not last_units or max(last_units) < min(next_units)
