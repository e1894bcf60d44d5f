"""What a workload asks of local disks: each volume once, and only what has none yet."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import claim, cluster, node, pod, waiting
from ullage.engine.storage.disk_requests import disk_requests
from ullage.engine.storage.planning import check_requests
from ullage.model.cluster import Volume
from ullage.model.disk_plan import DiskRequest
from ullage.model.drives import PlacedVolume
from ullage.model.storage import StorageClass

GIB = 1 << 30
SHARES = StorageClass("shares", "csi-baremetal", "WaitForFirstConsumer", parameters={"storageType": "HDDLVG"})
OTHER = StorageClass("other", "csi.example.com", "WaitForFirstConsumer")
ON_DISK = (
    node("n1").with_drive("d", "HDD", "1Ti").with_(placed_volumes=(PlacedVolume("pv", "d", 1, "ml/data"),))
)
OWN = DiskRequest("w-v", "HDD", GIB, claim="ml/w-v")
DATA = DiskRequest("data", "HDDLVG", GIB, claim="ml/data")


def wants(*volumes, name="ml/w", **fields):
    return waiting(name, volumes=volumes, **fields)


def inline(name, storage_class, driver="csi-baremetal", **fields):
    return Volume(name, "", storage_class, GIB, inline=True, driver=driver, **fields)


# Each row: objects, the volumes of a workload ml/w, and what it asks for.
ASKED = {
    "a claim that waits asks for what it says": (
        [SHARES, claim("ml/data", "1Gi", storage_class="shares", storage_group="fast")],
        [Volume("v", "data", "ignored", 5)],
        [DiskRequest("data", "HDDLVG", GIB, "fast", claim="ml/data")],
    ),
    "a claim that is bound asks for nothing": (
        [SHARES, claim("ml/data", "1Gi", storage_class="shares", bound=True)],
        [Volume("v", "data")],
        [],
    ),
    "nor does one whose volume is named already": (
        [SHARES, claim("ml/data", "1Gi", storage_class="shares", volume="pv")],
        [Volume("v", "data")],
        [],
    ),
    "nor one whose volume is on a disk already": (
        [
            SHARES,
            claim("ml/data", "1Gi", storage_class="shares"),
            ON_DISK,
        ],
        [Volume("v", "data")],
        [],
    ),
    "a claim of another namespace is another claim": (
        [SHARES, claim("web/data", "1Gi", storage_class="shares", bound=True)],
        [Volume("v", "data", "shares", GIB)],
        [DATA],
    ),
    "a claim that is not there yet asks for what the volume says": (
        [SHARES],
        [Volume("v", "data", "shares", GIB, storage_group="fast")],
        [DiskRequest("data", "HDDLVG", GIB, "fast", claim="ml/data")],
    ),
    "it has the default class where it names none": (
        [msgspec.structs.replace(SHARES, default=True)],
        [Volume("v", "data", "", GIB)],
        [DATA],
    ),
    "a claim that is there and names no class has none": (
        [msgspec.structs.replace(SHARES, default=True), claim("ml/data", "1Gi")],
        [Volume("v", "data", "", GIB)],
        [],
    ),
    "disks of others are no matter": ([OTHER], [Volume("v", "data", "other", GIB)], []),
    "one of the eight names needs no class": ([], [Volume("v", "data", "HDDLVG", GIB)], [DATA]),
    "two volumes of one claim are one": (
        [],
        [Volume("a", "data", "HDDLVG", GIB), Volume("b", "data", "HDDLVG", GIB)],
        [DATA],
    ),
    "an inline volume is called after its workload": (
        [],
        [inline("v", "ssd")],
        [DiskRequest("w-v", "SSD", GIB)],
    ),
    "one of any drive": ([], [inline("v", "")], [DiskRequest("w-v", "ANY", GIB)]),
    "one of another driver is no matter": ([], [inline("v", "SSD", driver="csi.example.com")], []),
    "one without a driver goes by its class": (
        [],
        [inline("v", "SSD", driver="")],
        [DiskRequest("w-v", "SSD", GIB)],
    ),
    "a virtual disk stays one": (
        [],
        [inline("v", "SSD", driver="", virtual_disk=True, storage_group="g")],
        [DiskRequest("w-v", "SSD", GIB, "g", virtual_disk=True)],
    ),
    "names that meet are told apart": (
        [],
        [Volume("a", "w-v", "HDD", GIB), inline("v", "SSD"), inline("v", "HDD")],
        [OWN, DiskRequest("w-v-2", "SSD", GIB), DiskRequest("w-v-3", "HDD", GIB)],
    ),
    "a claim has its own name, whoever comes first": (
        [],
        [inline("v", "SSD"), Volume("a", "w-v", "HDD", GIB)],
        [OWN, DiskRequest("w-v-2", "SSD", GIB)],
    ),
    "no volumes, no requests": ([SHARES], [], []),
}


@pytest.mark.parametrize(("objects", "volumes", "expected"), ASKED.values(), ids=ASKED)
def test_a_workload_asks(objects, volumes, expected):
    assert disk_requests(wants(*volumes), cluster(*objects)) == tuple(expected)


RUNNING = {
    "a volume that goes with it is asked for again elsewhere": (True, 1),
    "a claim of its own stays where it is": (False, 0),
}


@pytest.mark.parametrize(("goes_along", "count"), RUNNING.values(), ids=RUNNING)
def test_of_a_workload_that_runs(goes_along, count):
    held = claim("ml/w-v", "1Gi", storage_class="shares", bound=True)
    running = pod("ml/w", volumes=(Volume("v", "w-v", "shares", GIB, inline=goes_along),))
    snapshot = cluster(SHARES, held, node("n1").holding(running))
    assert len(disk_requests(snapshot.workloads["ml/w"], snapshot)) == count


volumes = st.builds(
    Volume,
    st.sampled_from("abc"),
    st.sampled_from(("", "data", "w-a")),
    st.sampled_from(("HDD", "HDDLVG", "shares", "none")),
    st.integers(1, GIB),
    st.booleans(),
    st.sampled_from(("", "csi-baremetal", "csi.example.com")),
)


@given(st.lists(volumes, max_size=8))
def test_whatever_a_workload_has_a_planner_takes(found):
    requests = disk_requests(wants(*found), cluster(SHARES))
    check_requests(requests)
    assert [each.name for each in requests] == sorted(each.name for each in requests)
    claims = {each.claim for each in found if each.claim and each.storage_class != "none"}
    assert len(requests) <= len(claims) + sum(not each.claim for each in found)
