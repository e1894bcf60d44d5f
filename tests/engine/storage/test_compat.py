"""Mode compat, rule by rule: the order of requests and capacities, what may be shared, who waits."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.engine.storage.compat import in_order, plan_nodes
from ullage.engine.storage.extents import group_bytes, volume_bytes
from ullage.model.disk_plan import DiskCapacity, DiskHold, DiskPlan, DiskRequest, is_share

GIB = 1 << 30
MIB = 1 << 20
EXTENT = 4 * MIB


def capacity(
    name: str, storage_class: str, extents: float, node: str = "n1", **fields: object
) -> DiskCapacity:
    return DiskCapacity(name, node, storage_class, int(extents * EXTENT), **fields)


def drive(name: str, extents: int, storage_class: str = "HDD", **fields: object) -> DiskCapacity:
    """A drive that becomes a group of so many extents."""
    return capacity(name, storage_class, extents + 0.25, **fields)


def ask(name: str, storage_class: str, extents: float, **fields: object) -> DiskRequest:
    return DiskRequest(name, storage_class, int(extents * EXTENT), **fields)


def held(name: str, storage_class: str, extents: float, node: str = "n1", **fields: object) -> DiskHold:
    return DiskHold(
        fields.pop("reservation", "r"), "p", node, name, storage_class, int(extents * EXTENT), **fields
    )


def planned(
    capacities: list[DiskCapacity], requests: list[DiskRequest], *holds: DiskHold, **fields: bool
) -> DiskPlan:
    nodes = sorted({each.node for each in capacities} | {"n1"})
    return plan_nodes(capacities, holds, requests, nodes, **{"few_drives": False, **fields})


def chosen(found: DiskPlan) -> dict[str, str]:
    """What goes where on the first node; nothing where there is none."""
    return dict(found.nodes[0].chosen) if found.nodes else {}


class TestOrder:
    def test_the_example_of_the_proposal(self):
        asked = [
            ask("pvc1", "HDD", 10),
            ask("pvc2", "HDDLVG", 20),
            ask("pvc3", "HDDLVG", 10),
            ask("pvc4", "HDD", 100),
        ]
        assert [each.name for each in in_order(asked)] == ["pvc3", "pvc2", "pvc1", "pvc4"]

    def test_equal_requests_take_turns_by_name(self):
        asked = [ask("b", "SSD", 1), ask("a", "HDD", 1)]
        assert [each.name for each in in_order(asked)] == ["a", "b"]

    def test_the_smallest_capacity_that_is_large_enough_is_taken(self):
        capacities = [drive("large", 9), drive("small", 3), drive("middle", 6)]
        assert chosen(planned(capacities, [ask("v", "HDD", 4)])) == {"v": "middle"}

    def test_equal_capacities_are_tried_by_name(self):
        assert chosen(planned([drive("b", 4), drive("a", 4)], [ask("v", "HDD", 4)])) == {"v": "a"}

    def test_groups_are_tried_before_drives_even_if_they_are_larger(self):
        capacities = [drive("d", 4), capacity("vg", "HDDLVG", 99)]
        assert chosen(planned(capacities, [ask("v", "HDDLVG", 4)])) == {"v": "vg"}

    def test_any_takes_the_slowest_drive_even_if_it_is_larger(self):
        capacities = [drive("n", 4, "NVME"), drive("s", 5, "SSD"), drive("h", 6)]
        asked = [ask(name, "ANY", 4) for name in ("v1", "v2", "v3")]
        assert chosen(planned(capacities, asked)) == {"v1": "h", "v2": "s", "v3": "n"}


class TestCandidates:
    @pytest.mark.parametrize(
        ("asked", "offered", "serves"),
        [
            ("HDD", "HDD", True),
            ("HDD", "SSD", False),
            ("HDD", "HDDLVG", False),
            ("ANY", "NVME", True),
            ("ANY", "HDDLVG", False),
            ("ANY", "SYSLVG", False),
            ("SSDLVG", "SSDLVG", True),
            ("SSDLVG", "SSD", True),
            ("SSDLVG", "NVME", False),
            ("SSDLVG", "SYSLVG", False),
            ("SYSLVG", "SYSLVG", True),
            ("SYSLVG", "SSD", False),
            ("SYSLVG", "SSDLVG", False),
        ],
    )
    def test_which_class_is_served_by_which(self, asked, offered, serves):
        assert bool(planned([capacity("c", offered, 9)], [ask("v", asked, 1)]).nodes) is serves

    def test_a_tainted_capacity_is_never_a_candidate(self):
        assert not planned([drive("d", 9, tainted=True)], [ask("v", "HDD", 1)]).nodes

    @pytest.mark.parametrize(("wants", "has"), [("", "g"), ("g", ""), ("g", "h")])
    def test_only_capacities_of_the_same_storage_group_serve(self, wants, has):
        other, own = drive("d", 9, storage_group=has), drive("e", 9, storage_group=wants)
        asked = [ask("v", "HDD", 1, storage_group=wants)]
        assert not planned([other], asked).nodes
        assert chosen(planned([other, own], asked)) == {"v": "e"}

    @pytest.mark.parametrize("storage_class", ["HDD", "HDDLVG"])
    def test_a_capacity_of_no_size_is_never_a_candidate(self, storage_class):
        empty = DiskCapacity("d", "n1", storage_class, 0)
        assert not plan_nodes([empty], [], [DiskRequest("v", storage_class, 0)], ["n1"]).nodes

    def test_capacities_of_other_nodes_do_not_serve(self):
        elsewhere = drive("d", 9, node="n2")
        found = plan_nodes([elsewhere], [], [ask("v", "HDD", 1)], ["n1"])
        assert (found.nodes, [each.node for each in found.witnesses]) == ((), ["n1"])


class TestArithmetic:
    def test_the_metadata_of_a_group_is_not_there_for_volumes(self):
        assert chosen(planned([drive("d", 4)], [ask("v", "HDDLVG", 4)])) == {"v": "d"}
        assert not planned([capacity("d", "HDD", 4)], [ask("v", "HDDLVG", 4)]).nodes

    def test_a_whole_drive_has_no_metadata(self):
        assert planned([capacity("d", "HDD", 4)], [ask("v", "HDD", 4)]).nodes

    def test_a_volume_on_a_whole_drive_ends_at_a_full_mebibyte(self):
        odd = [DiskCapacity("d", "n1", "HDD", 4 * MIB + 5)]
        assert planned(odd, [DiskRequest("v", "HDD", 4 * MIB)]).nodes
        assert not planned(odd, [DiskRequest("v", "HDD", 4 * MIB + 1)]).nodes

    def test_every_logical_volume_is_rounded_up_the_first_one_too(self):
        group = [capacity("vg", "HDDLVG", 3)]
        assert planned(group, [ask("a", "HDDLVG", 1), ask("b", "HDDLVG", 1.5)]).nodes
        assert not planned(group, [ask("a", "HDDLVG", 1.2), ask("b", "HDDLVG", 1.5)]).nodes

    def test_volumes_are_rounded_to_the_extents_of_their_group(self):
        group = [capacity("vg", "HDDLVG", 15, extent_bytes=8 * EXTENT)]
        assert planned(group, [ask("a", "HDDLVG", 7)]).nodes
        assert not planned(group, [ask("a", "HDDLVG", 7), ask("b", "HDDLVG", 1)]).nodes

    def test_holds_are_rounded_to_the_extents_of_their_group(self):
        group = [capacity("vg", "HDDLVG", 15, extent_bytes=8 * EXTENT)]
        assert not planned(group, [ask("v", "HDDLVG", 1)], held("vg", "HDDLVG", 1)).nodes

    def test_every_hold_is_rounded_up_on_its_own(self):
        group = [capacity("vg", "HDDLVG", 5)]
        holds = [held("vg", "HDDLVG", 1.1), held("vg", "HDDLVG", 0.1)]
        assert planned(group, [ask("v", "HDDLVG", 2)], *holds).nodes
        assert not planned(group, [ask("v", "HDDLVG", 3)], *holds).nodes

    def test_a_hold_on_one_node_takes_nothing_on_another(self):
        groups = [capacity("vg", "HDDLVG", 4), capacity("vg", "HDDLVG", 4, node="n2")]
        found = planned(groups, [ask("v", "HDDLVG", 4)], held("vg", "HDDLVG", 1, node="n2"))
        assert [each.node for each in found.nodes] == ["n1"]


class TestSharing:
    def test_logical_volumes_share_a_drive(self):
        asked = [ask("a", "HDDLVG", 2), ask("b", "HDDLVG", 2)]
        assert chosen(planned([drive("d", 4), drive("e", 9)], asked)) == {"a": "d", "b": "d"}

    def test_a_drive_held_by_logical_volumes_takes_more_of_them_and_no_other(self):
        hold = held("d", "HDDLVG", 2)
        assert planned([drive("d", 4)], [ask("v", "HDDLVG", 2)], hold).nodes
        assert not planned([drive("d", 4)], [ask("v", "HDDLVG", 3)], hold).nodes
        assert not planned([drive("d", 4)], [ask("v", "HDD", 1)], hold).nodes

    @pytest.mark.parametrize("storage_class", ["HDD", "ANY"])
    def test_a_drive_held_whole_takes_nothing(self, storage_class):
        hold = held("d", storage_class, 1)
        for asked in ("HDD", "ANY", "HDDLVG"):
            assert not planned([drive("d", 4)], [ask("v", asked, 1)], hold).nodes

    def test_one_holder_of_the_whole_is_enough_whoever_came_first(self):
        for holds in ([held("d", "HDDLVG", 1), held("d", "HDD", 1)], [held("d", "HDD", 1)] * 2):
            assert not planned([drive("d", 9)], [ask("v", "HDDLVG", 1)], *holds).nodes

    def test_volumes_of_one_workload_do_not_share_a_whole_drive(self):
        asked = [ask("a", "HDD", 1), ask("b", "HDD", 1)]
        assert chosen(planned([drive("d", 4), drive("e", 4)], asked)) == {"a": "d", "b": "e"}
        assert not planned([drive("d", 4)], asked).nodes
        assert not planned([drive("d", 4)], [ask("a", "HDD", 1), ask("b", "HDDLVG", 1)]).nodes


class TestNodes:
    def test_a_node_serves_everything_or_nothing(self):
        found = planned([drive("d", 4), drive("e", 4, node="n2")], [ask("a", "HDD", 1), ask("b", "HDD", 1)])
        assert found.nodes == ()
        assert [each.node for each in found.witnesses] == ["n1", "n2"]

    def test_nodes_with_most_untainted_capacities_come_first_then_by_name(self):
        capacities = [
            drive("a", 4, node="n3"),
            drive("b", 4, node="n1"),
            drive("c", 4, node="n2"),
            drive("d", 1, "SSD", node="n2"),
            drive("e", 4, node="n1", tainted=True),
            drive("f", 4, node="n1", tainted=True),
        ]
        found = planned(capacities, [ask("v", "HDD", 1)])
        assert [each.node for each in found.nodes] == ["n2", "n1", "n3"]

    def test_without_volumes_every_node_serves(self):
        assert [each.node for each in plan_nodes([], [], [], ["b", "a"]).nodes] == ["a", "b"]


class TestOpened:
    def test_a_drive_is_opened_by_its_first_logical_volume(self):
        asked = [ask("a", "HDDLVG", 1), ask("b", "HDDLVG", 1), ask("c", "HDD", 1)]
        (found,) = planned([drive("d", 4), drive("e", 4)], asked).nodes
        assert found.opened == ("d",)

    def test_held_drives_and_groups_are_not_opened(self):
        capacities = [drive("d", 4), capacity("vg", "SSDLVG", 4)]
        asked = [ask("a", "HDDLVG", 1), ask("b", "SSDLVG", 1)]
        (found,) = planned(capacities, asked, held("d", "HDDLVG", 1)).nodes
        assert (found.opened, found.stranded_bytes) == ((), 0)

    def test_stranded_is_the_rest_of_whole_drives_and_of_opened_ones(self):
        asked = [ask("a", "HDDLVG", 1.5), ask("b", "SSD", 3)]
        (found,) = planned([drive("d", 4), drive("e", 5, "SSD")], asked).nodes
        assert found.stranded_bytes == 2 * EXTENT + 2 * EXTENT + MIB


class TestWaiting:
    capacities = (drive("d", 9), capacity("vg", "SSDLVG", 9), capacity("sys", "SYSLVG", 9))

    @pytest.mark.parametrize(
        ("asked", "held_class", "waits"),
        [
            ("HDDLVG", "HDDLVG", True),
            ("SYSLVG", "SYSLVG", True),
            ("SSDLVG", "HDDLVG", False),
            ("HDDLVG", "HDD", False),
            ("HDD", "HDDLVG", False),
            ("ANY", "ANY", False),
        ],
    )
    def test_logical_volumes_wait_for_others_of_their_class(self, asked, held_class, waits):
        hold = held("elsewhere", held_class, 1, node="n9")
        found = planned([*self.capacities], [ask("v", asked, 1)], hold, few_drives=True)
        assert found.waits_for == (("r",) if waits else ())
        assert bool(found.nodes) is not waits

    def test_who_waits_is_told_for_whom_once_and_in_order(self):
        holds = [held("d", "HDDLVG", 1, reservation=name) for name in ("r2", "r1", "r2")]
        found = planned([*self.capacities], [ask("v", "HDDLVG", 1)], *holds, few_drives=True)
        assert found == DiskPlan(waits_for=("r1", "r2"))

    def test_nobody_waits_where_that_is_switched_off(self):
        found = planned([*self.capacities], [ask("v", "HDDLVG", 1)], held("d", "HDDLVG", 1))
        assert found.nodes

    def test_nobody_waits_for_volumes_that_exist(self):
        hold = held("d", "HDDLVG", 9, bound=True)
        found = planned([*self.capacities], [ask("v", "HDDLVG", 1)], hold, few_drives=True)
        assert (found.waits_for, len(found.witnesses)) == ((), 1)


class TestWitness:
    def only(self, *args: object) -> tuple[object, ...]:
        (found,) = planned(*args).witnesses
        return found.requests, found.reason, found.missing_bytes, found.remedy

    def test_no_capacity_of_the_class(self):
        assert self.only([drive("d", 4)], [ask("v", "SSDLVG", 1)]) == (
            ("v",),
            "v (SSDLVG, 4Mi): no drive or volume group serves this class",
            None,
            "",
        )

    def test_no_capacity_of_the_storage_group(self):
        reason = "v (HDD, 4Mi): no drive or volume group of storage group g serves this class"
        assert self.only([drive("d", 4)], [ask("v", "HDD", 1, storage_group="g")])[1] == reason

    def test_all_are_held(self):
        reason = "v (HDD, 4Mi): all 1 that serve this class are held"
        assert self.only([drive("d", 4)], [ask("v", "HDD", 1)], held("d", "HDD", 1)) == (
            ("v",), reason, None, "",
        )  # fmt: skip

    def test_a_drive_that_lacks_its_metadata_alone(self):
        assert self.only([capacity("d", "HDD", 4)], [ask("v", "HDDLVG", 4)]) == (
            ("v",),
            "v (HDDLVG, 16Mi): of 1 that serve this class, d has most: 12Mi",
            MIB,
            "it fits if d is 1Mi larger",
        )

    def test_a_drive_that_is_too_small_for_a_volume_that_ends_within_a_mebibyte(self):
        held_up = self.only([drive("d", 1, "SSD")], [DiskRequest("v", "SSD", 6 * MIB + 1)])
        assert held_up[2:] == (MIB + 1, "it fits if v is at most 5Mi")
        tiny = [DiskCapacity("d", "n1", "SSD", MIB - 1)]
        assert self.only(tiny, [DiskRequest("v", "SSD", 6 * MIB + 1)])[2] == 6 * MIB + 1

    def test_a_group_with_one_byte_too_little(self):
        found = self.only([capacity("vg", "HDDLVG", 4)], [DiskRequest("v", "HDDLVG", 4 * EXTENT + 1)])
        assert found[2:] == (1, "it fits if v is at most 16Mi")

    def test_requests_that_cannot_stand_together(self):
        asked = [ask("a", "HDDLVG", 3), ask("b", "HDDLVG", 3), ask("c", "SSD", 1)]
        found = self.only([capacity("vg", "HDDLVG", 5), drive("s", 1, "SSD")], asked)
        assert found[0] == ("a", "b")
        assert found[2:] == (EXTENT, "it fits if b is at most 8Mi")

    def test_a_request_that_does_not_even_fit_alone_stands_for_itself(self):
        asked = [ask("a", "HDDLVG", 3), ask("b", "HDDLVG", 6)]
        assert self.only([capacity("vg", "HDDLVG", 5)], asked)[0] == ("b",)

    def test_a_change_is_not_proposed_where_another_request_is_refused_then(self):
        asked = [ask("a", "HDD", 4), ask("b", "SSD", 4)]
        assert self.only([capacity("d", "HDD", 3), capacity("s", "SSD", 3)], asked)[2:] == (None, "")


classes = st.sampled_from(("ANY", "HDD", "SSD", "NVME", "HDDLVG", "SSDLVG", "SYSLVG"))
offered_classes = st.sampled_from(("HDD", "SSD", "HDDLVG", "SYSLVG"))
sizes = st.integers(1, 24 * MIB)
requests = st.lists(st.tuples(classes, sizes), max_size=5).map(
    lambda rows: [DiskRequest(f"v{number}", *row) for number, row in enumerate(rows)]
)
offers = st.lists(st.tuples(offered_classes, st.integers(0, 48 * MIB)), max_size=5).map(
    lambda rows: [DiskCapacity(f"c{number}", "n1", *row) for number, row in enumerate(rows)]
)
share_holds = st.lists(st.tuples(st.integers(0, 4), st.sampled_from(("HDDLVG", "SSD")), sizes), max_size=3)


@given(offers, share_holds, requests)
def test_no_capacity_is_promised_twice(capacities, held_rows, asked):
    """Whatever is planned: whole drives have one volume, and shares stay within what there is."""
    holds = [DiskHold("r", "p", "n1", f"c{number}", *row) for number, *row in held_rows]
    found = planned(capacities, asked, *holds)
    for disks in found.nodes:
        assert set(disks.chosen) == {each.name for each in asked}
        for each in capacities:
            here = [request for request in asked if disks.chosen[request.name] == each.name]
            on = [hold for hold in holds if hold.capacity == each.name]
            if not here:
                continue
            if not all(is_share(one.storage_class) for one in (*here, *on)):
                assert (len(here), len(on)) == (1, 0)
                assert here[0].size_bytes <= each.size_bytes
                continue
            room_bytes = each.size_bytes if each.is_group else group_bytes(each.size_bytes)
            assert sum(volume_bytes(one.size_bytes) for one in (*here, *on)) <= room_bytes


@given(offers, requests)
def test_a_proposed_change_helps(capacities, asked):
    for witness in planned(capacities, asked).witnesses:
        if witness.missing_bytes is None:
            continue
        assert witness.missing_bytes > 0
        refused = witness.requests[-1] if len(witness.requests) == 1 else None
        changes = []
        for number, each in enumerate(capacities):
            larger = DiskCapacity(
                each.name, "n1", each.storage_class, each.size_bytes + witness.missing_bytes
            )
            changes.append(([*capacities[:number], larger, *capacities[number + 1 :]], asked))
        for number, each in enumerate(asked):
            less = each.size_bytes - witness.missing_bytes
            if less > 0 and refused in {None, each.name}:
                smaller = DiskRequest(each.name, each.storage_class, less)
                changes.append((capacities, [*asked[:number], smaller, *asked[number + 1 :]]))
        assert any(planned(*change).nodes for change in changes)
