"""Rules of `ullage snapshot edit`: what is changed, in which order, and what is refused."""

from pathlib import Path

import pytest

from ullage.model.cluster import Node, Snapshot, Workload
from ullage.model.drives import Drive, PlacedVolume
from ullage.model.errors import InputError
from ullage.model.table import Table
from ullage.service.asked import Asked, read_cluster
from ullage.service.snapshot_edit import Edits, edit, edited

GIB = 1 << 30


def cluster() -> Snapshot:
    """Return two nodes with a drive each, of which one has a volume."""
    nodes = (
        Node(
            "n1", drives=(Drive("a", "HDD", GIB, clean=False),), placed_volumes=(PlacedVolume("v", "a", GIB),)
        ),
        Node("n2", drives=(Drive("b", "SSD", GIB),)),
    )
    return Snapshot(nodes=Table(nodes), workloads=Table((Workload("p", node="n1"), Workload("q", node="n2"))))


def test_removals_come_before_additions_whatever_the_order_of_options() -> None:
    after = edited(cluster(), Edits(add_drives=["n2=hdd:2Gx2"], remove_drives=["b"]))
    assert [(each.uuid, each.drive_class) for each in after.nodes["n2"].drives] == [
        ("n2-hdd-new1", "HDD"),
        ("n2-hdd-new2", "HDD"),
    ]
    assert after.nodes["n1"] == cluster().nodes["n1"]


def test_an_added_drive_can_be_converted_in_the_same_edit() -> None:
    after = edited(cluster(), Edits(add_drives=["n2=NVME:1Gi"], convert_drives=["n2-nvme-new1"]))
    assert [group.name for group in after.nodes["n2"].volume_groups] == ["n2-nvme-new1"]


def test_volumes_classes_and_states_change_on_the_node_that_has_them() -> None:
    after = edited(
        cluster(), Edits(remove_volumes=["v"], drive_classes=["b=NVME"], cordon=["n1"], uncordon=["n2"])
    )
    assert after.nodes["n1"].drives[0].clean
    assert after.nodes["n1"].state == "cordoned"
    assert after.nodes["n2"].drives[0].drive_class == "NVME"


def test_what_ran_on_a_removed_node_waits() -> None:
    after = edited(cluster(), Edits(remove_nodes=["n1"]))
    assert list(after.nodes.keys()) == ["n2"]
    assert (after.workloads["p"].node, after.workloads["p"].state) == ("", "init")
    assert after.workloads["q"].node == "n2"


@pytest.mark.parametrize(
    ("wanted", "what"),
    [
        (Edits(remove_drives=["z"]), "no node has drive z"),
        (Edits(remove_nodes=["z"]), "no node 'z'; nodes are: n1, n2"),
        (Edits(add_drives=["n1"]), "'n1' describes no drive; write NODE=CLASS:SIZE"),
        (Edits(add_drives=["n1=TAPE:1G"]), "names no class of drives"),
        (Edits(add_drives=["n1=HDD:0"]), "a drive of 0 bytes"),
        (Edits(drive_classes=["a"]), "names no class of drives; write UUID=CLASS"),
    ],
)
def test_bad_edits_are_named_with_what_would_be_right(wanted: Edits, what: str) -> None:
    with pytest.raises(InputError, match=what):
        edited(cluster(), wanted)


def test_a_drive_on_two_nodes_is_ambiguous() -> None:
    nodes = (Node("n1", drives=(Drive("a", "HDD", GIB),)), Node("n2", drives=(Drive("a", "HDD", GIB),)))
    with pytest.raises(InputError, match=r"on several nodes \(n1, n2\)"):
        edited(Snapshot(nodes=Table(nodes)), Edits(remove_drives=["a"]))


def test_the_file_holds_the_cluster_as_edited_and_the_answer_says_what_differs(tmp_path: Path) -> None:
    path = str(tmp_path / "what-if.yaml")
    answer = edit(Asked("demo"), path, Edits(add_drives=["s1=HDD:4T"]))
    drives = read_cluster(Asked(path)).nodes["s1"].drives
    assert drives[-1] == Drive("s1-hdd-new1", "HDD", 4 * 10**12)
    assert [each["key"] for each in answer.data()["changes"]] == ["s1"]
    assert answer.yes


@pytest.mark.parametrize(
    ("path", "wanted", "what"),
    [("x.txt", Edits(cordon=["s1"]), "no known ending"), ("x.yaml", Edits(), "nothing is to be edited")],
)
def test_nothing_is_written_for_a_question_that_makes_no_sense(
    tmp_path: Path, path: str, wanted: Edits, what: str
) -> None:
    with pytest.raises(InputError, match=what):
        edit(Asked("demo"), str(tmp_path / path), wanted)
    assert not list(tmp_path.iterdir())
