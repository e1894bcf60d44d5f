"""The driver's objects are put together again only when something changed that they may be about."""

import pytest

from sources.kubernetes.api.object_pool import BAREMETAL, GIB, stored
from ullage.model.cluster import Volume, Workload
from ullage.sources.kubernetes.api.mirrored_disks import MirroredDisks, ReservationFacts
from ullage.sources.kubernetes.baremetal import Offered
from ullage.sources.kubernetes.baremetal_objects import DECODERS
from ullage.sources.kubernetes.wire import NodeMetadata

DRIVE = stored(BAREMETAL, "Drive", "d", spec={"Type": "HDD", "Size": GIB, "NodeId": "n1"})
OWNED = stored(
    BAREMETAL,
    "Volume",
    "v",
    namespace="team",
    spec={"Location": "d", "Size": 1, "Ephemeral": True, "Owners": ["web"]},
)
RESERVED = stored(BAREMETAL, "AvailableCapacityReservation", "team-db", spec={})


class Asked:
    """Pods that may be consumers, and how often they were asked for."""

    def __init__(self) -> None:
        self.questions: list[tuple[set[str], set[tuple[str, str]]]] = []

    def __call__(self, reservations, owners) -> list[Workload]:
        self.questions.append((set(reservations), set(owners)))
        return []


@pytest.fixture
def disks() -> MirroredDisks:
    found = MirroredDisks()
    found.node("n1", NodeMetadata("n1"))
    for each in (DRIVE, OWNED, RESERVED):
        found.put(each.kind, each.key, each.text)
    return found


def test_it_asks_for_the_pods_that_volumes_and_reservations_name(disks):
    asked = Asked()
    changed, _ = disks.refresh(["n1"], {}, {}, asked)
    assert changed == {"n1"}
    assert asked.questions == [({"team-db"}, {("team", "web")})]


def test_without_a_change_nothing_is_put_together(disks):
    disks.refresh(["n1"], {}, {}, Asked())
    asked = Asked()
    disks.node("n1", NodeMetadata("n1"))
    assert disks.refresh(["n1"], {}, {}, asked) == (set(), {})
    assert not asked.questions


@pytest.mark.parametrize(
    "metadata",
    [
        None,
        NodeMetadata("n1", uid="u"),
        NodeMetadata("n1", labels={"a": "b"}),
        NodeMetadata("n1", annotations={"a": "b"}),
    ],
)
def test_what_a_node_is_called_matters(disks, metadata):
    disks.refresh(["n1"], {}, {}, Asked())
    asked = Asked()
    disks.node("n1", metadata)
    disks.refresh(["n1"], {}, {}, asked)
    assert len(asked.questions) == 1


CONCERNED = {
    "an owner": (Workload("web", "team"), True),
    "an owner in another namespace": (Workload("web", "other"), True),
    "one that reserves": (Workload("db", "team"), True),
    "one with a claim of its own": (
        Workload("x", "team", volumes=(Volume("v", "x-v", inline=True),)),
        True,
    ),
    "one with another's claim": (Workload("x", "team", volumes=(Volume("v", "c"),)), False),
    "any other": (Workload("x", "team"), False),
}


@pytest.mark.parametrize(("workload", "expected"), CONCERNED.values(), ids=CONCERNED)
def test_pods_that_volumes_may_be_for_concern_them(disks, workload, expected):
    disks.refresh(["n1"], {}, {}, Asked())
    assert disks.concern(workload) == expected


def test_where_the_driver_has_no_objects_nothing_concerns_it():
    disks, asked = MirroredDisks(), Asked()
    disks.node("n1", NodeMetadata("n1"))
    disks.others_changed()
    assert disks.refresh(["n1"], {}, {}, asked) == (set(), {})
    assert not disks.concern(CONCERNED["one with a claim of its own"][0])
    assert not asked.questions


def test_what_is_gone_is_gone_from_its_node(disks):
    disks.refresh(["n1"], {}, {}, Asked())
    for kind in DECODERS:
        for key in disks.keys(kind):
            disks.drop(kind, key)
    changed, entries = disks.refresh(["n1"], {}, {}, Asked())
    assert changed == {"n1"}
    assert entries == {}
    assert not disks.on_node
    assert not disks.has_any


def test_the_capacity_of_a_drive_or_group_is_found_by_what_the_model_calls_it(disks):
    group = {"Name": "vg", "Node": "n1", "Locations": ["d"], "Size": GIB}
    for each in (
        stored(BAREMETAL, "LogicalVolumeGroup", "lvg", spec=group),
        stored(BAREMETAL, "AvailableCapacity", "ac-1", spec={"Location": "d", "Size": GIB}),
        stored(BAREMETAL, "AvailableCapacity", "ac-2", spec={"Location": "lvg", "Size": GIB}),
        stored(BAREMETAL, "AvailableCapacity", "ac-3", spec={"Location": "elsewhere", "Size": GIB}),
    ):
        disks.put(each.kind, each.key, each.text)
    disks.refresh(["n1"], {}, {}, Asked())
    assert disks.offered == {("n1", "d"): Offered("ac-1", "n1"), ("n1", "vg"): Offered("ac-2", "n1")}


def test_a_reservation_says_whose_it_is(disks):
    metadata = {"uid": "u", "resourceVersion": "9"}
    request = {"CapacityRequest": {"Name": "a"}}
    spec = {"Namespace": "team-x", "ReservationRequests": [request]}
    each = stored(BAREMETAL, "AvailableCapacityReservation", "team-x-db", metadata=metadata, spec=spec)
    disks.put(each.kind, each.key, each.text)
    disks.refresh(["n1"], {}, {}, Asked())
    assert disks.reservation_object("team-x-db") == ReservationFacts(
        "team-x-db", "team-x/db", ("a",), "u", "9"
    )
    assert {each.owner for each in disks.reservation_objects()} == {"team-x/db", "team-db"}
    assert disks.reservation_object("nobody") is None
