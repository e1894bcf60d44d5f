"""Smaller requests that would fit: as little lowered as helps, and only what limit ranges let in."""

import pytest

from builders import batch as batch_of
from builders import cluster, node, pod, resources, waiting
from remedied import found_for, remedies, texts
from ullage.model.admission import LimitRange, LimitRangeItem
from ullage.model.constraints import Constraints, LabelSelector, TopologySpread


class TestRequest:
    def test_one_resource_is_lowered_as_little_as_lets_all_replicas_in(self):
        found = texts([node("n1", memory="10"), node("n2", memory="7")], waiting("a", memory="6"), 3)
        assert found[0] == "lower the request of memory to 5: all 3 then fit"

    def test_where_no_single_resource_helps_all_are_lowered_together(self):
        found = texts([node("n1", memory="1", cpu="1")], waiting("a", memory="2", cpu="2"))
        assert found[0] == "lower the request of cpu to 1 and memory to 1: it then fits"

    def test_what_is_shown_rounded_is_never_more_than_fits(self):
        found = texts([node("n1", memory="1Gi")], waiting("a", memory="1500Mi"), memory_reserve="1")
        assert found[0] == "lower the request of memory to 1073741823: it then fits"

    def test_a_full_node_offers_no_request(self):
        found = remedies([node("n1", memory="4").holding(pod("x", memory="4"))], waiting("a", memory="2"))
        assert [each.kind for each in found] == ["evict", "node"]

    def test_rules_over_zones_are_reckoned_with(self):
        spread = TopologySpread(1, "zone", label_selector=LabelSelector({"app": "a"}))
        parts = [
            node("n1", memory="9").labelled({"zone": "x"}),
            node("n2", memory="4").labelled({"zone": "y"}),
        ]
        asked = waiting(
            "a", memory="3", labels={"app": "a"}, constraints=Constraints(topology_spread=(spread,))
        )
        assert texts(parts, asked, 4)[0] == "lower the request of memory to 2: all 4 then fit"


class TestLimitRanges:
    parts = (node("n1", cpu="4").holding(pod("web/o", cpu="3", priority=9)),)

    @pytest.mark.parametrize(
        ("item", "kinds"),
        [
            (LimitRangeItem("Container", min=resources(cpu="2")), ["node"]),
            (LimitRangeItem("Container", min=resources(cpu="1")), ["request", "node"]),
            (LimitRangeItem("Container", default_requests=resources(cpu="2")), ["request", "node"]),
        ],
        ids=["less is needed", "just as much is allowed", "a default is no bound"],
    )
    def test_a_request_below_what_is_needed_is_no_remedy(self, item, kinds):
        snapshot = cluster(*self.parts, LimitRange("r", "web", (item,)))
        found = found_for(snapshot, batch_of(1, waiting("web/a", cpu="3")))
        assert [each.kind for each in found] == kinds
