"""Nodes that would help: as few as do, of a kind that does, in the zone in which they do."""

import pytest

from builders import GPU, node, pod, waiting
from remedied import remedies, texts
from ullage.engine.placement.added_nodes import kind_of
from ullage.model.constraints import (
    Affinity,
    Constraints,
    LabelSelector,
    PodAffinity,
    PodAffinityTerm,
    TopologySpread,
)


class TestNode:
    def test_nodes_like_the_smallest_that_help_are_added_as_few_as_do(self):
        parts = [node("n1", memory="10"), node("n2", memory="4")]
        found = remedies(parts, waiting("a", memory="5"), 6)[-1]
        assert (found.text, found.count) == ("add 2 nodes with 10 of memory each: all 6 then fit", 2)

    def test_where_none_is_large_enough_a_larger_one_is_described(self):
        assert texts([node("n1", memory="10")], waiting("a", gpu=2)) == [
            f"add a node with 2 of {GPU}: it then fits"
        ]

    def test_daemons_come_with_a_new_node(self):
        agent = pod("agent-1", memory="1", owner="DaemonSet/agent")
        found = texts([node("n1", memory="4").holding(agent)], waiting("a", memory="4"))
        assert found[-1] == "add a node with 5 of memory: it then fits"

    def test_rules_between_workloads_count(self):
        away = PodAffinityTerm("kubernetes.io/hostname", LabelSelector({"app": "a"}))
        alone = Constraints(affinity=Affinity(pod_anti_affinity=PodAffinity((away,))))
        machine = node("n1", memory="10").labelled({"kubernetes.io/hostname": "n1"})
        asked = waiting("a", memory="1", labels={"app": "a"}, constraints=alone)
        found = remedies([machine], asked, 3)
        assert [each.text for each in found] == [
            "ask for 1 replica only",
            "add 2 nodes with 10 of memory each: all 3 then fit",
        ]

    def test_where_nothing_but_a_place_is_asked_for_places_are_named(self):
        full = node("n1", memory="4", pods="1").holding(pod("o", pods="1", priority=9))
        assert texts([full], waiting("a", pods="1")) == ["add a node with 1 of pods: it then fits"]

    def test_in_an_empty_cluster_one_is_made_to_measure(self):
        assert texts([], waiting("a", memory="3")) == ["add a node with 3 of memory: it then fits"]


class TestZones:
    spread = Constraints(
        topology_spread=(TopologySpread(1, "zone", label_selector=LabelSelector({"app": "a"})),)
    )

    @pytest.mark.parametrize("full", ["x", "y"])
    def test_the_zone_in_which_it_helps_is_named(self, full):
        parts = []
        for number, zone in enumerate("xy"):
            machine = node(f"n{number}", memory="4").labelled({"zone": zone})
            held = pod("o", memory="4", priority=9)
            parts.append(machine.holding(held) if zone == full else machine)
        asked = waiting("a", memory="1", labels={"app": "a"}, constraints=self.spread)
        found = remedies(parts, asked, 4)[-1]
        assert found.text == f"add a node with 4 of memory and label zone={full}: all 4 then fit"
        assert found.node.labels["zone"] == full

    def test_a_label_that_no_rule_looks_at_is_not_named(self):
        parts = [node("n1", memory="4").labelled({"zone": "x"}).holding(pod("o", memory="4", priority=9))]
        assert texts(parts, waiting("a", memory="1")) == ["add a node with 4 of memory: it then fits"]


def test_kinds_differ_by_what_is_looked_at_and_not_by_names():
    labels = frozenset({"zone", "host"})
    one, other, far = (
        node(name, memory="4").labelled({"zone": zone, "host": name, "serial": name[::-1]}).record
        for name, zone in (("n1", "x"), ("n2", "x"), ("n3", "y"))
    )
    assert kind_of(one, labels) == kind_of(other, labels) != kind_of(far, labels)
    assert kind_of(one, frozenset()) == kind_of(far, frozenset())
