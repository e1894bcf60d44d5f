"""Why nothing fits: which resource is short how often, the nearest node, and a remedy."""

import msgspec
import pytest

from builders import NodeBuilder, batch, cluster, node, pod, policy, waiting
from ullage.engine.columns import Columns
from ullage.engine.placement.fit import fit
from ullage.engine.placement.refusal import explain_refusal
from ullage.engine.placement.remedies import NOTHING_HELPS
from ullage.engine.trial import Trial
from ullage.model.cluster import Workload
from ullage.model.constraints import Affinity, Constraints, LabelSelector, PodAffinity, PodAffinityTerm
from ullage.model.plan import Refusal


def refused(nodes, asked, replicas: int = 1, **settings) -> Refusal:
    found = fit(Columns(cluster(*nodes, policy=policy(**settings))), [batch(replicas, asked)])
    return found.outcomes[0].refusal


class TestReason:
    def test_every_short_resource_is_counted_by_node_and_the_nearest_explained(self):
        found = refused(
            [
                node("n1", memory="10", cpu="1"),
                node("n2", memory="12", cpu="8"),
                node("n3", memory="11", cpu="8"),
                node("n4", memory="99", cpu="8").cordoned(),
            ],
            waiting("web/a", memory="20", cpu="2"),
            replicas=3,
        )
        assert (found.subject, found.count) == ("web/a", 3)
        assert found.reason == (
            "0/3 nodes have room (cpu short on 1, memory short on 3; closed to it: 1 cordoned); nearest: "
            "node n2: memory short by 8 (asked 20, free 12 of 12); fits if the request is at most 12"
        )
        assert [(short.node, short.resource) for short in found.shortfalls] == [("n2", "memory")]
        assert found.remedy == (
            "lower the request of memory to 6: all 3 then fit; or uncordon n4: all 3 then fit; "
            "or add a node with 8 of cpu, 99 of memory: all 3 then fit"
        )

    def test_what_reservations_hold_is_told_where_it_alone_is_in_the_way(self):
        held = pod("web/r", cpu="3", promised=True)
        found = refused(
            [
                node("n1", cpu="4").holding(held, pod("web/p", cpu="1")),
                node("n2", cpu="4").holding(msgspec.structs.replace(held, name="r2")),
                node("n3", cpu="1"),
            ],
            waiting("web/a", cpu="2"),
        )
        assert found.reason.endswith(
            "nearest: node n2: cpu short by 1 (asked 2, free 1 of 4); fits if the request is at most 1; "
            "reservations of the ledger hold 3 of cpu on node n2 and enough on 1 more"
        )

    @pytest.mark.parametrize(
        "there",
        [
            node("n1", cpu="4").holding(pod("web/p", cpu="3")),
            node("n1", cpu="4").holding(pod("web/p", cpu="3"), pod("web/r", cpu="500m", promised=True)),
            node("n1", cpu="1").holding(pod("web/r", cpu="1", promised=True)),
            node("n1", cpu="4", memory="1").holding(pod("web/r", cpu="3", promised=True)),
            node("n1", cpu="4", memory="4").holding(pod("web/r", cpu="3", promised=True)).cordoned(),
        ],
        ids=["by what runs", "by more than is held", "by its size", "by another resource", "closed"],
    )
    def test_reservations_are_not_told_of_where_the_node_is_too_small_without_them(self, there):
        found = refused([there, node("n9", cpu="1", memory="1")], waiting("a", cpu="2", memory="2"))
        assert "reservations" not in found.reason

    def test_with_a_ratio_the_size_of_a_node_is_not_laid_to_reservations(self):
        there = node("n1", cpu="4").holding(pod("web/r", cpu="7", promised=True))
        assert "reservations" not in refused([there], waiting("a", cpu="5"), cpu_ratio="2").reason
        assert "hold 7 of cpu on node n1" in refused([there], waiting("a", cpu="4"), cpu_ratio="2").reason

    def test_fewer_short_resources_are_nearer_than_less_of_them(self):
        found = refused(
            [node("n1", memory="19", cpu="1999m"), node("n2", memory="1", cpu="8")],
            waiting("a", memory="20", cpu="2"),
        )
        assert [(short.node, short.resource) for short in found.shortfalls] == [("n2", "memory")]

    def test_nearness_is_the_largest_lacking_part_of_the_request(self):
        found = refused(
            [node("n1", memory="19", cpu="1"), node("n2", memory="11", cpu="1800m")],
            waiting("a", memory="20", cpu="2"),
        )
        assert [(short.node, short.resource) for short in found.shortfalls] == [
            ("n2", "cpu"),
            ("n2", "memory"),
        ]

    def test_of_nodes_equally_near_the_first_by_name_is_explained(self):
        found = refused([node("b", memory="3"), node("a", memory="3")], waiting("w", memory="4"))
        assert found.shortfalls[0].node == "a"

    def test_it_is_about_what_is_left_after_the_replicas_that_fitted(self):
        found = refused([node("n1", memory="10")], waiting("a", memory="4"), replicas=5)
        assert found.count == 3
        assert found.reason == (
            "0/1 nodes have room (memory short on 1); nearest: "
            "node n1: memory short by 2 (asked 4, free 2 of 10); fits if the request is at most 2"
        )

    def test_several_shortfalls_of_one_node_are_all_explained(self):
        found = refused([node("n1", memory="1", cpu="1")], waiting("a", memory="2", cpu="2"))
        assert found.reason == (
            "0/1 nodes have room (cpu short on 1, memory short on 1); nearest: "
            "node n1: cpu short by 1 (asked 2, free 1 of 1); "
            "node n1: memory short by 1 (asked 2, free 1 of 1); "
            "fits if the requests are at most 1 of cpu and 1 of memory"
        )


class TestNowhere:
    """Without a node that is open to a workload nothing is compared."""

    def test_in_an_empty_cluster(self):
        found = refused([], waiting("a", memory="1"), replicas=4)
        assert (found.count, found.reason) == (4, "none of 0 nodes may take it")
        assert found.remedy == "add 4 nodes with 1 of memory each: all 4 then fit"

    def test_what_closes_the_nodes_is_counted(self):
        nodes = [
            node("n1").cordoned(),
            node("n2").offline(),
            node("n3").tainted("gpu"),
            node("n4").tainted("gpu"),
            node("n5").cordoned(),
        ]
        found = refused(nodes, waiting("a", memory="1"))
        assert found.reason == (
            "none of 5 nodes may take it; closed to it: 2 cordoned, 1 offline, 2 taint gpu"
        )

    def test_a_named_node_that_is_unknown(self):
        assert refused([node("n1")], waiting("a", memory="1", node="n9"), replicas=2) == Refusal(
            "a", 2, "node n9, which it names, is unknown", remedy=NOTHING_HELPS
        )

    def test_a_named_node_that_is_closed(self):
        nodes = [node("n0").cordoned(), node("n1").tainted("gpu"), node("n2", memory="9")]
        reason = "node n1, which it names, is closed to it (taint gpu)"
        assert refused(nodes, waiting("a", memory="1", node="n1")) == Refusal(
            "a", 1, reason, remedy=NOTHING_HELPS
        )


class TestNearest:
    """A node is told what would fit only where nothing else keeps the workload off it."""

    alone = Constraints(
        affinity=Affinity(
            pod_anti_affinity=PodAffinity((PodAffinityTerm("host", LabelSelector({"app": "a"})),))
        )
    )

    def asked(self, cpu: str) -> Workload:
        return waiting("a", cpu=cpu, labels={"app": "a"}, constraints=self.alone)

    def busy(self, name: str, free: int) -> NodeBuilder:
        there = pod(f"on-{name}", cpu=str(4 - free), labels={"app": "a"})
        return node(name, cpu="4").labelled({"host": name}).holding(there)

    def test_a_node_that_rules_close_is_further_than_one_with_less_room(self):
        empty = node("n2", cpu="1").labelled({"host": "n2"})
        found = refused([self.busy("n1", 2), empty], self.asked("3"))
        assert found.reason.endswith(
            "nearest: node n2: cpu short by 2 (asked 3, free 1 of 1); fits if the request is at most 1"
        )

    def test_where_rules_close_all_nodes_they_are_named_and_no_size_is(self):
        found = refused([self.busy("n1", 2)], self.asked("3"))
        assert found.reason.endswith(
            "nearest: node n1: cpu short by 1 (asked 3, free 2 of 4), and kept off by "
            "pod anti-affinity by host"
        )
        assert found.remedy.endswith("; or add a node with 4 of cpu: it then fits")


class TestWithoutRemedies:
    """Where none is looked for, what is said is a fact."""

    def of(self, parts, asked) -> str:
        trial = Trial(Columns(cluster(*parts)))
        return explain_refusal(trial, trial.shape_of(asked), asked, 1).remedy

    def test_what_is_missing_on_the_nearest_node_counts_what_is_over_committed(self):
        over = node("n1", memory="2").holding(pod("x", memory="3"))
        assert self.of([over], waiting("a", memory="1")) == "missing on node n1: 2 of memory"

    def test_a_rule_that_closes_every_node_is_named(self):
        near = PodAffinityTerm("host", LabelSelector({"app": "b"}))
        bound = Constraints(affinity=Affinity(pod_affinity=PodAffinity((near,))))
        asked = waiting("a", memory="1", constraints=bound)
        found = self.of([node("n1", memory="2").labelled({"host": "n1"})], asked)
        assert found == "no node takes it while this holds: pod affinity"
