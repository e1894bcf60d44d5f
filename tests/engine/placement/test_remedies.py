"""What would help: the smallest single changes, in their order, each of which really helps."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import GPU, batch, cluster, node, pod, policy, waiting
from remedied import applied
from ullage.engine.columns import Columns
from ullage.engine.placement.fit import fit
from ullage.engine.placement.judging import REMEDIES_MAX
from ullage.model.admission import DisruptionBudget
from ullage.model.cluster import Batch, Snapshot
from ullage.model.constraints import (
    Affinity,
    Constraints,
    LabelSelector,
    NodeAffinity,
    NodeSelector,
    NodeSelectorTerm,
    PodAffinity,
    PodAffinityTerm,
    Requirement,
    TopologySpread,
)
from ullage.model.plan import Remedy
from ullage.model.table import Table


def remedies(parts, asked, replicas: int = 1, **settings) -> list[Remedy]:
    snapshot = cluster(*parts, policy=policy(**settings))
    return found_for(snapshot, batch(replicas, asked))


def found_for(snapshot: Snapshot, wanted: Batch) -> list[Remedy]:
    refusal = fit(Columns(snapshot), [wanted]).outcomes[0].refusal
    found = list(refusal.remedies)
    for remedy in found:
        after, then = applied(remedy, snapshot, wanted)
        assert fit(Columns(after), [then]).fits, remedy.text
    return found


def texts(*args, **settings) -> list[str]:
    return [each.text for each in remedies(*args, **settings)]


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


class TestOpen:
    def test_cordoned_nodes_that_would_be_used_are_uncordoned(self):
        parts = [node("n1", memory="1"), node("n2", memory="9").cordoned(), node("n3", memory="8").cordoned()]
        found = [each for each in remedies(parts, waiting("a", memory="8")) if each.kind == "open"]
        assert [(each.text, each.nodes) for each in found] == [("uncordon n2: it then fits", ("n2",))]

    def test_a_taint_is_tolerated(self):
        parts = [node("n1", memory="1"), node("n2", memory="9").tainted("gpu")]
        assert "tolerate the taint gpu (n2): it then fits" in texts(parts, waiting("a", memory="8"))

    def test_a_selector_is_dropped(self):
        parts = [node("n1", memory="9")]
        asked = waiting("a", memory="8", constraints=Constraints(node_selector={"disk": "ssd"}))
        assert texts(parts, asked)[0] == "drop its node selector (n1 would take it): it then fits"

    def test_a_node_affinity_is_dropped(self):
        term = NodeSelectorTerm((Requirement("disk", "In", ("ssd",)),))
        affinity = Affinity(node_affinity=NodeAffinity(required=NodeSelector((term,))))
        found = texts(
            [node("n1", memory="9")], waiting("a", memory="8", constraints=Constraints(affinity=affinity))
        )
        assert found[0] == "drop its node affinity (n1 would take it): it then fits"

    def test_a_closed_node_without_room_is_no_remedy(self):
        parts = [node("n1", memory="4"), node("n2", memory="7").cordoned()]
        assert not any("uncordon" in each for each in texts(parts, waiting("a", memory="8")))

    def test_an_offline_node_cannot_be_opened(self):
        parts = [node("n1", memory="4"), node("n2", memory="9").offline()]
        assert not any(each.kind == "open" for each in remedies(parts, waiting("a", memory="8")))


class TestReplicas:
    def test_those_that_fit_are_asked_for_alone(self):
        assert "ask for 2 replicas only" in texts([node("n1", memory="10")], waiting("a", memory="4"), 5)
        assert "ask for 1 replica only" in texts([node("n1", memory="5")], waiting("a", memory="4"), 5)

    def test_where_none_fits_there_is_no_such_remedy(self):
        kinds = [each.kind for each in remedies([node("n1", memory="3")], waiting("a", memory="4"), 5)]
        assert "replicas" not in kinds


class TestEvict:
    machine = node("n1", memory="10")

    def test_the_lowest_priority_goes_first_then_the_smallest(self):
        busy = self.machine.holding(
            pod("big", memory="6", priority=0), pod("small", memory="3", priority=0), pod("dear", memory="1")
        )
        assert "evict small: it then fits" in texts([busy], waiting("a", memory="3", priority=5))

    def test_one_goes_for_each_replica_that_lacks_a_place(self):
        busy = self.machine.holding(pod("x", memory="5"), pod("y", memory="5"))
        assert "evict x, y: all 2 then fit" in texts([busy], waiting("a", memory="5"), 2)

    @pytest.mark.parametrize(
        "spared",
        [pod("x", memory="10", priority=9), pod("x", memory="10", owner="DaemonSet/x")],
        ids=["of higher priority", "daemon"],
    )
    def test_some_are_never_evicted(self, spared):
        found = remedies([self.machine.holding(spared)], waiting("a", memory="5", priority=1))
        assert all(each.kind != "evict" for each in found)

    def test_several_of_one_node_go_where_no_single_one_frees_enough(self):
        busy = self.machine.holding(*(pod(f"p{number}", memory="2") for number in range(5)))
        assert "evict p0, p1: it then fits" in texts([busy], waiting("a", memory="4", priority=9))

    @pytest.mark.parametrize(
        ("budget", "evicted"),
        [
            ({"disruptions_allowed": 0}, ()),
            ({"max_unavailable": "0"}, ()),
            ({"min_available": "2"}, ()),
            ({"disruptions_allowed": 1}, ("web/x",)),
            ({"min_available": "1"}, ("web/x",)),
        ],
        ids=["stated none", "none may be missing", "all are needed", "stated one", "one is enough"],
    )
    def test_budgets_are_kept(self, budget, evicted):
        labels = {"app": "x"}
        busy = self.machine.holding(
            pod("web/x", memory="5", labels=labels, owner="ReplicaSet/x"),
            pod("web/y", memory="5", labels=labels, owner="ReplicaSet/x"),
        )
        protects = DisruptionBudget("b", "web", LabelSelector(labels), **budget)
        snapshot = msgspec.structs.replace(cluster(busy), disruption_budgets=Table([protects]))
        found = found_for(snapshot, batch(1, waiting("web/a", memory="5")))
        assert tuple(key for each in found for key in each.evicted) == evicted
        two = found_for(snapshot, batch(2, waiting("web/a", memory="5")))
        assert all(each.kind != "evict" for each in two)


class TestSets:
    """Of a set of which some replicas run, what is said is about all of them."""

    parts = (
        node("n1", memory="4").holding(
            pod("web/r-0", memory="2", owner="ReplicaSet/r-1"),
            pod("web/r-1", memory="2", owner="ReplicaSet/r-1"),
        ),
    )

    def test_running_replicas_count_and_are_not_evicted(self):
        asked = waiting("web/r", memory="2", kind="Deployment", owner="Deployment/r")
        refusal = fit(Columns(cluster(*self.parts)), [batch(4, asked)]).outcomes[0].refusal
        assert [each.text for each in refusal.remedies] == [
            "ask for 2 replicas only",
            "add a node with 4 of memory: all 4 then fit",
        ]


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


def test_beyond_a_number_of_refusals_none_are_looked_for():
    wanted = [batch(1, waiting(f"w{number:03}", memory="9")) for number in range(REMEDIES_MAX + 1)]
    found = fit(Columns(cluster(node("n1", memory="8"))), wanted).outcomes
    assert [bool(each.refusal.remedies) for each in found] == [True] * REMEDIES_MAX + [False]


SPREAD = TopologySpread(1, "zone", label_selector=LabelSelector({"app": "a"}))
NEAR = PodAffinityTerm("zone", LabelSelector({"app": "b"}))


@given(
    st.lists(st.tuples(st.integers(1, 6), st.sampled_from(["x", "y", ""])), min_size=1, max_size=4),
    st.lists(st.tuples(st.integers(1, 4), st.sampled_from("ab")), max_size=4),
    st.tuples(st.integers(1, 6), st.integers(1, 5)),
    st.booleans(),
    st.booleans(),
)
def test_every_remedy_helps_also_under_rules_between_workloads(machines, running, asked, spread, near):
    parts = []
    for number, (memory, zone) in enumerate(machines):
        labels = {"kubernetes.io/hostname": f"n{number}"} | ({"zone": zone} if zone else {})
        parts.append(node(f"n{number}", memory=str(memory)).labelled(labels))
    for number, (memory, app) in enumerate(running):
        where = number % len(parts)
        parts[where] = parts[where].holding(pod(f"p{number}", memory=str(memory), labels={"app": app}))
    affinity = Affinity(pod_affinity=PodAffinity((NEAR,))) if near else None
    bound = Constraints(affinity=affinity, topology_spread=(SPREAD,) if spread else ())
    size, replicas = asked
    wanted = batch(replicas, waiting("a", memory=str(size), labels={"app": "a"}, constraints=bound))
    snapshot = cluster(*parts)
    if not fit(Columns(snapshot), [wanted]).fits:
        found_for(snapshot, wanted)
