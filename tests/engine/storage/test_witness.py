from random import Random

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from disk_judge import EXTENT, MIB, best_cost, changes, random_world, smallest_conflict
from ullage.engine.storage import witness as witness_module
from ullage.engine.storage.exact import plan_nodes
from ullage.model.disk_plan import DiskCapacity, DiskRequest, DiskWitness

GIB = 1 << 30


def witnesses(seed: int) -> list[tuple[list, list, list[DiskRequest], DiskWitness]]:
    """Return the refusals of a world, each with the requests that it names."""
    world = random_world(Random(seed), nodes=2)  # noqa: S311 - hypothesis names the world
    plan = plan_nodes(world.capacities, world.holds, world.requests, world.nodes)
    return [
        (
            world.capacities,
            world.holds,
            [request for request in world.requests if request.name in witness.requests],
            witness,
        )
        for witness in plan.witnesses
    ]


@pytest.fixture(params=[0, witness_module.SMALL_PAIRS_MAX], ids=["smallest-first", "at-once"], scope="module")
def small_pairs_max(request):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(witness_module, "SMALL_PAIRS_MAX", request.param)
        yield request.param


@pytest.mark.usefixtures("small_pairs_max")
@settings(max_examples=150)
@given(st.integers(0, 1 << 32))
def test_a_witness_is_the_smallest_set_that_cannot_stand_and_the_first_of_those(seed):
    world = random_world(Random(seed), nodes=2)  # noqa: S311 - hypothesis names the world
    plan = plan_nodes(world.capacities, world.holds, world.requests, world.nodes)
    for witness in plan.witnesses:
        conflict = smallest_conflict(world.capacities, world.holds, world.requests, witness.node)
        assert witness.requests == conflict


@pytest.mark.usefixtures("small_pairs_max")
@settings(max_examples=150)
@given(st.integers(0, 1 << 32))
def test_what_is_missing_is_enough_and_a_byte_less_is_not(seed):
    for capacities, holds, requests, witness in witnesses(seed):
        node, missing_bytes = witness.node, witness.missing_bytes

        def helps(by_bytes: int) -> bool:
            worlds = changes(capacities, requests, node, by_bytes)  # noqa: B023 - called in this round only
            return any(best_cost(disks, holds, asked, node) for disks, asked in worlds)  # noqa: B023 - likewise

        if missing_bytes is None:
            assert not any(map(helps, (1, 100 * MIB, 10**15)))
        else:
            assert helps(missing_bytes)
            assert not helps(missing_bytes - 1)


@settings(max_examples=150)
@given(st.integers(0, 1 << 32))
def test_where_no_size_helps_one_more_drive_does(seed):
    for capacities, holds, requests, witness in witnesses(seed):
        if witness.missing_bytes is not None or {each.storage_class for each in requests} == {"SYSLVG"}:
            continue
        size = witness.remedy.partition(" of at least ")[2].split()[0]
        units = {"Gi": GIB, "Mi": MIB, "Ki": 1 << 10}
        assert size[-2:] in units
        size_bytes = int(size[:-2]) * units[size[-2:]]
        drive_class = witness.remedy.partition("one more ")[2].split()[0]
        group = requests[0].storage_group
        one_more = DiskCapacity("new", witness.node, drive_class.replace("drive", "HDD"), size_bytes, group)
        assert best_cost([*capacities, one_more], holds, requests, witness.node) is not None
        smaller = msgspec.structs.replace(one_more, size_bytes=size_bytes - 1)
        assert best_cost([*capacities, smaller], holds, requests, witness.node) is None


def test_a_set_of_eight_is_found_among_twelve():
    drives = [DiskCapacity(f"d{place}", "n", "HDD", 60 * GIB) for place in range(7)]
    small = DiskCapacity("small", "n", "HDDLVG", 10 * GIB)
    volumes = [DiskRequest(f"v{place:02d}", "HDDLVG", 40 * GIB + place) for place in range(8)]
    others = [DiskRequest(f"w{place}", "HDDLVG", 2 * GIB + place) for place in range(4)]
    (witness,) = plan_nodes([*drives, small], [], [*volumes, *others], ["n"]).witnesses
    assert witness.requests == tuple(f"v{place:02d}" for place in range(8))
    assert witness.missing_bytes == 20 * GIB + EXTENT + 1


def test_many_whole_drives_are_reduced_to_those_that_matter():
    sizes = [*range(10, 30), 90, 95, 99]
    volumes = [DiskRequest(f"v{size}", "HDD", size * GIB) for size in sizes]
    drives = [
        DiskCapacity(f"d{place:02d}", "n", "HDD", (100 if place < 2 else 50) * GIB) for place in range(40)
    ]
    (witness,) = plan_nodes(drives, [], volumes, ["n"]).witnesses
    assert witness.requests == ("v90", "v95", "v99")
    assert witness.missing_bytes == 40 * GIB
