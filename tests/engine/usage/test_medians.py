"""Medians of tables with gaps are those of NumPy, which takes longer."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ullage.engine.usage.medians import greatest_so_far, means, medians, observed, ranked

NUMBERS = st.one_of(st.just(float("nan")), st.integers(-1000, 1000).map(float))
TABLES = arrays(np.float64, st.tuples(st.integers(1, 5), st.integers(1, 9)), elements=NUMBERS)


def of_numpy(function, table):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return function(table, axis=-1)


@given(TABLES)
def test_medians_and_means_are_those_of_numpy(table):
    np.testing.assert_allclose(medians(table), of_numpy(np.nanmedian, table))
    np.testing.assert_allclose(means(table), of_numpy(np.nanmean, table), atol=1e-9)


@given(TABLES)
def test_every_rank_is_a_place_of_the_sorted_values(table):
    for row, count in zip(table, observed(table), strict=True):
        ordered = np.sort(row[~np.isnan(row)])
        for rank in range(table.shape[1] + 2):
            (found,) = ranked(row[None], np.array([rank]))
            if 1 <= rank <= count:
                assert found == ordered[rank - 1]
            else:
                assert np.isnan(found)


def test_nothing_has_no_median():
    assert np.isnan(medians(np.empty((2, 0)))).all()
    assert np.isnan(medians(np.full((1, 3), np.nan))).all()


def test_the_mean_of_huge_values_is_a_number():
    assert means(np.full((1, 4), 1.7e308)) == pytest.approx(1.7e308)


def test_gaps_do_not_end_a_running_maximum():
    np.testing.assert_array_equal(greatest_so_far(np.array([[1, np.nan, 0, 3.0]])), [[1, 1, 1, 3]])
