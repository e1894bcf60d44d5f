"""Rows of tables come and go one by one; only those of which others speak are looked at again."""

import pytest

from sources.kubernetes.api.object_pool import BY_KIND, DEFAULT_CLASS, stored
from ullage.model.checks import row_check
from ullage.model.errors import InputError
from ullage.model.resources import ResourceTypes
from ullage.sources.kubernetes.amounts import Amounts
from ullage.sources.kubernetes.api.mirrored_rows import MirroredRows
from ullage.sources.kubernetes.object_kinds import OBJECT_KINDS

TYPES = ResourceTypes()


@pytest.fixture
def rows() -> MirroredRows:
    found = MirroredRows()
    found.read_by(Amounts(TYPES, of_cluster=True), row_check(TYPES))
    return found


def put(rows: MirroredRows, *args: str, **fields: object) -> None:
    each = stored(*args, **fields)
    rows.put(each.kind, each.key, each.text)


def drop(rows: MirroredRows, *args: str, **fields: object) -> None:
    each = stored(*args, **fields)
    rows.drop(each.kind, each.key)


def put_class(rows: MirroredRows, name: str, year: int, *, default: bool = True) -> None:
    annotations = {DEFAULT_CLASS: "true" if default else "false"}
    metadata = {"annotations": annotations, "creationTimestamp": f"{year}-01-01T00:00:00Z"}
    put(rows, "storage.k8s.io/v1", "StorageClass", name, metadata=metadata)


CLAIM = ("v1", "PersistentVolumeClaim", "c")


def test_of_several_default_classes_the_newest_is_that_of_claims_that_name_none(rows):
    put(rows, *CLAIM, namespace="team", spec={})
    put_class(rows, "old", 2020)
    assert set(rows.changes()) == {"claims", "storage_classes"}
    assert (rows.default_class, rows.claim("team/c").storage_class) == ("old", "old")
    put_class(rows, "new", 2021)
    found = rows.changes()
    assert {name: row.default for name, row in found["storage_classes"].items()} == {
        "old": False,
        "new": True,
    }
    assert found["claims"]["team/c"].storage_class == "new"
    drop(rows, "storage.k8s.io/v1", "StorageClass", "new")
    assert rows.changes()["claims"]["team/c"].storage_class == "old"
    put_class(rows, "old", 2020, default=False)
    assert rows.changes()["claims"]["team/c"].storage_class == ""


def test_a_class_that_is_not_the_default_one_touches_no_claim(rows):
    put(rows, *CLAIM, namespace="team", spec={})
    rows.changes()
    put_class(rows, "other", 2021, default=False)
    assert set(rows.changes()) == {"storage_classes"}


def test_a_claim_that_comes_to_name_a_class_keeps_it(rows):
    put_class(rows, "default", 2020)
    put(rows, *CLAIM, namespace="team", spec={})
    rows.changes()
    put(rows, *CLAIM, namespace="team", spec={"storageClassName": "own"})
    assert rows.changes()["claims"]["team/c"].storage_class == "own"
    put_class(rows, "newer", 2022)
    assert set(rows.changes()) == {"storage_classes"}


def test_what_was_put_again_or_came_and_went_is_no_change(rows):
    put(rows, *CLAIM, namespace="team", spec={})
    rows.changes()
    put(rows, *CLAIM, namespace="team", spec={})
    put(rows, "v1", "Namespace", "short")
    drop(rows, "v1", "Namespace", "short")
    drop(rows, "v1", "Namespace", "never")
    assert rows.changes() == {}


def test_a_row_that_no_table_can_hold_is_refused(rows):
    with pytest.raises(InputError, match="does not fit 64 bits"):
        put(rows, "scheduling.k8s.io/v1", "PriorityClass", "p", value=1 << 63)
    assert rows.changes() == {}


def test_of_objects_that_are_gone_nothing_is_kept(rows):
    kinds = [each for kind in OBJECT_KINDS for each in BY_KIND[kind] if not each.bad]
    for each in kinds:
        rows.put(each.kind, each.key, each.text)
    assert set(rows.changes()) == {facts.table for facts in OBJECT_KINDS.values()}
    for kind in OBJECT_KINDS:
        for key in rows.keys(kind):
            rows.drop(kind, key)
    rows.changes()
    assert not any(rows._read.values())
    assert not any(rows._shown.values())
    assert not any((rows._classless, rows._created, rows._stale, rows._stale_whole))
