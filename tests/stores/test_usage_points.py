"""Points as bytes: what is packed is what comes out, and nothing else is taken for it."""

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.engine.usage.summaries import AMOUNT_MAX
from ullage.stores.usage_points import Points, in_order, points_bytes, to_points

ROWS = st.lists(
    st.tuples(st.integers(0, 1 << 40), st.integers(0, 1 << 34), st.integers(-1, AMOUNT_MAX)), max_size=30
)


def points(rows):
    return Points(*np.array(rows, np.int64).reshape(-1, 3).T)


@given(ROWS)
def test_points_come_out_as_they_were(rows):
    found = in_order([points(rows)])
    assert [each.tolist() for each in to_points(points_bytes(found))] == [each.tolist() for each in found]


def test_what_is_no_amount_was_dropped():
    found = points([(1, 5, -7), (1, 6, AMOUNT_MAX + 1), (2, 7, 3)])
    assert to_points(points_bytes(found)).amounts.tolist() == [-1, -1, 3]


def test_of_several_parts_those_of_a_stream_stand_together():
    found = in_order([points([(2, 1, 1), (9, 1, 2)]), points([(2, 2, 3), (3, 2, 4)])])
    assert found.streams.tolist() == [2, 2, 3, 9]
    assert found.amounts.tolist() == [1, 3, 4, 2]


@pytest.mark.parametrize("cut", [0, 1, 8, -1])
def test_what_is_cut_off_is_refused(cut):
    data = points_bytes(points([(1, 5, 700), (4, 6, 1 << 50)]))
    with pytest.raises(msgspec.DecodeError):
        to_points(data[:cut])
