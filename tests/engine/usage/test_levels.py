"""Peaks over time: the largest amount of each slot, MISSING where nothing was observed."""

import tracemalloc

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ullage.engine.usage.levels import DAY_SECONDS, MISSING, Levels

POINTS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, DAY_SECONDS - 1), st.integers(0, 1000)))


def levels_of(points, *, slot_seconds=3600):
    levels = Levels(slot_seconds)
    levels.grow(3)
    if points:
        rows, at_seconds, amounts = (np.array(column, np.int64) for column in zip(*points, strict=True))
        levels.raise_to(rows, at_seconds, amounts)
    return levels


def test_nothing_was_observed_in_a_new_row():
    assert (levels_of([]).table == MISSING).all()


def test_a_slot_holds_its_largest_amount():
    levels = levels_of([(0, 0, 5), (0, 3599, 9), (0, 3600, 7)])
    assert levels.table[0, :3].tolist() == [9, 7, MISSING]


def test_an_observation_of_nothing_used_is_not_a_missing_one():
    assert levels_of([(1, 0, 0)]).table[1, 0] == 0


@given(POINTS)
def test_each_slot_is_the_maximum_of_its_points(points):
    table = levels_of(points).table
    for row in range(3):
        for slot in range(24):
            amounts = [amount for at, second, amount in points if (at, second // 3600) == (row, slot)]
            assert table[row, slot] == max(amounts, default=MISSING)


@given(POINTS, POINTS)
def test_adding_another_table_is_as_if_all_had_been_observed_here(ours, theirs):
    both, other = levels_of(ours), levels_of(theirs)
    for row in range(3):
        both.put(row, other.table[row])
    assert (both.table[:3] == levels_of(ours + theirs).table[:3]).all()


def test_growing_keeps_what_is_there():
    levels = levels_of([(2, 0, 5)])
    levels.grow(10)
    levels.grow(4)
    assert len(levels) == 10
    assert levels.table[2, 0] == 5
    assert (levels.table[3:] == MISSING).all()


def test_a_table_grows_where_it_stands_and_is_never_there_twice():
    levels = Levels(3600)
    levels.grow(20_000)
    levels.table[:] = 7
    tracemalloc.start()
    levels.grow(20_001)
    levels.grow(30_000)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < levels.table.nbytes * 1.2
    assert (levels.table[:20_000] == 7).all()
    assert (levels.table[20_000:] == MISSING).all()
