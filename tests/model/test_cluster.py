"""The records of a cluster: how rows are known, which of them hold capacity, and what a bare one means."""

from fractions import Fraction

import pytest

from ullage.model.cluster import (
    DEFAULT_GROUP,
    HOLDING_STATES,
    Batch,
    Container,
    Device,
    Group,
    Node,
    Quota,
    Snapshot,
    Taint,
    Volume,
    Workload,
)
from ullage.model.constraints import UNCONSTRAINED
from ullage.model.delta import TABLES
from ullage.model.drives import Drive, VolumeGroup
from ullage.model.policy import Policy
from ullage.model.resources import NOTHING, ResourceTypes
from ullage.model.storage import Claim


@pytest.mark.parametrize(
    ("row", "key"),
    [
        (Node("n1", group="g"), "n1"),
        (Group("g1"), "g1"),
        (Workload("web-1"), "web-1"),
        (Workload("web-1", "shop"), "shop/web-1"),
        (Batch(Workload("web", "shop"), 3), "shop/web"),
        (Quota("team-a", namespaces=("a", "b")), "team-a"),
        (Claim("data"), "data"),
        (Claim("data", "shop"), "shop/data"),
    ],
)
def test_a_row_is_known_by_its_name_and_where_there_is_one_its_namespace(row, key):
    assert row.key == key


@pytest.mark.parametrize(
    ("state", "node", "holds"),
    [
        ("ok", "n1", True),
        ("paused", "n1", True),
        ("init", "n1", False),
        ("error", "n1", False),
        ("deleted", "n1", False),
        ("ok", "", False),
        ("paused", "", False),
        ("init", "", False),
    ],
)
def test_a_workload_holds_capacity_when_it_is_ok_or_paused_on_a_node(state, node, holds):
    assert Workload("w", node=node, state=state).holds_capacity is holds


def test_a_terminating_workload_still_holds_capacity():
    assert Workload("w", node="n1", terminating=True).holds_capacity
    assert frozenset({"ok", "paused"}) == HOLDING_STATES


def test_a_bare_node_is_ready_in_the_default_group_with_no_reserve_stated():
    node = Node("n1")
    assert (node.capacity, node.reserve, node.actual) == (NOTHING, None, None)
    assert (node.group, node.domain, node.state) == (DEFAULT_GROUP, "", "ready") == ("default", "", "ready")
    assert (node.cpu_conversion_factor, node.swap_bytes) == (Fraction(1), None)
    assert (node.labels, node.qualities) == ({}, {})
    assert (node.taints, node.devices, node.drives, node.volume_groups) == ((), (), (), ())


def test_a_bare_workload_is_a_running_pod_without_constraints():
    workload = Workload("w")
    assert (workload.kind, workload.state, workload.node, workload.standby) == ("Pod", "ok", "", "")
    assert (workload.requests, workload.limits, workload.overhead) == (NOTHING, NOTHING, NOTHING)
    assert (workload.priority, workload.created_seconds, workload.terminating) == (0, None, False)
    assert workload.constraints == UNCONSTRAINED


def test_the_parts_of_rows_have_these_defaults():
    assert Taint("k") == Taint("k", "", "NoSchedule")
    assert Device("0") == Device("0", "nvidia.com/gpu", "", 0)
    drive = Drive("u", "SSD", 1)
    assert (drive.health, drive.status, drive.usage, drive.system, drive.clean) == (
        "GOOD", "ONLINE", "IN_USE", False, True,
    )  # fmt: skip
    assert VolumeGroup("vg", "HDD", 2, 1).extent_bytes == 4 << 20
    assert Container("c").role == "main"
    assert Volume("v") == Volume("v", "", "", 0, inline=False)
    assert Batch(Workload("w")) == Batch(Workload("w"), 1, atomic=False)
    assert Quota("q").kind == "Quota"
    assert (Quota("q").weight, Quota("q").lending_limit, Quota("q").borrowing_limit) == (None, None, None)
    assert not Claim("c").bound


def test_an_empty_snapshot_is_at_revision_zero_under_the_default_policy():
    snapshot = Snapshot()
    assert (snapshot.name, snapshot.revision, snapshot.unknowns) == ("", 0, ())
    assert (snapshot.policy, snapshot.resource_types) == (Policy(), ResourceTypes())
    assert {name: len(getattr(snapshot, name)) for name in TABLES} == dict.fromkeys(TABLES, 0)


@pytest.mark.parametrize("record", [Node("n1"), Workload("w"), Snapshot(), Quota("q")])
def test_a_record_cannot_be_changed_in_place(record):
    with pytest.raises(AttributeError):
        record.name = "other"
