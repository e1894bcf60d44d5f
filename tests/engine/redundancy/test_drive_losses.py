"""Rules of lost drives: what counts as lost, who is asked about, and where they could start again."""

import msgspec
import pytest

from builders import claim, cluster, node, persistent_volume, pod, quota, volume
from ullage.engine.redundancy.drive_losses import drive_loss
from ullage.model.constraints import Constraints
from ullage.model.drives import Drive, PlacedVolume, VolumeGroup
from ullage.model.storage import StorageClass

GIB = 1 << 30
WHOLE = StorageClass("whole", "csi-baremetal", "WaitForFirstConsumer", parameters={"storageType": "HDD"})


def hdd(uuid, gib=10, **fields):
    return Drive(uuid, "HDD", gib * GIB, **fields)


def server(name, *drives, cpu="8", groups=(), volumes=()):
    return node(name, cpu=cpu).with_(drives=drives, volume_groups=groups, placed_volumes=volumes)


def database(**amounts):
    mounted = volume("data", "4Gi", claim="data", storage_class="whole")
    return pod("web/db", owner="StatefulSet/db", volumes=(mounted,), **(amounts or {"cpu": "1"}))


def claimed():
    bound = claim("web/data", "4Gi", storage_class="whole", bound=True, volume="pv")
    return bound, persistent_volume("pv", "4Gi", storage_class="whole", claim="web/data"), WHOLE


def test_whoever_used_a_lost_volume_starts_again_where_cpu_and_a_disk_are():
    used = server("n1", hdd("a", clean=False), volumes=(PlacedVolume("v", "a", 10 * GIB, claim="web/data"),))
    snapshot = cluster(used.holding(database()), server("n2", hdd("b")), server("n3"), *claimed())
    loss = drive_loss(snapshot, [("n1", "a")])
    assert [(each.name, each.workloads) for each in loss.volumes] == [("v", ("web/db",))]
    (home,) = loss.rehomed
    assert (home.subject, home.from_node, home.to_node, home.disks) == (
        "web/db",
        "n1",
        "n2",
        (("data", "b"),),
    )
    assert not loss.homeless


def test_devices_that_it_claims_are_left_aside():
    used = server("n1", hdd("a", clean=False), volumes=(PlacedVolume("v", "a", 10 * GIB, claim="web/data"),))
    claims = Constraints(resource_claims=("gpu",))
    running = msgspec.structs.replace(database(), constraints=claims)
    loss = drive_loss(cluster(used.holding(running), server("n2", hdd("b")), *claimed()), [("n1", "a")])
    assert [each.to_node for each in loss.rehomed] == ["n2"]


def test_without_another_disk_it_has_no_place():
    used = server("n1", hdd("a", clean=False), volumes=(PlacedVolume("v", "a", 10 * GIB, claim="web/data"),))
    snapshot = cluster(used.holding(database()), server("n2", hdd("b", 2)), *claimed())
    (homeless,) = drive_loss(snapshot, [("n1", "a")]).homeless
    assert (homeless.subject, homeless.node) == ("web/db", "n1")
    assert "local disks for data" in homeless.reason


def test_two_drives_lost_together_leave_less_than_each_alone():
    volumes = (PlacedVolume("v", "a", 10 * GIB, claim="web/data"),)
    used = server("n1", hdd("a", clean=False), hdd("b"), volumes=volumes).holding(database())
    snapshot = cluster(used, *claimed())
    assert drive_loss(snapshot, [("n1", "a")]).rehomed
    assert drive_loss(snapshot, [("n1", "a"), ("n1", "b")]).homeless


def test_every_volume_of_a_group_on_several_drives_counts_as_lost_and_the_other_drives_are_not_free():
    group = VolumeGroup("vg", "HDD", 20 * GIB, 10 * GIB, drives=("a", "b"))
    volumes = (PlacedVolume("v", "vg", 6 * GIB), PlacedVolume("w", "vg", 3 * GIB))
    used = server("n1", hdd("a", clean=False), hdd("b", clean=False), groups=(group,), volumes=volumes)
    loss = drive_loss(cluster(used), [("n1", "b")])
    assert [each.name for each in loss.volumes] == ["v", "w"]
    assert [each.subject for each in loss.homeless] == ["v", "w"]
    assert loss.unknown_bytes == 1 * GIB


def test_a_volume_that_nobody_uses_could_be_made_again_on_its_own_node_only():
    volumes = (PlacedVolume("v", "a", 10 * GIB),)
    elsewhere = cluster(server("n1", hdd("a", clean=False), volumes=volumes), server("n2", hdd("b")))
    assert [each.subject for each in drive_loss(elsewhere, [("n1", "a")]).homeless] == ["v"]
    here = cluster(server("n1", hdd("a", clean=False), hdd("c", 12), volumes=volumes), server("n2", hdd("b")))
    (home,) = drive_loss(here, [("n1", "a")]).rehomed
    assert (home.subject, home.to_node, home.disks) == ("v", "n1", (("v", "c"),))


def test_volumes_of_one_name_on_two_nodes_are_two():
    nodes = [
        server(name, hdd("a", clean=False), *spare, volumes=(PlacedVolume("root", "a", 10 * GIB),))
        for name, spare in (("n1", [hdd("b")]), ("n2", []))
    ]
    loss = drive_loss(cluster(*nodes), [("n1", "a"), ("n2", "a")])
    assert [(each.subject, each.from_node) for each in loss.rehomed] == [("root", "n1")]
    assert [(each.subject, each.node) for each in loss.homeless] == [("root", "n2")]


def test_a_volume_that_goes_with_its_workload_is_asked_for_anew_with_it():
    own = volume("scratch", "4Gi", storage_class="HDD", inline=True)
    running = pod("web/worker", cpu="1", volumes=(own,))
    volumes = (PlacedVolume("v", "a", 10 * GIB, owner="web/worker"),)
    used = server("n1", hdd("a", clean=False), volumes=volumes).holding(running)
    loss = drive_loss(cluster(used, server("n2", hdd("b"))), [("n1", "a")])
    assert [(each.subject, each.to_node) for each in loss.rehomed] == [("web/worker", "n2")]


def test_an_empty_drive_is_lost_without_losers():
    loss = drive_loss(cluster(server("n1", hdd("a"))), [("n1", "a")])
    assert (loss.volumes, loss.rehomed, loss.homeless, loss.unknown_bytes) == ((), (), (), 0)


def two_claims():
    """A database with a lost volume and one on another drive of the same node."""
    volumes = (
        PlacedVolume("v", "a", 10 * GIB, claim="web/data"),
        PlacedVolume("w", "b", 10 * GIB, claim="web/log"),
    )
    mounted = tuple(volume(name, "4Gi", claim=name, storage_class="whole") for name in ("data", "log"))
    running = pod("web/db", cpu="1", owner="StatefulSet/db", volumes=mounted)
    used = server("n1", hdd("a", clean=False), hdd("b", clean=False), volumes=volumes).holding(running)
    claims = [claim(f"web/{name}", "4Gi", storage_class="whole", bound=True) for name in ("data", "log")]
    return used, [*claims, WHOLE]


def test_whoever_has_another_volume_on_the_node_stays_there():
    used, claims = two_claims()
    elsewhere = server("n2", hdd("c"), hdd("d"))
    assert drive_loss(cluster(used, elsewhere, *claims), [("n1", "a")]).homeless
    spare = used.with_(drives=(*used.record.drives, hdd("e")))
    (home,) = drive_loss(cluster(spare, elsewhere, *claims), [("n1", "a")]).rehomed
    assert (home.to_node, home.disks) == ("n1", (("data", "e"),))


def test_whoever_lost_all_of_its_volumes_may_go_elsewhere():
    used, claims = two_claims()
    snapshot = cluster(used, server("n2", hdd("c"), hdd("d")), *claims)
    (home,) = drive_loss(snapshot, [("n1", "a"), ("n1", "b")]).rehomed
    assert (home.to_node, home.disks) == ("n2", (("data", "c"), ("log", "d")))


@pytest.mark.parametrize(
    ("priorities", "first"), [({"x": 0, "y": 9}, "web/y"), ({"x": 9, "y": 0}, "web/x"), ({}, "web/x")]
)
def test_of_those_who_lost_a_volume_the_most_important_has_the_last_disk(priorities, first):
    owned = tuple(PlacedVolume(f"v{name}", "vg", 4 * GIB, owner=f"web/{name}") for name in "xy")
    group = VolumeGroup("vg", "HDD", 10 * GIB, 2 * GIB, drives=("a",))
    own = volume("scratch", "4Gi", storage_class="HDD", inline=True)
    running = [pod(f"web/{name}", cpu="1", volumes=(own,), priority=priorities.get(name, 0)) for name in "xy"]
    used = server("n1", hdd("a", clean=False), hdd("b"), groups=(group,), volumes=owned)
    loss = drive_loss(cluster(used.holding(*running)), [("n1", "a")])
    assert [each.subject for each in loss.rehomed] == [first]
    assert len(loss.homeless) == 1


def test_extents_are_not_taken_for_volumes_that_nobody_names():
    group = VolumeGroup("vg", "HDD", 8 << 20, 0, drives=("a",))
    used = server("n1", hdd("a", clean=False), groups=(group,), volumes=(PlacedVolume("v", "vg", 5 << 20),))
    assert drive_loss(cluster(used), [("n1", "a")]).unknown_bytes == 0


def test_quotas_do_not_stand_against_those_who_were_admitted_before():
    own = volume("scratch", "4Gi", storage_class="HDD", inline=True)
    volumes = (PlacedVolume("v", "a", 10 * GIB, owner="web/worker"),)
    used = server("n1", hdd("a", clean=False), hdd("b"), volumes=volumes)
    snapshot = cluster(
        used.holding(pod("web/worker", cpu="1", volumes=(own,))),
        quota("web", {"cpu": "0"}, {"cpu": "0"}, namespaces=("web",)),
    )
    assert drive_loss(snapshot, [("n1", "a")]).rehomed


@pytest.mark.parametrize(("of_spare", "found"), [("fast", 1), ("", 0)])
def test_a_volume_of_a_storage_group_is_made_again_there_only(of_spare, found):
    drives = hdd("a", clean=False, storage_group="fast"), hdd("b", storage_group=of_spare)
    used = server("n1", *drives, volumes=(PlacedVolume("v", "a", 10 * GIB),))
    assert len(drive_loss(cluster(used), [("n1", "a")]).rehomed) == found
