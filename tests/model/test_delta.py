"""Deltas: applying one costs what it changes, and the difference of two snapshots is the way between them."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.model.admission import (
    Autoscaler,
    DisruptionBudget,
    LimitRange,
    LimitRangeItem,
    Namespace,
    PodGroup,
    PriorityClass,
    ResourceQuota,
    RuntimeClass,
)
from ullage.model.cluster import Group, Node, Quota, Snapshot, Workload
from ullage.model.delta import BY_FILE_NAME, TABLE_FACTS, TABLES, Change, Delta, apply, changes, difference
from ullage.model.errors import InputError
from ullage.model.ledger_entry import LedgerEntry
from ullage.model.policy import Policy
from ullage.model.resources import Resources
from ullage.model.storage import Claim, PersistentVolume, StorageCapacity, StorageClass, StorageDriver
from ullage.model.table import Table

ROWS = {
    "nodes": lambda name, value: Node(name, domain=value),
    "groups": lambda name, value: Group(name, {"label": value}),
    "workloads": lambda name, value: Workload(name, kind=value),
    "quotas": lambda name, value: Quota(name, parent=value),
    "reservations": lambda name, value: LedgerEntry(name, "r", "n", value),
    "claims": lambda name, value: Claim(name, storage_class=value),
    "volumes": lambda name, value: PersistentVolume(name, claim=value),
    "storage_classes": lambda name, value: StorageClass(name, provisioner=value),
    "storage_capacities": lambda name, value: StorageCapacity(name, storage_class=value),
    "storage_drivers": lambda name, value: StorageDriver(name, checks_capacity=value == "x"),
    "namespaces": lambda name, value: Namespace(name, {"label": value}),
    "limit_ranges": lambda name, value: LimitRange(name, items=(LimitRangeItem(value),)),
    "resource_quotas": lambda name, value: ResourceQuota(name, scopes=(value,)),
    "priority_classes": lambda name, value: PriorityClass(name, preempts=value == "x"),
    "runtime_classes": lambda name, value: RuntimeClass(name, node_selector={"label": value}),
    "disruption_budgets": lambda name, value: DisruptionBudget(name, min_available=value),
    "pod_groups": lambda name, value: PodGroup(name, members_min=len(value)),
    "autoscalers": lambda name, value: Autoscaler(name, target=value),
}


def to_camel(name):
    first, *rest = name.split("_")
    return first + "".join(map(str.capitalize, rest))


def row_of(table):
    return st.builds(ROWS[table], st.sampled_from("abcde"), st.sampled_from("xy"))


def tables_of(table):
    return st.lists(row_of(table), max_size=5).map(Table)


SNAPSHOTS = st.builds(Snapshot, revision=st.integers(0, 99), **{name: tables_of(name) for name in TABLES})


def content(snapshot):
    return {name: list(getattr(snapshot, name)) for name in TABLES}


def test_changes_are_listed_by_table_with_what_is_put_before_what_is_dropped():
    old = Snapshot(nodes=Table([Node("n1"), Node("n2")]), groups=Table([Group("g")]))
    delta = Delta(
        nodes=(Node("n3"), Node("n1", domain="rack")), groups=(Group("h"),), dropped={"nodes": ("n2", "gone")}
    )
    assert changes(old, delta) == [
        Change("nodes", "n3", None, Node("n3")),
        Change("nodes", "n1", Node("n1"), Node("n1", domain="rack")),
        Change("nodes", "n2", Node("n2"), None),
        Change("nodes", "gone", None, None),
        Change("groups", "h", None, Group("h")),
    ]


def test_each_table_can_be_put_into_and_dropped_from():
    assert set(TABLES) == set(ROWS)
    for name in TABLES:
        row = ROWS[name]("a", "x")
        added = apply(Snapshot(), Delta(**{name: (row,)}))
        assert list(getattr(added, name)) == [row]
        assert content(apply(added, Delta(dropped={name: (row.key,)}))) == content(Snapshot())
        assert not Delta(**{name: (row,)}).is_empty
        assert not Delta(dropped={name: (row.key,)}).is_empty
    assert Delta().is_empty
    assert Delta(dropped={"nodes": ()}).is_empty


def test_every_table_of_a_snapshot_is_named_as_its_field_is_in_files():
    assert {name: facts.file_name for name, facts in TABLE_FACTS.items()} == {
        field.name: to_camel(field.name)
        for field in msgspec.structs.fields(Snapshot)
        if getattr(field.default, "__class__", None) is Table
    }
    assert {BY_FILE_NAME[facts.file_name]: facts.row_type for facts in TABLE_FACTS.values()} == {
        name: type(ROWS[name]("a", "x")) for name in TABLES
    }


def test_what_a_delta_does_not_touch_is_the_same_object_and_the_old_snapshot_stays():
    old = Snapshot(
        name="c", revision=7, policy=Policy("zos"), nodes=Table([Node("n1")]), quotas=Table([Quota("q")]),
        unknowns=("usage",),
    )  # fmt: skip
    new = apply(old, Delta(workloads=(Workload("w"),)))
    for name in TABLES:
        assert (getattr(new, name) is getattr(old, name)) == (name != "workloads")
    assert (new.name, new.policy, new.unknowns, new.revision) == ("c", Policy("zos"), ("usage",), 8)
    assert (old.revision, len(old.workloads)) == (7, 0)


def test_equal_snapshots_have_an_empty_difference():
    snapshot = Snapshot(revision=3, nodes=Table([Node("n1", Resources({"cpu": 1}))]))
    assert difference(snapshot, snapshot) == Delta(revision=3)
    assert difference(snapshot, msgspec.structs.replace(snapshot, revision=9)) == Delta(revision=3)


def test_only_rows_that_differ_are_in_the_difference():
    old = Snapshot(nodes=Table([Node("n1"), Node("n2"), Node("n3")]))
    new = Snapshot(nodes=Table([Node("n1"), Node("n2", domain="rack"), Node("n4")]))
    assert difference(old, new) == Delta(
        revision=0, nodes=(Node("n2", domain="rack"), Node("n4")), dropped={"nodes": ("n3",)}
    )


def test_a_delta_applies_to_its_own_revision_or_to_any():
    snapshot = Snapshot(revision=5)
    assert apply(snapshot, Delta(revision=5)).revision == 6
    assert apply(snapshot, Delta(revision=None)).revision == 6
    for revision in (4, 6, 0):
        with pytest.raises(InputError) as refused:
            apply(snapshot, Delta(revision=revision))
        assert str(refused.value) == (
            f"the delta is for revision {revision}, the snapshot is at 5; read the cluster again"
        )


def test_a_delta_that_drops_from_an_unknown_table_is_refused():
    with pytest.raises(InputError) as refused:
        apply(Snapshot(), Delta(dropped={"pods": ("a",), "disks": ("b",), "nodes": ("c",)}))
    assert str(refused.value).startswith("the delta drops from 'disks'; tables are nodes, groups, workloads,")


def test_dropping_what_is_not_there_changes_nothing_but_the_revision():
    snapshot = Snapshot(nodes=Table([Node("n1")]))
    after = apply(snapshot, Delta(dropped={"nodes": ("n9",)}))
    assert content(after) == content(snapshot)
    assert after.revision == 1


@given(SNAPSHOTS, SNAPSHOTS)
def test_the_difference_applied_to_the_old_snapshot_has_the_content_of_the_new(old, new):
    delta = difference(old, new)
    after = apply(old, delta)
    assert content(after) == content(new)
    assert after.revision == old.revision + 1
    assert delta.revision == old.revision
    assert delta.is_empty == (content(old) == content(new))
    assert content(apply(after, difference(after, old))) == content(old)


@given(SNAPSHOTS, SNAPSHOTS)
def test_changes_lists_each_row_before_and_after(old, new):
    expected = [
        Change(name, key, getattr(old, name).get(key), getattr(new, name).get(key))
        for name in TABLES
        for key in sorted({*getattr(old, name).keys(), *getattr(new, name).keys()})
    ]
    listed = changes(old, difference(old, new))
    assert sorted(listed, key=lambda change: (TABLES.index(change.table), change.key)) == [
        change for change in expected if change.before != change.after
    ]
