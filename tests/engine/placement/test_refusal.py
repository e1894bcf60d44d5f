"""Why nothing fits: which resource is short how often, the nearest node, and a remedy."""

from builders import batch, cluster, node, policy, waiting
from ullage.engine.columns import Columns
from ullage.engine.placement.fit import fit
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
            "or add 3 nodes with 8 of cpu, 20 of memory each: all 3 then fit"
        )

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
            "node n1: cpu short by 1 (asked 2, free 1 of 1); fits if the request is at most 1; "
            "node n1: memory short by 1 (asked 2, free 1 of 1); fits if the request is at most 1"
        )


class TestNowhere:
    """Without a node that is open to a workload nothing is compared."""

    def test_in_an_empty_cluster(self):
        assert refused([], waiting("a", memory="1"), replicas=4) == Refusal(
            "a", 4, "none of 0 nodes may take it", remedy="open a node to it, or add one"
        )

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
            "a", 2, "node n9, which it names, is unknown", remedy="name a node of the cluster"
        )

    def test_a_named_node_that_is_closed(self):
        nodes = [node("n0").cordoned(), node("n1").tainted("gpu"), node("n2", memory="9")]
        assert refused(nodes, waiting("a", memory="1", node="n1")) == Refusal(
            "a",
            1,
            "node n1, which it names, is closed to it (taint gpu)",
            remedy="open the node to it, or name another",
        )
