"""Rules of what a disk is said to have: in use, promised, free, and why it offers nothing."""

from fractions import Fraction

import pytest

from builders import node
from ullage.engine.storage.disk_terms import disk_terms
from ullage.model.drives import Drive, PlacedVolume, ThinPool, VolumeGroup
from ullage.model.ledger import VOLUME_SPACE, WHOLE_DRIVE
from ullage.model.ledger_entry import LedgerEntry
from ullage.model.resources import Resources
from ullage.model.settings import Rules

GIB = 1 << 30
EXTENT = 4 << 20


def hdd(uuid="a", **fields):
    return Drive(uuid, "HDD", 10 * GIB, **fields)


def terms(*drives, groups=(), volumes=(), entries=(), state="ready", shared=False, rules=Rules()):  # noqa: B008 - frozen
    record = node("n1").with_(drives=drives, volume_groups=groups, placed_volumes=volumes, state=state).record
    return {each.name: each for each in disk_terms(record, entries, shared=shared, rules=rules)}


def promise(capacity, state="RESERVED", **resources):
    named = {VOLUME_SPACE: resources.get("space", 0), WHOLE_DRIVE: resources.get("whole", 0)}
    return LedgerEntry(
        "r", "v", capacity, "web/p", Resources(named).without_zeros(), state, expires_seconds=9
    )


@pytest.mark.parametrize(
    ("drive", "closed"),
    [
        (hdd(), ()),
        (hdd(health="BAD"), ("BAD",)),
        (hdd(health="SUSPECT", status="OFFLINE"), ("SUSPECT", "OFFLINE")),
        (hdd(status="OFFLINE"), ("OFFLINE",)),
        (hdd(usage="RELEASED"), ("usage RELEASED",)),
        (hdd(tainted=True), ("tainted",)),
        (hdd(clean=False), ("not clean",)),
        (hdd(system=True, clean=False), ("system",)),
        (Drive("a", "HDD", 0), ("no size",)),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, tuple) else "",
)
def test_a_drive_offers_all_of_itself_or_says_why_not(drive, closed):
    found = terms(drive)["a"]
    assert found.closed == closed
    assert found.free_bytes == found.largest_bytes == (0 if closed else 10 * GIB)
    assert found.failing == (drive.health != "GOOD" or drive.status != "ONLINE")


def test_a_volume_on_a_drive_has_all_of_it():
    found = terms(hdd(clean=False), volumes=(PlacedVolume("v", "a", GIB, "web/c", "web/p"),))["a"]
    assert (found.used_bytes, found.free_bytes, found.closed) == (10 * GIB, 0, ("in use",))
    assert [(each.name, each.claim, each.owner) for each in found.volumes] == [("v", "web/c", "web/p")]


def test_a_drive_of_a_group_is_counted_there():
    group = VolumeGroup("vg", "HDD", 9 * GIB, 4 * GIB, drives=("a",))
    found = terms(hdd("b"), hdd(clean=False), groups=(group,), volumes=(PlacedVolume("v", "vg", 5 * GIB),))
    assert list(found) == ["vg", "a", "b"]
    assert (found["a"].group, found["a"].closed) == ("vg", ("in group vg",))
    assert (found["a"].used_bytes, found["a"].free_bytes) == (0, 0)
    assert (found["vg"].used_bytes, found["vg"].free_bytes, found["vg"].drives) == (5 * GIB, 4 * GIB, ("a",))
    assert [each.name for each in found["vg"].volumes] == ["v"]


def test_a_group_of_the_name_of_its_drive_has_all_that_is_of_that_name():
    group = VolumeGroup("a", "HDD", 9 * GIB, 4 * GIB, drives=("a",))
    volumes = (PlacedVolume("v", "a", 5 * GIB),)
    record = node("n1").with_(
        drives=(hdd(clean=False),), volume_groups=(group,), placed_volumes=volumes
    ).record  # fmt: skip
    whole, drive = disk_terms(record, [promise("drive/n1/a", space=GIB), promise("group/n1/a", space=GIB)])
    assert (whole.kind, whole.used_bytes, whole.promised_bytes) == ("group", 5 * GIB, 2 * GIB)
    assert (whole.free_bytes, whole.largest_bytes, len(whole.volumes)) == (2 * GIB, 2 * GIB, 1)
    assert (drive.kind, drive.closed, drive.volumes) == ("drive", ("in group a",), ())
    assert (drive.free_bytes, drive.largest_bytes, drive.promised_bytes) == (0, 0, 0)


def test_what_is_promised_of_a_group_is_not_promised_of_another_drive_of_its_name():
    group = VolumeGroup("a", "HDD", 9 * GIB, 4 * GIB, drives=("b",))
    record = node("n1").with_(drives=(hdd("a"), hdd("b", clean=False)), volume_groups=(group,)).record
    whole, part, alone = disk_terms(record, [promise("group/n1/a", space=GIB)])
    assert [(each.kind, each.name) for each in (whole, part, alone)] == [
        ("group", "a"),
        ("drive", "b"),
        ("drive", "a"),
    ]
    assert (whole.promised_bytes, whole.free_bytes, whole.largest_bytes) == (GIB, 3 * GIB, 3 * GIB)
    assert (alone.promised_bytes, alone.free_bytes, alone.closed) == (0, 10 * GIB, ())


@pytest.mark.parametrize(
    ("drive", "fields", "closed"),
    [
        (hdd(clean=False), {}, ()),
        (hdd(clean=False, health="BAD"), {}, ("drive a: BAD",)),
        (hdd(clean=False), {"free_bytes": EXTENT - 1}, ("full",)),
        (hdd(clean=False), {"tainted": True}, ("tainted",)),
    ],
)
def test_a_group_offers_what_is_free_or_says_why_not(drive, fields, closed):
    group = VolumeGroup(
        "vg", "HDD", **{"size_bytes": 9 * GIB, "free_bytes": 4 * GIB, **fields}, drives=("a",)
    )
    found = terms(drive, groups=(group,))["vg"]
    assert found.closed == closed
    assert bool(found.largest_bytes) == (not closed)


def test_the_largest_volume_of_a_group_is_in_whole_extents():
    found = terms(groups=(VolumeGroup("vg", "HDD", 9 * GIB, 4 * GIB + 1),))["vg"]
    assert (found.free_bytes, found.largest_bytes) == (4 * GIB + 1, 4 * GIB)


def test_what_is_promised_on_a_fresh_drive_leaves_the_rest_of_its_group():
    found = terms(hdd(), entries=[promise("drive/n1/a", space=4 * GIB)])["a"]
    assert (found.promised_bytes, found.free_bytes, found.closed) == (4 * GIB, 6 * GIB - EXTENT, ())
    assert [(each.owner, each.expires_seconds) for each in found.promises] == [("web/p", 9)]


def test_a_drive_that_is_promised_whole_offers_nothing():
    found = terms(hdd(), entries=[promise("drive/n1/a", whole=1, space=10 * GIB - EXTENT)])["a"]
    assert (found.promised_bytes, found.free_bytes, found.closed) == (10 * GIB, 0, ("promised",))


def test_what_was_promised_on_a_drive_is_held_in_the_group_that_it_became():
    group = VolumeGroup("vg", "HDD", 9 * GIB, 5 * GIB, drives=("a",))
    found = terms(hdd(clean=False), groups=(group,), entries=[promise("drive/n1/a", space=5 * GIB)])
    assert (found["vg"].promised_bytes, found["vg"].free_bytes, found["vg"].closed) == (
        5 * GIB,
        0,
        ("promised",),
    )
    assert (found["a"].promised_bytes, found["a"].promises) == (0, ())


def test_a_bound_promise_has_its_volume_already():
    group = VolumeGroup("vg", "HDD", 9 * GIB, 5 * GIB)
    found = terms(groups=(group,), entries=[promise("group/n1/vg", "BOUND", space=4 * GIB)])["vg"]
    assert (found.promised_bytes, found.free_bytes) == (0, 5 * GIB)


def test_on_a_node_that_takes_nothing_new_nothing_can_be_placed():
    found = terms(hdd(), state="cordoned")["a"]
    assert (found.free_bytes, found.largest_bytes, found.closed) == (10 * GIB, 0, ("node cordoned",))


def test_where_drives_are_shared_volumes_leave_the_rest_of_a_drive():
    group = VolumeGroup("vg", "HDD", 9 * GIB, 5 * GIB)
    volumes = (PlacedVolume("v", "a", 3 * GIB),)
    found = terms(hdd(), groups=(group,), volumes=volumes, shared=True)
    assert (found["a"].used_bytes, found["a"].free_bytes, found["a"].closed) == (3 * GIB, 7 * GIB, ())
    assert found["vg"].closed == ("not used in mode zos",)


@pytest.mark.parametrize(
    ("spare_bytes", "promised_bytes", "free_bytes", "closed"),
    [
        (GIB, 0, 3 * GIB, ()),
        (4 * GIB - EXTENT, 0, EXTENT, ()),
        (4 * GIB - EXTENT + 1, 0, 0, ("kept back",)),
        (9 * GIB, 0, 0, ("kept back",)),
        (GIB, 3 * GIB, 0, ("promised",)),
        (GIB, 2 * GIB, GIB, ()),
    ],
)
def test_the_spare_of_a_group_is_not_free(spare_bytes, promised_bytes, free_bytes, closed):
    entries = [promise("group/n1/vg", space=promised_bytes)] if promised_bytes else []
    rules = Rules(volume_group_spare_bytes=spare_bytes)
    found = terms(groups=(VolumeGroup("vg", "HDD", 9 * GIB, 4 * GIB),), entries=entries, rules=rules)["vg"]
    assert (found.free_bytes, found.largest_bytes, found.closed) == (free_bytes, free_bytes, closed)


SLIM = VolumeGroup("vg", "HDD", 9 * GIB, GIB, drives=("a",), thin_pools=(ThinPool("slim", 4 * GIB, 3 * GIB),))


@pytest.mark.parametrize(
    ("ratio", "drive", "promised_bytes", "free_bytes", "closed"),
    [
        (2, hdd(clean=False), 0, 5 * GIB, ()),
        (2, hdd(clean=False), 2 * GIB, 3 * GIB, ()),
        (2, hdd(clean=False), 5 * GIB, 0, ("promised",)),
        (Fraction(3, 4), hdd(clean=False), 0, 0, ("full",)),
        (2, hdd(clean=False, health="BAD"), 0, 0, ("drive a: BAD",)),
    ],
)
def test_a_thin_pool_has_what_its_volumes_may_have(ratio, drive, promised_bytes, free_bytes, closed):
    entries = [promise("group/n1/vg/slim", space=promised_bytes)] if promised_bytes else []
    found = terms(drive, groups=(SLIM,), entries=entries, rules=Rules(thin_pool_ratio=Fraction(ratio)))
    assert list(found) == ["vg", "vg/slim", "a"]
    pool = found["vg/slim"]
    assert (pool.kind, pool.storage_class, pool.size_bytes, pool.used_bytes) == (
        "pool", "HDDLVG", 4 * GIB, 3 * GIB,
    )  # fmt: skip
    assert (pool.promised_bytes, pool.free_bytes, pool.closed) == (promised_bytes, free_bytes, closed)


def test_a_thin_pool_that_takes_no_volumes_is_not_told():
    assert list(terms(hdd(clean=False), groups=(SLIM,))) == ["vg", "a"]
    shared = terms(hdd(clean=False), groups=(SLIM,), shared=True, rules=Rules(thin_pool_ratio=Fraction(2)))
    assert list(shared) == ["vg", "a"]


def test_a_shared_drive_with_too_little_available_says_so():
    rules = Rules(drive_minimal_available_percent=25)
    found = terms(hdd(available_bytes=2 * GIB), shared=True, rules=rules)["a"]
    assert (found.free_bytes, found.closed) == (0, ("kept back",))
