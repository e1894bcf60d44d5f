"""A pod that has a node is counted whatever it says; one that waits and cannot be read is named."""

import msgspec
import pytest

from sources.kubernetes.api.object_pool import pod, stored
from ullage.engine.columns import Columns
from ullage.model.policy import Policy
from ullage.sources.kubernetes.amounts import ASKED_MAX
from ullage.sources.kubernetes.api.left_out import identity_of
from ullage.sources.kubernetes.api.mirror import Mirror
from ullage.sources.kubernetes.items import NODE, POD

N1 = stored("v1", "Node", "n1", status={"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}})
ALL = {"cpu": ASKED_MAX, "memory": ASKED_MAX, "pods": 1}
TWO = {"cpu": 2000, "pods": 1}
UNREADABLE_RULE = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": 3}}
# Each row: what is wrong with a pod that has a node, and what it is counted with.
COUNTED = {
    "a request that is no quantity": ({"cpu": "much"}, ALL),
    "a negative one": ({"cpu": "-1"}, ALL),
    "no containers": ({"containers": []}, ALL),
    "a container that is none": ({"containers": [7]}, ALL),
    "a priority beyond 64 bits": ({"cpu": "2", "priority": 1 << 63}, ALL),
    "volumes that are none": ({"cpu": "2", "volumes": [7]}, ALL),
    "a rule that cannot be read": ({"cpu": "2", "affinity": UNREADABLE_RULE}, TWO),
    "labels that are none": ({"cpu": "2", "metadata": {"labels": {"a": 1}}}, ALL),
    "a status that is none": (
        {"cpu": "2", "status": {"containerStatuses": [{"name": "main", "allocatedResources": {"cpu": "x"}}]}},
        TWO,
    ),
}


def mirrored(*objects):
    mirror = Mirror()
    for each in objects:
        mirror.put(each.kind, each.text)
    return mirror, mirror.snapshot(Policy())


@pytest.mark.parametrize("case", COUNTED)
def test_what_holds_room_is_counted_and_named(case):
    fields, expected = COUNTED[case]
    mirror, snapshot = mirrored(N1, pod("team", "p", nodeName="n1", **fields))
    (found,) = snapshot.workloads
    assert (found.key, found.node, found.state) == ("team/p", "n1", "ok")
    assert dict(found.requests) == expected
    assert [(each.key, each.scheduler) for each in mirror.unreadable] == [("team/p", "")]
    assert Columns(snapshot).promised.max() == max(expected.values())


def test_one_that_is_deleted_is_on_its_way_out_and_then_gone():
    ends = {"deletionTimestamp": "2026-01-02T03:04:05Z"}
    leaving = pod("team", "p", nodeName="n1", cpu="much", metadata=ends)
    mirror, snapshot = mirrored(N1, leaving)
    assert [each.terminating for each in snapshot.workloads] == [True]
    mirror.drop(POD, leaving.text)
    assert mirror.delta().dropped == {"workloads": ("team/p",)}
    assert not mirror.unreadable


def test_one_that_can_be_read_again_counts_as_what_it_says():
    mirror, _ = mirrored(N1, pod("team", "p", nodeName="n1", cpu="much"))
    mirror.put(POD, pod("team", "p", nodeName="n1", cpu="2").text)
    (found,) = mirror.delta().workloads
    assert dict(found.requests) == TWO
    assert not mirror.unreadable


@pytest.mark.parametrize(
    "fields", [{"nodeName": "n1", "status": {"phase": "Failed"}}, {"nodeName": ["n1"]}, {}]
)
def test_what_holds_no_room_is_left_out(fields):
    mirror, snapshot = mirrored(N1, pod("team", "p", cpu="much", **fields))
    assert not len(snapshot.workloads)
    assert [each.key for each in mirror.unreadable] == ["team/p"]


def test_one_that_waits_is_named_with_what_is_needed_to_tell_it():
    mirror, _ = mirrored(pod("team", "p", cpu="much", schedulerName="ours", metadata={"uid": "u"}))
    (found,) = mirror.unreadable
    assert (found.kind, found.key, found.uid, found.scheduler) == (POD, "team/p", "u", "ours")
    assert found.why.startswith("spec.containers[0].resources.requests.cpu: quantity 'much'")


def test_an_object_says_what_it_is_called():
    assert identity_of(N1.text).key == "n1"
    assert identity_of(msgspec.Raw(b"[]")).key == ""
    assert N1.kind == NODE
