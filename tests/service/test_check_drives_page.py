"""How lost drives read."""

import pytest

from ullage.service.check_drives import (
    DriveLossStatus,
    HomelessStatus,
    LostVolumeStatus,
    NewDisk,
    RehomedStatus,
)
from ullage.service.check_drives_page import drive_blocks, drive_verdict

VOLUME = LostVolumeStatus("v", "n1", "vg", 1 << 30, "w/c", ("w/a",))
UNUSED = LostVolumeStatus("u", "n1", "d", 1 << 30, "", ())
HOME = RehomedStatus("w/a", "n1", "n2", (NewDisk("c", "d9"),))
HOMELESS = HomelessStatus("u", "n1", "why", "remedy")


def loss(volumes=(), rehomed=(), homeless=()):
    return DriveLossStatus(("d",), tuple(volumes), tuple(rehomed), tuple(homeless), 0, ())


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (loss(), "losing 1 drive loses no volume that is known"),
        (loss([VOLUME], [HOME]), "losing 1 drive loses 1 volume; it starts again on other disks"),
        (
            loss([VOLUME, UNUSED], [HOME, HOME]),
            "losing 1 drive loses 2 volumes; all 2 who used them start again on other disks",
        ),
        (
            loss([VOLUME, UNUSED], [HOME], [HOMELESS]),
            "losing 1 drive loses 2 volumes and leaves 1 of 2 who used them without a place",
        ),
    ],
)
def test_the_verdict(status, words):
    assert drive_verdict(status) == words


def test_those_without_a_place_come_first():
    lost, homes = drive_blocks(loss([VOLUME, UNUSED], [HOME], [HOMELESS]), None)
    assert [[cell.text for cell in row] for row in lost.rows] == [
        ["v", "1Gi", "n1/vg", "w/c", "w/a"],
        ["u", "1Gi", "n1/d", "-", "nobody"],
    ]
    assert [[cell.text for cell in row] for row in homes.rows] == [
        ["u", "n1", "no place", "-"],
        ["w/a", "n1", "n2", "d9 (c)"],
    ]


def test_many_rows_are_cut_and_say_so():
    lost, homes = drive_blocks(loss([VOLUME] * 3, [HOME] * 3), 2)
    assert (len(lost.rows), lost.caption) == (2, "the first 2 of 3, -o wide shows all")
    assert homes.caption == "with empty volumes; the first 2 of 3, -o wide shows all"


def test_nothing_lost_has_no_tables():
    assert drive_blocks(loss(), None) == []
