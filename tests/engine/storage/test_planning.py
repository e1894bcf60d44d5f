"""Which planner is asked, and what cannot be asked for at all."""

import pytest

from ullage.engine.storage.planning import CAPACITIES_MAX, HOLDS_MAX, REQUESTS_MAX, check_requests, plan
from ullage.model.disk_plan import DiskCapacity, DiskHold, DiskRequest
from ullage.model.errors import InputError
from ullage.model.quantity import INT64_MAX

MIB = 1 << 20
DRIVES = [DiskCapacity(name, "n1", "HDD", size * MIB) for name, size in (("a", 101), ("b", 201))]
HOLD = DiskHold("r", "p", "n1", "b", "HDDLVG", MIB)


def ask(name: str, mebibytes: int, storage_class: str = "HDDLVG") -> DiskRequest:
    return DiskRequest(name, storage_class, mebibytes * MIB)


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("exact", {"v": "b", "w": "b", "x": "b"}),
        ("compat", {"v": "a", "w": "a", "x": "b"}),
        ("zos", {"v": "b", "w": "b", "x": "a"}),
    ],
)
def test_each_mode_has_its_planner(mode, expected):
    """Exact opens one drive; compat begins with small volumes on the small drive, ZOS with the largest."""
    found = plan(mode, DRIVES, [], [ask("v", 40), ask("w", 60), ask("x", 80)], ["n1"])
    assert [dict(each.chosen) for each in found.nodes] == [expected]


@pytest.mark.parametrize(("mode", "waits_for"), [("exact", ()), ("compat", ("r",)), ("zos", ())])
def test_one_waits_in_mode_compat_alone(mode, waits_for):
    found = plan(mode, DRIVES, [HOLD], [ask("v", 40)], ["n1"])
    assert found.waits_for == waits_for
    assert bool(found.nodes) is not bool(waits_for)


def test_waiting_can_be_switched_off():
    assert plan("compat", DRIVES, [HOLD], [ask("v", 40)], ["n1"], few_drives=False).nodes


@pytest.mark.parametrize("mode", ["exact", "compat", "zos"])
def test_a_node_that_is_named_twice_is_answered_once(mode):
    found = plan(mode, DRIVES, [], [ask("v", 40)], ["n1", "n2", "n1", "n2"])
    assert [each.node for each in found.nodes] == ["n1"]
    assert [each.node for each in found.witnesses] == ["n2"]


@pytest.mark.parametrize(
    ("requests", "message"),
    [
        ([DiskRequest("v", "HDD", 0)], "volume v: a size of 0 bytes; use 1 to 9223372036854775807"),
        ([DiskRequest("v", "HDD", -1)], "volume v: a size of -1 bytes; use 1 to 9223372036854775807"),
        (
            [DiskRequest("v", "HDD", INT64_MAX + 1)],
            "volume v: a size of 9223372036854775808 bytes; use 1 to 9223372036854775807",
        ),
        (
            [DiskRequest("v", "TAPE", 1)],
            "volume v: unknown class TAPE; use one of ANY, HDD, SSD, NVME, HDDLVG, SSDLVG, NVMELVG, SYSLVG",
        ),
        (
            [DiskRequest("v", "HDD", 1), DiskRequest("v", "SSD", 2)],
            "volume v: asked for twice; give each volume a name of its own",
        ),
        (
            [DiskRequest(f"v{number}", "HDD", 1) for number in range(REQUESTS_MAX + 1)],
            f"{REQUESTS_MAX + 1} volumes at once; ask for at most {REQUESTS_MAX}",
        ),
    ],
)
def test_what_nobody_can_mean_is_refused(requests, message):
    with pytest.raises(InputError) as caught:
        plan("compat", DRIVES, [], requests, ["n1"])
    assert str(caught.value) == message


def test_the_least_and_the_largest_size_and_the_most_volumes_can_be_asked_for():
    check_requests([DiskRequest(f"v{number}", "ANY", INT64_MAX) for number in range(REQUESTS_MAX)])
    check_requests([DiskRequest("v", "SYSLVG", 1)])


@pytest.mark.parametrize(
    ("capacities", "holds", "message"),
    [
        (
            [DRIVES[0], DiskCapacity("a", "n1", "HDDLVG", MIB)],
            [],
            "node n1: a: two drives or groups of this name; give each of a node a name of its own",
        ),
        (
            DRIVES[:1] * (CAPACITIES_MAX + 1),
            [],
            f"{CAPACITIES_MAX + 1} drives and groups; ask about at most {CAPACITIES_MAX} at once",
        ),
        (
            DRIVES,
            [HOLD] * (HOLDS_MAX + 1),
            f"{HOLDS_MAX + 1} holds on disks; at most {HOLDS_MAX} can be looked at",
        ),
    ],
    ids=["one name twice", "too many drives", "too many holds"],
)
def test_disks_that_cannot_be_told_apart_or_are_too_many_are_refused(capacities, holds, message):
    with pytest.raises(InputError) as caught:
        plan("compat", capacities, holds, [ask("v", 1)], ["n1"])
    assert str(caught.value) == message


def test_drives_of_two_nodes_may_have_one_name():
    found = plan(
        "compat", [DRIVES[0], DiskCapacity("a", "n2", "HDD", 101 * MIB)], [], [ask("v", 1)], ["n1", "n2"]
    )
    assert [each.node for each in found.nodes] == ["n1", "n2"]


@pytest.mark.parametrize("mode", ["exact", "compat", "zos"])
def test_reasons_are_left_out_where_nobody_asks_why_and_the_plan_is_the_same(mode):
    capacities = [DiskCapacity("d", node, "HDD", size << 30) for node, size in (("n1", 9), ("n2", 2))]
    wanted = [DiskRequest("v", "HDD", 4 << 30)]
    told = plan(mode, capacities, (), wanted, ["n1", "n2"])
    untold = plan(mode, capacities, (), wanted, ["n1", "n2"], explains=False)
    assert [each.node for each in told.witnesses] == ["n2"]
    assert (untold.nodes, untold.witnesses) == (told.nodes, ())
