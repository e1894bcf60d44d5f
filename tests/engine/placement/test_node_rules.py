"""Which nodes are open to a workload: state, taints, selector and required affinity, as in kube-scheduler."""

import pytest

from builders import node, tolerating, waiting
from ullage.engine.placement.node_columns import NodeColumns
from ullage.engine.placement.node_rules import (
    LEFT_OUT,
    NOT_MEANT,
    closed_by,
    matches,
    matches_term,
    tolerates,
)
from ullage.model.cluster import Taint
from ullage.model.constraints import (
    Affinity,
    Constraints,
    NodeAffinity,
    NodeSelector,
    NodeSelectorTerm,
    Requirement,
    Toleration,
)

LABELS = {"zone": "a", "cores": "8", "empty": ""}


def wants(**constraints):
    return waiting("w", constraints=Constraints(**constraints))


def requires(*terms: NodeSelectorTerm):
    affinity = NodeAffinity(required=NodeSelector(terms))
    return wants(affinity=Affinity(node_affinity=affinity))


def expression(key: str, operator: str, *values: str) -> NodeSelectorTerm:
    return NodeSelectorTerm(match_expressions=(Requirement(key, operator, values),))


class TestClosedBy:
    machine = node("n1").labelled(LABELS)

    @pytest.mark.parametrize(
        ("state", "closed"), [("ready", ""), ("cordoned", "cordoned"), ("offline", "offline")]
    )
    def test_only_a_ready_node_is_open(self, state, closed):
        assert closed_by(self.machine.with_(state=state).record, wants()) == closed

    @pytest.mark.parametrize("state", ["ready", "cordoned", "offline"])
    def test_a_node_that_is_not_meant_is_closed_whatever_is_tolerated(self, state):
        left_out = self.machine.with_(state=state, taints=(NOT_MEANT,)).record
        everything = wants(tolerations=(Toleration("", "Exists"),))
        assert closed_by(left_out, everything) == LEFT_OUT
        closed = NodeColumns([left_out]).closed_to(everything.constraints)
        assert closed.reasons[closed.codes[0]] == LEFT_OUT

    @pytest.mark.parametrize(
        ("effect", "closed"),
        [("NoSchedule", "taint gpu"), ("NoExecute", "taint gpu"), ("PreferNoSchedule", "")],
    )
    def test_a_hard_taint_closes_a_node(self, effect, closed):
        assert closed_by(self.machine.tainted("gpu", effect=effect).record, wants()) == closed

    def test_every_taint_needs_a_toleration(self):
        twice = self.machine.tainted("gpu").tainted("old").record
        assert closed_by(twice, waiting("w", constraints=tolerating("gpu"))) == "taint old"
        assert closed_by(twice, waiting("w", constraints=tolerating("old", "gpu"))) == ""

    @pytest.mark.parametrize(
        ("selector", "closed"),
        [
            ({"zone": "a"}, ""),
            ({"zone": "a", "cores": "8"}, ""),
            ({"zone": "b"}, "node selector"),
            ({"zone": "a", "cores": "9"}, "node selector"),
            ({"absent": ""}, "node selector"),
            ({"empty": ""}, ""),
        ],
    )
    def test_every_label_of_a_selector_must_be_there(self, selector, closed):
        assert closed_by(self.machine.record, wants(node_selector=selector)) == closed

    def test_terms_of_an_affinity_are_alternatives(self):
        no, yes = expression("zone", "In", "b"), expression("zone", "In", "a")
        assert closed_by(self.machine.record, requires(no, yes)) == ""
        assert closed_by(self.machine.record, requires(no, no)) == "node affinity"

    def test_an_affinity_without_terms_matches_nothing(self):
        assert closed_by(self.machine.record, requires()) == "node affinity"

    def test_an_affinity_that_requires_nothing_is_open(self):
        assert closed_by(self.machine.record, wants(affinity=Affinity())) == ""
        assert closed_by(self.machine.record, wants(affinity=Affinity(node_affinity=NodeAffinity()))) == ""

    def test_the_first_reason_is_the_one_that_is_told(self):
        unwanted = wants(node_selector={"zone": "b"}, affinity=requires().constraints.affinity)
        tainted = self.machine.tainted("gpu")
        assert closed_by(tainted.cordoned().record, unwanted) == "cordoned"
        assert closed_by(tainted.record, unwanted) == "taint gpu"
        assert closed_by(self.machine.record, unwanted) == "node selector"


@pytest.mark.parametrize(
    ("toleration", "covered"),
    [
        (Toleration("gpu", "Equal", "yes"), True),
        (Toleration("gpu", "Equal", "no"), False),
        (Toleration("gpu", "Equal"), False),
        (Toleration("gpu", "", "yes"), True),
        (Toleration("cpu", "Equal", "yes"), False),
        (Toleration("gpu", "Exists"), True),
        (Toleration("gpu", "Exists", effect="NoSchedule"), True),
        (Toleration("gpu", "Exists", effect="NoExecute"), False),
        (Toleration("gpu", "Equal", "yes", "NoExecute"), False),
        (Toleration("gpu", "Equal", "yes", "NoSchedule"), True),
        (Toleration("cpu", "Exists"), False),
        (Toleration("", "Exists"), True),
        (Toleration("", "Exists", effect="NoExecute"), False),
        (Toleration("", "Equal", "yes"), False),
    ],
)
def test_a_toleration_covers_a_taint_of_its_key_value_and_effect(toleration, covered):
    assert tolerates(toleration, Taint("gpu", "yes", "NoSchedule")) is covered


def test_a_toleration_without_a_key_covers_no_taint_without_one_by_equality():
    assert not tolerates(Toleration("", "Equal", ""), Taint("", "", "NoSchedule"))


@pytest.mark.parametrize(
    ("key", "operator", "values", "held"),
    [
        ("zone", "In", ("b", "a"), True),
        ("zone", "In", ("b",), False),
        ("absent", "In", ("a",), False),
        ("zone", "NotIn", ("b",), True),
        ("zone", "NotIn", ("b", "a"), False),
        ("absent", "NotIn", ("a",), True),
        ("zone", "Exists", (), True),
        ("empty", "Exists", (), True),
        ("absent", "Exists", (), False),
        ("zone", "DoesNotExist", (), False),
        ("absent", "DoesNotExist", (), True),
        ("cores", "Gt", ("7",), True),
        ("cores", "Gt", ("8",), False),
        ("cores", "Gt", ("9",), False),
        ("cores", "Lt", ("7",), False),
        ("cores", "Lt", ("8",), False),
        ("cores", "Lt", ("9",), True),
        ("cores", "Gt", ("-9",), True),
        ("cores", "Gt", ("+7",), True),
        ("cores", "Lt", ("10",), True),
        ("cores", "Gt", ("7", "6"), False),
        ("cores", "Gt", (), False),
        ("cores", "Gt", ("seven",), False),
        ("cores", "Gt", ("-+7",), False),
        ("cores", "Gt", ("\u0667",), False),
        ("cores", "Lt", ("9223372036854775807",), True),
        ("cores", "Lt", ("9223372036854775808",), False),
        ("cores", "Lt", ("10000000000000000000",), False),
        ("zone", "Lt", ("9",), False),
        ("empty", "Lt", ("9",), False),
        ("absent", "Lt", ("9",), False),
        ("zone", "Near", ("a",), False),
    ],
)
def test_one_condition_on_labels(key, operator, values, held):
    assert matches(LABELS, Requirement(key, operator, values)) is held


class TestTerm:
    machine = node("n1").labelled(LABELS).record

    @pytest.mark.parametrize(
        ("term", "held"),
        [
            (NodeSelectorTerm(), False),
            (expression("zone", "In", "a"), True),
            (NodeSelectorTerm(match_fields=(Requirement("metadata.name", "In", ("n1",)),)), True),
            (NodeSelectorTerm(match_fields=(Requirement("metadata.name", "In", ("n2",)),)), False),
            (NodeSelectorTerm(match_fields=(Requirement("zone", "In", ("a",)),)), False),
            (NodeSelectorTerm(match_expressions=(Requirement("metadata.name", "In", ("n1",)),)), False),
            (
                NodeSelectorTerm(
                    (Requirement("zone", "In", ("a",)), Requirement("cores", "Gt", ("9",))),
                ),
                False,
            ),
            (
                NodeSelectorTerm(
                    (Requirement("zone", "In", ("a",)),), (Requirement("metadata.name", "In", ("n2",)),)
                ),
                False,
            ),
            (
                NodeSelectorTerm(
                    (Requirement("zone", "In", ("b",)),), (Requirement("metadata.name", "In", ("n1",)),)
                ),
                False,
            ),
            (
                NodeSelectorTerm(
                    (Requirement("zone", "In", ("a",)),), (Requirement("metadata.name", "In", ("n1",)),)
                ),
                True,
            ),
        ],
    )
    def test_every_condition_of_a_term_holds_on_one_node(self, term, held):
        assert matches_term(self.machine, term) is held
