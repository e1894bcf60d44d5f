"""What `disks fragmentation` answers: sizes as they are written, and yes or no."""

import pytest

from builders import cluster, node
from ullage.model.drives import Drive, PlacedVolume, VolumeGroup
from ullage.model.errors import InputError
from ullage.service.disks_fragmentation import disks_fragmentation_of, fragmentation_report, sizes_of

GIB = 1 << 30
EXTENT = 4 << 20


def group(name, gib, drive):
    return VolumeGroup(name, "HDD", 10 * GIB, gib * GIB, drives=(drive,))


SNAPSHOT = cluster(
    node("n1").with_(
        drives=(
            Drive("a", "HDD", 10 * GIB + EXTENT, clean=False),
            Drive("b", "HDD", 10 * GIB + EXTENT, clean=False),
            Drive("c", "SSD", 8 * GIB),
        ),
        volume_groups=(group("x", 4, "a"), group("y", 8, "b")),
        placed_volumes=(PlacedVolume("v", "x", 6 * GIB), PlacedVolume("w", "y", 2 * GIB)),
    ),
    name="one",
)


@pytest.mark.parametrize(
    ("texts", "sizes"),
    [
        ((), {}),
        (("100Gi",), {"": 100 * GIB}),
        (("hddlvg=1Gi", "SSD=2G"), {"HDDLVG": GIB, "SSD": 2 * 10**9}),
        (("1Gi", "HDD=2Gi"), {"": GIB, "HDD": 2 * GIB}),
    ],
)
def test_sizes_are_of_one_class_or_of_all(texts, sizes):
    assert sizes_of(texts) == sizes


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (("TAPE=1Gi",), "--size: 'TAPE=1Gi' names no class of volumes; write 100Gi, or CLASS=100Gi"),
        (("ANY=1Gi",), "names no class of volumes"),
        (("HDD=1Gi", "hdd=2Gi"), "'hdd=2Gi' is given twice"),
        (("0",), "'0' is no size of a volume"),
        (("many",), "--size: "),
    ],
)
def test_what_is_no_size_is_refused(texts, message):
    with pytest.raises(InputError, match=message):
        sizes_of(texts)


def test_the_size_that_is_asked_for_decides_what_is_stranded():
    shares = {
        each.storage_class: each for each in fragmentation_report(SNAPSHOT, {"HDDLVG": 3 * GIB}).classes
    }
    assert (shares["HDDLVG"].asked, shares["HDDLVG"].volumes, shares["HDDLVG"].stranded_bytes) == (
        True,
        3,
        3 * GIB,
    )
    assert (shares["SSD"].asked, shares["SSD"].size_bytes) == (False, 8 * GIB)
    assert all(each.asked for each in fragmentation_report(SNAPSHOT, {"": GIB}).classes)


def test_the_cheapest_repack_is_told_move_by_move():
    (shares,) = (
        each for each in fragmentation_report(SNAPSHOT, {}).classes if each.storage_class == "HDDLVG"
    )
    assert (shares.repack.drive, shares.repack.moved_bytes) == ("b", 2 * GIB)
    assert [(each.volume, each.to) for each in shares.repack.moves] == [("w", "x")]


@pytest.mark.parametrize(
    ("sizes", "yes", "without"),
    [
        ({}, True, []),
        ({"HDDLVG": 8 * GIB}, True, []),
        ({"HDDLVG": 9 * GIB}, False, ["HDDLVG"]),
        ({"": 8 * GIB}, True, []),
        ({"": 9 * GIB}, False, [""]),
        ({"NVME": GIB}, False, ["NVME"]),
        ({"SSD": GIB, "HDDLVG": 9 * GIB}, False, ["HDDLVG"]),
    ],
)
def test_the_answer_is_no_when_no_volume_of_a_size_has_a_place(asked, sizes, yes, without):
    answer = disks_fragmentation_of(SNAPSHOT, asked, sizes)
    data = answer.data()
    assert answer.yes == yes
    assert [each["storageClass"] for each in data["withoutPlace"]] == without
    assert (data["apiVersion"], data["kind"]) == ("ullage.dev/v1", "DiskFragmentation")
