"""All kinds of csi-baremetal together: from any order of objects to one node and one ledger."""

import itertools

import pytest

from sources.kubernetes.kube import dumped, node, thing
from ullage.model.resources import ResourceTypes
from ullage.sources.kubernetes.baremetal_objects import DECODERS
from ullage.sources.kubernetes.cluster_reading import ClusterReading
from ullage.sources.kubernetes.nodes import GROUP_LABEL

API = "csi-baremetal.dell.com/v1"
GIB = 1 << 30
DRIVE = {"UUID": "d1", "Type": "SSD", "Size": 9 * GIB, "NodeId": "id-1", "Health": "GOOD"}
REQUEST = {
    "CapacityRequest": {"Name": "new", "StorageClass": "SSDLVG", "Size": GIB},
    "Reservations": ["ac-1"],
}
OBJECTS = (
    node("n1"),
    thing(API, "Node", "csibmnode-1", spec={"UUID": "id-1", "Addresses": {"Hostname": "n1"}}),
    thing(API, "Drive", "d1", spec=DRIVE),
    thing(API, "LogicalVolumeGroup", "g1", spec={"Node": "id-1", "Locations": ["d1"], "Size": 8 * GIB}),
    thing(API, "AvailableCapacity", "ac-1", spec={"Location": "g1", "Size": 6 * GIB}),
    thing(API, "Volume", "pvc-1", namespace="ml", spec={"Id": "pvc-1", "Location": "g1", "Size": 2 * GIB}),
    thing(
        API, "AvailableCapacityReservation", "ml-web",
        spec={"Namespace": "ml", "Status": "RESERVED", "ReservationRequests": [REQUEST]},
    ),
)  # fmt: skip


def test_objects_may_come_in_any_order():
    expected = dumped(*OBJECTS)
    (entry,) = expected.reservations
    assert (entry.capacity, entry.owner) == ("group/n1/g1", "ml/web")
    found = expected.nodes["n1"]
    assert [each.uuid for each in found.drives] == ["d1"]
    assert [(each.name, each.location) for each in found.placed_volumes] == [("pvc-1", "g1")]
    for order in itertools.islice(itertools.permutations(OBJECTS), 0, 5040, 211):
        assert dumped(*order) == expected


def test_every_kind_is_listed_by_a_live_cluster():
    assert set(DECODERS) <= set(ClusterReading(ResourceTypes(), GROUP_LABEL).kinds)


@pytest.mark.parametrize(
    ("offered", "free"), [(6, 6), (8, 6), (1, 1)], ids=["in step", "not yet lowered", "lowered further"]
)
def test_a_group_has_no_more_free_than_its_volumes_leave(offered, free):
    offer = thing(API, "AvailableCapacity", "ac-1", spec={"Location": "g1", "Size": offered * GIB})
    objects = [offer if each["kind"] == "AvailableCapacity" else each for each in OBJECTS]
    assert [each.free_bytes for each in dumped(*objects).nodes["n1"].volume_groups] == [free * GIB]
