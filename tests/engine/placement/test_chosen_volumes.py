"""What is placed is told with the disks and the free volumes that serve it, for each one its own."""

import msgspec

from builders import claim, cluster, node, persistent_volume, waiting
from ullage.engine.columns import Columns
from ullage.engine.placement.outcome import ChosenVolume
from ullage.engine.placement.scheduling import Bound, schedule
from ullage.model.cluster import Snapshot, Volume
from ullage.model.constraints import NodeSelector, NodeSelectorTerm, Requirement
from ullage.model.storage import StorageClass

HOST = "kubernetes.io/hostname"
BY_HAND = StorageClass("local", "kubernetes.io/no-provisioner", "WaitForFirstConsumer")
MADE = StorageClass("fast", "disks.example.com", "WaitForFirstConsumer")
LOCAL = StorageClass("group", "csi-baremetal", "WaitForFirstConsumer", parameters={"storageType": "HDDLVG"})


def on(name: str) -> NodeSelector:
    return NodeSelector((NodeSelectorTerm((Requirement(HOST, "In", (name,)),)),))


def world(*parts) -> Snapshot:
    nodes = [node(f"n{index}", cpu=8).labelled({HOST: f"n{index}"}) for index in range(2)]
    return cluster(*nodes, BY_HAND, MADE, LOCAL, *parts)


def pod(name: str, *claims: str):
    return waiting(f"web/{name}", cpu=1, volumes=tuple(Volume(each, each) for each in claims))


def bound(snapshot: Snapshot, *pods) -> dict[str, Bound]:
    asked = msgspec.structs.replace(snapshot, workloads=snapshot.workloads.changed(pods))
    return {each.workload: each for each in schedule(Columns(asked), pods).bound}


def test_each_claim_is_told_the_free_volume_that_it_gets():
    disks = [
        persistent_volume(f"d{index}", "10Gi", storage_class="local", node_affinity=on(f"n{index}"))
        for index in range(2)
    ]
    claims = [claim(f"web/{name}", "5Gi", storage_class="local") for name in "ab"]
    found = bound(world(*disks, *claims), pod("p", "a"), pod("q", "b"))
    assert {each.chosen for each in found.values()} == {
        (ChosenVolume("a", f"d{found['web/p'].node[1:]}"),),
        (ChosenVolume("b", f"d{found['web/q'].node[1:]}"),),
    }


def test_those_who_share_a_claim_are_told_the_same_volume():
    disk = persistent_volume("d1", "10Gi", storage_class="local", node_affinity=on("n1"))
    shared = claim("web/a", "5Gi", storage_class="local")
    found = bound(world(disk, shared), pod("p", "a"), pod("q", "a"))
    assert [each.chosen for each in found.values()] == [(ChosenVolume("a", "d1"),)] * 2
    assert {each.node for each in found.values()} == {"n1"}


def test_nothing_is_told_of_a_claim_for_which_a_volume_is_made():
    found = bound(world(claim("web/a", "5Gi", storage_class="fast")), pod("p", "a"))
    assert found["web/p"].chosen == ()
    assert found["web/p"].disks == ()


def test_disks_are_told_beside_volumes():
    store = node("n9", cpu=8).labelled({HOST: "n9"}).with_drive("h1", "HDD", "100Gi")
    disk = persistent_volume("d9", "10Gi", storage_class="local", node_affinity=on("n9"))
    claims = [claim("web/a", "5Gi", storage_class="local"), claim("web/b", "7Gi", storage_class="group")]
    found = bound(world(store, disk, *claims), pod("p", "a", "b"))["web/p"]
    assert (found.node, found.chosen) == ("n9", (ChosenVolume("a", "d9"),))
    assert [(each.volume, each.place, each.storage_class) for each in found.disks] == [("b", "h1", "HDDLVG")]
