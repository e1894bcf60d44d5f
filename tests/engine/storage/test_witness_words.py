import pytest

from ullage.engine.storage.exact import plan_nodes
from ullage.model.disk_plan import DiskCapacity, DiskHold, DiskRequest, DiskWitness

GIB, MIB = 1 << 30, 1 << 20
GROUP = DiskCapacity("g1", "n", "HDDLVG", 50 * GIB)
DRIVE = DiskCapacity("d1", "n", "HDD", 93 * GIB)
SHARE = "that much of one HDDLVG group or HDD drive"
HELD = DiskHold("r", "h", "n", "d1", "HDDLVG", GIB)


def witness_of(capacities: list[DiskCapacity], requests: list[DiskRequest], *holds: DiskHold) -> DiskWitness:
    (witness,) = plan_nodes(capacities, holds, requests, ["n"]).witnesses
    return witness


@pytest.mark.parametrize(
    ("capacities", "request_", "reason", "remedy"),
    [
        (
            [GROUP, DRIVE],
            DiskRequest("data", "HDD", 100 * GIB),
            "data (100Gi) needs a whole HDD drive; the largest free, d1, has 93Gi",
            "it fits if d1 is 7Gi larger or data is 7Gi smaller",
        ),
        (
            [GROUP],
            DiskRequest("data", "HDDLVG", 60 * GIB),
            f"data (60Gi) needs {SHARE}; the largest free, g1, has 50Gi",
            "it fits if data is 10Gi smaller or g1 is 10Gi larger",
        ),
        (
            [DRIVE],
            DiskRequest("data", "HDDLVG", 93 * GIB - 1),
            f"data (93Gi) needs {SHARE}; the largest free, d1, has 99853795328 bytes for 99857989631",
            "it fits if d1 is 1Mi larger or data is 4Mi (4194303 bytes) smaller",
        ),
        (
            [],
            DiskRequest("data", "SSD", 100 * GIB + 1, "fast"),
            "data (100Gi) needs a whole SSD drive of storage group fast; there is none",
            "it fits with one more SSD drive of at least 102401Mi in storage group fast",
        ),
        (
            [DRIVE],
            DiskRequest("log", "SYSLVG", GIB),
            "log (1Gi) needs that much of the SYSLVG group; there is none",
            "it fits only if the system drive has a SYSLVG group: it goes to no other drive",
        ),
        (
            [],
            DiskRequest("data", "ANY", GIB),
            "data (1Gi) needs a whole drive; there is none",
            "it fits with one more drive of at least 1Gi",
        ),
    ],
)
def test_one_volume_that_fits_nowhere_is_told_with_the_nearest_room(capacities, request_, reason, remedy):
    witness = witness_of(capacities, [request_])
    assert witness.requests == (request_.name,)
    assert witness.reason == reason
    assert witness.remedy == remedy


def test_drives_that_are_not_to_be_had_are_counted():
    tainted = DiskCapacity("d2", "n", "HDD", 93 * GIB, tainted=True)
    broken = DiskCapacity("d3", "n", "HDD", 0)
    witness = witness_of([DRIVE, tainted, broken], [DiskRequest("data", "HDD", GIB)], HELD)
    assert (
        witness.reason == "data (1Gi) needs a whole HDD drive; none is free: 1 held, 1 not usable, 1 tainted"
    )


@pytest.mark.parametrize(
    ("has", "wants", "told"),
    [("gold", "", "1 of storage group gold"), ("", "gold", "1 of no storage group")],
)
def test_drives_of_another_storage_group_are_counted(has, wants, told):
    drive = DiskCapacity("d2", "n", "HDD", 93 * GIB, storage_group=has)
    witness = witness_of([drive], [DiskRequest("data", "HDD", GIB, wants)])
    assert witness.reason.endswith(f"; none is free: {told}")


def test_volumes_that_fit_one_by_one_are_told_with_the_rooms_they_fit_in():
    requests = [DiskRequest("a", "HDDLVG", 60 * GIB), DiskRequest("b", "HDD", 60 * GIB)]
    witness = witness_of([GROUP, DRIVE], requests)
    assert witness.requests == ("a", "b")
    assert witness.reason == "a (HDDLVG 60Gi) and b (HDD 60Gi) fit one by one but not together on d1 (93Gi)"
    assert witness.remedy == "they fit if a is 10Gi smaller or g1 is 10Gi larger"


def test_long_lists_are_cut_short():
    requests = [DiskRequest(f"v{place}", "HDDLVG", 60 * GIB) for place in range(9)]
    drives = [DiskCapacity(f"d{place}", "n", "HDD", 70 * GIB) for place in range(8)]
    witness = witness_of(drives, requests)
    assert len(witness.requests) == 9
    assert " and 6 more fit one by one but not together on " in witness.reason
    assert witness.reason.endswith("d2 (70Gi) and 5 more")
