"""Nodes are open or closed to a workload as kube-scheduler judges them."""

import pytest

from ullage.engine.placement.node_rules import closed_by, matches, matches_term, tolerates
from ullage.model.cluster import Node, Taint, Workload
from ullage.model.constraints import (
    Affinity,
    Constraints,
    NodeAffinity,
    NodeSelector,
    NodeSelectorTerm,
    Requirement,
    Toleration,
)

LABELS = {"zone": "a", "cores": "16", "empty": ""}


def node(*taints, state="ready"):
    return Node("n1", labels=LABELS, taints=taints, state=state)


def workload(**constraints):
    return Workload("w", constraints=Constraints(**constraints))


def requiring(*terms):
    return workload(affinity=Affinity(NodeAffinity(NodeSelector(terms))))


@pytest.mark.parametrize(
    ("toleration", "taint", "covered"),
    [
        (Toleration("gpu", "Exists"), Taint("gpu", "x"), True),
        (Toleration("gpu", "Exists"), Taint("other", "x"), False),
        (Toleration("", "Exists"), Taint("other", "x"), True),
        (Toleration("gpu", "Equal", "x"), Taint("gpu", "x"), True),
        (Toleration("gpu", "Equal", "y"), Taint("gpu", "x"), False),
        (Toleration("gpu", "Equal", "x"), Taint("other", "x"), False),
        (Toleration("", "Equal", "x"), Taint("", "x"), False),
        (Toleration("gpu", value="x"), Taint("gpu", "x"), True),
        (Toleration("gpu", "Exists", effect="NoSchedule"), Taint("gpu", effect="NoSchedule"), True),
        (Toleration("gpu", "Exists", effect="NoExecute"), Taint("gpu", effect="NoSchedule"), False),
    ],
)
def test_a_toleration_covers_taints_of_its_key_value_and_effect(toleration, taint, covered):
    assert tolerates(toleration, taint) is covered


@pytest.mark.parametrize(
    ("key", "operator", "values", "holds"),
    [
        ("zone", "In", ("a", "b"), True),
        ("zone", "In", ("b",), False),
        ("missing", "In", ("a",), False),
        ("zone", "NotIn", ("a",), False),
        ("zone", "NotIn", ("b",), True),
        ("missing", "NotIn", ("a",), True),
        ("zone", "Exists", (), True),
        ("empty", "Exists", (), True),
        ("missing", "Exists", (), False),
        ("missing", "DoesNotExist", (), True),
        ("zone", "DoesNotExist", (), False),
        ("cores", "Gt", ("15",), True),
        ("cores", "Gt", ("16",), False),
        ("cores", "Gt", ("-1",), True),
        ("cores", "Lt", ("17",), True),
        ("cores", "Lt", ("16",), False),
        ("cores", "Gt", ("15", "1"), False),
        ("zone", "Gt", ("1",), False),
        ("cores", "Lt", ("many",), False),
        ("cores", "Gt", ("1" + "0" * 19,), False),
        ("missing", "Lt", ("1",), False),
        ("zone", "Like", ("a",), False),
    ],
)
def test_a_condition_holds_as_its_operator_says(key, operator, values, holds):
    assert matches(LABELS, Requirement(key, operator, values)) is holds


def test_a_term_holds_when_every_condition_does_and_an_empty_one_never():
    zone_a, zone_b = Requirement("zone", "In", ("a",)), Requirement("zone", "In", ("b",))
    by_name = Requirement("metadata.name", "In", ("n1",))
    assert matches_term(node(), NodeSelectorTerm((zone_a,), (by_name,)))
    assert not matches_term(node(), NodeSelectorTerm((zone_a, zone_b)))
    assert not matches_term(
        node(), NodeSelectorTerm((zone_a,), (Requirement("metadata.name", "In", ("n2",)),))
    )
    assert matches_term(node(), NodeSelectorTerm((), (by_name,)))
    assert not matches_term(node(), NodeSelectorTerm())


@pytest.mark.parametrize(
    ("given", "asked", "reason"),
    [
        (node(), workload(), ""),
        (node(state="cordoned"), workload(), "cordoned"),
        (node(state="offline"), workload(), "offline"),
        (node(Taint("gpu")), workload(), "taint gpu"),
        (node(Taint("gpu", effect="NoExecute")), workload(), "taint gpu"),
        (node(Taint("gpu", effect="PreferNoSchedule")), workload(), ""),
        (node(Taint("gpu")), workload(tolerations=(Toleration("gpu", "Exists"),)), ""),
        (node(Taint("gpu"), Taint("old")), workload(tolerations=(Toleration("gpu", "Exists"),)), "taint old"),
        (node(), workload(node_selector={"zone": "a"}), ""),
        (node(), workload(node_selector={"zone": "a", "disk": "ssd"}), "node selector"),
        (node(), requiring(NodeSelectorTerm((Requirement("zone", "In", ("a",)),))), ""),
        (node(), requiring(NodeSelectorTerm((Requirement("zone", "In", ("b",)),))), "node affinity"),
        (node(), requiring(NodeSelectorTerm((Requirement("zone", "In", ("b",)),)),
                           NodeSelectorTerm((Requirement("zone", "Exists"),))), ""),
        (node(), requiring(), "node affinity"),
        (node(), workload(affinity=Affinity(NodeAffinity())), ""),
        (node(), workload(affinity=Affinity()), ""),
    ],
)  # fmt: skip
def test_a_node_is_closed_by_its_state_a_taint_a_selector_or_an_affinity(given, asked, reason):
    assert closed_by(given, asked) == reason
