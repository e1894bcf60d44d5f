"""Reserve rules of the peers: tables with their own numbers, and what holds for all numbers."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.engine.storage.components import BYTES_MAX
from ullage.engine.storage.reserves import bytes_beside_spare, shared_bytes, thin_bytes
from ullage.model.drives import Drive, ThinPool, VolumeGroup
from ullage.model.quantity import INT64_MAX
from ullage.model.settings import Rules

GIB = 1 << 30
SIZES = st.integers(0, 1 << 50)
PERCENTS = st.integers(0, 100)


@pytest.mark.parametrize(
    ("free_bytes", "spare_bytes", "offered_bytes"),
    [
        # TopoLVM, lvmd: its default spare-gb is 10, its tests use 1
        (12 * GIB, 10 * GIB, 2 * GIB),
        (3 * GIB, GIB, 2 * GIB),
        (10 * GIB, 10 * GIB, 0),
        (10 * GIB - 1, 10 * GIB, 0),
        (0, GIB, 0),
        (5 * GIB, 0, 5 * GIB),
    ],
)
def test_a_group_offers_what_is_free_beside_its_spare(free_bytes, spare_bytes, offered_bytes):
    group = VolumeGroup("vg", "HDD", 20 * GIB, free_bytes)
    assert bytes_beside_spare(group, Rules(volume_group_spare_bytes=spare_bytes)) == offered_bytes


@pytest.mark.parametrize(
    ("ratio", "pool_bytes", "virtual_bytes", "offered_bytes"),
    [
        # TopoLVM, lvmd: floor(ratio * pool) - virtual; its tests use the ratio 10
        ("10", GIB, 0, 10 * GIB),
        ("10", GIB, 4 * GIB, 6 * GIB),
        ("10", GIB, 10 * GIB, 0),
        ("1.5", 3, 0, 4),
        ("4/3", 4 << 20, 0, 5592405),
        ("1", GIB, GIB - 1, 1),
        # where TopoLVM's number wraps round, there is nothing
        ("1", GIB, GIB + 1, 0),
        ("0", GIB, 0, 0),
    ],
)
def test_a_thin_pool_offers_its_ratio_without_the_volumes_it_has(
    ratio, pool_bytes, virtual_bytes, offered_bytes
):
    pool = ThinPool("slim", pool_bytes, virtual_bytes)
    assert thin_bytes(pool, Rules(thin_pool_ratio=Fraction(ratio))) == offered_bytes


def drive_of(size_bytes, available_bytes=None):
    return Drive("d", "HDD", size_bytes, available_bytes=available_bytes)


def percent(over, minimal=0):
    return Rules(drive_over_provisioning_percent=over, drive_minimal_available_percent=minimal)


@pytest.mark.parametrize(
    ("drive", "used_bytes", "rules", "left_bytes"),
    [
        # Longhorn, "Multiple Disk Support": 750 GiB of volumes on 150 GiB at 500 %
        (drive_of(150 * GIB), 0, percent(500), 750 * GIB),
        # Longhorn, its best practice for a root disk: twice the size at 200 %, closed at 25 % or less
        (drive_of(100 * GIB, 26 * GIB), 150 * GIB, percent(200, 25), 50 * GIB),
        (drive_of(100 * GIB, 25 * GIB), 150 * GIB, percent(200, 25), 0),
        # Longhorn, its tests of the scheduler: a disk of 5 GB with 3 GB available, at 200 % and 20 %
        (drive_of(5_000_000_000, 3_000_000_000), 0, percent(200, 20), 10_000_000_000),
        (drive_of(5_000_000_000, 1_000_000_001), 0, percent(200, 20), 10_000_000_000),
        (drive_of(5_000_000_000, 1_000_000_000), 0, percent(200, 20), 0),
        # as if there were no percentages
        (drive_of(100 * GIB), 30 * GIB, percent(100), 70 * GIB),
        # less than the drive
        (drive_of(100 * GIB), 30 * GIB, percent(50), 20 * GIB),
        (drive_of(100 * GIB), 60 * GIB, percent(50), -10 * GIB),
        # where nobody says what is available, volumes count as full
        (drive_of(100 * GIB), 74 * GIB, percent(200, 25), 126 * GIB),
        (drive_of(100 * GIB), 75 * GIB, percent(200, 25), 0),
        (drive_of(100 * GIB), 0, percent(100, 100), 0),
    ],
)
def test_a_shared_drive_offers_its_percentage_while_enough_is_available(drive, used_bytes, rules, left_bytes):
    assert shared_bytes(drive, used_bytes, rules) - used_bytes == left_bytes


def schedulable(size, scheduled, drive, rules):
    """Longhorn's IsSchedulableToDisk for a new volume, of which nothing is written, and nothing reserved."""
    maximum, available = drive.size_bytes, drive.available_bytes
    if maximum <= 0 or available <= 0:
        return False
    if available <= maximum * rules.drive_minimal_available_percent // 100:
        return False
    return size + scheduled <= maximum * rules.drive_over_provisioning_percent // 100


@given(
    size=st.integers(1, 1 << 50),
    scheduled=SIZES,
    drive=st.builds(drive_of, SIZES, SIZES),
    rules=st.builds(percent, st.integers(0, 1000), PERCENTS),
)
def test_a_volume_fits_a_shared_drive_when_longhorn_would_schedule_it(size, scheduled, drive, rules):
    fits = size <= shared_bytes(drive, scheduled, rules) - scheduled
    assert fits == schedulable(size, scheduled, drive, rules)


@given(free=SIZES, spare=SIZES, more=SIZES)
def test_a_larger_spare_never_offers_more(free, spare, more):
    group = VolumeGroup("vg", "HDD", 1 << 50, free)
    small, large = (Rules(volume_group_spare_bytes=each) for each in (spare, spare + more))
    assert bytes_beside_spare(group, large) <= bytes_beside_spare(group, small) <= free


@given(size=SIZES, used=SIZES, available=st.none() | SIZES, minimal=PERCENTS, other=PERCENTS)
def test_more_to_be_kept_available_never_offers_more(size, used, available, minimal, other):
    drive = Drive("d", "HDD", size, available_bytes=available)
    low, high = (
        shared_bytes(drive, used, Rules(drive_minimal_available_percent=each))
        for each in sorted((minimal, other))
    )
    assert high <= low


@given(size=SIZES, used=SIZES, free=SIZES)
def test_the_default_rules_keep_nothing_back(size, used, free):
    assert shared_bytes(Drive("d", "HDD", size), used, Rules()) == size
    assert bytes_beside_spare(VolumeGroup("vg", "HDD", 1 << 50, free), Rules()) == free
    assert thin_bytes(ThinPool("slim", size, used), Rules()) == 0


def test_no_offer_is_larger_than_planners_take():
    rules = Rules(thin_pool_ratio=Fraction(1_000_000), drive_over_provisioning_percent=10_000)
    assert thin_bytes(ThinPool("slim", INT64_MAX), rules) == BYTES_MAX
    assert shared_bytes(Drive("d", "HDD", INT64_MAX), 0, rules) == INT64_MAX
