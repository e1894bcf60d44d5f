"""Drives: which of them can be relied upon, and which take volumes."""

import msgspec
import pytest

from ullage.model.drives import DRIVE_CLASSES, Drive, PlacedVolume, VolumeGroup

GOOD = Drive("d", "HDD", 1 << 40)


@pytest.mark.parametrize("health", ["GOOD", "UNKNOWN", ""])
def test_a_drive_is_healthy_unless_something_is_known_against_it(health):
    assert msgspec.structs.replace(GOOD, health=health).is_healthy


@pytest.mark.parametrize("fact", [{"health": "SUSPECT"}, {"health": "BAD"}, {"status": "OFFLINE"}])
def test_a_failing_or_absent_drive_is_not_healthy_and_offers_nothing(fact):
    drive = msgspec.structs.replace(GOOD, **fact)
    assert not drive.is_healthy
    assert not drive.offers_space


@pytest.mark.parametrize(
    "fact", [{"usage": "RELEASING"}, {"usage": "REMOVED"}, {"usage": ""}, {"clean": False}, {"system": True}]
)
def test_a_healthy_drive_that_is_removed_or_in_use_by_others_offers_nothing(fact):
    drive = msgspec.structs.replace(GOOD, **fact)
    assert drive.is_healthy
    assert not drive.offers_space


def test_a_good_clean_drive_offers_space_even_if_it_is_tainted_or_cold():
    assert GOOD.offers_space
    assert msgspec.structs.replace(GOOD, tainted=True, cold=True).offers_space


def test_any_takes_the_slowest_drives_first():
    assert DRIVE_CLASSES == ("HDD", "SSD", "NVME")


@pytest.mark.parametrize(
    ("record", "written"),
    [
        (GOOD, b'{"uuid":"d","driveClass":"HDD","sizeBytes":1099511627776}'),
        (
            VolumeGroup("g", "SSD", 8, 4, drives=("d",)),
            b'{"name":"g","driveClass":"SSD","sizeBytes":8,"freeBytes":4,"drives":["d"]}',
        ),
        (
            PlacedVolume("v", "d", 4, virtual_disk=True),
            b'{"name":"v","location":"d","sizeBytes":4,"virtualDisk":true}',
        ),
    ],
)
def test_what_is_as_usual_is_not_written(record, written):
    assert msgspec.json.encode(record) == written
    assert msgspec.json.decode(written, type=type(record)) == record
