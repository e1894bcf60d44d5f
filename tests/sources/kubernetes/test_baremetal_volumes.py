"""Volumes of csi-baremetal on their disks, and its reservations as promises."""

import pytest

from sources.kubernetes.kube import dumped, node, pod, refused, thing
from ullage.engine.storage.extents import group_bytes
from ullage.model.drives import PlacedVolume
from ullage.model.ledger import VOLUME_SPACE, WHOLE_DRIVE
from ullage.model.ledger_entry import LedgerEntry
from ullage.model.resources import Resources

API = "csi-baremetal.dell.com/v1"
GIB = 1 << 30
EXTENT = 4 << 20
BORN = "2024-05-01T10:00:00Z"
BORN_SECONDS = 1714557600


def drive(name, node_id="n1"):
    spec = {
        "UUID": name,
        "Type": "HDD",
        "Size": 10 * GIB,
        "NodeId": node_id,
        "Health": "GOOD",
        "IsClean": True,
    }
    return thing(API, "Drive", f"cr-{name}", spec={**spec, "Status": "ONLINE", "Usage": "IN_USE"})


def available(location):
    return thing(API, "AvailableCapacity", f"ac-{location}", spec={"Location": location, "Size": 5 * GIB})


GROUP = thing(
    API,
    "LogicalVolumeGroup",
    "lvg-1",
    spec={"Name": "vg0", "Node": "n1", "Locations": ["d1"], "Size": 9 * GIB},
)
DISKS = [node("n1"), node("n2"), drive("d1"), drive("d2"), drive("d3", "n2"), GROUP]
OFFERS = [available("lvg-1"), available("d2"), available("d3")]


def volume(name="pvc-1", **spec):
    namespace = spec.pop("namespace", "ml")
    fields = {"Id": name, "NodeId": "n1", "Location": "lvg-1", "Size": GIB}
    return thing(API, "Volume", name, namespace=namespace, spec=fields | spec)


def claim(name="data", **fields):
    return thing("v1", "PersistentVolumeClaim", name, namespace="ml", **fields)


def pv(name="pvc-1", claimed="data"):
    return thing("v1", "PersistentVolume", name, spec={"claimRef": {"namespace": "ml", "name": claimed}})


def with_inline(name, namespace="ml"):
    ephemeral = {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}
    return pod(name, namespace=namespace, nodeName="n1", volumes=[ephemeral])


# Each row: objects, and the volume that they make.
PLACED = {
    "a share is in the group that the driver's object means": ([volume()], PlacedVolume("pvc-1", "vg0", GIB)),
    "a whole drive is where it says": ([volume(Location="d2")], PlacedVolume("pvc-1", "d2", GIB)),
    "a drive may be named by its object": ([volume(Location="cr-d2")], PlacedVolume("pvc-1", "d2", GIB)),
    "its persistent volume names the claim": ([volume(), pv()], PlacedVolume("pvc-1", "vg0", GIB, "ml/data")),
    "or the claim names it": (
        [volume(), claim(spec={"volumeName": "pvc-1"})], PlacedVolume("pvc-1", "vg0", GIB, "ml/data"),
    ),
    "or it is called like the claim": (
        [volume("data"), claim()], PlacedVolume("data", "vg0", GIB, "ml/data"),
    ),
    "a claim of a pod's own goes with the pod": (
        [volume(), pv(claimed="web-scratch"), with_inline("web")],
        PlacedVolume("pvc-1", "vg0", GIB, "ml/web-scratch", "ml/web"),
    ),
    "an inline volume goes with its pod": (
        [volume("csi-1", Ephemeral=True, Owners=["web"]), pod("web", namespace="ml")],
        PlacedVolume("csi-1", "vg0", GIB, owner="ml/web"),
    ),
    "also where the driver keeps it in a namespace of its own": (
        [volume("csi-1", namespace="default", Ephemeral=True, Owners=["web"]), pod("web", namespace="ml")],
        PlacedVolume("csi-1", "vg0", GIB, owner="ml/web"),
    ),
    "not where two pods may be meant": (
        [
            volume("csi-1", namespace="x", Ephemeral=True, Owners=["web"]),
            pod("web", namespace="ml"), pod("web", namespace="shop"),
        ],
        PlacedVolume("csi-1", "vg0", GIB, owner="x/web"),
    ),
    "an inline volume of nobody": ([volume("csi-1", Ephemeral=True)], PlacedVolume("csi-1", "vg0", GIB)),
    "the pods of other volumes are not theirs alone": (
        [volume(Owners=["web"]), pod("web", namespace="ml")], PlacedVolume("pvc-1", "vg0", GIB),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("items", "expected"), PLACED.values(), ids=PLACED)
def test_a_volume_is_on_its_disk(items, expected):
    snapshot = dumped(*DISKS, *items)
    assert snapshot.nodes["n1"].placed_volumes == (expected,)
    assert snapshot.nodes["n2"].placed_volumes == ()
    assert not [line for line in snapshot.unknowns if "disks" in line]


UNPLACED = {
    "a volume on an unknown disk": (volume(Location="d9"), "volume ml/pvc-1"),
    "a volume of less than nothing": (volume(Size=-1), "volume ml/pvc-1"),
    "a reservation of an unknown state": (
        thing(API, "AvailableCapacityReservation", "ml-web", spec={"Status": "LOST"}), "reservation ml-web",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("item", "named"), UNPLACED.values(), ids=UNPLACED)
def test_what_cannot_be_put_anywhere_is_named(item, named):
    snapshot = dumped(*DISKS, item)
    assert snapshot.unknowns == (f"not read: disks of unknown nodes or classes: {named}",)
    assert len(snapshot.reservations) == 0


def test_volumes_that_a_group_names_and_nobody_describes_are_named():
    group = thing(
        API, "LogicalVolumeGroup", "lvg-1", spec={**GROUP["spec"], "VolumeRefs": ["pvc-1", "pvc-2"]}
    )
    items = [each for each in DISKS if each is not GROUP]
    assert dumped(*items, group, volume()).unknowns == ("not found: volumes that volume groups name: pvc-2",)


def reservation(*requests, name="ml-web-0", status="RESERVED", namespace="ml"):
    spec = {"Namespace": namespace, "Status": status, "ReservationRequests": list(requests)}
    item = thing(API, "AvailableCapacityReservation", name, spec=spec)
    item["metadata"]["creationTimestamp"] = BORN
    return item


def request(storage_class, *capacities, name="data", size=GIB):
    asked = {"Name": name, "StorageClass": storage_class, "Size": size}
    return {"CapacityRequest": asked, "Reservations": list(capacities)}


def entry(capacity, state="RESERVED", request="data", owner="ml/web-0", reason="", **held):
    amounts = {VOLUME_SPACE: held["space"]} | ({WHOLE_DRIVE: 1} if held.get("whole") else {})
    return LedgerEntry(
        "ml-web-0",
        request,
        capacity,
        owner,
        Resources(amounts),
        state,
        created_seconds=BORN_SECONDS,
        reason=reason,
    )


WHOLE = group_bytes(10 * GIB)
# Each row: a reservation, and the promises that it stands for.
PROMISED = {
    "a share of a group": (
        reservation(request("HDDLVG", "ac-lvg-1")), [entry("group/n1/vg0", space=GIB)],
    ),
    "each volume is rounded up to extents": (
        reservation(request("hddlvg", "ac-lvg-1", size=1)), [entry("group/n1/vg0", space=EXTENT)],
    ),
    "a share of a drive that is no group yet": (
        reservation(request("HDDLVG", "ac-d2")), [entry("drive/n1/d2", space=GIB)],
    ),
    "a whole drive is held with all that it has": (
        reservation(request("HDD", "ac-d2")), [entry("drive/n1/d2", space=WHOLE, whole=True)],
    ),
    "a class that the driver does not know is a whole drive": (
        reservation(request("", "ac-d2")), [entry("drive/n1/d2", space=WHOLE, whole=True)],
    ),
    "a whole drive that has become a group is held as what the group has left": (
        reservation(request("HDD", "ac-lvg-1")), [entry("group/n1/vg0", space=5 * GIB, whole=True)],
    ),
    "one on every node that may be chosen": (
        reservation(request("HDD", "ac-d2", "ac-d3")),
        [entry("drive/n1/d2", space=WHOLE, whole=True), entry("drive/n2/d3", space=WHOLE, whole=True)],
    ),
    "one for every volume": (
        reservation(request("HDDLVG", "ac-lvg-1"), request("HDDLVG", "ac-lvg-1", name="log")),
        [entry("group/n1/vg0", space=GIB), entry("group/n1/vg0", space=GIB, request="log")],
    ),
    "a volume that is asked for twice is one": (
        reservation(request("HDDLVG", "ac-lvg-1"), request("HDDLVG", "ac-lvg-1")),
        [entry("group/n1/vg0", space=GIB)],
    ),
    "what is only asked for holds nothing": (
        reservation(request("HDDLVG", "ac-lvg-1"), status="REQUESTED"),
        [entry("", "REQUESTED", space=GIB)],
    ),
    "nor does what was not found": (
        reservation(request("HDD"), status="REJECTED"),
        [entry("", "REJECTED", space=GIB, whole=True, reason="csi-baremetal found no capacity")],
    ),
    "a volume for which nothing is kept is asked for": (
        reservation(request("HDDLVG")), [entry("", "REQUESTED", space=GIB)],
    ),
    "what is cancelled is over": (reservation(request("HDDLVG", "ac-lvg-1"), status="CANCELLED"), []),
}  # fmt: skip


@pytest.mark.parametrize(("item", "expected"), PROMISED.values(), ids=PROMISED)
def test_a_reservation_is(item, expected):
    snapshot = dumped(*DISKS, *OFFERS, item)
    assert sorted(snapshot.reservations, key=lambda each: each.key) == expected
    assert not snapshot.unknowns


OWNERS = {
    "the namespace tells where the pod's name begins": ({"namespace": "a-b", "name": "a-b-c"}, "a-b/c"),
    "without it a pod of that name is found": ({"namespace": "", "name": "ml-web-0"}, "ml/web-0"),
    "else its own name has to do": ({"namespace": "", "name": "x-y"}, "x-y"),
    "also where namespace and name do not agree": ({"namespace": "q", "name": "x-y"}, "x-y"),
}


@pytest.mark.parametrize(("fields", "owner"), OWNERS.values(), ids=OWNERS)
def test_whose_a_reservation_is(fields, owner):
    items = [reservation(request("HDD", "ac-d2"), **fields), pod("web-0", namespace="ml")]
    (found,) = dumped(*DISKS, *OFFERS, *items).reservations
    assert found.owner == owner


LOST = {
    "a capacity that nobody described": (request("HDD", "ac-d9"), "reservation ml-web-0 of capacity ac-d9"),
    "a volume of less than nothing": (request("HDD", "ac-d2", size=-1), "reservation ml-web-0 of data"),
    "a volume beyond 64 bits": (
        request("HDDLVG", "ac-d2", size=(1 << 63) - 1),
        "reservation ml-web-0 of data",
    ),
}


@pytest.mark.parametrize(("asked", "named"), LOST.values(), ids=LOST)
def test_what_cannot_be_promised_is_named(asked, named):
    snapshot = dumped(*DISKS, *OFFERS, reservation(asked))
    assert snapshot.unknowns == (f"not read: disks of unknown nodes or classes: {named}",)
    assert len(snapshot.reservations) == 0


def test_a_size_that_is_none_is_named_with_its_path():
    assert refused(reservation(request("HDD", size="1Gi"))) == (
        "standard input: items[0].spec.ReservationRequests[0].CapacityRequest.Size: "
        "expected a whole number, found text; write a whole number"
    )
