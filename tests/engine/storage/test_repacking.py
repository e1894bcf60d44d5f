"""Rules of repacks: which groups can be emptied into others of their node, and which is the cheapest."""

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import node
from ullage.engine.storage.capacities import capacities_of
from ullage.engine.storage.repacking import Repack, candidates_on, cheapest
from ullage.model.disk_plan import DiskHold
from ullage.model.drives import Drive, PlacedVolume, ThinPool, VolumeGroup

MIB = 1 << 20
EXTENT = 4 * MIB
SIZE = 100 * EXTENT
SHARES = ("HDDLVG", "")


def server(volumes, *, drive=None, **groups):
    """A node with groups on one drive each; `volumes` has their sizes in extents by group."""
    drives = tuple(drive or Drive(f"d-{name}", "HDD", SIZE + EXTENT, clean=False) for name in volumes)
    made = tuple(
        VolumeGroup(name, "HDD", SIZE, SIZE - sum(sizes) * EXTENT, drives=(f"d-{name}",), **groups)
        for name, sizes in volumes.items()
    )
    placed = tuple(
        PlacedVolume(f"{name}{place}", name, size * EXTENT)
        for name, sizes in volumes.items()
        for place, size in enumerate(sizes)
    )
    return node("n1").with_(drives=drives, volume_groups=made, placed_volumes=placed).record


def repack(record, holds=()):
    return cheapest(candidates_on(record, capacities_of(record), holds)).get(SHARES)


def test_the_group_with_the_fewest_bytes_is_emptied_and_its_drive_is_whole_again():
    assert repack(server({"a": (30, 20), "b": (40,), "c": (70,)})) == Repack(
        "n1", "b", "d-b", SIZE + EXTENT, 40 * EXTENT, (("b0", "a"),)
    )


def test_volumes_of_one_group_may_go_to_several():
    assert repack(server({"a": (10, 40), "b": (60,), "c": (90,)})).moves == (("a0", "c"), ("a1", "b"))


def test_what_has_no_room_elsewhere_stays():
    assert repack(server({"a": (60,), "b": (60,)})) is None


def test_a_group_with_a_thin_pool_is_not_emptied():
    assert repack(server({"a": (40,), "b": (50,)})) is not None
    assert repack(server({"a": (40,), "b": (50,)}, thin_pools=(ThinPool("slim", EXTENT),))) is None


def test_a_fresh_drive_is_not_opened_for_it():
    record = server({"a": (60,), "b": (60,)})
    assert (
        repack(
            node("n1")
            .with_(
                drives=(*record.drives, Drive("new", "HDD", SIZE)),
                volume_groups=record.volume_groups,
                placed_volumes=record.placed_volumes,
            )
            .record
        )
        is None
    )


@pytest.mark.parametrize("state", [{"health": "BAD"}, {"status": "OFFLINE"}, {"usage": "FAILED"}])
def test_a_drive_that_would_offer_nothing_is_not_emptied(state):
    record = server({"a": (10,)}, drive=Drive("d-a", "HDD", SIZE, **state))
    room = VolumeGroup("other", "HDD", SIZE, SIZE)
    assert (
        repack(
            node("n1")
            .with_(
                drives=record.drives,
                volume_groups=(*record.volume_groups, room),
                placed_volumes=record.placed_volumes,
            )
            .record
        )
        is None
    )


def test_a_group_with_volumes_that_nobody_names_is_not_emptied():
    record = server({"a": (10,), "b": (20,)})
    known = tuple(each for each in record.placed_volumes if each.name != "a0")
    found = repack(
        node("n1")
        .with_(drives=record.drives, volume_groups=record.volume_groups, placed_volumes=known)
        .record
    )
    assert found.group == "b"


def test_a_group_in_which_something_is_promised_is_not_emptied():
    record = server({"a": (10,), "b": (20,)})
    assert repack(record, (DiskHold("r", "v", "n1", "a", "HDDLVG", EXTENT),)).group == "b"


def test_what_is_promised_in_another_group_is_not_room():
    record = server({"a": (30,), "b": (60,)})
    assert repack(record).group == "a"
    assert repack(record, (DiskHold("r", "v", "n1", "b", "HDDLVG", 20 * EXTENT),)) is None


@given(
    volumes=st.dictionaries(
        st.sampled_from("abcd"),
        st.lists(st.integers(1, 50), max_size=3).filter(lambda each: sum(each) <= 100),
        min_size=1,
    )
)
@settings(max_examples=100)
def test_nothing_cheaper_can_be_done(volumes):
    free = {name: 100 - sum(sizes) for name, sizes in volumes.items()}

    def can_be_emptied(name):
        others = [each for each in volumes if each != name]
        for places in product(others, repeat=len(volumes[name])):
            used = dict.fromkeys(others, 0)
            for place, size in zip(places, volumes[name], strict=True):
                used[place] += size
            if all(used[each] <= free[each] for each in others):
                return True
        return False

    costs = [sum(sizes) * EXTENT for name, sizes in volumes.items() if sizes and can_be_emptied(name)]
    found = repack(server(volumes))
    assert (found.moved_bytes if found else None) == min(costs, default=None)
