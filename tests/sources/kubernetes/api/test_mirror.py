"""After any events a mirror's snapshot is what a reading of the same objects gives."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from sources.kubernetes.api.object_pool import (
    BAREMETAL,
    BY_KIND,
    DEFAULT_CLASS,
    GIB,
    IDENTIFIER,
    POOL,
    Stored,
    pod,
    stored,
)
from ullage.engine.columns import ARRAYS, BY_NODE, Columns
from ullage.model.cluster import Snapshot
from ullage.model.delta import TABLES
from ullage.model.delta import apply as apply_delta
from ullage.model.policy import Policy
from ullage.model.resources import ResourceTypes
from ullage.sources.kubernetes.api import mirror as mirror_module
from ullage.sources.kubernetes.api.mirror import KINDS, Mirror
from ullage.sources.kubernetes.api.mirrored_disks import NOWHERE
from ullage.sources.kubernetes.cluster_reading import ClusterReading
from ullage.sources.kubernetes.items import NODE, POD, Item, Kind
from ullage.sources.kubernetes.nodes import GROUP_LABEL

State = dict[tuple[Kind, str], Stored]
EVENTS_MAX = 40
POLICY = Policy()


def read(objects: Mapping[tuple[Kind, str], Stored]) -> Snapshot:
    """What a dump of the objects says that can be read."""
    reading = ClusterReading(ResourceTypes(), GROUP_LABEL)
    for kind in KINDS:
        for each in sorted(
            (each for each in objects.values() if each.kind == kind), key=lambda each: each.key
        ):
            if not each.bad:
                reading.take(Item(kind, "", Raw(each.text), NOWHERE, ()))
    return reading.snapshot(sees_nodes=True)


class Follower:
    """A mirror, what is there by the events, and the snapshot that deltas have made."""

    def __init__(self) -> None:
        self.mirror = Mirror()
        self.objects: State = {}
        self.snapshot = self.mirror.snapshot(POLICY)
        self.columns = Columns(self.snapshot)

    def put(self, each: Stored) -> None:
        assert self.mirror.put(each.kind, Raw(each.text)) == "7"
        self.objects[each.kind, each.key] = each

    def drop(self, each: Stored) -> None:
        assert self.mirror.drop(each.kind, Raw(each.text)) == "7"
        self.objects.pop((each.kind, each.key), None)

    def listed(self, kind: Kind, listed: list[Stored]) -> None:
        self.mirror.begin(kind)
        self.objects = {key: each for key, each in self.objects.items() if key[0] != kind}
        for each in listed:
            self.put(each)
        self.mirror.end(kind)

    def follow(self, happened: list[tuple[str, Any]]) -> None:
        for verb, what in happened:
            if verb == "put":
                self.put(what)
            elif verb == "drop":
                self.drop(what)
            elif verb == "list":
                self.listed(*what)
            else:
                self.look()

    def look(self) -> None:
        """Take the delta, and compare."""
        delta = self.mirror.delta()
        self.snapshot = apply_delta(self.snapshot, delta)
        expected = read(self.objects)
        for table in TABLES:
            assert list(getattr(self.snapshot, table)) == list(getattr(expected, table)), table
        self.columns = self.columns.advance(delta)
        fresh = Columns(self.snapshot)
        assert self.columns.nodes == fresh.nodes
        known = [self.columns.resource_index[name] for name in fresh.resources]
        for name in ARRAYS:
            assert (getattr(self.columns, name)[:, known] == getattr(fresh, name)).all(), name
        for name in BY_NODE:
            assert (getattr(self.columns, name) == getattr(fresh, name)).all(), name
        bad = sorted(key for key, each in self.objects.items() if each.bad)
        assert [(each.kind, each.key) for each in self.mirror.unreadable] == bad
        assert self.mirror.delta().is_empty


puts = st.tuples(st.just("put"), st.sampled_from(POOL))
drops = st.tuples(st.just("drop"), st.sampled_from(POOL))
lists = st.sampled_from(sorted(BY_KIND)).flatmap(
    lambda kind: st.tuples(
        st.just("list"),
        st.tuples(
            st.just(kind),
            st.lists(st.sampled_from(BY_KIND[kind]), max_size=4, unique_by=lambda each: each.key),
        ),
    )
)
looks = st.tuples(st.just("look"), st.none())
events = st.lists(st.one_of(puts, puts, puts, drops, lists, looks), max_size=EVENTS_MAX)


@given(events)
def test_after_any_events_the_tables_are_those_of_a_reading_of_what_is_there(happened):
    follower = Follower()
    follower.follow(happened)
    follower.look()


BY_OBJECT: dict[tuple[Kind, str], list[Stored]] = {}
for _each in POOL:
    if not _each.bad:
        BY_OBJECT.setdefault((_each.kind, _each.key), []).append(_each)
full_clusters = st.binary(min_size=len(BY_OBJECT), max_size=len(BY_OBJECT)).map(
    lambda drawn: [states[byte % len(states)] for byte, states in zip(drawn, BY_OBJECT.values(), strict=True)]
)
few_events = st.lists(st.one_of(puts, drops, looks), min_size=1, max_size=8)


@given(full_clusters, few_events)
def test_in_a_full_cluster_too(there, happened):
    follower = Follower()
    for each in there:
        follower.put(each)
    follower.look()
    follower.follow(happened)
    follower.look()


GANG = {"metadata": {"labels": {"scheduling.x-k8s.io/pod-group": "g"}}}
OWN = {"volumes": [{"name": "own", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}]}
CLAIMING = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "c"}}]}
NEWEST = {
    "annotations": {DEFAULT_CLASS: "true"},
    "creationTimestamp": "2025-01-01T00:00:00Z",
}
CLAIM = stored("v1", "PersistentVolumeClaim", "c", namespace="team", spec={})
FAST = stored("storage.k8s.io/v1", "StorageClass", "fast", metadata=NEWEST)
OLDER = stored(
    "storage.k8s.io/v1",
    "StorageClass",
    "old",
    metadata={**NEWEST, "creationTimestamp": "2024-01-01T00:00:00Z"},
)
SECOND_NODE = stored("v1", "Node", "n2", metadata={"labels": {IDENTIFIER: "id"}})
DISKS = (
    SECOND_NODE,
    stored(BAREMETAL, "Drive", "d", spec={"Type": "HDD", "Size": GIB, "NodeId": "id"}),
    stored(BAREMETAL, "AvailableCapacity", "ac", spec={"Location": "d", "Size": GIB}),
)
OFFERED_NOT = stored(BAREMETAL, "AvailableCapacity", "b", spec={"Location": "d", "Size": 0})
VOLUME = stored(BAREMETAL, "Volume", "v", namespace="team", spec={"Location": "d", "Size": 1})
OWNED = stored(
    BAREMETAL,
    "Volume",
    "v",
    namespace="driver",
    spec={"Location": "d", "Size": 1, "Ephemeral": True, "Owners": ["a"]},
)
RESERVED = stored(BAREMETAL, "AvailableCapacityReservation", "team-a", spec={"ReservationRequests": [{}]})
QUOTA, COMPOSITE = (
    stored("nos.nebuly.com/v1alpha1", kind, "q", namespace="team", spec={})
    for kind in ("ElasticQuota", "CompositeElasticQuota")
)
WORKLOAD = ("workloads", "team/a")
SAYS_OF_ANOTHER = {
    "a node, of the pods that were on it before": (
        [pod("team", "a", nodeName="n2")],
        SECOND_NODE,
        WORKLOAD,
    ),
    "a claim, of the volumes of pods": (
        [pod("team", "a", **CLAIMING)],
        stored("v1", "PersistentVolumeClaim", "c", namespace="team", spec={"storageClassName": "fast"}),
        WORKLOAD,
    ),
    "a claim, of the pod whose own claim has its name": (
        [pod("team", "a", metadata={"uid": "u"}, **OWN)],
        stored("v1", "PersistentVolumeClaim", "a-own", namespace="team", spec={}),
        WORKLOAD,
    ),
    "a group, of the pods of a gang": (
        [pod("team", "a", **GANG)],
        stored("scheduling.x-k8s.io/v1", "PodGroup", "g", namespace="team", spec={"minMember": 2}),
        WORKLOAD,
    ),
    "a group of one, of the pods of what is no gang": (
        [pod("team", "a", **GANG)],
        stored("scheduling.x-k8s.io/v1", "PodGroup", "g", namespace="team", spec={"minMember": 1}),
        WORKLOAD,
    ),
    "a default class, of claims": ([CLAIM], FAST, ("claims", "team/c")),
    "a default class, of the pods of claims": ([CLAIM, pod("team", "a", **CLAIMING)], FAST, WORKLOAD),
    "a default class, of pods that wait": ([pod("team", "a", **OWN)], FAST, WORKLOAD),
    "a newer default class, of the older": ([OLDER], FAST, ("storage_classes", "old")),
    "a quota, of the composite one of its name": ([COMPOSITE], QUOTA, ("quotas", "team/q-composite")),
    "a CSINode, of its node": (
        [SECOND_NODE],
        stored(
            "storage.k8s.io/v1",
            "CSINode",
            "n2",
            spec={"drivers": [{"name": "d", "allocatable": {"count": 1}}]},
        ),
        ("nodes", "n2"),
    ),
    "a drive, of its node": ([DISKS[0]], DISKS[1], ("nodes", "n2")),
    "an earlier node of the same identifier, of the drives of both": (
        DISKS,
        stored("v1", "Node", "n1", metadata={"labels": {IDENTIFIER: "id"}}),
        ("nodes", "n2"),
    ),
    "a claim, of a volume on disk": (
        [*DISKS, VOLUME],
        stored("v1", "PersistentVolumeClaim", "c", namespace="team", spec={"volumeName": "v"}),
        ("nodes", "n2"),
    ),
    "a persistent volume, of a volume on disk": (
        [*DISKS, VOLUME],
        stored("v1", "PersistentVolume", "v", spec={"claimRef": {"namespace": "team", "name": "c"}}),
        ("nodes", "n2"),
    ),
    "a pod with claims of its own, of a volume on disk": (
        [
            *DISKS,
            VOLUME,
            stored("v1", "PersistentVolumeClaim", "a-own", namespace="team", spec={"volumeName": "v"}),
        ],
        pod("team", "a", **OWN),
        ("nodes", "n2"),
    ),
    "a pod in another namespace, of the volume that it owns": (
        [*DISKS, OWNED],
        pod("team", "a"),
        ("nodes", "n2"),
    ),
    "a pod, of its reservation": ([*DISKS, RESERVED], pod("team", "a"), ("reservations", "team-a/0@")),
}


@pytest.mark.parametrize(("there", "says", "of"), SAYS_OF_ANOTHER.values(), ids=SAYS_OF_ANOTHER)
def test_what_one_object_says_of_another_counts_as_long_as_it_is_there(there, says, of):
    table, key = of
    follower = Follower()
    for each in there:
        follower.put(each)
    follower.look()
    before = getattr(follower.snapshot, table).get(key)
    follower.put(says)
    follower.look()
    assert getattr(follower.snapshot, table).get(key) != before
    follower.drop(says)
    follower.look()
    assert getattr(follower.snapshot, table).get(key) == before


def test_of_two_capacities_of_one_drive_the_later_by_name_counts_whichever_came_first():
    follower = Follower()
    good = {"Type": "HDD", "Size": GIB, "NodeId": "id", "Health": "GOOD", "Status": "ONLINE"}
    follower.put(DISKS[0])
    follower.put(stored(BAREMETAL, "Drive", "d", spec={**good, "Usage": "IN_USE", "IsClean": True}))
    follower.put(OFFERED_NOT)
    follower.put(DISKS[2])
    follower.look()
    (node,) = follower.snapshot.nodes
    assert not node.drives[0].clean


def test_every_kind_that_is_followed_is_in_the_pool():
    assert set(BY_KIND) == set(KINDS)


def test_where_nothing_changes_there_is_no_delta():
    follower = Follower()
    for _ in range(2):
        for states in BY_OBJECT.values():
            follower.put(states[0])
        delta = follower.mirror.delta()
    assert delta.is_empty


def test_what_came_and_went_between_two_deltas_is_in_neither():
    follower = Follower()
    gone = pod("team", "short", nodeName="n1")
    follower.put(gone)
    follower.drop(gone)
    assert follower.mirror.delta().is_empty


def test_a_node_in_a_new_group_brings_it_and_the_last_one_takes_it_away():
    follower = Follower()
    blue = stored("v1", "Node", "n1", metadata={"labels": {"ullage.dev/group": "blue"}})
    follower.put(blue)
    assert [group.name for group in follower.mirror.delta().groups] == ["blue"]
    follower.drop(blue)
    assert follower.mirror.delta().dropped == {"nodes": ("n1",), "groups": ("blue",)}


UNREADABLE = {
    "not JSON": (b"{", "", "truncated"),
    "no object": (b"[]", "", "expected a mapping"),
    "no metadata": (b"{}", "", "without a name"),
    "no name": (b'{"metadata":{}}', "", "name"),
    "too deep": (b'{"metadata":{"name":"x"},"a":' + b"[" * 100_000, "", "recursion"),
    "a wrong type inside": (
        json.dumps({"metadata": {"name": "x", "namespace": "team"}, "spec": {"volumes": [7]}}).encode(),
        "team/x",
        "spec.volumes",
    ),
}


@pytest.mark.parametrize(("content", "key", "why"), UNREADABLE.values(), ids=UNREADABLE)
def test_an_object_that_cannot_be_read_is_named_and_forgotten_when_a_list_has_it_no_longer(content, key, why):
    mirror = Mirror()
    mirror.put(POD, content)
    (found,) = mirror.unreadable
    assert (found.kind, found.key) == (POD, key)
    assert why in found.why
    mirror.drop(POD, content)
    assert not mirror.unreadable
    mirror.put(POD, content)
    mirror.begin(POD)
    mirror.put(POD, content)
    mirror.end(POD)
    assert mirror.unreadable
    mirror.begin(POD)
    mirror.end(POD)
    assert not mirror.unreadable
    assert mirror.delta().is_empty


@pytest.mark.parametrize("content", [b"{", b"{}", b'{"metadata":{}}', b'{"metadata":{"name":"x\\n"}}'])
def test_an_object_of_another_kind_without_a_name_is_left_out(content):
    mirror = Mirror()
    for kind in KINDS:
        mirror.put(kind, content)
    assert {each.kind for each in mirror.unreadable} == set(KINDS)
    assert mirror.delta().is_empty


def test_a_list_that_was_broken_off_drops_nothing():
    follower = Follower()
    follower.put(pod("team", "a"))
    follower.put(pod("team", "b"))
    follower.mirror.begin(POD)
    follower.put(pod("team", "a", cpu="2"))
    follower.look()
    follower.listed(POD, [pod("team", "b")])
    follower.look()


def test_of_many_unreadable_objects_a_bounded_number_is_named():
    mirror = Mirror()
    for index in range(mirror_module.UNREADABLE_MAX + 10):
        mirror.put(POD, pod("team", f"p{index}", bad=True, containers=[]).text)
    assert len(mirror.unreadable) == mirror_module.UNREADABLE_MAX


def test_values_of_texts_that_objects_shared_are_not_kept_for_ever(monkeypatch):
    monkeypatch.setattr(mirror_module, "TEXTS_AFTER_MAX", 10)
    mirror = Mirror()
    for cpu in range(1, 100):
        mirror.put(NODE, stored("v1", "Node", "n1", status={"capacity": {"cpu": str(cpu)}}).text)
        volume = stored("v1", "PersistentVolume", "v", spec={"capacity": {"storage": f"{cpu}Gi"}})
        mirror.put(volume.kind, volume.text)
    assert len(mirror._node_reader._sizes) <= 10
    assert len(mirror._rows._amounts._quantities) <= 20
    (node,) = mirror.snapshot(POLICY).nodes
    assert node.capacity == ResourceTypes().parse({"cpu": "99"})


def test_a_snapshot_has_the_name_the_policy_and_the_time_that_it_is_given():
    mirror = Mirror(name="west")
    snapshot = mirror.snapshot(POLICY, taken_seconds=5)
    assert (snapshot.name, snapshot.policy, snapshot.taken_seconds) == ("west", POLICY, 5)


def test_of_a_pod_more_is_known_than_its_workload():
    mirror = Mirror()
    status = {"nominatedNodeName": "n1", "conditions": []}
    mirror.put(POD, pod("team", "a", metadata={"uid": "u1"}, status=status).text)
    assert mirror.facts("team/a") == ("u1", "n1", b"[]")
    assert mirror.facts("team/b") is None
