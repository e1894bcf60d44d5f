"""Promises that disks cannot keep are found, each with its reason."""

import pytest

from builders import cluster, entry, node, policy
from ullage.engine.columns import Columns
from ullage.engine.storage.hollow_promises import hollow_promises, promised_words, promises_on, to_release
from ullage.model.drives import Drive, PlacedVolume, VolumeGroup
from ullage.model.ledger import VOLUME_SPACE
from ullage.model.ledger_entry import LedgerEntry
from ullage.model.resources import Resources

GIB = 1 << 30


def promise(capacity, gibibytes=80, **fields):
    return entry("r", capacity, resources=Resources({VOLUME_SPACE: gibibytes * GIB}), **fields)


def found(promised, drive=None, groups=(), placed=(), **settings):
    drives = () if drive is None else (drive,)
    made = node("n1").with_(drives=drives, volume_groups=groups, placed_volumes=placed)
    return list(hollow_promises(Columns(cluster(made, *promised, policy=policy(**settings)))))


def hdd(gibibytes=100, **fields):
    return Drive("d1", "HDD", gibibytes * GIB, **fields)


def group(free=90, **fields):
    return VolumeGroup("vg", "HDD", 99 * GIB, free * GIB, drives=("d1",), **fields)


ON_DRIVE, ON_GROUP = promise("drive/n1/d1"), promise("group/n1/vg")
OF_OLD_GROUP = promise("group/n1/vg", drives=("drive/n1/d1",))
USED = (PlacedVolume("v", "d1", GIB),)
HOLLOW = {
    "a drive that has gone": ([ON_DRIVE], {}, "gone", "the node does not have it any more"),
    "a group that has gone": ([ON_GROUP], {"drive": hdd()}, "gone", "the node does not have it any more"),
    "a node that has gone": (
        [promise("drive/n9/d1")],
        {"drive": hdd()},
        "gone",
        "the cluster does not have it",
    ),
    "a drive that fails": ([ON_DRIVE], {"drive": hdd(health="BAD")}, "failing", "drive d1 is BAD and ONLINE"),
    "a drive that is removed": (
        [ON_DRIVE],
        {"drive": hdd(usage="REMOVED")},
        "failing",
        "drive d1 is REMOVED",
    ),
    "a group on a failing drive": (
        [ON_GROUP],
        {"drive": hdd(status="OFFLINE"), "groups": (group(),)},
        "failing",
        "drive d1 is GOOD and OFFLINE",
    ),
    "a drive that others took": (
        [ON_DRIVE],
        {"drive": hdd(), "placed": USED},
        "taken",
        "it is in use by others",
    ),
    "a drive that is smaller": (
        [ON_DRIVE],
        {"drive": hdd(50)},
        "short",
        "it has 50Gi for volumes now, 30Gi less",
    ),
    "a group with less": (
        [ON_GROUP],
        {"drive": hdd(), "groups": (group(60),)},
        "short",
        "60Gi for volumes now",
    ),
    "a full group": ([ON_GROUP], {"drive": hdd(), "groups": (group(0),)}, "short", "nothing for volumes now"),
    "two on one drive": (
        [ON_DRIVE, promise("drive/n1/d1", 40, request="w")],
        {"drive": hdd()},
        "short",
        "20Gi less",
    ),
    "one on the drive, one on its group": (
        [ON_DRIVE, promise("group/n1/vg", 40)],
        {"drive": hdd(), "groups": (group(99),)},
        "short",
        "it has 99Gi for volumes now, 21Gi less",
    ),
    "a group that is a smaller drive again": ([OF_OLD_GROUP], {"drive": hdd(50)}, "short", "30Gi less"),
    "a shared drive": (
        [ON_DRIVE],
        {"drive": hdd(50), "storage_mode": "zos"},
        "short",
        "50Gi for volumes now",
    ),
}


@pytest.mark.parametrize(("promised", "disks", "code", "said"), HOLLOW.values(), ids=HOLLOW)
def test_a_promise_that_cannot_be_kept_is_found(promised, disks, code, said):
    (finding,) = found(promised, **disks)
    assert (finding.code, finding.severity) == (f"drive-promise-{code}", "error")
    assert said in finding.message
    assert finding.remedy == "release r and ask again, or bring the disk back"


KEPT = {
    "a drive that has the room": ([ON_DRIVE], {"drive": hdd()}),
    "a group that has the room": ([ON_GROUP], {"drive": hdd(), "groups": (group(),)}),
    "a drive that became a group": ([ON_DRIVE], {"drive": hdd(), "groups": (group(),)}),
    "a group that is a drive again": ([OF_OLD_GROUP], {"drive": hdd()}),
    "a volume that exists": ([promise("drive/n1/d1", state="BOUND")], {"drive": hdd(), "placed": USED}),
    "a promise on a node": ([promise("node/n1")], {}),
}


@pytest.mark.parametrize(("promised", "disks"), KEPT.values(), ids=KEPT)
def test_a_promise_that_can_be_kept_is_not(promised, disks):
    assert found(promised, **disks) == []


def test_those_of_one_node_are_told_alone():
    columns = Columns(cluster(node("n1"), node("n2"), ON_DRIVE, promise("drive/n2/d1", request="w")))
    (finding,) = hollow_promises(columns, "n2")
    assert finding.message.startswith("drive d1 on node n2: 80Gi promised to r, but ")


def test_what_is_promised_on_a_drive_is_found_in_its_group_too():
    made = node("n1").with_(drives=(hdd(),), volume_groups=(group(),))
    elsewhere = promise("drive/n1/d2", request="w")
    columns = Columns(cluster(made, ON_DRIVE, promise("group/n1/vg", request="v"), elsewhere))
    on_drive = promises_on(columns, [("n1", "d1")])
    assert [each.capacity for each in on_drive] == ["drive/n1/d1", "group/n1/vg"]
    assert promised_words(on_drive) == "160Gi promised to r"


def test_all_who_share_a_claim_are_to_be_released_together():
    entries = [
        LedgerEntry(f"r{number}", "data", "drive/n/d", "team", claim=claim, state="RESERVED")
        for number, claim in enumerate(("s/a", "s/b", "s/a"))
    ]
    assert to_release(entries) == "r0, r2 and ask again for all of them"
    assert to_release(entries[:2]) == "r0 and ask again"
