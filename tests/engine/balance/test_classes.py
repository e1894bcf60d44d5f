"""Classes: hosts with the same counts are one, and too many are none."""

import pytest

from ganeti_builders import ganeti_cluster, ganeti_node, instance
from ganeti_clusters import Kind, random_cluster
from ullage.engine.balance.candidates import Balancing
from ullage.engine.balance.classes import CLASSES_MAX, classes_of, stepped_terms
from ullage.engine.balance.columns import Columns
from ullage.engine.balance.facts import Load, View
from ullage.engine.balance.fleet import Fleet


def columns_of(view: View | None = None) -> Columns:
    nodes = [ganeti_node(name) for name in "abcd"]
    return Columns(
        Fleet(ganeti_cluster(nodes, instance("i", "a", "b"), instance("j", "c", "b")), view), Balancing()
    )


def test_hosts_with_the_same_counts_are_of_one_class():
    columns = columns_of()
    stepped, _ = stepped_terms(columns)
    classes = classes_of(columns, stepped)
    assert classes is not None
    assert classes.of[0] == classes.of[2]
    assert len(set(classes.of[:4].tolist())) == 3
    assert classes.of[4] == len(classes.starts)
    assert sorted(classes.hosts.tolist()) == [0, 1, 2, 3]
    assert [int(classes.of[at]) for at in classes.hosts[classes.starts]] == [0, 1, 2]


def test_a_host_that_is_offline_is_of_none():
    columns = columns_of(View(offline=frozenset("d")))
    classes = classes_of(columns, stepped_terms(columns)[0])
    assert classes is not None
    assert classes.of[3] == len(classes.starts)
    assert 3 not in classes.hosts


@pytest.mark.parametrize(("different", "stepped"), [(2, True), (40, False)])
def test_terms_in_which_machines_differ_much_have_no_steps(different, stepped):
    loads = {f"instance-{at:05}": Load(1.0 + at % different, 1.0, 1.0, 1.0) for at in range(40)}
    columns = Columns(Fleet(random_cluster(1, Kind(6, 40)), View(loads=loads)), Balancing())
    terms = [columns.linear.value_terms[at].name for at in stepped_terms(columns)[0]]
    assert ("cpu_load_cv" in terms) is stepped


def test_where_there_are_too_many_classes_there_are_none():
    columns = Columns(Fleet(random_cluster(1, Kind(2 * CLASSES_MAX, 20 * CLASSES_MAX))), Balancing())
    assert classes_of(columns, stepped_terms(columns)[0]) is None
