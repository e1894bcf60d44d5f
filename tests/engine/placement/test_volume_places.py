"""Volumes and classes are where node affinity, zone labels, topologies and published capacity say."""

import numpy as np
import pytest

from builders import cluster, node, persistent_volume
from ullage.engine.placement.node_columns import NodeColumns
from ullage.engine.placement.rules import EVERY
from ullage.engine.placement.volume_places import OnNodes, Places, Reach
from ullage.model.constraints import LabelSelector, NodeSelector, NodeSelectorTerm, Requirement
from ullage.model.storage import StorageCapacity, StorageClass, StorageDriver, TopologyTerm

HOST = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
REGION = "topology.kubernetes.io/region"
OLD_ZONE = "failure-domain.beta.kubernetes.io/zone"
NODES = [
    node("n0").labelled({HOST: "n0", ZONE: "a"}),
    node("n1").labelled({HOST: "n1", ZONE: "b"}),
    node("n2").labelled({HOST: "n2", OLD_ZONE: "a", REGION: "r"}),
    node("n3").labelled({HOST: "n3"}),
]
ALL = [0, 1, 2, 3]


def places(*parts):
    snapshot = cluster(*NODES, *parts)
    return Places(snapshot, NodeColumns(list(snapshot.nodes)))


def reached(reach):
    return ALL if reach is None else np.flatnonzero(reach.mask(EVERY)).tolist()


def is_in(key, *values):
    return Requirement(key, "In", values)


AFFINITIES = {
    "no affinity is reached from everywhere": (None, ALL),
    "a host is one node": ([((is_in(HOST, "n1"),), ())], [1]),
    "several values are several nodes": ([((is_in(HOST, "n2", "n0", "n9"),), ())], [0, 2]),
    "terms are alternatives": ([((is_in(HOST, "n1"),), ()), ((is_in(ZONE, "a"),), ())], [0, 1]),
    "conditions of a term all hold": (
        [((is_in(ZONE, "a", "b"), Requirement(HOST, "NotIn", ("n0",))), ())],
        [1],
    ),
    "an empty term holds nowhere": ([((), ())], []),
    "no term holds nowhere": ([], []),
    "fields are passed over": ([((), (is_in("metadata.name", "n1"),))], ALL),
}


@pytest.mark.parametrize("rule", AFFINITIES)
def test_node_affinity_of_a_volume(rule):
    terms, rows = AFFINITIES[rule]
    affinity = None if terms is None else NodeSelector(tuple(NodeSelectorTerm(*term) for term in terms))
    assert reached(places().of_volume(persistent_volume("v", "1", node_affinity=affinity))) == rows


ZONES = {
    "no label says nothing": ({}, ALL),
    "a zone is that of the node, or the node has none at all": ({ZONE: "a"}, [0, 3]),
    "several zones are joined": ({ZONE: "a__b"}, [0, 1, 3]),
    "a node has the old label, or the new one in its stead": ({OLD_ZONE: "a"}, [0, 2, 3]),
    "every label counts": ({ZONE: "a", REGION: "r"}, [3]),
    "a label with an empty zone is passed over": ({ZONE: "a__"}, ALL),
    "other labels say nothing": ({"tier": "x"}, ALL),
}


@pytest.mark.parametrize("rule", ZONES)
def test_zone_of_a_volume(rule):
    labels, rows = ZONES[rule]
    assert reached(places().in_zone(persistent_volume("v", "1", labels=labels))) == rows


CHECKED = StorageDriver("d", checks_capacity=True)
HERE = LabelSelector({HOST: "n1"})
CLASSES = {
    "a class makes volumes everywhere": ((), StorageClass("c", "d"), ALL),
    "allowed topologies bind": (
        (),
        StorageClass("c", "d", allowed_topologies=(TopologyTerm((is_in(ZONE, "a", "b"),)),)),
        [0, 1],
    ),
    "topologies are alternatives and an empty one is none": (
        (),
        StorageClass("c", "d", allowed_topologies=(TopologyTerm(), TopologyTerm((is_in(ZONE, "b"),)))),
        [1],
    ),
    "a driver that publishes capacity and has none has no room": ((CHECKED,), StorageClass("c", "d"), []),
    "capacity that nobody checks does not count": (
        (StorageDriver("d"), StorageCapacity("s", "", "c", HERE, 1)),
        StorageClass("c", "d"),
        ALL,
    ),
    "capacity is where its selector says": (
        (CHECKED, StorageCapacity("s", "", "c", HERE, 10)),
        StorageClass("c", "d"),
        [1],
    ),
    "capacity of another class does not count": (
        (CHECKED, StorageCapacity("s", "", "e", HERE, 10)),
        StorageClass("c", "d"),
        [],
    ),
    "capacity below the size does not count": (
        (CHECKED, StorageCapacity("s", "", "c", HERE, 9)),
        StorageClass("c", "d"),
        [],
    ),
    "the largest volume counts more than the capacity": (
        (
            CHECKED,
            StorageCapacity("s", "", "c", HERE, 10, 9),
            StorageCapacity("t", "", "c", LabelSelector(), 1, 10),
        ),
        StorageClass("c", "d"),
        ALL,
    ),
    "capacity without a selector is nowhere": (
        (CHECKED, StorageCapacity("s", "", "c", None, 10)),
        StorageClass("c", "d"),
        [],
    ),
    "topology and capacity both bind": (
        (CHECKED, StorageCapacity("s", "", "c", LabelSelector(), 10)),
        StorageClass("c", "d", allowed_topologies=(TopologyTerm((is_in(ZONE, "b"),)),)),
        [1],
    ),
}


@pytest.mark.parametrize("rule", CLASSES)
def test_where_a_class_makes_a_volume_of_ten_bytes(rule):
    parts, storage, rows = CLASSES[rule]
    mask = places(*parts).provided(storage, 10)
    assert (ALL if mask is None else np.flatnonzero(mask).tolist()) == rows


def test_a_claim_without_a_size_needs_no_capacity():
    assert places(CHECKED).provided(StorageClass("c", "d"), 0) is None


@pytest.mark.parametrize("rows", [[], [2], [0, 3]])
def test_a_reach_is_the_same_in_whole_and_in_part(rows):
    reach = Reach(np.array(rows, np.intp), 4)
    some = np.array([3, 0, 2], np.intp)
    assert [reach.has(row) for row in ALL] == reach.mask(EVERY).tolist() == [row in rows for row in ALL]
    assert OnNodes(reach, "").allows(some).tolist() == [row in rows for row in some]
