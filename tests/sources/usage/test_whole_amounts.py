"""Whole amounts are near the true ones, and so are their sums, however small and many they are."""

from itertools import accumulate

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ullage.sources.usage.whole_amounts import whole_amounts

amounts = st.lists(st.one_of(st.floats(0, 3), st.floats(0, 1e6), st.integers(0, 10**6)), max_size=30)


def at_once(values):
    count = len(values)
    return whole_amounts(np.array(values, float), np.zeros(count, int), np.arange(count)).tolist()


@given(amounts)
def test_every_amount_and_every_sum_of_those_that_follow_each_other_is_off_by_less_than_one(values):
    errors = [0, *accumulate(found - value for found, value in zip(at_once(values), values, strict=True))]
    assert max(errors) - min(errors) < 1 + 1e-4
    assert abs(errors[-1]) < 0.5 + 1e-4


@given(st.lists(st.integers(-1, 2**62), max_size=30))
def test_whole_amounts_and_dropped_points_stay_as_they_are(values):
    values = [int(float(each)) for each in values]
    assert at_once(values) == values


@given(st.lists(st.tuples(st.integers(0, 3), st.floats(0, 5)), max_size=30), st.data())
def test_moments_do_not_matter_to_each_other_nor_does_the_order_in_which_amounts_come(points, data):
    order = data.draw(st.permutations(range(len(points))))
    moments = np.array([points[each][0] for each in order], int)
    values = np.array([points[each][1] for each in order], float)
    found = dict(zip(order, whole_amounts(values, moments, np.array(order, int)).tolist(), strict=True))
    for moment in range(4):
        places = [place for place, each in enumerate(points) if each[0] == moment]
        assert [found[place] for place in places] == at_once([points[place][1] for place in places])


def test_idle_containers_are_together_what_they_are():
    assert sum(at_once([0.1] * 8)) == 1
    assert sum(at_once([0.1] * 1000)) == 100


def test_what_a_rate_has_beyond_a_millionth_is_rounding():
    assert at_once([250, 250.00000000001, 249.9999999999]) == [250, 250, 250]
