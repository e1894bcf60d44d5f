"""Tails of Student's distribution, by printed tables and by their own laws."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.engine.usage.student import bound, tail


@pytest.mark.parametrize(
    ("freedom", "probability", "expected"),
    [
        (1, 0.025, 12.7062),
        (2, 0.001, 22.3271),
        (6, 0.05, 1.9432),
        (13, 0.001, 3.8520),
        (27, 0.005, 2.7707),
        (120, 0.05, 1.6577),
    ],
)
def test_bounds_are_those_of_printed_tables(freedom, probability, expected):
    assert bound(probability, freedom) == pytest.approx(expected, abs=1e-3)
    assert tail(np.array([expected]), freedom)[0] == pytest.approx(probability, rel=1e-3)


@given(st.floats(-50, 50), st.integers(1, 60))
def test_both_sides_are_alike_and_make_up_one(value, freedom):
    above, below = tail(np.array([value, -value]), freedom)
    assert above + below == pytest.approx(1)
    assert 0 <= above <= 1


@given(st.lists(st.floats(-30, 30), min_size=2, max_size=8), st.integers(1, 40))
def test_the_higher_the_bound_the_less_likely_is_more(values, freedom):
    found = tail(np.array(sorted(values)), freedom)
    assert (np.diff(found) <= 1e-12).all()


def test_beyond_all_measure():
    assert tail(np.array([np.inf, -np.inf]), 5).tolist() == [0.0, 1.0]
