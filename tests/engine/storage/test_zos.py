"""Mode zos, rule by rule: shared drives, the roomiest that runs first, and which cold ones are looked at."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.engine.storage.zos import in_order, plan_nodes
from ullage.model.disk_plan import DiskCapacity, DiskHold, DiskPlan, DiskRequest


def pool(name: str, size: int, used: int = 0, storage_class: str = "SSD", **fields: object) -> DiskCapacity:
    return DiskCapacity(name, fields.pop("node", "n1"), storage_class, size, used_bytes=used, **fields)


def hdd(name: str, size: int, used: int = 0, **fields: object) -> DiskCapacity:
    return pool(name, size, used, "HDD", **fields)


def ask(size: int, storage_class: str = "SSD", name: str = "v", **fields: object) -> DiskRequest:
    return DiskRequest(name, storage_class, size, **fields)


def planned(pools: list[DiskCapacity], *asked: DiskRequest, holds: tuple[DiskHold, ...] = ()) -> DiskPlan:
    return plan_nodes(pools, holds, asked, sorted({each.node for each in pools}))


def chosen(found: DiskPlan) -> object:
    """Where the one volume goes and which cold drives were looked at; None where it goes nowhere."""
    return (found.nodes[0].chosen["v"], found.nodes[0].spun_up) if found.nodes else None


class TestStill:
    def test_the_pool_with_most_room_left_is_taken(self):
        pools = [pool("a", 900, 600), pool("b", 500, 100), pool("c", 390)]
        assert chosen(planned(pools, ask(100))) == ("b", ())

    def test_equal_room_is_decided_by_name(self):
        assert chosen(planned([pool("b", 500), pool("a", 900, 400)], ask(100))) == ("a", ())

    def test_what_is_held_takes_room_in_whatever_class(self):
        holds = (DiskHold("r", "p", "n1", "a", "SSDLVG", 60), DiskHold("r", "q", "n1", "a", "SSD", 40))
        assert chosen(planned([pool("a", 500), pool("b", 450)], ask(100), holds=holds)) == ("b", ())
        assert chosen(planned([pool("a", 500)], ask(400), holds=holds)) == ("a", ())
        assert chosen(planned([pool("a", 500)], ask(401), holds=holds)) is None

    def test_a_pool_that_runs_goes_before_a_roomier_cold_one(self):
        pools = [pool("cold", 900, cold=True), pool("runs", 200)]
        assert chosen(planned(pools, ask(100))) == ("runs", ())

    def test_the_first_cold_pool_with_room_is_taken_not_the_roomiest(self):
        pools = [pool("runs", 50), pool("c2", 900, cold=True), pool("c1", 200, cold=True)]
        assert chosen(planned(pools, ask(100))) == ("c1", ("c1",))

    def test_a_cold_pool_that_is_too_small_by_itself_is_not_looked_at(self):
        pools = [pool("c1", 99, cold=True), pool("c2", 200, cold=True)]
        assert chosen(planned(pools, ask(100))) == ("c2", ("c2",))

    def test_a_cold_pool_that_is_too_full_is_looked_at_and_shut_again(self):
        pools = [pool("c1", 200, 150, cold=True), pool("c2", 200, cold=True)]
        found = planned(pools, ask(100), ask(40, name="w"))
        assert found.nodes[0].chosen == {"v": "c2", "w": "c2"}
        assert found.nodes[0].spun_up == ("c1", "c2")

    def test_a_pool_that_was_spun_up_runs_for_the_next_volume(self):
        pools = [pool("c1", 150, cold=True), pool("c2", 900, cold=True)]
        found = planned(pools, ask(100), ask(50, name="w"))
        assert found.nodes[0].chosen == {"v": "c1", "w": "c1"}
        assert found.nodes[0].spun_up == ("c1",)

    def test_a_drive_is_listed_once_however_often_it_is_looked_at(self):
        pools = [pool("c1", 200, 150, cold=True), pool("c2", 100, cold=True), pool("c3", 100, cold=True)]
        found = planned(pools, ask(100), ask(90, name="w"))
        assert found.nodes[0].spun_up == ("c1", "c2", "c3")

    def test_a_volume_never_spans_drives(self):
        assert chosen(planned([pool("a", 60), pool("b", 60)], ask(100))) is None


class TestVirtualDisks:
    def test_they_go_where_virtual_disks_are_even_if_others_have_more_room(self):
        pools = [pool("a", 900, 500, virtual_disks=True), pool("b", 900), pool("c", 300, virtual_disks=True)]
        assert chosen(planned(pools, ask(100, virtual_disk=True))) == ("a", ())
        assert chosen(planned(pools, ask(100))) == ("b", ())

    def test_where_those_have_no_room_or_there_are_none_they_go_to_the_roomiest(self):
        pools = [pool("a", 500, virtual_disks=True), pool("b", 700), pool("c", 900)]
        assert chosen(planned(pools, ask(600, virtual_disk=True))) == ("c", ())

    def test_the_second_one_follows_the_first(self):
        pools = [pool("a", 500), pool("b", 700)]
        first, second = ask(300, virtual_disk=True), ask(200, name="w", virtual_disk=True)
        assert planned(pools, first, second).nodes[0].chosen == {"v": "b", "w": "b"}

    def test_a_cold_drive_with_virtual_disks_is_not_spun_up_for_them(self):
        pools = [pool("a", 900, virtual_disks=True, cold=True), pool("b", 200)]
        assert chosen(planned(pools, ask(100, virtual_disk=True))) == ("b", ())

    def test_on_turning_drives_they_follow_the_same_rule(self):
        pools = [hdd("a", 500, 100), hdd("b", 900)]
        assert chosen(planned(pools, ask(100, "HDD", virtual_disk=True))) == ("b", ())


class TestTurning:
    def test_a_drive_in_use_with_room_goes_before_an_unused_one(self):
        pools = [hdd("a", 900), hdd("b", 300, 100), hdd("c", 400, 50)]
        assert chosen(planned(pools, ask(100, "HDD"))) == ("b", ())

    def test_what_is_held_makes_a_drive_one_in_use(self):
        holds = (DiskHold("r", "p", "n1", "b", "HDDLVG", 1),)
        assert chosen(planned([hdd("a", 900), hdd("b", 300)], ask(100, "HDD"), holds=holds)) == ("b", ())

    def test_where_none_in_use_has_room_the_first_unused_one_is_taken(self):
        pools = [hdd("b", 900), hdd("c", 950), hdd("a", 300, 250)]
        assert chosen(planned(pools, ask(100, "HDD"))) == ("b", ())

    def test_running_drives_go_before_cold_ones(self):
        pools = [hdd("a", 900, 1, cold=True), hdd("b", 900)]
        assert chosen(planned(pools, ask(100, "HDD"))) == ("b", ())

    def test_a_cold_drive_that_is_too_full_keeps_running(self):
        pools = [hdd("a", 200, 150, cold=True), hdd("b", 200, cold=True)]
        found = planned(pools, ask(100, "HDD"), ask(50, "HDD", name="w"))
        assert found.nodes[0].chosen == {"v": "b", "w": "a"}
        assert found.nodes[0].spun_up == ("a", "b")


class TestClasses:
    @pytest.mark.parametrize(
        ("asked", "drives"),
        [
            ("HDD", {"HDD"}),
            ("HDDLVG", {"HDD"}),
            ("SSD", {"SSD", "NVME"}),
            ("SSDLVG", {"SSD", "NVME"}),
            ("NVME", {"NVME"}),
            ("NVMELVG", {"NVME"}),
            ("ANY", {"HDD", "SSD", "NVME"}),
            ("SYSLVG", set()),
        ],
    )
    def test_which_drives_serve_which_class(self, asked, drives):
        offered = ("HDD", "SSD", "NVME", "HDDLVG", "SSDLVG", "NVMELVG", "SYSLVG")
        serving = {each for each in offered if planned([pool("a", 9, 0, each)], ask(1, asked)).nodes}
        assert serving == drives

    def test_any_goes_to_turning_drives_first(self):
        pools = [pool("a", 900), hdd("b", 100, cold=True)]
        assert chosen(planned(pools, ask(50, "ANY"))) == ("b", ("b",))
        assert chosen(planned(pools, ask(500, "ANY"))) == ("a", ())

    def test_tainted_drives_and_other_storage_groups_serve_nobody_else(self):
        assert chosen(planned([pool("a", 9, tainted=True)], ask(1))) is None
        assert chosen(planned([pool("a", 9, storage_group="g")], ask(1))) is None
        assert chosen(planned([pool("a", 9, storage_group="g")], ask(1, storage_group="g"))) == ("a", ())

    def test_a_drive_of_no_size_serves_nobody(self):
        assert chosen(planned([pool("a", 0)], ask(0))) is None


class TestWorkload:
    def test_the_largest_volume_has_its_turn_first(self):
        asked = [ask(10, name="b"), ask(30, name="c"), ask(30, name="a")]
        assert [each.name for each in in_order(asked)] == ["a", "c", "b"]

    def test_volumes_of_one_workload_share_what_is_left(self):
        assert planned([pool("a", 100)], ask(60), ask(40, name="w")).nodes
        (witness,) = planned([pool("a", 100)], ask(60), ask(41, name="w")).witnesses
        assert (witness.requests, witness.missing_bytes) == (("v", "w"), 1)
        assert witness.remedy == "it fits if w is at most 40"
        assert witness.reason == "w (SSD, 41): of 1 that serve this class, a has most: 40"

    def test_without_a_drive_of_the_class_nothing_is_proposed(self):
        (witness,) = planned([hdd("a", 100)], ask(60)).witnesses
        assert (witness.missing_bytes, witness.remedy) == (None, "")
        assert witness.reason == "v (SSD, 60): no drive serves this class"

    def test_where_a_smaller_size_does_not_help_none_is_proposed(self):
        (witness,) = planned([pool("a", 50), hdd("b", 10)], ask(60), ask(20, "HDD", name="w")).witnesses
        assert (witness.requests, witness.missing_bytes) == (("v",), None)

    def test_nodes_that_spin_up_the_fewest_drives_come_first_then_by_name(self):
        pools = [pool("a", 9, node="n1", cold=True), pool("a", 9, node="n3"), pool("a", 9, node="n2")]
        assert [each.node for each in planned(pools, ask(5)).nodes] == ["n2", "n3", "n1"]

    def test_a_node_serves_everything_or_nothing(self):
        found = planned([pool("a", 100), pool("a", 10, node="n2")], ask(20))
        assert [each.node for each in found.nodes] == ["n1"]
        assert [each.node for each in found.witnesses] == ["n2"]


pools_drawn = st.lists(
    st.tuples(
        st.integers(0, 100), st.integers(0, 100), st.sampled_from(("HDD", "SSD", "NVME")), st.booleans()
    ),
    max_size=5,
).map(
    lambda rows: [
        pool(f"p{number}", size, min(used, size), storage_class, cold=cold)
        for number, (size, used, storage_class, cold) in enumerate(rows)
    ]
)
asked_drawn = st.lists(
    st.tuples(st.integers(1, 80), st.sampled_from(("HDD", "SSD", "NVME", "ANY")), st.booleans()), max_size=4
).map(
    lambda rows: [
        ask(size, storage_class, f"v{number}", virtual_disk=virtual)
        for number, (size, storage_class, virtual) in enumerate(rows)
    ]
)


@given(pools_drawn, asked_drawn)
def test_no_drive_is_filled_beyond_its_size_and_none_is_taken_without_a_look(pools, asked):
    for disks in plan_nodes(pools, [], asked, ["n1"]).nodes:
        assert set(disks.chosen) == {each.name for each in asked}
        for each in pools:
            here = [request for request in asked if disks.chosen[request.name] == each.name]
            assert each.used_bytes + sum(one.size_bytes for one in here) <= each.size_bytes
            assert not here or not each.cold or each.name in disks.spun_up


@given(pools_drawn, asked_drawn)
def test_the_order_of_what_is_given_changes_nothing(pools, asked):
    assert plan_nodes(pools[::-1], [], asked[::-1], ["n1"]) == plan_nodes(pools, [], asked, ["n1"])
