"""How `disks fragmentation` reads."""

import pytest

from builders import cluster, node
from ullage.model.drives import Drive, PlacedVolume, VolumeGroup
from ullage.service.disks_fragmentation import disks_fragmentation_of

GIB = 1 << 30


def made(**fields):
    groups = tuple(
        VolumeGroup(name, "HDD", 10 * GIB, free * GIB, drives=(f"d-{name}",), **fields)
        for name, free in (("x", 4), ("y", 8))
    )
    drives = tuple(Drive(f"d-{name}", "HDD", 10 * GIB + (4 << 20), clean=False) for name in "xy")
    volumes = (PlacedVolume("v", "x", 6 * GIB), PlacedVolume("w", "y", 2 * GIB))
    return node("n1").with_(drives=drives, volume_groups=groups, placed_volumes=volumes)


@pytest.mark.parametrize(
    ("sizes", "verdict"),
    [
        ({}, "HDDLVG: 12Gi free in 2 pieces, the largest 8Gi"),
        ({"HDDLVG": 3 * GIB}, "HDDLVG: 3 volumes of 3Gi, 3Gi stranded"),
        ({"": 4 * GIB}, "HDDLVG: 3 volumes of 4Gi, 0 stranded"),
        (
            {"HDDLVG": 9 * GIB},
            "✗ no volume of 9Gi has a place in HDDLVG; HDDLVG: 12Gi free in 2 pieces, the largest 8Gi",
        ),
        (
            {"": 9 * GIB},
            "✗ no volume of 9Gi has a place in any class; HDDLVG: 12Gi free in 2 pieces, the largest 8Gi",
        ),
    ],
)
def test_the_verdict(asked, read, sizes, verdict):
    text = read(disks_fragmentation_of(cluster(made()), asked, sizes))
    assert text.startswith(f"{verdict}\n")


def test_the_repack_names_every_move(asked, read):
    rows = [
        " ".join(each.split())
        for each in read(disks_fragmentation_of(cluster(made()), asked, {})).splitlines()
    ]
    assert "HDDLVG n1 w y x d-y 10Gi 2Gi" in rows


def test_storage_groups_are_named_where_there_are_any(asked, read):
    text = read(disks_fragmentation_of(cluster(made(storage_group="fast")), asked, {}))
    assert text.startswith("HDDLVG of storage group fast: 12Gi free")


def test_what_is_blocked_is_said_where_something_is(asked, read):
    open_nodes = disks_fragmentation_of(cluster(made()), asked, {})
    closed = disks_fragmentation_of(cluster(made().cordoned()), asked, {})
    note = "blocked: free on nodes that take nothing new"
    assert note not in " ".join(read(open_nodes).split())
    assert note in " ".join(read(closed).split())
    assert read(closed).startswith("nothing is free\n")
