"""Whether a gang fits, beside every way to place it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.quota.gang_cases import packings, random_case, seeded
from ullage.engine.quota.gang_packing import gang_of, packing, slots


@given(st.integers(0, 2**32))
def test_a_packing_is_the_first_of_all_by_name(seed):
    case = random_case(seeded(seed))
    columns = case.columns()
    gang = gang_of(case.claim.members, columns, case.mask())
    free = columns.free[:, gang.resources]
    found = packing(gang, free)
    every = list(packings(case, ()))
    assert found.certain
    if not every:
        assert found.nodes is None
        assert packing(gang, free, largest_first=True).nodes is None
    else:
        assert tuple(columns.nodes[row] for row in found.nodes) == every[0]
        quick = packing(gang, free, largest_first=True)
        assert tuple(columns.nodes[row] for row in quick.nodes) in every


def test_a_packing_that_is_cut_short_is_not_certain():
    case = random_case(seeded(2))
    columns = case.columns()
    gang = gang_of(case.claim.members, columns, None)
    free = np.full_like(columns.free[:, gang.resources], 99)
    assert not packing(gang, free, 1).certain
    assert packing(gang, free).certain


@pytest.mark.parametrize(
    ("free", "size", "most", "expected"),
    [
        ([4, 9], [2, 3], 9, 2),
        ([4, 9], [2, 0], 9, 2),
        ([4, 9], [0, 0], 7, 7),
        ([-4, 9], [2, 3], 9, 0),
        ([9, 9], [1, 1], 5, 5),
    ],
)
def test_slots_are_what_fits_of_every_resource_at_most_the_most(free, size, most, expected):
    assert slots(np.array([free]), np.array(size), most).tolist() == [expected]


def test_members_of_one_size_for_the_same_nodes_are_one_class():
    case = random_case(seeded(5))
    columns = case.columns()
    one = case.claim.members[0]
    members = [one._replace(key=key) for key in ("c", "a", "b")]
    gang = gang_of(members, columns, None)
    assert [each.key for each in gang.members] == ["a", "b", "c"]
    assert gang.members_of == ((0, 1, 2),)
    allowed = np.ones((3, len(columns.nodes)), np.bool_)
    allowed[0, 0] = False
    assert gang_of(members, columns, allowed).class_of == (0, 0, 1)
