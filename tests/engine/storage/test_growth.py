"""A volume that exists grows where it is, keeps its class, and does not shrink."""

import pytest

from builders import claim, cluster, node, volume, waiting
from ullage.engine.storage.disk_requests import DiskRequests
from ullage.engine.storage.growth import Growth, Growths
from ullage.model.drives import PlacedVolume

GIB = 1 << 30
EXTENT = 4 << 20


def growths(size_bytes, storage_class="HDDLVG", place="vg", made=2 * GIB, shared=(), **more):
    disks = node("n").with_drive("d", "HDD", "10Gi").with_drive("e", "HDD", "10Gi")
    disks = disks.with_volume_group("vg", "HDD", "9Gi", "7Gi", drives=("d",))
    there = cluster(
        disks.with_(placed_volumes=(PlacedVolume("v", place, made, claim="shop/data"),)),
        claim("shop/data", str(size_bytes), storage_class=storage_class, bound=True),
    )
    asked = waiting("shop/a", volumes=(volume("data", "1", claim="data"),), **more)
    return Growths(there, DiskRequests(there)).of(asked, frozenset(shared))


@pytest.mark.parametrize(
    ("size_bytes", "more_bytes"), [(2 * GIB + 1, EXTENT), (3 * GIB, GIB), (90 * GIB, 88 * GIB)]
)
def test_a_logical_volume_grows_by_extents_of_its_group(size_bytes, more_bytes):
    assert growths(size_bytes) == (Growth("data", "n", "vg", "HDDLVG", size_bytes, more_bytes),)


@pytest.mark.parametrize("size_bytes", [1, GIB, 2 * GIB])
def test_what_is_not_larger_stays_as_it_is(size_bytes):
    assert growths(size_bytes) == ()


@pytest.mark.parametrize(
    ("place", "storage_class", "refused"),
    [
        ("vg", "SSDLVG", True),
        ("vg", "HDD", True),
        ("vg", "ANY", True),
        ("e", "HDD", False),
        ("e", "ANY", False),
        ("e", "HDDLVG", True),
        ("vg", "elsewhere", False),
    ],
)
def test_a_volume_does_not_become_one_of_another_class(place, storage_class, refused):
    found = growths(2 * GIB, storage_class, place)
    assert [bool(each.refusal) for each in found] == [True] * refused
    assert all(f"cannot become {storage_class}" in each.refusal for each in found)


def test_a_volume_that_has_a_whole_drive_grows_into_it_and_not_beyond():
    assert growths(10 * GIB, "HDD", "e") == ()
    (found,) = growths(10 * GIB + 1, "HDD", "e")
    assert found.refusal == "volume data has all of drive e, which are 10Gi"


def test_where_volumes_share_a_drive_they_grow_by_bytes():
    (found,) = growths(2 * GIB + 5, "HDD", "e", shared=("n",))
    assert (found.more_bytes, found.refusal) == (5, "")
    (found,) = growths(2 * GIB, "SSD", "e", shared=("n",))
    assert found.refusal


def test_a_template_is_asked_for_whatever_the_claim_of_a_replica_says():
    disks = node("n").with_volume_group("vg", "HDD", "9Gi", "7Gi")
    there = cluster(
        disks.with_(placed_volumes=(PlacedVolume("v", "vg", 2 * GIB, claim="shop/data-s-0"),)),
        claim("shop/data-s-0", "2Gi", storage_class="HDDLVG", bound=True),
    )
    own = volume("data", "3Gi", claim="data-s-0", storage_class="HDDLVG")
    for kind, count in (("StatefulSet", 1), ("Pod", 0)):
        asked = waiting("shop/s", kind=kind, volumes=(own,))
        assert len(Growths(there, DiskRequests(there)).of(asked)) == count
