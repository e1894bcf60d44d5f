"""What a node holds with which drives: what no smaller bundle allows, and honest where it is too much."""

import pytest

from builders import size
from ullage.engine.placement.local_disks import Disks
from ullage.engine.purchase import disk_patterns as module
from ullage.engine.purchase.catalog import DriveItem
from ullage.engine.purchase.disk_patterns import Patterns
from ullage.engine.purchase.disk_places import DiskPlace, Wish
from ullage.model.disk_plan import DiskCapacity, DiskRequest


def drive(name, price, amount, drive_class="HDD"):
    return DriveItem(name, price, drive_class, size(amount))


def wish(number, amount, storage_class="HDDLVG", demand=9, cpu=1):
    requests = (DiskRequest("data", storage_class, size(amount)),) if amount else ()
    return Wish((number,), demand, requests, (cpu,))


def place(*drives, disks=(), cpu=8, slots=(9,), mode="exact"):
    offered = tuple(DiskCapacity(f"d{number}", "n", "HDD", size(each)) for number, each in enumerate(disks))
    return DiskPlace(("n",), (), slots, (cpu,), Disks(mode, offered, ()), drives)


def shown(patterns):
    return [("+".join(each.name for each in found.bundle), found.counts) for found in patterns.found]


def test_each_bundle_holds_as_much_as_it_can():
    found = Patterns([wish(0, "4Gi")], [place((drive("a", 3, "9Gi"), 2), disks=["5Gi"])])
    assert shown(found) == [("", (1,)), ("a", (3,)), ("a+a", (5,))]
    assert found.complete


def test_patterns_are_not_complete_where_not_all_of_a_wish_is_counted():
    left_out = wish(1, "")._replace(counted=False)
    assert not Patterns([wish(0, "4Gi"), left_out], [place(disks=["5Gi"], slots=(9, 9))]).complete


def test_a_bundle_that_adds_nothing_is_left_out():
    options = (
        (drive("small", 3, "3Gi"), 2),
        (drive("other", 1, "9Gi", "SSD"), 2),
        (drive("fits", 5, "5Gi"), 1),
    )
    assert shown(Patterns([wish(0, "4Gi")], [place(*options)])) == [("", (0,)), ("fits", (1,))]


def test_nothing_is_added_where_room_binds():
    found = Patterns([wish(0, "4Gi", cpu=4)], [place((drive("a", 3, "5Gi"), 9))])
    assert shown(found) == [("", (0,)), ("a", (1,)), ("a+a", (2,))]


def test_a_dearer_way_to_the_same_is_kept_where_it_is_no_larger_set():
    options = ((drive("cheap", 3, "5Gi"), 1), (drive("dear", 4, "5Gi"), 1))
    assert shown(Patterns([wish(0, "4Gi", demand=1)], [place(*options)])) == [
        ("", (0,)),
        ("cheap", (1,)),
        ("dear", (1,)),
    ]


def test_two_wishes_share_drives_by_a_plan_of_both():
    found = Patterns(
        [wish(0, "4Gi", demand=2), wish(1, "5Gi", "HDD", demand=1)],
        [place((drive("a", 3, "9Gi"), 1), disks=["9Gi"], slots=(2, 1))],
    )
    assert shown(found) == [("", (0, 1)), ("", (2, 0)), ("a", (2, 1))]


def test_drives_that_only_help_together_are_found():
    both = Wish((0,), 1, tuple(DiskRequest(name, "HDD", size("4Gi")) for name in "xy"), (1,))
    assert shown(Patterns([both], [place((drive("a", 3, "5Gi"), 4))])) == [("", (0,)), ("a+a", (1,))]


def test_wishes_without_disks_are_part_of_patterns_where_these_are_few():
    few = Patterns([wish(0, "4Gi"), wish(1, "", demand=3)], [place(disks=["9Gi"], slots=(9, 3), cpu=3)])
    assert (few.width, shown(few)) == (2, [("", (0, 3)), ("", (1, 2)), ("", (2, 1))])
    many = Patterns(
        [wish(0, "4Gi"), wish(1, "", demand=999)], [place(disks=["9Gi"], slots=(9, 999), cpu=999)]
    )
    assert (many.width, shown(many)) == (1, [("", (2,))])


@pytest.mark.parametrize("limit", ["WORK_MAX", "BUNDLES_MAX", "PATTERNS_MAX"])
def test_what_is_not_looked_at_is_said(monkeypatch, limit):
    monkeypatch.setattr(module, limit, 1)
    wishes = [wish(0, "4Gi"), wish(1, "3Gi")]
    assert not Patterns(wishes, [place((drive("a", 3, "9Gi"), 2), disks=["9Gi"], slots=(9, 9))]).complete


def test_with_too_many_patterns_some_good_ones_are_there(monkeypatch):
    monkeypatch.setattr(module, "PATTERNS_MAX", 1)
    wishes = [wish(0, "4Gi"), wish(1, "3Gi")]
    assert shown(Patterns(wishes, [place(disks=["11Gi"], slots=(9, 9))])) == [("", (0, 3)), ("", (2, 0))]


def test_a_planner_that_proves_nothing_makes_no_proof():
    found = Patterns([wish(0, "4Gi")], [place((drive("a", 3, "9Gi"), 1), mode="zos")])
    assert (shown(found), found.complete) == ([("", (0,)), ("a", (2,))], False)
    assert Patterns([wish(0, "4Gi")], [place((drive("a", 3, "9Gi"), 1), mode="compat")]).complete
