"""Gangs on columns: sets that leave enough of every gang, and what goes as one."""

import numpy as np
import pytest

from builders import quota, resources
from ullage.engine.quota.book import Book, Member
from ullage.engine.quota.gang_columns import Columns
from ullage.engine.quota.gang_units import Units, choices_of
from ullage.engine.quota.standing import Standing
from ullage.engine.quota.victim_gangs import by_gang, running_gangs
from ullage.engine.quota.victims import Nodes


def units(*, whole: bool = True) -> Units:
    """Return rows 0 to 2 of a rigid gang, 3 to 5 of one of which two are enough, and 6 of none."""
    gangs = [("g", 0)] * 3 + [("h", 2)] * 3 + [("", 0)]
    members = [
        Member(f"p{place}", 0, (1,), resources(cpu="1"), "n", place % 2, place, (), gang, least)
        for place, (gang, least) in enumerate(gangs)
    ]
    standing = Standing(Book([quota("a", {"cpu": "1"})]), members)
    columns = Columns(standing, members, Nodes({"n": resources(cpu="0")}, resources(cpu="7")))
    found = Units(columns, running_gangs(by_gang(members)))
    found.whole[:] = whole
    return found


@pytest.mark.parametrize(
    ("rows", "closed"),
    [
        ([6], [6]),
        ([3, 6], [3, 6]),
        ([0], [0, 1, 2]),
        ([3, 5], [3, 4, 5]),
        ([0, 1, 2], [0, 1, 2]),
        ([1, 3], [0, 1, 2, 3]),
    ],
)
def test_with_too_many_of_a_gang_all_of_it_goes(rows, closed):
    assert units().closed(np.array(rows)).tolist() == closed


def test_a_gang_that_cannot_go_whole_loses_only_those_beyond_its_minimum():
    assert units(whole=False).closed(np.array([3, 6])).tolist() == [3, 6]
    assert units(whole=False).closed(np.array([3, 5])) is None


def test_a_gang_that_goes_has_one_place_and_the_highest_priority():
    priority, rank = units().standing_of(np.array([0, 1, 2, 3, 6]))
    assert priority.tolist() == [1, 1, 1, 1, 0]
    assert rank.tolist() == [2, 2, 2, 3, 6]


def test_who_can_be_chosen_is_alone_or_a_whole_gang():
    usable = np.ones(7, np.bool_)
    found = choices_of(units(), usable, [6, 5, 4, 3, 2, 1, 0])
    assert [rows.tolist() for rows in found] == [[6], [5], [4], [3], [0, 1, 2], [3, 4, 5]]
    assert [rows.tolist() for rows in choices_of(None, usable, [1, 0])] == [[1], [0]]
    usable[0] = False
    assert [rows.tolist() for rows in choices_of(units(), usable, [6])] == [[6], [3, 4, 5]]


def test_a_set_falls_into_those_who_go_together():
    assert [rows.tolist() for rows in units().split(np.array([0, 1, 2, 3]))] == [[3], [0, 1, 2]]
    assert units().dragged().tolist() == [2, 2, 2, 2, 0, 2, 0]
