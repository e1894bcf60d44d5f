"""Nodes that stand in for each other, and how many losses are of one kind."""

from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import claim, cluster, node, persistent_volume, pod, volume
from ullage.engine.columns import Columns
from ullage.engine.redundancy.alike import classes_of, kinds_of_loss, losses_of, number_of_kinds
from ullage.engine.trial import Trial
from ullage.model.cluster import Taint
from ullage.model.constraints import Constraints, NodeSelector, NodeSelectorTerm, Requirement, TopologySpread
from ullage.model.ledger import VOLUME_SPACE
from ullage.model.ledger_entry import LedgerEntry
from ullage.model.resources import Resources
from ullage.model.storage import StorageClass

SIZES = st.lists(st.integers(1, 4), max_size=5)


def classes_of_sizes(sizes):
    starts = [sum(sizes[:place]) for place in range(len(sizes))]
    return [list(range(start, start + size)) for start, size in zip(starts, sizes, strict=True)]


@given(sizes=SIZES, count=st.integers(0, 3))
def test_every_loss_is_of_one_kind(sizes, count):
    classes = classes_of_sizes(sizes)
    class_of = {row: number for number, rows in enumerate(classes) for row in rows}
    every = Counter(
        tuple(sorted(class_of[row] for row in rows)) for rows in combinations(sorted(class_of), count)
    )
    found = list(kinds_of_loss(classes, count))
    assert Counter({tuple(sorted(class_of[row] for row in rows)): alike for rows, alike in found}) == every
    assert all(len(set(rows)) == count for rows, _ in found)
    assert number_of_kinds(classes, count) == len(found)
    assert losses_of(classes, count) == sum(alike for _, alike in found)


def test_the_first_classes_come_first():
    found = [rows for rows, _ in kinds_of_loss([[0], [1], [2]], 2)]
    assert found == [(0, 1), (0, 2), (1, 2)]
    assert [rows for rows, _ in kinds_of_loss([[0, 3], [1]], 2)] == [(0, 3), (0, 1)]


def names_of_classes(snapshot, workloads, placement="spread", seen_on=lambda _: ()):
    trial = Trial(Columns(snapshot), placement)
    shapes = [trial.shape_of(each) for each in workloads]
    return sorted(
        sorted(trial.nodes[row].name for row in rows) for rows in classes_of(trial, shapes, seen_on)
    )


def test_equal_nodes_are_alike_whatever_they_are_called():
    assert names_of_classes(cluster(node("a", cpu="1"), node("b", cpu="1")), []) == [["a", "b"]]


SPREAD = Constraints(topology_spread=(TopologySpread(1, "zone"),))


@pytest.mark.parametrize(
    ("change", "asked"),
    [
        (lambda one: one.with_(capacity=node("x", cpu="2").record.capacity), pod("w", cpu="1")),
        (lambda one: one.reserving(cpu="1"), pod("w", cpu="1")),
        (lambda one: one.cordoned(), pod("w", cpu="1")),
        (lambda one: one.tainted("t"), pod("w", cpu="1")),
        (
            lambda one: one.labelled({"disk": "ssd"}),
            pod("w", cpu="1", constraints=Constraints(node_selector={"disk": "ssd"})),
        ),
        (lambda one: one.labelled({"zone": "z"}), pod("w", cpu="1", constraints=SPREAD)),
        (lambda one: one.with_(attach_limits={"d": 1}), pod("w", volumes=(volume("v", "1Gi", claim="c"),))),
    ],
    ids=["size", "reserve", "cordoned", "taint", "label that is asked for", "zone", "attach limit"],
)
def test_nodes_that_a_rule_tells_apart_are_not_alike(change, asked):
    snapshot = cluster(node("a", cpu="4"), change(node("b", cpu="4")), node("c", cpu="4"))
    assert names_of_classes(snapshot, [asked]) == [["a", "c"], ["b"]]


def test_nodes_with_other_workloads_on_them_are_not_alike():
    snapshot = cluster(node("a", cpu="4"), node("b", cpu="4"), node("c", cpu="4"))
    assert names_of_classes(snapshot, [], seen_on=lambda row: (row == 1,)) == [["a", "c"], ["b"]]


def test_the_node_that_a_volume_is_on_is_not_like_the_others():
    here = NodeSelector((NodeSelectorTerm((Requirement("host", "In", ("b",)),)),))
    snapshot = cluster(
        *(node(name, cpu="4").labelled({"host": name}) for name in "abc"),
        claim("c", "1Gi", bound=True, volume="v"),
        persistent_volume("v", "1Gi", node_affinity=here, claim="c"),
    )
    asked = pod("w", cpu="1", volumes=(volume("data", "1Gi", claim="c"),))
    assert names_of_classes(snapshot, [asked]) == [["a", "c"], ["b"]]


def test_the_node_that_reaches_a_free_volume_is_not_like_the_others():
    here = NodeSelector((NodeSelectorTerm((Requirement("host", "In", ("b",)),)),))
    snapshot = cluster(
        *(node(name, cpu="4").labelled({"host": name}) for name in "abc"),
        StorageClass("local", "kubernetes.io/no-provisioner", "WaitForFirstConsumer"),
        claim("c", "1Gi", storage_class="local"),
        persistent_volume("v", "1Gi", storage_class="local", node_affinity=here),
    )
    asked = pod("w", cpu="1", volumes=(volume("data", "1Gi", claim="c"),))
    assert names_of_classes(snapshot, [asked]) == [["a", "c"], ["b"]]


@pytest.mark.parametrize(
    ("gib", "wanted", "classes"),
    [
        (8, "HDD", [["a", "c"], ["b"]]),
        (8, "fast", [["a", "b", "c"]]),
        (10, "HDD", [["a", "b", "c"]]),
    ],
    ids=["another size", "no local disk is wanted", "another name only"],
)
def test_where_volumes_want_local_disks_these_tell_nodes_apart(gib, wanted, classes):
    sizes = {"a": 10, "b": gib, "c": 10}
    snapshot = cluster(
        *(node(name, cpu="4").with_drive(f"{name}-0", "HDD", f"{size}Gi") for name, size in sizes.items())
    )
    asked = pod("w", cpu="1", volumes=(volume("v", "9Gi", storage_class=wanted, inline=True),))
    assert names_of_classes(snapshot, [asked]) == classes


def test_what_is_promised_of_a_disk_tells_nodes_apart():
    nodes = (node(name, cpu="4").with_drive(f"{name}-0", "HDD", "10Gi") for name in "abc")
    taken = Resources({VOLUME_SPACE: 1 << 30})
    promise = LedgerEntry("r", "v", "drive/b/b-0", "other", taken, "RESERVED", expires_seconds=9)
    asked = pod("w", cpu="1", volumes=(volume("v", "9Gi", storage_class="HDDLVG", inline=True),))
    assert names_of_classes(cluster(*nodes, promise), [asked]) == [["a", "c"], ["b"]]


def test_preferences_see_labels_and_soft_taints():
    soft = Taint("t", "", "PreferNoSchedule")
    snapshot = cluster(
        node("a", cpu="4").labelled({"disk": "hdd", "host": "a"}),
        node("b", cpu="4").labelled({"disk": "ssd", "host": "b"}),
        node("c", cpu="4").labelled({"disk": "hdd", "host": "c"}),
        node("d", cpu="4").labelled({"disk": "hdd", "host": "d"}).with_(taints=(soft,)),
    )
    assert names_of_classes(snapshot, []) == [["a", "b", "c", "d"]]
    assert names_of_classes(snapshot, [], "preferences") == [["a", "c"], ["b"], ["d"]]
