"""Every amount has one bucket, buckets are in order, and the middle of one is near all of its amounts."""

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ullage.engine.usage.buckets import (
    BUCKETS,
    EXACT_BELOW,
    RELATIVE_ERROR_MAX,
    bucket_of,
    edges_of,
    middle_of,
    middle_of_one,
)

LARGEST = (1 << 62) - 1
AMOUNTS = st.one_of(
    st.integers(0, LARGEST),
    st.integers(0, 61).flatmap(lambda bits: st.integers(max(0, (1 << bits) - 3), (1 << bits) + 3)),
)


def one(function, amount):
    return int(function(np.array([amount], np.int64))[0])


@given(AMOUNTS)
def test_the_middle_of_a_bucket_is_less_than_one_part_in_128_away(amount):
    middle = one(middle_of, one(bucket_of, amount))
    assert abs(middle - amount) * 128 <= amount


@given(AMOUNTS)
def test_an_amount_lies_between_the_edges_of_its_bucket(amount):
    low, high = edges_of(np.array([one(bucket_of, amount)], np.int64))
    assert int(low[0]) <= amount <= int(high[0])


@given(AMOUNTS, AMOUNTS)
def test_a_larger_amount_has_no_smaller_bucket(first, second):
    small, large = sorted((first, second))
    assert one(bucket_of, small) <= one(bucket_of, large)


def test_small_amounts_have_a_bucket_each():
    small = np.arange(EXACT_BELOW)
    assert (bucket_of(small) == small).all()
    assert (middle_of(small) == small).all()


def test_buckets_follow_each_other_without_a_gap():
    low, high = edges_of(np.arange(BUCKETS - 64))
    assert (low[1:] == high[:-1] + 1).all()
    assert (bucket_of(low) == np.arange(BUCKETS - 64)).all()
    assert (bucket_of(high) == np.arange(BUCKETS - 64)).all()


def test_the_largest_amount_has_a_bucket():
    assert one(bucket_of, LARGEST) < BUCKETS


def test_the_error_that_is_promised_is_below_one_per_cent():
    assert Fraction(RELATIVE_ERROR_MAX) < Fraction(1, 100)


def test_one_bucket_has_the_same_middle_as_many():
    every = np.arange(BUCKETS)
    assert [middle_of_one(each) for each in every.tolist()] == middle_of(every).tolist()
