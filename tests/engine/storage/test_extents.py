"""LVM's sizes: volumes are rounded up to extents, groups down, the metadata beside them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.engine.storage.extents import group_bytes, volume_bytes, whole_drive_bytes

KIB = 1 << 10
MIB = 1 << 20
EXTENT = 4 * MIB

sizes = st.integers(0, 1 << 50)
extents = st.sampled_from([128 * KIB, MIB, EXTENT, 32 * MIB, 1 << 30])


@pytest.mark.parametrize(
    ("asked", "expected"),
    [(0, 0), (1, EXTENT), (EXTENT - 1, EXTENT), (EXTENT, EXTENT), (EXTENT + 1, 2 * EXTENT)],
)
def test_a_volume_is_rounded_up_to_extents(asked, expected):
    assert volume_bytes(asked) == expected


def test_a_volume_is_rounded_up_to_the_extents_of_its_own_group():
    assert volume_bytes(33 * MIB, 32 * MIB) == 64 * MIB


@pytest.mark.parametrize(
    ("drive", "expected"),
    [
        (100 * EXTENT, 99 * EXTENT),
        (100 * EXTENT + MIB - 1, 99 * EXTENT),
        (100 * EXTENT + MIB, 100 * EXTENT),
        (101 * EXTENT - 1, 100 * EXTENT),
        (EXTENT + MIB, EXTENT),
        (EXTENT + MIB - 1, 0),
        (MIB, 0),
        (1, 0),
        (0, 0),
    ],
)
def test_a_group_is_what_the_metadata_leaves_in_whole_extents(drive, expected):
    assert group_bytes(drive) == expected


@pytest.mark.parametrize(("drive", "expected"), [(0, 0), (MIB - 1, 0), (MIB, MIB), (7 * MIB + 1, 7 * MIB)])
def test_a_volume_with_a_drive_to_itself_is_rounded_down_to_a_mebibyte(drive, expected):
    assert whole_drive_bytes(drive) == expected


@given(sizes, extents)
def test_a_volume_is_the_least_multiple_that_is_not_below_what_was_asked(asked, extent):
    size = volume_bytes(asked, extent)
    assert size % extent == 0
    assert asked <= size < asked + extent


@given(sizes, extents)
def test_a_group_is_the_largest_multiple_that_leaves_room_for_the_metadata(drive, extent):
    size = group_bytes(drive, extent)
    assert size % extent == 0
    assert size == 0 or size + MIB <= drive
    assert size + extent + MIB > drive


@given(sizes, sizes, extents)
def test_a_larger_drive_never_makes_a_smaller_group(drive, more, extent):
    assert group_bytes(drive, extent) <= group_bytes(drive + more, extent)


@given(sizes)
def test_a_volume_that_is_as_large_as_the_group_fits_and_one_byte_more_does_not(drive):
    size = group_bytes(drive)
    assert volume_bytes(size) == size
    assert volume_bytes(size + 1) > size
