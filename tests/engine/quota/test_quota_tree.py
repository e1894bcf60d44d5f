"""Quotas in rows: level by level, families side by side, a parent's own workloads among its children."""

import pytest

from builders import quota
from ullage.engine.quota.quota_tree import Level, QuotaTree
from ullage.model.errors import InputError
from ullage.model.resources import Resources


def guaranteed(name: str, cpu: str, parent: str = "", **fields):
    return quota(name, {"cpu": cpu}, parent=parent, **fields)


def test_children_stand_by_name_with_their_parents_own_workloads_among_them():
    tree = QuotaTree([guaranteed("z", "1", "m"), guaranteed("m", "9"), guaranteed("a", "2", "m")])
    assert tree.rows == {"m": 0, "a": 1, "z": 3}
    assert tree.own_rows == {"m": 2}
    assert tree.levels == [Level(0, 1, [0], [-1]), Level(1, 4, [1], [0])]


def test_own_workloads_are_guaranteed_what_the_children_leave():
    tree = QuotaTree([guaranteed("m", "9"), guaranteed("a", "2", "m"), guaranteed("z", "1", "m")])
    assert tree.minimums[tree.own_rows["m"]] == [6000]


def test_own_workloads_are_never_guaranteed_less_than_nothing():
    tree = QuotaTree([guaranteed("m", "1"), guaranteed("a", "2", "m")])
    assert tree.minimums[tree.own_rows["m"]] == [0]


def test_families_of_one_level_stand_in_the_order_of_their_parents():
    tree = QuotaTree([guaranteed(name, "1", name[:-1]) for name in ("a", "b", "bx", "ax", "ay")])
    assert tree.levels[1] == Level(2, 7, [2, 5], [0, 1])
    assert tree.rows | {"a": 0, "b": 1} == tree.rows


def test_the_resources_are_those_that_some_min_names():
    tree = QuotaTree([quota("a", {"cpu": "1"}, {"pods": "1"}), quota("b", {"memory": "1"})])
    assert tree.resources == ("cpu", "memory")
    assert tree.minimums == [[1000, 0], [0, 1]]


def test_the_ceiling_is_max_or_min_with_what_may_be_borrowed():
    borrowing = Resources({"cpu": 500, "memory": 8})
    tree = QuotaTree(
        [
            quota("a", {"cpu": "1", "memory": "1", "pods": "1"}, {"cpu": "9"}, borrowing_limit=borrowing),
            quota("b", {"cpu": "1"}, {"cpu": "1200m"}, borrowing_limit=borrowing),
            quota("c"),
        ]
    )
    assert tree.ceilings == {0: [1500, 9, None], 1: [1200, 8, None]}


def test_a_quota_whose_parent_is_not_there_is_a_root():
    assert QuotaTree([guaranteed("a", "1", "gone")]).levels == [Level(0, 1, [0], [-1])]


def test_no_quotas_have_no_levels():
    assert QuotaTree([]).levels == []


@pytest.mark.parametrize("parents", [{"a": "a"}, {"a": "b", "b": "c", "c": "a"}])
def test_parents_in_a_circle_are_refused(parents):
    with pytest.raises(InputError, match="quota a: its parents form a circle"):
        QuotaTree([guaranteed(name, "1", parent) for name, parent in parents.items()])
