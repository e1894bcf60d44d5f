"""What drives and groups of a node offer, what is promised of them, and what the ledger is told."""

from fractions import Fraction

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import NodeBuilder, entry, node
from ullage.engine.storage.capacities import (
    by_ledger_name,
    capacities_of,
    disk_name,
    disk_supply,
    entries_by_node,
    holds_of,
    taken,
)
from ullage.engine.storage.extents import group_bytes
from ullage.engine.storage.planning import plan
from ullage.model.disk_plan import DiskCapacity, DiskHold, DiskRequest
from ullage.model.drives import PlacedVolume, ThinPool, VolumeGroup
from ullage.model.ledger import VOLUME_SPACE, WHOLE_DRIVE
from ullage.model.resources import NOTHING, Resources
from ullage.model.settings import Rules

GIB = 1 << 30
MIB = 1 << 20
PLAIN = node("n1").with_drive("d", "HDD", "10Gi")


def grouped(free: str = "6Gi", **fields: object) -> NodeBuilder:
    """A node whose drive d is the volume group vg."""
    drive = node("n1").with_drive("d", "HDD", "10Gi", clean=False)
    return drive.with_volume_group("vg", "HDD", "8Gi", free, drives=("d",), **fields)


def placed(name: str, location: str, gibibytes: int, **fields: object) -> PlacedVolume:
    return PlacedVolume(name, location, gibibytes * GIB, **fields)


def whole(gibibytes: int) -> Resources:
    return Resources({WHOLE_DRIVE: 1, VOLUME_SPACE: group_bytes(gibibytes * GIB)})


def space(gibibytes: int) -> Resources:
    return Resources({VOLUME_SPACE: gibibytes * GIB})


class TestCapacities:
    def test_a_free_drive_offers_itself_as_it_is(self):
        assert capacities_of(PLAIN.record) == (DiskCapacity("d", "n1", "HDD", 10 * GIB),)

    @pytest.mark.parametrize(
        "fact",
        [
            {"health": "BAD"},
            {"status": "OFFLINE"},
            {"usage": "REMOVED"},
            {"clean": False},
            {"system": True},
        ],
        ids=str,
    )
    def test_a_drive_that_takes_no_volumes_offers_nothing(self, fact):
        assert capacities_of(node("n1").with_drive("d", "HDD", "10Gi", **fact).record) == ()

    def test_a_drive_of_no_size_offers_nothing(self):
        assert capacities_of(node("n1").with_drive("d", "HDD", "0").record) == ()

    def test_a_drive_that_holds_a_volume_offers_nothing(self):
        assert capacities_of(PLAIN.with_(placed_volumes=(placed("v", "d", 1),)).record) == ()
        elsewhere = PLAIN.with_(placed_volumes=(placed("v", "other", 1),))
        assert len(capacities_of(elsewhere.record)) == 1

    def test_a_drive_in_a_group_offers_nothing_and_the_group_what_it_has_free(self):
        assert capacities_of(grouped().record) == (DiskCapacity("vg", "n1", "HDDLVG", 6 * GIB),)

    def test_a_clean_drive_in_a_group_is_not_offered_beside_it(self):
        clean = PLAIN.with_volume_group("vg", "HDD", "8Gi", "6Gi", drives=("d",))
        assert [each.name for each in capacities_of(clean.record)] == ["vg"]

    def test_a_full_group_offers_nothing(self):
        assert capacities_of(grouped("0").record) == ()

    @pytest.mark.parametrize(
        "fact", [{"health": "SUSPECT"}, {"status": "OFFLINE"}, {"usage": "RELEASING"}], ids=str
    )
    def test_a_group_offers_nothing_if_one_of_its_drives_fails_or_is_removed(self, fact):
        two = node("n1").with_drive("d", "HDD", "10Gi", clean=False)
        two = two.with_drive("e", "HDD", "10Gi", **{"clean": False, **fact})
        two = two.with_volume_group("vg", "HDD", "8Gi", "6Gi", drives=("d", "e"))
        assert capacities_of(two.record) == ()

    def test_a_group_on_drives_that_are_not_known_offers_what_it_has_free(self):
        unknown = node("n1").with_volume_group("vg", "SSD", "8Gi", "6Gi", drives=("d",))
        assert capacities_of(unknown.record) == (DiskCapacity("vg", "n1", "SSDLVG", 6 * GIB),)

    def test_the_group_of_the_system_drive_is_of_its_own_class(self):
        system = node("n1").with_drive("s", "SSD", "10Gi", system=True, clean=False)
        system = system.with_volume_group("vg", "SSD", "8Gi", "6Gi", drives=("s",), system=True)
        assert [each.storage_class for each in capacities_of(system.record)] == ["SYSLVG"]

    def test_taints_storage_groups_extents_and_rest_are_kept(self):
        drive = node("n1").with_drive("d", "SSD", "10Gi", tainted=True, storage_group="g", cold=True)
        assert capacities_of(drive.record) == (
            DiskCapacity("d", "n1", "SSD", 10 * GIB, storage_group="g", tainted=True, cold=True),
        )
        group = grouped(tainted=True, storage_group="g", extent_bytes=32 * MIB)
        assert capacities_of(group.record) == (
            DiskCapacity(
                "vg", "n1", "HDDLVG", 6 * GIB, storage_group="g", tainted=True, extent_bytes=32 * MIB
            ),
        )

    def test_a_group_takes_over_taint_and_storage_group_of_its_drive(self):
        drive = node("n1").with_drive("d", "HDD", "10Gi", clean=False, tainted=True, storage_group="g")
        (found,) = capacities_of(drive.with_volume_group("vg", "HDD", "8Gi", "6Gi", drives=("d",)).record)
        assert (found.tainted, found.storage_group) == (True, "g")

    def test_a_group_on_drives_of_several_storage_groups_is_of_none(self):
        two = node("n1").with_drive("d", "HDD", "10Gi", clean=False, storage_group="g")
        two = two.with_drive("e", "HDD", "10Gi", clean=False, storage_group="h")
        (found,) = capacities_of(two.with_volume_group("vg", "HDD", "8Gi", drives=("d", "e")).record)
        assert found.storage_group == ""

    def test_the_storage_group_of_a_volume_group_goes_before_that_of_its_drive(self):
        drive = node("n1").with_drive("d", "HDD", "10Gi", clean=False, storage_group="g")
        group = VolumeGroup("vg", "HDD", 8 * GIB, 6 * GIB, drives=("d",), storage_group="h")
        (found,) = capacities_of(drive.with_(volume_groups=(group,)).record)
        assert found.storage_group == "h"


class TestShared:
    def test_a_drive_with_volumes_offers_itself_with_what_they_take(self):
        volumes = (placed("a", "d", 1), placed("b", "d", 2), placed("c", "other", 4))
        used = node("n1").with_drive("d", "SSD", "10Gi", clean=False).with_(placed_volumes=volumes)
        assert capacities_of(used.record, shared=True) == (
            DiskCapacity("d", "n1", "SSD", 10 * GIB, used_bytes=3 * GIB),
        )

    def test_it_is_known_which_drives_have_virtual_disks(self):
        with_disks = PLAIN.with_(placed_volumes=(placed("a", "d", 1, virtual_disk=True),))
        assert [each.virtual_disks for each in capacities_of(with_disks.record, shared=True)] == [True]

    @pytest.mark.parametrize(
        "fact", [{"health": "BAD"}, {"usage": "REMOVED"}, {"system": True}, {"clean": False}], ids=str
    )
    def test_drives_that_fail_or_are_of_others_offer_nothing(self, fact):
        assert capacities_of(node("n1").with_drive("d", "HDD", "1Gi", **fact).record, shared=True) == ()

    def test_groups_and_their_drives_are_left_out(self):
        assert capacities_of(grouped().record, shared=True) == ()


class TestWhatPoliciesKeepBack:
    """The formulas have tables of their own; here they meet drives and groups."""

    SLIM = (ThinPool("slim", 2 * GIB, GIB),)

    def test_a_group_offers_no_spare_and_nothing_where_all_is_spare(self):
        (found,) = capacities_of(grouped().record, rules=Rules(volume_group_spare_bytes=GIB))
        assert found.size_bytes == 5 * GIB
        assert capacities_of(grouped().record, rules=Rules(volume_group_spare_bytes=6 * GIB)) == ()

    def test_a_drive_has_no_spare_before_it_is_a_group(self):
        assert capacities_of(PLAIN.record, rules=Rules(volume_group_spare_bytes=GIB)) == capacities_of(
            PLAIN.record
        )

    def test_a_thin_pool_is_one_more_place_of_the_class_of_its_group(self):
        full = grouped("0", thin_pools=self.SLIM, extent_bytes=MIB, storage_group="gold", system=True)
        assert capacities_of(full.record) == ()
        assert capacities_of(full.record, rules=Rules(thin_pool_ratio=Fraction(3))) == (
            DiskCapacity(
                "vg/slim", "n1", "SYSLVG", 5 * GIB, storage_group="gold", extent_bytes=MIB
            ),
        )  # fmt: skip

    def test_the_spare_of_a_group_is_not_taken_of_its_pools(self):
        rules = Rules(thin_pool_ratio=Fraction(3), volume_group_spare_bytes=GIB)
        found = capacities_of(grouped(thin_pools=self.SLIM).record, rules=rules)
        assert [(each.name, each.size_bytes) for each in found] == [("vg", 5 * GIB), ("vg/slim", 5 * GIB)]

    def test_a_pool_on_a_failing_drive_offers_nothing(self):
        failing = node("n1").with_drive("d", "HDD", "10Gi", health="BAD")
        failing = failing.with_volume_group("vg", "HDD", "8Gi", drives=("d",), thin_pools=self.SLIM)
        assert capacities_of(failing.record, rules=Rules(thin_pool_ratio=Fraction(3))) == ()

    def test_volumes_of_a_pool_are_counted_in_the_extents_of_its_group(self):
        slim = (ThinPool("slim", 8 * MIB),)
        record = grouped("0", thin_pools=slim).record
        disks = capacities_of(record, rules=Rules(thin_pool_ratio=Fraction(3, 2)))
        fits, not_two = ([DiskRequest(f"v{n}", "HDDLVG", 5 * MIB) for n in range(count)] for count in (1, 2))
        assert plan("exact", disks, (), fits, ["n1"]).nodes[0].chosen == {"v0": "vg/slim"}
        assert not plan("exact", disks, (), not_two, ["n1"]).nodes

    def test_the_ledger_may_promise_what_a_pool_offers_and_what_is_bound_there(self):
        bound = entry("r", "group/n1/vg/slim", resources=space(1), state="BOUND")
        record = grouped(thin_pools=self.SLIM).record
        supply = {
            each.name: each for each in disk_supply(record, [bound], rules=Rules(thin_pool_ratio=Fraction(3)))
        }
        assert supply["group/n1/vg"].offers == space(6)
        assert supply["group/n1/vg/slim"].offers == space(6)
        assert supply["group/n1/vg/slim"].disk.size_bytes == 6 * GIB
        closed = {each.name: each for each in disk_supply(record, [bound])}
        assert (closed["group/n1/vg/slim"].offers, closed["group/n1/vg/slim"].disk) == (space(1), None)

    def test_shared_drives_are_promised_to_their_percentage(self):
        used = PLAIN.with_(placed_volumes=(placed("a", "d", 3), placed("b", "d", 1)))
        bound = entry("r", "drive/n1/d", resources=space(1), state="BOUND")
        rules = Rules(drive_over_provisioning_percent=200)
        (found,) = disk_supply(used.record, [bound], shared=True, rules=rules)
        assert (found.offers, found.disk.size_bytes, found.disk.used_bytes) == (space(17), 20 * GIB, 3 * GIB)
        rules = Rules(drive_over_provisioning_percent=200, drive_minimal_available_percent=60)
        (found,) = disk_supply(used.record, [bound], shared=True, rules=rules)
        assert (found.offers, found.disk.size_bytes, found.disk.used_bytes) == (space(1), 4 * GIB, 3 * GIB)

    @given(
        free=st.integers(0, 8),
        spare=st.integers(0, 1 << 34),
        more=st.integers(0, 1 << 34),
        shared=st.booleans(),
    )
    def test_offers_never_grow_with_the_spare_and_none_is_as_before(self, free, spare, more, shared):
        record = grouped(f"{free}Gi", thin_pools=self.SLIM).with_drive("e", "SSD", "3Gi").record

        def offered(spare_bytes):
            disks = capacities_of(record, shared=shared, rules=Rules(volume_group_spare_bytes=spare_bytes))
            return {each.name: each.size_bytes for each in disks}

        low, high = offered(spare), offered(spare + more)
        assert all(size_bytes <= low[name] for name, size_bytes in high.items())
        assert capacities_of(record, shared=shared, rules=Rules()) == capacities_of(record, shared=shared)


DISKS = {disk_name(each): each for each in capacities_of(PLAIN.record) + capacities_of(grouped().record)}


class TestHolds:
    def test_who_has_the_whole_drive_holds_all_of_it(self):
        given = [entry("r", "drive/n1/d", request="v", resources=whole(10))]
        assert holds_of(given, DISKS) == (DiskHold("r", "v", "n1", "d", "HDD", 10 * GIB),)

    def test_a_share_of_a_drive_is_held_as_by_a_logical_volume(self):
        given = [entry("r", "drive/n1/d", request="v", resources=space(2))]
        assert holds_of(given, DISKS) == (DiskHold("r", "v", "n1", "d", "HDDLVG", 2 * GIB),)

    def test_a_share_of_a_group_is_of_the_class_of_the_group(self):
        given = [entry("r", "group/n1/vg", request="v", resources=space(2))]
        assert holds_of(given, DISKS) == (DiskHold("r", "v", "n1", "vg", "HDDLVG", 2 * GIB),)

    def test_what_is_promised_of_other_things_is_no_hold_on_a_disk(self):
        assert holds_of([entry("r", "node/n1", cpu="1"), entry("r", "drive/n1/gone")], DISKS) == ()

    @pytest.mark.parametrize(
        ("state", "counted", "asked_for"),
        [("RESERVED", 1, 1), ("BOUND", 0, 1), ("WAITING", 0, 0), ("RELEASED", 0, 0), ("EXPIRED", 0, 0)],
    )
    def test_bound_entries_are_held_only_where_they_are_asked_for(self, state, counted, asked_for):
        given = [entry("r", "drive/n1/d", resources=space(2), state=state)]
        assert len(holds_of(given, DISKS)) == counted
        holds = holds_of(given, DISKS, bound=True)
        assert len(holds) == asked_for
        assert all(each.bound is (state == "BOUND") for each in holds)

    def test_what_was_promised_on_a_drive_is_to_be_had_of_the_group_that_it_became(self):
        changed = grouped().record
        names = by_ledger_name(changed, capacities_of(changed))
        given = [entry("r", "drive/n1/d", request="v", resources=space(2))]
        assert holds_of(given, names) == (DiskHold("r", "v", "n1", "vg", "HDDLVG", 2 * GIB),)

    def test_what_was_promised_on_a_group_that_has_gone_is_promised_on_its_drives(self):
        given = [entry("r", "group/n1/old", request="v", resources=space(2), drives=("drive/n1/d",))]
        hold = DiskHold("r", "v", "n1", "d", "HDDLVG", 2 * GIB)
        assert holds_of(given, by_ledger_name(PLAIN.record, capacities_of(PLAIN.record))) == (hold,)
        changed = grouped().record
        (found,) = holds_of(given, by_ledger_name(changed, capacities_of(changed)))
        assert found.capacity == "vg"

    def test_what_is_promised_on_a_full_pool_is_not_promised_on_its_group(self):
        changed = grouped(thin_pools=(ThinPool("slim", GIB, GIB),)).record
        given = [entry("r", "group/n1/vg/slim", resources=space(1), drives=("drive/n1/d",))]
        assert holds_of(given, by_ledger_name(changed, capacities_of(changed))) == ()

    def test_a_drive_that_is_no_group_goes_by_its_own_name(self):
        both = PLAIN.with_volume_group("vg", "HDD", "8Gi", "6Gi", drives=("e",)).record
        names = by_ledger_name(both, capacities_of(both))
        assert {name: disk.name for name, disk in names.items()} == {
            "drive/n1/d": "d",
            "group/n1/vg": "vg",
            "drive/n1/e": "vg",
        }

    def test_entries_about_disks_by_node(self):
        given = [entry("r", name) for name in ("node/n1", "drive/n1/d", "group/n2/vg", "quota/n1")]
        assert entries_by_node(given) == {"n1": [given[1]], "n2": [given[2]]}


def test_what_refers_to_another_entry_of_its_claim_holds_nothing():
    given = (entry("r", "drive/n1/d", request="v", claim="shop/data"),)
    assert holds_of(given, DISKS, bound=True) == ()


class TestSupply:
    def offers(self, given: NodeBuilder, *entries: object, **fields: bool) -> dict[str, Resources]:
        return {each.name: each.offers for each in disk_supply(given.record, entries, **fields)}

    def test_a_drive_can_be_had_whole_or_in_volumes(self):
        (found,) = disk_supply(PLAIN.record)
        assert found.name == "drive/n1/d"
        assert found.offers == whole(10)
        assert found.disk == DiskCapacity("d", "n1", "HDD", 10 * GIB)

    def test_a_group_can_be_had_in_volumes(self):
        supply = {each.name: each for each in disk_supply(grouped().record)}
        assert supply["group/n1/vg"].offers == space(6)
        assert supply["group/n1/vg"].disk == DiskCapacity("vg", "n1", "HDDLVG", 6 * GIB)
        assert supply["group/n1/vg"].drives == ("drive/n1/d",)

    def test_a_drive_in_a_group_is_the_group_under_another_name(self):
        supply = {each.name: each for each in disk_supply(grouped().record)}
        assert supply["drive/n1/d"] == msgspec.structs.replace(
            supply["group/n1/vg"], name="drive/n1/d", disk=None
        )

    def test_a_drive_whose_volume_exists_offers_what_its_bound_entry_has(self):
        used = PLAIN.with_(placed_volumes=(placed("v", "d", 10),))
        bound = entry("r", "drive/n1/d", resources=whole(10), state="BOUND")
        (found,) = disk_supply(used.record, [bound])
        assert (found.offers, found.disk) == (whole(10), None)

    def test_a_group_offers_what_is_free_and_what_its_bound_entries_have(self):
        bound = entry("r", "group/n1/vg", resources=space(2), state="BOUND")
        (_, found) = disk_supply(grouped("4Gi").record, [bound])
        assert found.offers == space(6)
        assert found.disk.size_bytes == 6 * GIB

    def test_a_group_offers_what_is_made_of_promises_on_the_drive_that_it_was(self):
        made = entry("r", "drive/n1/d", request="a", resources=space(2), state="BOUND")
        awaited = entry("r", "drive/n1/d", request="b", resources=space(3))
        offers = self.offers(grouped("6Gi"), made, awaited)
        assert offers == {"drive/n1/d": space(8), "group/n1/vg": space(8)}

    def test_a_group_that_was_renamed_offers_what_is_made_under_the_old_name(self):
        made = entry("r", "group/n1/old", resources=space(2), state="BOUND", drives=("drive/n1/d",))
        elsewhere = entry("s", "group/n1/old", resources=space(1), state="BOUND", drives=("drive/n1/e",))
        assert self.offers(grouped("6Gi"), made, elsewhere)["group/n1/vg"] == space(8)

    def test_two_groups_on_parts_of_one_drive_have_no_byte_in_common(self):
        both = grouped("6Gi").with_volume_group("wg", "HDD", "2Gi", "1Gi", drives=("d",))
        made = entry("r", "drive/n1/d", resources=space(1), state="BOUND")
        supply = {each.name: each for each in disk_supply(both.record, [made])}
        assert (supply["group/n1/vg"].offers, supply["group/n1/wg"].offers) == (space(7), space(1))
        assert supply["group/n1/vg"].beside == ("group/n1/wg",)
        assert supply["group/n1/wg"].beside == ("drive/n1/d", "group/n1/vg")

    def test_a_pool_has_no_byte_in_common_with_its_group(self):
        pools = (ThinPool("slim", 2 * GIB),)
        supply = {each.name: each for each in disk_supply(grouped(thin_pools=pools).record)}
        assert supply["group/n1/vg"].beside == ("group/n1/vg/slim",)
        assert supply["group/n1/vg/slim"].beside == ("drive/n1/d", "group/n1/vg")
        assert supply["group/n1/vg/slim"].drives == ("drive/n1/d",)

    def test_what_others_have_reserved_is_not_offered_under_any_name(self):
        theirs = entry("theirs", "drive/n1/d", resources=space(2))
        offers = {each.name: each.offers for each in disk_supply(grouped("6Gi").record, others=[theirs])}
        assert offers == {"drive/n1/d": space(4), "group/n1/vg": space(4)}

    def test_a_failing_group_offers_what_its_bound_entries_have(self):
        failing = node("n1").with_drive("d", "HDD", "10Gi", health="BAD")
        failing = failing.with_volume_group("vg", "HDD", "8Gi", "6Gi", drives=("d",))
        bound = entry("r", "group/n1/vg", resources=space(2), state="BOUND")
        supply = {each.name: each for each in disk_supply(failing.record, [bound])}
        assert (supply["group/n1/vg"].offers, supply["group/n1/vg"].disk) == (space(2), None)

    def test_a_failing_drive_offers_nothing_to_those_who_have_not_got_it_yet(self):
        failing = node("n1").with_drive("d", "HDD", "10Gi", health="BAD")
        reserved = entry("r", "drive/n1/d", resources=whole(10))
        assert self.offers(failing, reserved) == {"drive/n1/d": NOTHING}

    def test_a_shared_drive_offers_all_but_the_volumes_of_others(self):
        volumes = (placed("a", "d", 1), placed("b", "d", 2))
        used = PLAIN.with_(placed_volumes=volumes)
        bound = entry("r", "drive/n1/d", resources=space(2), state="BOUND")
        (found,) = disk_supply(used.record, [bound], shared=True)
        assert found.offers == space(9)
        assert found.disk == DiskCapacity("d", "n1", "HDD", 10 * GIB, used_bytes=GIB)

    @given(st.lists(st.integers(1, 4 * GIB // MIB), max_size=6), st.integers(0, 6))
    def test_on_a_drive_that_became_a_group_no_byte_is_offered_twice(self, mebibytes, made_count):
        """Of volumes promised on one fresh drive some are made; whatever is not theirs can be had once."""
        made_count = min(made_count, len(mebibytes))
        asked = [DiskRequest(f"v{number}", "HDDLVG", each * MIB) for number, each in enumerate(mebibytes)]
        (disk,) = capacities_of(PLAIN.record)
        fresh_bytes = group_bytes(disk.size_bytes)
        resources = [taken(each, disk, "exact") for each in asked]
        sizes = [each.of(VOLUME_SPACE) for each in resources]
        if sum(sizes) > fresh_bytes or not made_count:
            return
        group = VolumeGroup("vg", "HDD", fresh_bytes, fresh_bytes - sum(sizes[:made_count]), drives=("d",))
        entries = [
            entry("r", "drive/n1/d", request=each.name, resources=amount, state=state)
            for number, (each, amount) in enumerate(zip(asked, resources, strict=True))
            for state in ["BOUND" if number < made_count else "RESERVED"]
        ]
        changed = msgspec.structs.replace(PLAIN.record, volume_groups=(group,))
        offers = {each.name: each.offers.of(VOLUME_SPACE) for each in disk_supply(changed, entries)}
        assert offers == {"drive/n1/d": fresh_bytes, "group/n1/vg": fresh_bytes}


@pytest.mark.parametrize(
    ("storage_class", "mode", "expected"),
    [
        ("HDD", "exact", whole(10)),
        ("ANY", "compat", whole(10)),
        ("HDDLVG", "exact", Resources({VOLUME_SPACE: 8 * MIB})),
        ("HDDLVG", "compat", Resources({VOLUME_SPACE: 8 * MIB})),
        ("HDDLVG", "zos", Resources({VOLUME_SPACE: 5 * MIB})),
        ("HDD", "zos", Resources({VOLUME_SPACE: 5 * MIB})),
    ],
)
def test_what_a_volume_takes_of_a_drive(storage_class, mode, expected):
    (disk,) = capacities_of(PLAIN.record)
    assert taken(DiskRequest("v", storage_class, 5 * MIB), disk, mode) == expected


def test_a_logical_volume_takes_extents_of_its_group():
    group = DiskCapacity("vg", "n1", "HDDLVG", GIB, extent_bytes=32 * MIB)
    assert taken(DiskRequest("v", "HDDLVG", 5 * MIB), group, "exact").of(VOLUME_SPACE) == 32 * MIB
