import pytest

from ullage.engine.storage.components import components_of
from ullage.engine.storage.rooms import NOT_WHOLE, Room, rooms_of
from ullage.model.disk_plan import DiskCapacity, DiskHold, DiskRequest

MIB = 1 << 20
EXTENT = 4 * MIB
SHARE, WHOLE = DiskRequest("v", "HDDLVG", MIB), DiskRequest("w", "HDD", MIB)


def room_of(capacity: DiskCapacity, *holds: DiskHold) -> Room | None:
    (rooms,) = rooms_of(components_of([SHARE, WHOLE]), [capacity], holds, ["n"])
    return next((Room._make(row) for row in rooms.by_node["n"]), None)


def hold(storage_class: str, size_bytes: int) -> DiskHold:
    return DiskHold("r", "h", "n", "d", storage_class, size_bytes)


@pytest.mark.parametrize(
    ("storage_class", "size_bytes", "extents", "mebibytes"),
    [
        ("HDD", 25 * EXTENT, 24, 100),
        ("HDD", 25 * EXTENT + MIB, 25, 101),
        ("HDD", 25 * EXTENT + MIB - 1, 24, 100),
        ("HDDLVG", 25 * EXTENT, 25, NOT_WHOLE),
        ("HDDLVG", 25 * EXTENT - 1, 24, NOT_WHOLE),
    ],
)
def test_a_drive_offers_itself_or_its_group_and_a_group_its_extents(
    storage_class, size_bytes, extents, mebibytes
):
    room = room_of(DiskCapacity("d", "n", storage_class, size_bytes))
    assert room is not None
    assert (room.extents, room.mebibytes) == (extents, mebibytes)


def test_every_held_volume_is_rounded_up_on_its_own():
    room = room_of(
        DiskCapacity("d", "n", "HDD", 25 * EXTENT + MIB), hold("HDDLVG", 1), hold("HDDLVG", EXTENT + 1)
    )
    assert room is not None
    assert (room.extents, room.mebibytes) == (22, NOT_WHOLE)


def test_a_group_counts_in_its_own_extents():
    room = room_of(DiskCapacity("d", "n", "HDDLVG", 100 * MIB, extent_bytes=32 * MIB), hold("HDDLVG", 1))
    assert room is not None
    assert room.extents == 2


@pytest.mark.parametrize(
    ("capacity", "holds", "reason"),
    [
        (DiskCapacity("d", "n", "HDD", EXTENT, tainted=True), (), "tainted"),
        (DiskCapacity("d", "n", "HDD", 0), (), "not usable"),
        (DiskCapacity("d", "n", "HDD", EXTENT), (hold("HDD", 1),), "held"),
        (DiskCapacity("d", "n", "HDD", EXTENT), (hold("ANY", 1), hold("HDDLVG", 1)), "held"),
    ],
)
def test_what_takes_nothing_is_counted_by_reason(capacity, holds, reason):
    (rooms,) = rooms_of(components_of([SHARE]), [capacity], holds, ["n"])
    assert rooms.by_node == {"n": []}
    assert rooms.barred == {"n": {reason: 1}}


@pytest.mark.parametrize(
    "capacity",
    [
        DiskCapacity("d", "n", "SSD", EXTENT),
        DiskCapacity("d", "n", "SYSLVG", EXTENT),
        DiskCapacity("d", "n", "HDD", EXTENT, storage_group="g"),
        DiskCapacity("d", "m", "HDD", EXTENT),
    ],
)
def test_other_classes_storage_groups_and_nodes_are_not_looked_at(capacity):
    (rooms,) = rooms_of(components_of([SHARE]), [capacity], [], ["n"])
    assert rooms.by_node == {"n": []}
    assert rooms.barred == {}
