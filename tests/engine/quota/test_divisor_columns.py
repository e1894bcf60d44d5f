"""Many families divided at once: what the plain form gives for each."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.engine.quota import divisor_columns
from ullage.engine.quota.divisor_columns import WEIGHTS_MAX, Families, divided_columns
from ullage.engine.quota.divisors import divided

LARGE = 1 << 52
WEIGHT = st.one_of(
    st.integers(0, 3), st.integers(0, 1000), st.integers(0, WEIGHTS_MAX), st.integers(0, LARGE)
)
BOUND = st.one_of(st.integers(0, 4), st.integers(0, 60), st.integers(0, LARGE))
FAMILY = st.tuples(
    st.lists(st.tuples(WEIGHT, BOUND), min_size=1, max_size=6),
    st.one_of(st.integers(0, 12), st.integers(0, 100), st.integers(0, 4 * LARGE)),
)


def by_columns(families) -> list[int]:
    members = [member for cells, _ in families for member in cells]
    found = divided_columns(
        np.array([amount for _, amount in families]),
        np.array([weight for weight, _ in members]),
        np.array([bound for _, bound in members]),
        Families(np.array([len(cells) for cells, _ in families])),
    )
    return found.tolist()


def plainly(families) -> list[int]:
    return [
        share
        for cells, amount in families
        for share in divided(amount, [weight for weight, _ in cells], [bound for _, bound in cells])
    ]


@given(st.lists(FAMILY, min_size=1, max_size=5))
def test_families_side_by_side_are_divided_as_each_alone(families):
    assert by_columns(families) == plainly(families)


@given(
    st.lists(st.tuples(st.integers(1, 50), st.integers(0, 10**6)), min_size=1, max_size=60),
    st.integers(0, 10**7),
)
def test_a_large_family_is_divided_as_in_plain_integers(cells, amount):
    assert by_columns([(cells, amount)]) == plainly([(cells, amount)])


@pytest.mark.parametrize(
    ("family", "plain"),
    [
        pytest.param(([(3, 1 << 50), (7, 1 << 50)], 1 << 50), False, id="small weights, huge amount"),
        pytest.param(([(WEIGHTS_MAX - 1, 90), (1, 90)], 100), False, id="the largest weights"),
        pytest.param(([(WEIGHTS_MAX, 90), (1, 90)], 100), True, id="weights too large"),
        pytest.param(([(1 << 29, 2), (1, 90)], 50), False, id="most is sure, little is sorted"),
    ],
)
def test_only_weights_too_large_for_64_bits_are_left_to_the_plain_form(family, plain, monkeypatch):
    asked = []
    monkeypatch.setattr(divisor_columns, "divided", lambda *given: asked.append(given) or divided(*given))
    expected = plainly([family])
    assert by_columns([family]) == expected
    assert bool(asked) == plain


def test_units_are_sorted_exactly_beside_a_family_of_the_largest_weights():
    largest = [((1 << 29) - 1, 70), (1 << 29, 70)]
    crowd = [(1000, 9)] * 20 + [(2, 90)] * 3 + [(1, 90)] * 20
    families = [(largest, amount) for amount in (1, 2, 99)] + [(crowd, amount) for amount in range(170, 220)]
    assert by_columns(families) == plainly(families)
