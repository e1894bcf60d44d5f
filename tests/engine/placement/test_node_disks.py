"""The disks of one node: when two nodes are alike, what serving costs, and what is free when volumes go."""

import pytest

from ullage.engine.placement.node_disks import Disks, without_volumes
from ullage.model.cluster import Node
from ullage.model.disk_plan import DiskCapacity, DiskHold, NodeDisks
from ullage.model.drives import Drive, PlacedVolume, VolumeGroup

GIB = 1 << 30


def disk(name, gib=10, **fields):
    return DiskCapacity(name, "n1", "HDD", gib * GIB, **fields)


def hold(capacity, gib=1):
    return DiskHold("r", "v", "n1", capacity, "HDDLVG", gib * GIB)


def test_disks_that_differ_in_name_and_order_only_are_alike():
    one = Disks("exact", (disk("a"), disk("b", 20)), (hold("a"),))
    other = Disks("exact", (disk("y", 20), disk("x")), (hold("x"),))
    assert one.signature() == other.signature()


@pytest.mark.parametrize(
    "other",
    [
        Disks("compat", (disk("a"),), ()),
        Disks("exact", (disk("a", 11),), ()),
        Disks("exact", (disk("a", tainted=True),), ()),
        Disks("exact", (disk("a", storage_group="g"),), ()),
        Disks("exact", (disk("a", extent_bytes=1 << 20),), ()),
        Disks("exact", (disk("a"),), (hold("a"),)),
    ],
    ids=["mode", "size", "taint", "storage group", "extents", "hold"],
)
def test_disks_that_a_planner_tells_apart_are_not_alike(other):
    assert Disks("exact", (disk("a"),), ()).signature() != other.signature()


@pytest.mark.parametrize(
    ("mode", "cost"),
    [("exact", (1, 5)), ("compat", (-1, 0)), ("zos", (2, 0))],
    ids=["exact", "compat", "zos"],
)
def test_each_mode_has_a_cost_of_its_own(mode, cost):
    served = NodeDisks("n1", {}, opened=("a",), stranded_bytes=5, spun_up=("a", "b"))
    assert Disks(mode, (disk("a"), disk("b", tainted=True)), ()).cost(served) == cost


def test_volumes_that_go_leave_their_drive_empty_and_their_group_with_more_room():
    node = Node(
        "n1",
        drives=(Drive("a", "HDD", GIB, clean=False), Drive("b", "HDD", GIB, clean=False)),
        volume_groups=(VolumeGroup("vg", "HDD", 9 * GIB, GIB),),
        placed_volumes=(PlacedVolume("v", "a", GIB), PlacedVolume("w", "vg", 2 * GIB)),
    )
    left = without_volumes(node, node.placed_volumes)
    assert [drive.clean for drive in left.drives] == [True, False]
    assert left.volume_groups[0].free_bytes == 3 * GIB
    assert left.placed_volumes == ()
