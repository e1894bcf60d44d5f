"""Saving, showing and comparing clusters."""

import msgspec
import pytest
from hypothesis import given, settings

from builders import cluster, node, pod, policy
from strategies import snapshots
from ullage.model.errors import InputError
from ullage.model.resources import ResourceType, ResourceTypes
from ullage.service.asked import Asked
from ullage.service.snapshot import FORMS, SaveQuestion, diff_of, flat, rows_of, save, save_of, show_of
from ullage.sources.documents import documents_of
from ullage.sources.own_format import read_snapshot
from ullage.sources.snapshot_file import read_snapshot_file


@pytest.mark.parametrize("ending", FORMS)
def test_what_is_saved_is_read_back_the_same(small, tmp_path, ending):
    path = tmp_path / f"small{ending}"
    report = save_of(small, SaveQuestion(str(path)), FORMS[ending]).data()
    assert report["rows"] == rows_of(small)
    assert diff_of(small, read_snapshot_file(str(path)), "a", "b").yes


def test_a_seed_needs_redaction_and_an_ending_names_the_form():
    with pytest.raises(InputError, match="--seed is given without --redact"):
        save(Asked("demo"), SaveQuestion("x.json", seed="a"))
    with pytest.raises(InputError, match="has no known ending"):
        save(Asked("demo"), SaveQuestion("x"))


def test_a_redacted_file_is_marked_and_nameless(small, tmp_path):
    path = tmp_path / "small.yaml"
    report = save_of(small, SaveQuestion(str(path), redact=True), "yaml").data()
    assert report["redacted"]
    assert "front" not in path.read_text()


@settings(max_examples=15)
@given(snapshots())
def test_as_data_it_is_the_document_itself(snapshot):
    data = msgspec.json.encode(show_of(snapshot, Asked("any")).data())
    (document,) = documents_of(data, "data")
    assert diff_of(snapshot, read_snapshot(document), "a", "b").yes


@settings(max_examples=15)
@given(snapshots(), snapshots())
def test_two_clusters_are_the_same_or_their_difference_is_not_empty(one, other):
    assert diff_of(one, one, "a", "a").yes
    answer = diff_of(one, other, "a", "b")
    assert answer.yes == (not answer.data()["changes"])
    assert answer.page()


def test_rows_are_added_removed_or_changed_field_by_field():
    old = cluster(node("a", cpu="4"), node("b", cpu="4").holding(pod("p")), policy=policy(swap="1Gi"))
    new = cluster(node("b", cpu="8").cordoned(), node("c", cpu="4"), policy=policy(swap="2Gi"))
    answer = diff_of(old, new, "old", "new")
    assert not answer.yes
    found = {(each["table"], each["key"]): each for each in answer.data()["changes"]}
    assert {key: each["change"] for key, each in found.items()} == {
        ("nodes", "a"): "removed",
        ("nodes", "b"): "changed",
        ("nodes", "c"): "added",
        ("workloads", "p"): "removed",
        ("snapshot", "policy"): "changed",
    }
    assert list(found["nodes", "b"]["fields"]) == [
        {"field": "capacity.cpu", "before": "4", "after": "8"},
        {"field": "state", "before": "ready", "after": "cordoned"},
    ]


def test_names_and_revisions_do_not_count():
    old = cluster(node("a"), name="one", revision=1)
    assert diff_of(old, cluster(node("a"), name="two", revision=2), "one", "two").yes


def test_what_a_source_did_not_know_and_types_count():
    old = cluster(node("a"))
    assert not diff_of(old, cluster(node("a"), unknowns=("tea",)), "a", "b").yes
    types = ResourceTypes([ResourceType("example.com/licences", "licence")])
    (change,) = diff_of(old, cluster(node("a"), resource_types=types), "a", "b").data()["changes"]
    assert change["key"] == "resourceTypes"
    assert "example.com/licences" in change["fields"][0]["field"]


def test_leaves_are_named_by_their_path():
    value = {"capacity": {"cpu": "4"}, "drives": [{"size": 3}, "x"], "name": "a", "none": None, "yes": True}
    assert flat(value) == {
        "capacity.cpu": "4", "drives.0.size": "3", "drives.1": "x", "name": "a", "none": None, "yes": "true",
    }  # fmt: skip


def test_parts_of_a_list_go_by_their_names_where_each_has_one():
    assert flat({"drives": [{"uuid": "d1", "health": "BAD"}]}) == {
        "drives.d1.uuid": "d1",
        "drives.d1.health": "BAD",
    }
    twins = [{"name": "a"}, {"name": "a"}]
    assert flat(twins) == {"0.name": "a", "1.name": "a"}
    assert flat([{"name": "a"}, {}, 3]) == {"0.name": "a", "2": "3"}


def test_what_is_not_there_is_null():
    measured, unknown = cluster(node("a", cpu="4").using(cpu="1")), cluster(node("a", cpu="4"))
    (change,) = diff_of(measured, unknown, "a", "b").data()["changes"]
    assert list(change["fields"]) == [{"field": "actual.cpu", "before": "1", "after": None}]


def test_types_read_as_in_json():
    types = ResourceTypes([ResourceType("example.com/licences", "licence", is_compressible=True)])
    (change,) = diff_of(cluster(), cluster(resource_types=types), "a", "b").data()["changes"]
    (field,) = change["fields"]
    assert msgspec.json.decode(field["after"])["isCompressible"] is True
