"""What `check` says of lost drives: findings, and who starts again."""

from builders import cluster, entry, node, pod, policy, volume
from ullage.engine.columns import Columns
from ullage.model.drives import Drive, PlacedVolume, VolumeGroup
from ullage.model.ledger import VOLUME_SPACE
from ullage.model.resources import Resources
from ullage.service.check import CheckQuestion, check_of
from ullage.service.check_drives import EMPTY_VOLUMES, drive_loss_of

GIB = 1 << 30
OWN = volume("scratch", "4Gi", storage_class="HDD", inline=True)


def hdd(uuid, **fields):
    return Drive(uuid, "HDD", 10 * GIB, **fields)


def worker(name, **fields):
    return pod(name, cpu="1", volumes=(OWN,), **{"owner": "ReplicaSet/r", **fields})


def server(*spare, pods=("w/a",), **fields):
    """A node whose pods have a drive each."""
    used = tuple(hdd(f"of-{name[2:]}", clean=False) for name in pods)
    placed = tuple(PlacedVolume(f"v-{name[2:]}", f"of-{name[2:]}", 10 * GIB, owner=name) for name in pods)
    made = node("n1", cpu="8", memory="8Gi").with_(drives=(*used, *spare), placed_volumes=placed)
    return made.holding(*(worker(name, **fields) for name in pods))


def loss_of(snapshot, *drives):
    status, findings, tried = drive_loss_of(Columns(snapshot), [("n1", each) for each in drives], "")
    return status, [(each.code, each.severity) for each in findings], tried


def test_who_starts_again_is_told_with_the_disk_of_each_new_volume():
    status, codes, tried = loss_of(cluster(server(hdd("new"))), "of-a")
    assert codes == [("loss-data", "warning")]
    (home,) = status.rehomed
    assert (home.subject, home.to_node, [disk.place for disk in home.disks]) == ("w/a", "n1", ["new"])
    assert tried == "1 volume lost; 1 of 1 start again"


def test_who_has_no_place_is_an_error_and_those_alike_are_told_together():
    snapshot = cluster(server(pods=("w/a", "w/b")))
    status, codes, _ = loss_of(snapshot, "of-a", "of-b")
    assert codes == [("loss-unplaced", "error"), ("loss-data", "warning")]
    assert [each.subject for each in status.homeless] == ["w/a", "w/b"]


def test_a_pod_without_an_owner_is_not_started_again():
    status, codes, _ = loss_of(cluster(server(hdd("new"), owner="")), "of-a")
    assert ("loss-not-restarted", "warning") in codes
    assert status.not_restarted == ("w/a",)


def test_volumes_that_nobody_names_are_told_in_bytes():
    group = VolumeGroup("vg", "HDD", 8 * GIB, 5 * GIB, drives=("x",))
    made = node("n1").with_(drives=(hdd("x", clean=False),), volume_groups=(group,))
    status, codes, _ = loss_of(cluster(made), "x")
    assert codes == [("loss-data-unknown", "warning")]
    assert status.unknown_bytes == 3 * GIB


def test_a_node_is_lost_with_its_system_drive():
    made = node("n1").with_(drives=(hdd("x", clean=False, system=True),))
    assert loss_of(cluster(made), "x")[1] == [("loss-system-drive", "warning")]


def test_the_check_fails_where_somebody_has_no_place(asked):
    question = CheckQuestion(("drive/of-a",))
    answer = check_of(cluster(server(), policy=policy()), asked, question)
    report = answer.data()
    assert not answer.yes
    assert (report["loss"], report["driveLoss"]["drives"]) == (None, ("of-a",))
    assert report["checks"][-1]["name"] == "loss of drive of-a"
    assert EMPTY_VOLUMES in report["notSimulated"]
    assert check_of(cluster(server(hdd("new")), policy=policy()), asked, question).data()["checks"][-1][
        "passed"
    ]


def test_what_is_promised_on_a_lost_drive_is_an_error():
    promise = entry("r", "drive/n1/new", resources=Resources({VOLUME_SPACE: 4 * GIB}))
    status, codes, _ = loss_of(cluster(server(hdd("new")), promise), "new")
    assert codes == [("loss-promise", "error")]
    assert status.volumes == ()
    assert loss_of(cluster(server(hdd("new"), hdd("x")), promise), "x")[1] == []
