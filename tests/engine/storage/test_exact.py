from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from disk_judge import EXTENT, MIB, World, best_cost, cost, random_world, serves
from ullage.engine.storage import cover, exact, lattice, solving, witness
from ullage.engine.storage.exact import plan_nodes
from ullage.model.disk_plan import DiskCapacity, DiskHold, DiskPlan, DiskRequest, NodeDisks
from ullage.model.errors import InputError

GIB = 1 << 30
SEEDS = st.integers(min_value=0, max_value=1 << 32)


def world_of(seed: int, **shape: int) -> World:
    return random_world(Random(seed), **shape)  # noqa: S311 - hypothesis names the world


def planned(world: World) -> DiskPlan:
    return plan_nodes(world.capacities, world.holds, world.requests, world.nodes)


def cost_of(world: World, disks: NodeDisks) -> tuple[int, int] | None:
    """Return what the judge says of a plan; None if something does not fit."""
    here = [each for each in world.capacities if each.node == disks.node]
    held = [
        [hold for hold in world.holds if (hold.node, hold.capacity) == (disks.node, each.name)]
        for each in here
    ]
    places = {each.name: place for place, each in enumerate(here)}
    ways = [(request, places[disks.chosen[request.name]]) for request in world.requests]
    assert all(serves(here[place], held[place], request) for request, place in ways)
    return cost(here, held, ways)


def hdd(name: str, size_bytes: int, node: str = "n", **more: object) -> DiskCapacity:
    return DiskCapacity(name, node, "HDD", size_bytes, **more)


def group(name: str, size_bytes: int, node: str = "n") -> DiskCapacity:
    return DiskCapacity(name, node, "HDDLVG", size_bytes)


def share(name: str, size_bytes: int) -> DiskRequest:
    return DiskRequest(name, "HDDLVG", size_bytes)


def whole(name: str, size_bytes: int) -> DiskRequest:
    return DiskRequest(name, "HDD", size_bytes)


@settings(max_examples=400)
@given(SEEDS)
def test_a_node_serves_if_any_way_does_and_opens_and_strands_no_more_than_the_best_way(seed):
    world = world_of(seed, nodes=2)
    plan = planned(world)
    served = {disks.node: disks for disks in plan.nodes}
    for node in world.nodes:
        best = best_cost(world.capacities, world.holds, world.requests, node)
        assert (node in served) == (best is not None)
        if best is not None:
            disks = served[node]
            assert (len(disks.opened), disks.stranded_bytes) == best == cost_of(world, disks)
            assert disks.proven
            assert disks.opened_bound == len(disks.opened)
    assert {witness.node for witness in plan.witnesses} == set(world.nodes) - set(served)


@given(SEEDS)
def test_the_order_of_the_input_does_not_matter(seed):
    world = world_of(seed, nodes=3)
    plan = planned(world)
    random = Random(seed)  # noqa: S311 - hypothesis names the order
    for each in (world.capacities, world.holds, world.requests, world.nodes):
        random.shuffle(each)
    assert planned(world) == plan


@given(SEEDS)
def test_nodes_come_by_drives_opened_then_bytes_stranded_then_name(seed):
    plan = planned(world_of(seed, nodes=4, volumes=2))
    keys = [(len(disks.opened), disks.stranded_bytes, disks.node) for disks in plan.nodes]
    assert keys == sorted(keys)


@pytest.mark.parametrize(
    ("module", "name", "value"),
    [
        (lattice, "LOW_PAIRS_MAX", 3),
        (solving, "NEVER", 1 << 10),
        (solving, "PAIRS_MIN", 0),
        (cover, "POSSIBLE_PAIRS_MIN", 0),
        (witness, "SMALL_PAIRS_MAX", 0),
    ],
    ids=[
        "how sets are cut",
        "how large costs are",
        "drives that no best way opens",
        "parts that no drive can take",
        "conflicts that were seen while solving",
    ],
)
def test_what_only_saves_time_changes_no_plan(monkeypatch, module, name, value):
    worlds = [world_of(seed, drives=6, volumes=7) for seed in range(60)]
    plans = [planned(world) for world in worlds]
    monkeypatch.setattr(module, name, value)
    lattice.lattice.cache_clear()
    try:
        assert [planned(world) for world in worlds] == plans
    finally:
        lattice.lattice.cache_clear()
    assert any(len(disks.chosen) > 3 for plan in plans for disks in plan.nodes)


def test_twelve_volumes_fill_four_drives_to_the_last_extent():
    sizes = [[31, 17, 52], [44, 43, 13], [60, 29, 11], [23, 38, 39]]
    volumes = [share(f"v{size}", size * GIB) for drive in sizes for size in drive]
    drives = [hdd(f"d{place}", 100 * GIB + MIB) for place in range(4)]
    small = [hdd(f"s{place}", (91 + place) * GIB + MIB) for place in range(8)]
    (disks,) = plan_nodes([*small, *drives], [], volumes, ["n"]).nodes
    assert disks.opened == ("d0", "d1", "d2", "d3")
    assert disks.stranded_bytes == 0
    assert disks.proven


@pytest.mark.parametrize("in_use_bytes", [0, 4 * GIB])
def test_a_drive_that_has_just_what_the_rooms_in_use_leave_over_is_opened(in_use_bytes):
    volumes = [share(f"v{size}", size * GIB) for size in range(1, 7)]
    drives = [hdd(f"d{size}", size * GIB - in_use_bytes + MIB) for size in (20, 21, 30)]
    (disks,) = plan_nodes([group("g", in_use_bytes), *drives], [], volumes, ["n"]).nodes
    assert disks.opened == ("d21",)
    assert disks.stranded_bytes == 0


def test_whole_drives_go_to_the_drives_that_strand_least_whatever_their_number():
    volumes = [whole(f"v{number:02d}", (10 + number) * GIB) for number in range(20)]
    drives = [hdd(f"d{number:02d}", (11 + number) * GIB) for number in range(30)]
    (disks,) = plan_nodes(drives, [], volumes, ["n"]).nodes
    assert disks.chosen == {f"v{number:02d}": f"d{number:02d}" for number in range(20)}
    assert disks.stranded_bytes == 20 * GIB
    assert disks.opened == ()


def test_many_volumes_of_one_size_are_planned_to_proof():
    volumes = [share(f"v{number}", 30 * GIB) for number in range(40)]
    drives = [hdd(f"d{number:02d}", 100 * GIB) for number in range(20)]
    (disks,) = plan_nodes(drives, [], volumes, ["n"]).nodes
    assert (len(disks.opened), disks.proven) == (14, True)


def test_the_largest_sizes_are_counted_to_the_byte():
    most = 1 << 62
    volumes = [share(f"v{number:02d}", most // 2 + number * EXTENT) for number in range(12)]
    drives = [hdd(f"d{number:02d}", most - number * EXTENT) for number in range(12)]
    (disks,) = plan_nodes(drives, [], volumes, ["n"]).nodes
    group_bytes = sum(drive.size_bytes - EXTENT for drive in drives)
    assert len(disks.opened) == 12
    assert disks.stranded_bytes == group_bytes - sum(volume.size_bytes for volume in volumes)


@pytest.mark.parametrize(
    ("capacities", "requests", "chosen"),
    [
        ([hdd("b", 10 * GIB), hdd("a", 10 * GIB)], [whole("v", GIB)], {"v": "a"}),
        ([group("a", 9 * GIB), group("b", 8 * GIB)], [share("v", GIB)], {"v": "b"}),
        ([group("a", 9 * GIB), hdd("b", 2 * GIB)], [share("v", GIB)], {"v": "a"}),
        (
            [group("b", 9 * GIB), group("a", 9 * GIB)],
            [share("v", GIB), share("w", GIB)],
            {"v": "a", "w": "a"},
        ),
        ([hdd("b", 10 * GIB), hdd("a", 10 * GIB)], [whole("w", GIB), whole("v", GIB)], {"v": "a", "w": "b"}),
    ],
    ids=["first-name", "smaller-group", "group-before-drive", "as-few-as-can-be", "names-in-order"],
)
def test_among_equal_ways_the_first_capacities_are_taken(capacities, requests, chosen):
    (disks,) = plan_nodes(capacities, [], requests, ["n"]).nodes
    assert disks.chosen == chosen


def test_one_drive_less_is_worth_any_space_that_is_stranded():
    drives = [hdd("huge", 1 << 50), hdd("a", 51 * GIB), hdd("b", 51 * GIB)]
    (disks,) = plan_nodes(drives, [], [share("v", 50 * GIB), share("w", 50 * GIB)], ["n"]).nodes
    assert disks.opened == ("huge",)


def test_of_many_drives_that_are_alike_as_many_are_looked_at_as_may_be_needed():
    drives = [hdd(f"d{place}", 10 * GIB) for place in range(6)]
    volumes = [whole("v", 9 * GIB), whole("w", 9 * GIB), whole("x", 9 * GIB)]
    (disks,) = plan_nodes(drives, [], volumes, ["n"]).nodes
    assert disks.chosen == {"v": "d0", "w": "d1", "x": "d2"}


def test_a_drive_that_is_held_in_part_is_not_opened_again_and_has_less():
    drives = [hdd("d", 10 * GIB + MIB), hdd("e", 10 * GIB + MIB)]
    hold = DiskHold("r", "h", "n", "d", "HDDLVG", 4 * GIB + 1)
    room = 6 * GIB - EXTENT
    (disks,) = plan_nodes(drives, [hold], [share("v", room)], ["n"]).nodes
    assert (disks.chosen, disks.opened, disks.stranded_bytes) == ({"v": "d"}, (), 0)
    (disks,) = plan_nodes(drives, [hold], [share("v", room + 1)], ["n"]).nodes
    assert (disks.chosen, disks.opened) == ({"v": "e"}, ("e",))


def test_cold_drives_that_are_chosen_are_spun_up():
    drives = [hdd("d", 10 * GIB, cold=True), hdd("e", 20 * GIB, cold=True)]
    (disks,) = plan_nodes(drives, [], [whole("v", GIB)], ["n"]).nodes
    assert disks.spun_up == ("d",)


def test_a_plan_for_nothing_is_empty_on_every_node():
    plan = plan_nodes([hdd("d", GIB)], [], [], ["n", "m", "n"])
    assert plan == DiskPlan((NodeDisks("m", {}), NodeDisks("n", {})))


def test_only_nodes_that_are_asked_for_are_planned():
    plan = plan_nodes([hdd("d", GIB), hdd("d", GIB, node="m")], [], [whole("v", GIB)], ["n"])
    assert [disks.node for disks in plan.nodes] == ["n"]


def test_a_volume_without_a_size_has_no_place():
    (witness,) = plan_nodes([hdd("d", GIB)], [], [whole("v", 0)], ["n"]).witnesses
    assert witness.requests == ("v",)
    assert witness.reason == "v asks for 0 bytes: a volume has at least one"


@pytest.mark.parametrize(
    ("drive_bytes", "volume_bytes", "complaint"),
    [
        ((1 << 62) + 1, GIB, "d has 4611686018427387905; a disk has at most 4Ei"),
        (GIB, 5 << 60, "volume v asks for 5Ei; ask for at most 4Ei"),
    ],
)
def test_sizes_that_nobody_has_are_refused(drive_bytes, volume_bytes, complaint):
    with pytest.raises(InputError, match=complaint):
        plan_nodes([hdd("d", drive_bytes)], [], [whole("v", volume_bytes)], ["n"])


def test_where_nodes_are_many_fewer_pairs_are_looked_at(monkeypatch):
    monkeypatch.setattr(exact, "WORK_MAX", 8 * exact.PAIRS_MIN)
    volumes = [share(f"v{number:02d}", (10 + number) * GIB) for number in range(9)]
    drives = [hdd(f"d{place}", 80 * GIB, node) for node in ("m", "n") for place in range(4)]
    plan = plan_nodes(drives, [], volumes, ["m", "n"])
    assert [(len(disks.opened), disks.opened_bound) for disks in plan.nodes] == [(2, 2), (2, 2)]
