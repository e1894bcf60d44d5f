"""What passed is divided to the last byte."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.engine.usage.metering_split import Span, split


@pytest.mark.parametrize(
    ("span", "borders", "parts"),
    [
        pytest.param(Span(0, 10, 100), [0, 10], [100], id="all in one period"),
        pytest.param(Span(0, 10, 100), [0, 5, 10], [50, 50], id="halves"),
        pytest.param(Span(0, 3, 1), [0, 1, 2, 3], [0, 0, 1], id="one byte is not divided"),
        pytest.param(Span(0, 3, 10), [0, 1, 2, 3], [3, 3, 4], id="what is left goes to the last"),
        pytest.param(Span(5, 15, 100), [0, 10, 20], [50, 50], id="periods that begin before and end after"),
        pytest.param(Span(0, 10, 100), [20, 30], [0], id="another time"),
        pytest.param(Span(0, 7, 1 << 200), [0, 7], [1 << 200], id="any size"),
    ],
)
def test_parts_are_in_proportion_to_time(span, borders, parts):
    assert split(span, borders) == parts


@given(
    st.integers(0, 10**9),
    st.integers(1, 10**7),
    st.integers(0, 10**18),
    st.lists(st.integers(0, 10**7), max_size=20),
)
def test_parts_add_up_and_none_is_a_byte_away_from_its_share(begin, length, passed, cuts):
    span = Span(begin, begin + length, passed)
    borders = sorted({begin, begin + length, *(begin + cut % length for cut in cuts)})
    parts = split(span, borders)
    assert sum(parts) == passed
    for low, high, part in zip(borders, borders[1:], parts, strict=False):
        assert abs(part - Fraction(passed * (high - low), length)) < 1
