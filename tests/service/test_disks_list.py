"""What `disks list` counts, and what it refuses."""

import pytest

from builders import cluster, entry, node, policy
from ullage.model.drives import Drive, PlacedVolume, ThinPool, VolumeGroup
from ullage.model.errors import InputError
from ullage.model.ledger import VOLUME_SPACE
from ullage.model.ledger_entry import LedgerEntry
from ullage.model.resources import Resources
from ullage.service.disks_list import disks_list_of, disks_list_report, node_of

GIB = 1 << 30
MIB = 1 << 20
GROUPED = node("n1").with_(
    drives=(
        Drive("a", "HDD", 10 * GIB, clean=False),
        Drive("b", "HDD", 10 * GIB),
        Drive("s", "SSD", GIB, system=True),
    ),
    volume_groups=(VolumeGroup("vg", "HDD", 10 * GIB - 4 * MIB, 4 * GIB, drives=("a",)),),
    placed_volumes=(PlacedVolume("v", "vg", 6 * GIB - 4 * MIB, claim="web/c"),),
)
PROMISE = LedgerEntry(
    "r", "new", "group/n1/vg", "web/p", Resources({VOLUME_SPACE: GIB}), "RESERVED", expires_seconds=9
)
LARGE = entry("r", "group/n1/vg", resources=Resources({VOLUME_SPACE: 5 * GIB}))
SNAPSHOT = cluster(
    GROUPED,
    node("n2").with_drive("c", "HDD", "20Gi", health="BAD"),
    node("n3").with_drive("d", "HDD", "5Gi").cordoned(),
    node("n4", cpu="1"),
    PROMISE,
    name="four",
    unknowns=("the weather",),
)


def test_every_disk_is_listed_with_its_node():
    report = disks_list_report(SNAPSHOT)
    assert [(each.node, each.name) for each in report.disks] == [
        ("n1", "vg"), ("n1", "a"), ("n1", "b"), ("n1", "s"), ("n2", "c"), ("n3", "d"),
    ]  # fmt: skip
    assert report.not_simulated == ("the weather",)


def test_sums_count_every_byte_once():
    spinning, still = disks_list_report(SNAPSHOT).totals
    assert (spinning.drive_class, spinning.drives, spinning.groups, spinning.failing) == ("HDD", 4, 1, 1)
    assert spinning.size_bytes == 45 * GIB
    assert spinning.used_bytes == 6 * GIB - 4 * MIB
    assert spinning.promised_bytes == GIB
    assert spinning.free_bytes == 10 * GIB + 3 * GIB
    assert spinning.closed_bytes == 20 * GIB + 5 * GIB + 4 * MIB
    assert (spinning.largest_bytes, spinning.largest_on) == (10 * GIB, "n1/b")
    assert (still.drive_class, still.free_bytes, still.largest_on) == ("SSD", 0, "")


def test_what_a_thin_pool_promises_is_no_space_of_a_drive():
    group = VolumeGroup("vg", "HDD", 8 * GIB, 5 * GIB, thin_pools=(ThinPool("slim", 2 * GIB, 9 * GIB),))
    rules = policy(thin_pool_ratio="10", volume_group_spare="1Gi")
    report = disks_list_report(cluster(node("n1").with_(volume_groups=(group,)), policy=rules))
    assert [(each.name, each.free_bytes) for each in report.disks] == [("vg", 4 * GIB), ("vg/slim", 11 * GIB)]
    (total,) = report.totals
    assert (total.groups, total.size_bytes, total.used_bytes) == (1, 8 * GIB, 3 * GIB)
    assert (total.free_bytes, total.closed_bytes) == (4 * GIB, GIB)
    assert (total.largest_bytes, total.largest_on) == (11 * GIB, "n1/vg/slim")


def test_a_group_whose_drives_nobody_names_has_its_own_size():
    group = VolumeGroup("vg", "SSD", 8 * GIB, 5 * GIB)
    (total,) = disks_list_report(cluster(node("n1").with_(volume_groups=(group,)))).totals
    assert (total.drives, total.groups, total.size_bytes, total.closed_bytes) == (0, 1, 8 * GIB, 0)


def test_of_one_node_only():
    report = disks_list_report(SNAPSHOT, "n2")
    assert [each.name for each in report.disks] == ["c"]
    assert [each.drive_class for each in report.totals] == ["HDD"]


def test_in_mode_zos_drives_are_shared():
    made = node("n1").with_(
        drives=(Drive("a", "SSD", 10 * GIB),), placed_volumes=(PlacedVolume("v", "a", GIB),)
    )
    (disk,) = disks_list_report(cluster(made, policy=policy(storage_mode="zos"))).disks
    assert (disk.used_bytes, disk.free_bytes) == (GIB, 9 * GIB)


def test_the_report_is_versioned(asked):
    data = disks_list_of(SNAPSHOT, asked).data()
    assert (data["apiVersion"], data["kind"]) == ("ullage.dev/v1", "DiskList")
    assert data["disks"][0]["promises"][0]["owner"] == "web/p"
    assert data["disks"][0]["volumes"][0]["claim"] == "web/c"


@pytest.mark.parametrize(("text", "name"), [("", ""), ("node/n1", "n1"), ("node/a/b", "a/b")])
def test_a_node_is_named_by_its_kind(text, name):
    assert node_of(text) == name


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: node_of("n1"), "'n1' has no disks; write node/NAME"),
        (lambda: node_of("drive/x"), "'drive/x' has no disks"),
        (lambda: disks_list_report(SNAPSHOT, "n9"), "no node 'n9'"),
        (lambda: disks_list_report(SNAPSHOT, "n4"), "node n4 has no drives; a dump needs drives"),
        (lambda: disks_list_report(cluster(node("n"), name="bare")), "bare has no drives"),
    ],
)
def test_what_has_no_disks_is_refused(ask, message):
    with pytest.raises(InputError, match=message):
        ask()


def test_promises_that_disks_cannot_keep_are_found(asked, read):
    broken = cluster(GROUPED, node("n2").with_drive("c", "HDD", "20Gi"), LARGE, name="two")
    (finding,) = disks_list_report(broken).findings
    assert finding.code == "drive-promise-short"
    assert disks_list_report(broken, "n2").findings == ()
    assert disks_list_report(SNAPSHOT).findings == ()
    text = read(disks_list_of(broken, asked), 120)
    assert "1 promise cannot be kept" in text
    assert "Promises that cannot be kept" in text
