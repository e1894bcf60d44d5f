"""Rules of fragmented space: what counts as a piece, what is largest, what is stranded."""

from itertools import count

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import cluster, node, policy
from disk_judge import best_cost
from ullage.engine.columns import Columns
from ullage.engine.storage.capacities import by_ledger_name, capacities_of, holds_of
from ullage.engine.storage.fragmentation import Piece, pieces_of, space_of
from ullage.model.disk_plan import DiskRequest
from ullage.model.drives import Drive, PlacedVolume, ThinPool, VolumeGroup
from ullage.model.ledger import VOLUME_SPACE, WHOLE_DRIVE
from ullage.model.ledger_entry import LedgerEntry
from ullage.model.resources import Resources

MIB = 1 << 20
EXTENT = 4 * MIB
GIB = 1 << 30


def hdd(uuid, gib=10, **fields):
    return Drive(uuid, "HDD", gib * GIB, **fields)


def server(name, *drives, groups=(), volumes=(), **fields):
    return node(name, cpu="8").with_(drives=drives, volume_groups=groups, placed_volumes=volumes, **fields)


def vg(name, free, size=10 * GIB, **fields):
    return VolumeGroup(name, "HDD", size, free, **fields)


def held(drive, resources, state="RESERVED"):
    return LedgerEntry("r", drive, drive, "web/p", Resources(resources), state, expires_seconds=9)


def spaces(*parts, sizes=None, **fields):
    found = space_of(Columns(cluster(*parts, **fields)), sizes=(sizes or {}).get)
    return {(each.storage_class, each.storage_group): each for each in found}


def test_a_fresh_drive_can_be_had_whole_or_as_a_group():
    found = spaces(server("n1", hdd("a")))
    assert found["HDD", ""].largest == Piece("n1", "a", 10 * GIB, fresh=True, extent_bytes=0)
    assert found["HDDLVG", ""].largest == Piece("n1", "a", 10 * GIB - EXTENT, fresh=True, extent_bytes=EXTENT)


def test_what_a_policy_keeps_back_is_not_free_and_what_a_pool_may_have_is():
    rules = policy(volume_group_spare="1Gi", thin_pool_ratio="3/2")
    group = vg("vg", 4 * GIB, thin_pools=(ThinPool("slim", 4 * GIB, GIB),))
    found = spaces(server("n1", groups=(group,)), policy=rules)["HDDLVG", ""]
    assert (found.free_bytes, found.pieces) == (3 * GIB + 5 * GIB, 2)
    assert found.largest == Piece("n1", "vg/slim", 5 * GIB, fresh=False, extent_bytes=EXTENT)


@pytest.mark.parametrize(
    "drive",
    [
        hdd("a", health="BAD"),
        hdd("a", status="OFFLINE"),
        hdd("a", clean=False),
        hdd("a", system=True),
        hdd("a", tainted=True),
        hdd("a", usage="RELEASING"),
    ],
    ids=lambda drive: f"{drive.health} {drive.status} {drive.usage} {drive.clean}",
)
def test_a_drive_that_offers_nothing_is_no_piece(drive):
    assert spaces(server("n1", drive)) == {}


def test_what_is_free_is_more_than_the_largest_volume():
    found = spaces(
        server("n1", groups=[vg("x", 3 * GIB), vg("y", 5 * GIB)]), server("n2", groups=[vg("z", GIB)])
    )
    space = found["HDDLVG", ""]
    assert (space.free_bytes, space.pieces) == (9 * GIB, 3)
    assert (space.largest.node, space.largest.place, space.largest.free_bytes) == ("n1", "y", 5 * GIB)


def test_of_equal_pieces_a_group_in_use_comes_before_a_fresh_drive_and_then_the_first_name():
    fresh = Drive("a", "HDD", 5 * GIB + EXTENT)
    found = spaces(server("n1", fresh, groups=[vg("z", 5 * GIB), vg("y", 5 * GIB)]))
    assert found["HDDLVG", ""].largest.place == "y"


@pytest.mark.parametrize(
    ("size", "volumes", "stranded"),
    [
        (5 * GIB, 1, 4 * GIB),
        (3 * GIB, 2, 3 * GIB),
        (2 * GIB, 3, 3 * GIB),
        (6 * GIB, 0, 9 * GIB),
        (GIB + 1, 6, 9 * GIB - 6 * (GIB + EXTENT)),
    ],
)
def test_stranded_is_what_whole_volumes_of_a_size_leave(size, volumes, stranded):
    nodes = server("n1", groups=[vg("x", 3 * GIB), vg("y", 5 * GIB)]), server("n2", groups=[vg("z", GIB)])
    space = spaces(*nodes, sizes={"HDDLVG": size})["HDDLVG", ""]
    assert (space.size_bytes, space.volumes, space.stranded_bytes) == (size, volumes, stranded)


def test_a_whole_drive_strands_all_beyond_one_volume():
    space = spaces(server("n1", hdd("a"), hdd("b", 2)), sizes={"HDD": 3 * GIB})["HDD", ""]
    assert (space.volumes, space.stranded_bytes) == (1, 7 * GIB + 2 * GIB)


def test_unless_a_size_is_asked_for_it_is_the_middle_one_of_the_volumes_that_exist():
    volumes = [PlacedVolume(f"v{size}", "x", size * GIB) for size in (1, 2, 4)]
    space = spaces(server("n1", groups=[vg("x", 3 * GIB)], volumes=volumes))["HDDLVG", ""]
    assert space.size_bytes == 2 * GIB
    assert spaces(server("n1", groups=[vg("x", 3 * GIB)]))["HDDLVG", ""].size_bytes == 3 * GIB


def test_a_full_class_is_told_with_nothing_free():
    space = spaces(server("n1", groups=[vg("x", 0)], volumes=[PlacedVolume("v", "x", 10 * GIB)]))[
        "HDDLVG", ""
    ]
    assert (space.free_bytes, space.pieces, space.largest, space.volumes) == (0, 0, None, 0)


def test_what_is_promised_is_not_free():
    shares = held("drive/n1/a", {VOLUME_SPACE: 4 * GIB})
    found = spaces(server("n1", hdd("a")), shares)
    assert set(found) == {("HDDLVG", "")}
    assert found["HDDLVG", ""].free_bytes == 6 * GIB - EXTENT
    assert not found["HDDLVG", ""].largest.fresh
    whole = held("drive/n1/a", {WHOLE_DRIVE: 1, VOLUME_SPACE: 10 * GIB - EXTENT})
    assert spaces(server("n1", hdd("a")), whole) == {}


@pytest.mark.parametrize(
    ("extent", "size", "left"), [(GIB, 3 * GIB // 2, 4 * GIB), (MIB, 5 * MIB, 8 * GIB - 10 * MIB)]
)
def test_promises_in_a_group_are_counted_in_its_own_extents(extent, size, left):
    promise = held("group/n1/x", {VOLUME_SPACE: size})
    both = promise, msgspec.structs.replace(promise, request="other")
    space = spaces(server("n1", groups=[vg("x", 8 * GIB, extent_bytes=extent)]), *both)["HDDLVG", ""]
    assert space.free_bytes == left


def test_volumes_in_a_group_are_counted_in_its_own_extents():
    space = spaces(server("n1", groups=[vg("x", 3 * GIB, extent_bytes=GIB)]))["HDDLVG", ""]
    assert space.largest.volumes(GIB + 1) == 1


def test_nodes_that_take_nothing_new_are_told_apart():
    found = spaces(server("n1", hdd("a")), server("n2", hdd("b"), state="cordoned"))
    assert (found["HDD", ""].free_bytes, found["HDD", ""].blocked_bytes) == (10 * GIB, 10 * GIB)


def test_storage_groups_share_nothing():
    found = spaces(server("n1", hdd("a"), hdd("b", storage_group="fast")))
    assert {kind: each.pieces for kind, each in found.items()} == {
        ("HDD", ""): 1,
        ("HDD", "fast"): 1,
        ("HDDLVG", ""): 1,
        ("HDDLVG", "fast"): 1,
    }


def test_where_drives_are_shared_each_is_a_piece_that_volumes_fill():
    volumes = [PlacedVolume("v", "a", 3 * GIB)]
    shared = policy(storage_mode="zos")
    space = spaces(server("n1", hdd("a"), volumes=volumes), policy=shared, sizes={"HDD": 2 * GIB})
    assert set(space) == {("HDD", "")}
    assert (space["HDD", ""].free_bytes, space["HDD", ""].volumes) == (7 * GIB, 3)


SIZES = st.integers(1, 24).map(lambda extents: extents * MIB)


@st.composite
def nodes(draw):
    numbers = count()
    groups = []
    drives = [
        Drive(f"d{next(numbers)}", "HDD", draw(SIZES), tainted=draw(st.booleans()))
        for _ in range(draw(st.integers(0, 3)))
    ]
    for _ in range(draw(st.integers(0, 2))):
        extent = draw(st.sampled_from([MIB, EXTENT]))
        groups.append(VolumeGroup(f"g{next(numbers)}", "HDD", 30 * MIB, draw(SIZES), extent))
    promises = []
    for each in draw(st.lists(st.sampled_from(drives + groups), max_size=2)) if drives or groups else ():
        kind = "drive" if isinstance(each, Drive) else "group"
        whole = kind == "drive" and draw(st.booleans())
        taken = {VOLUME_SPACE: draw(SIZES)} | ({WHOLE_DRIVE: 1} if whole else {})
        promises.append(
            msgspec.structs.replace(
                held(f"{kind}/n1/{each.name if kind == 'group' else each.uuid}", taken),
                request=f"p{next(numbers)}",
            )
        )
    return server("n1", *drives, groups=groups).record, promises


@given(made=nodes(), storage_class=st.sampled_from(["HDD", "HDDLVG"]), size=SIZES)
@settings(max_examples=150)
def test_the_largest_volume_has_a_place_and_no_larger_one_has(made, storage_class, size):
    record, promises = made
    capacities = capacities_of(record)
    holds = holds_of(promises, by_ledger_name(record, capacities))
    pieces = [piece for (found, _), piece in pieces_of(capacities, holds) if found == storage_class]

    def has_place(*sizes):
        asked = [DiskRequest(f"v{place}", storage_class, each) for place, each in enumerate(sizes)]
        return best_cost(capacities, holds, asked, "n1") is not None

    largest = max((piece.free_bytes for piece in pieces), default=0)
    assert not largest or has_place(largest)
    assert not has_place(largest + 1)
    volumes = sum(piece.volumes(size) for piece in pieces)
    few = min(volumes, 4)
    assert has_place(*[size] * few)
    assert volumes >= 4 or not has_place(*[size] * (volumes + 1))
