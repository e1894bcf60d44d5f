"""What is kept of a cluster, and what may be told of where it comes from."""

import os

import pytest

from ullage.web.clusters import ClusterFolder, Known, Origin, check_name, uploaded
from ullage.web.http import Problem


@pytest.mark.parametrize("name", ["a", "demo", "prod-1", "a.b_c", "9", "x" * 63])
def test_a_name_of_a_cluster(name):
    check_name(name)


@pytest.mark.parametrize(
    "name", ["", "-a", "a-", ".", "..", "a/b", "../a", "A", "a b", "a\n", "é", "x" * 64, "a\0"]
)
def test_what_could_be_a_path_is_no_name_of_a_cluster(name):
    with pytest.raises(Problem) as refused:
        check_name(name)
    assert refused.value.status == 422


def test_a_revision_is_known_again(tmp_path):
    folder = ClusterFolder(tmp_path / "clusters" / "a")
    assert folder.known() == Known()
    folder.keep(Known(3, "abc"))
    assert ClusterFolder(tmp_path / "clusters" / "a").known() == Known(3, "abc")


def test_a_damaged_record_is_no_first_revision(tmp_path):
    (tmp_path / "cluster.json").write_bytes(b"{")
    with pytest.raises(Problem) as refused:
        ClusterFolder(tmp_path).known()
    assert refused.value.status == 500


def test_a_document_counts_once_it_was_accepted(tmp_path):
    folder = ClusterFolder(tmp_path / "a")
    folder.take(b"first")
    assert uploaded(tmp_path) == []
    folder.accept()
    assert uploaded(tmp_path) == ["a"]
    folder.take(b"second")
    assert folder.document.read_bytes() == b"first"
    folder.refuse()
    assert folder.document.read_bytes() == b"first"
    assert not folder.upload.exists()


def test_a_document_that_was_refused_leaves_nothing_and_takes_nothing_along(tmp_path):
    first, second = ClusterFolder(tmp_path / "new"), ClusterFolder(tmp_path / "old")
    second.keep(Known(3))
    for each in (first, second):
        each.take(b"no cluster")
        each.refuse()
    assert not (tmp_path / "new").exists()
    assert second.known() == Known(3)


def test_what_was_uploaded_is_for_its_owner_alone(tmp_path):
    folder = ClusterFolder(tmp_path / "clusters" / "a")
    folder.take(b"secret")
    assert folder.folder.stat().st_mode & 0o077 == 0
    assert folder.upload.stat().st_mode & 0o077 == 0


def test_promises_and_the_count_of_revisions_outlive_the_document(tmp_path):
    folder = ClusterFolder(tmp_path / "a")
    folder.take(b"first")
    folder.accept()
    folder.keep(Known(3, "abc"))
    folder.ledger.write_bytes(b"promises")
    folder.remove()
    assert uploaded(tmp_path) == []
    assert folder.ledger.read_bytes() == b"promises"
    assert folder.known() == Known(3, "abc")


def test_only_folders_with_the_name_of_a_cluster_are_clusters(tmp_path):
    assert uploaded(tmp_path / "absent") == []
    (tmp_path / "UPPER").mkdir()
    (tmp_path / "UPPER" / "document").write_bytes(b"")
    (tmp_path / "file").write_bytes(b"")
    assert uploaded(tmp_path) == []


@pytest.mark.parametrize(
    ("origin", "kind", "may_change"),
    [
        (Origin("kube", context="prod"), "kube", True),
        (Origin("demo"), "demo", False),
        (Origin("synthetic:nodes=10"), "synthetic", False),
        (Origin("ganeti:https://user:password@rapi:5080"), "ganeti", True),
        (Origin("csv:/secret/nodes.csv"), "csv", True),
        (Origin("https://secret:8480/v1/clusters/a"), "server", True),
        (Origin("/secret/dump.json"), "file", True),
        (Origin("/"), "folder", True),
        (Origin(is_upload=True), "upload", False),
    ],
    ids=lambda value: value.spec if isinstance(value, Origin) else str(value),
)
def test_of_a_source_only_its_kind_is_told(origin, kind, may_change):
    assert origin.kind == kind
    assert origin.may_change == may_change


def test_a_file_that_was_written_has_another_stamp(tmp_path):
    path = tmp_path / "dump.json"
    origin = Origin(str(path))
    assert origin.stamp() == ()
    path.write_bytes(b"{}")
    first = origin.stamp()
    assert first == origin.stamp() != ()
    path.write_bytes(b"{ }")
    os.utime(path, ns=(1, 1))
    assert origin.stamp() != first
    assert Origin(str(tmp_path)).stamp() == ()
    assert Origin("demo").stamp() == ()
