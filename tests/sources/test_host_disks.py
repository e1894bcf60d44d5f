"""Disks of a host as drives, groups and volumes: what can really be used."""

from datetime import UTC, datetime

import pytest

from builders import entry
from ullage.engine.ledger.made import made_of
from ullage.model.drives import PlacedVolume, ThinPool
from ullage.model.ledger import VOLUME_SPACE, WHOLE_DRIVE
from ullage.model.resources import Resources
from ullage.sources.host.facts import (
    DiskFacts,
    HostFacts,
    LogicalVolume,
    LvmFacts,
    MountFacts,
    PhysicalVolume,
    VolumeGroup,
)
from ullage.sources.host_cluster import hosts_snapshot
from ullage.sources.host_disks import host_disks

MIB = 1 << 20
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def disk(name, **fields):
    known = {"kernel_name": name, "size_bytes": 1 << 40, "drive_class": "HDD", "clean": True}
    return DiskFacts(name=name, **{**known, **fields})


def physical(name, free_mib=40, **fields):
    return PhysicalVolume(
        name=name, uuid=name, size_bytes=100 * MIB, free_bytes=free_mib * MIB, total_extents=25,
        used_extents=0, **fields,
    )  # fmt: skip


def logical(name, layout, size_mib=20, **fields):
    return LogicalVolume(
        name=name, uuid=name, size_bytes=size_mib * MIB, layout=tuple(layout.split(",")), **fields
    )


ONE = (physical("/dev/sda"),)
TWO = (disk("sda"), disk("sdb"))


def group(*volumes, name="data", attributes="wz--n-", members=ONE):
    return VolumeGroup(
        name=name, uuid=name, size_bytes=200 * MIB, free_bytes=sum(each.free_bytes for each in members),
        extent_size_bytes=4 * MIB, total_extents=50, free_extents=20, physical_volumes=members,
        logical_volumes=volumes, attributes=attributes,
    )  # fmt: skip


def disks_of(*groups, disks=TWO, mounts=()):
    lvm = LvmFacts(volume_groups=groups)
    facts = HostFacts(collected_at=NOON, hostname="h1", disks=disks, lvm=lvm, mounts=mounts)
    hosts_snapshot([("h1.json", facts)])  # whatever a host says, it is a snapshot that can be
    return host_disks(facts)


# Each row: a logical volume, and what its group gives up for it, None where that is its pool's.
TAKEN = {
    "a plain volume": (logical("v", "linear"), 20),
    "a striped volume": (logical("v", "striped"), 20),
    "a snapshot has extents of its own": (logical("v", "linear", origin="base"), 20),
    "a thin pool": (logical("v", "thin,pool"), 20),
    "a volume of a thin pool": (logical("v", "thin,sparse", pool="thin"), None),
    "a snapshot in a thin pool": (logical("v", "thin,sparse", pool="thin", origin="base"), None),
    "a deduplicated volume": (logical("v", "vdo", pool="vpool"), None),
    "its pool": (logical("v", "vdo,pool"), 20),
    "a cached volume has a pool and extents of its own": (logical("v", "cache", pool="fast"), 20),
}


@pytest.mark.parametrize(("volume", "size_mib"), TAKEN.values(), ids=TAKEN)
def test_what_a_logical_volume_takes(volume, size_mib):
    expected = () if size_mib is None else (PlacedVolume("data/v", "data", size_mib * MIB),)
    assert disks_of(group(volume)).placed_volumes == expected


THIN = (logical("slim", "thin,pool"), logical("a", "thin,sparse", 80, pool="slim"))
# Each row: the logical volumes of a group, and the size and virtual size of its thin pools in MiB.
POOLS = {
    "none where there is no pool": ((logical("v", "linear"),), []),
    "an empty pool": ((logical("slim", "thin,pool"),), [("slim", 20, 0)]),
    "a pool and its volume": (THIN, [("slim", 20, 80)]),
    "snapshots count too": (
        (*THIN, logical("s", "thin,sparse", 80, pool="slim", origin="a")),
        [("slim", 20, 160)],
    ),
    "each has its own volumes": (
        (*THIN, logical("more", "thin,pool"), logical("b", "thin,sparse", 40, pool="more")),
        [("slim", 20, 80), ("more", 20, 40)],
    ),
    "a pool of deduplicated volumes is not thin": (
        (logical("v", "vdo,pool"), logical("w", "vdo", 40, pool="v")),
        [],
    ),
    "a cache is no volume of a pool": ((logical("slim", "thin,pool"), logical("c", "cache", pool="slim")),
        [("slim", 20, 0)],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("volumes", "pools"), POOLS.values(), ids=POOLS)
def test_what_volumes_of_a_thin_pool_have_in_all(volumes, pools):
    (found,) = disks_of(group(*volumes)).volume_groups
    assert found.thin_pools == tuple(ThinPool(name, size * MIB, has * MIB) for name, size, has in pools)


def test_a_group_that_takes_no_volumes_has_no_thin_pools_either():
    (found,) = disks_of(group(*THIN, attributes="wz-pn-")).volume_groups
    assert found.thin_pools == ()


@pytest.mark.parametrize(("name", "exists"), [("data-a", True), ("other", False)])
def test_a_volume_that_was_promised_is_known_by_its_name(name, exists):
    promise = entry("r", "group/h1/data", request="data-a", resources=Resources({VOLUME_SPACE: 20 * MIB}))
    lvm = LvmFacts(volume_groups=(group(logical(name, "linear")),))
    facts = HostFacts(collected_at=NOON, hostname="h1", disks=TWO, lvm=lvm)
    made = made_of(hosts_snapshot([("h1.json", facts)]), [promise])
    assert [each.of(VOLUME_SPACE) for each in made.values()] == ([20 * MIB] if exists else [])


@pytest.mark.parametrize(
    ("state", "clean", "exists"), [("BOUND", False, 1), ("BOUND", True, 0), ("RESERVED", False, 0)]
)
def test_a_whole_drive_in_use_is_that_of_the_promise_that_is(state, clean, exists):
    whole = Resources({VOLUME_SPACE: 1 << 40, WHOLE_DRIVE: 1})
    promise = entry("r", "drive/h1/sda", request="data-a", resources=whole, state=state)
    facts = HostFacts(collected_at=NOON, hostname="h1", disks=(disk("sda", clean=clean),))
    assert len(made_of(hosts_snapshot([("h1.json", facts)]), [promise])) == exists


def test_volumes_of_two_groups_may_have_one_name():
    found = disks_of(
        group(logical("root", "linear")),
        group(logical("root", "linear"), name="more", members=(physical("/dev/sdb"),)),
    )
    assert [each.name for each in found.placed_volumes] == ["data/root", "more/root"]


OPEN, CLOSED = physical("/dev/sda"), physical("/dev/sdb", allocatable=False)
MISSING = physical("[unknown]", missing=True)
# Each row: a group, what new volumes can have of it, and why not all that is free.
USABLE = {
    "all that is free": (group(), 40, ""),
    "not what is closed to allocation": (
        group(members=(OPEN, CLOSED)),
        40,
        "a physical volume is closed to allocation",
    ),
    "nothing where a drive is missing": (group(members=(OPEN, MISSING)), 0, "a physical volume is missing"),
    "nothing where the group says so": (group(attributes="wz-pn-"), 0, "a physical volume is missing"),
    "nothing of an exported group": (group(attributes="wzx-n-"), 0, "the group is exported"),
    "nothing of a group that may not be written": (group(attributes="rz--n-"), 0, "the group is read-only"),
    "all where an old document does not say": (group(attributes=""), 40, ""),
}


@pytest.mark.parametrize(("given", "free_mib", "why"), USABLE.values(), ids=USABLE)
def test_what_new_volumes_can_have(given, free_mib, why):
    found = disks_of(given)
    assert [each.free_bytes for each in found.volume_groups] == [free_mib * MIB]
    assert bool(found.unknowns) == bool(why)
    assert all(f"are free but cannot be used: {why}" in line for line in found.unknowns)


def test_a_disk_that_is_mounted_is_not_clean_whatever_lsblk_saw():
    mount = MountFacts(
        source="/dev/sda",
        mount_point="/srv",
        file_system="xfs",
        size_bytes=1,
        used_bytes=1,
        available_bytes=0,
    )
    found = disks_of(mounts=(mount,))
    assert [(each.path, each.clean) for each in found.drives] == [("/dev/sda", False), ("/dev/sdb", True)]


def test_a_disk_on_two_paths_is_one_drive():
    paths = tuple(disk(name, wwn="0x5", children=("dm-0",), clean=False) for name in ("sda", "sdb"))
    found = disks_of(group(members=(physical("/dev/dm-0"),)), disks=paths)
    assert [each.uuid for each in found.drives] == ["0x5"]
    assert found.volume_groups[0].drives == ("0x5",)


def test_two_disks_that_claim_one_serial_number_stay_two():
    found = disks_of(disks=(disk("sda", serial="000"), disk("sdb", serial="000")))
    assert [each.uuid for each in found.drives] == ["000", "000-sdb"]


def test_a_mirror_lies_on_both_its_drives():
    found = disks_of(
        group(members=(physical("/dev/md0"),)),
        disks=(disk("sda", children=("md0",)), disk("sdb", children=("md0",))),
    )
    assert found.volume_groups[0].drives == ("sda", "sdb")
