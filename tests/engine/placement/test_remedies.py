"""What would help: the smallest single changes, in their order, each of which really helps."""

from fractions import Fraction

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import batch, cluster, node, pod, policy, resources, waiting
from remedied import found_for, remedies, texts
from ullage.engine.columns import Columns
from ullage.engine.placement.fit import fit
from ullage.engine.placement.judging import REMEDIES_MAX
from ullage.engine.placement.remedies import NOTHING_HELPS
from ullage.model.admission import DisruptionBudget, LimitRange, LimitRangeItem
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
from ullage.model.table import Table


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


class TestWait:
    def test_who_is_on_the_way_out_is_waited_for_and_not_evicted(self):
        busy = node("n1", memory="10").holding(
            pod("stays", memory="5", priority=9), pod("goes", memory="5", terminating=True)
        )
        found = remedies([busy], waiting("a", memory="5", priority=5))
        assert found[0].text == "wait until goes (n1) is gone: it then fits"
        assert (found[0].kind, found[0].waits_for) == ("wait", ("goes",))
        assert all(each.kind != "evict" for each in found)

    def test_only_those_in_the_way_are_waited_for(self):
        parts = [
            node("n1", memory="6").holding(pod("large", memory="6", terminating=True)),
            node("n2", memory="2").holding(pod("small", memory="2", terminating=True)),
        ]
        first, *_ = remedies(parts, waiting("a", memory="3"), 2)
        assert first.text == "wait until large (n1) is gone: all 2 then fit"

    def test_what_stays_too_small_is_not_waited_for(self):
        busy = node("n1", memory="4").holding(pod("goes", memory="4", terminating=True))
        assert all(each.kind != "wait" for each in remedies([busy], waiting("a", memory="5")))


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

    def test_replicas_that_fit_after_an_eviction_need_no_other(self):
        spread = TopologySpread(1, "zone", label_selector=LabelSelector({"app": "a"}))
        parts = [
            node("n1", memory="4").labelled({"zone": "x"}),
            node("n2", memory="4").labelled({"zone": "y"}).holding(pod("o", memory="4")),
        ]
        asked = waiting(
            "a", memory="1", labels={"app": "a"}, constraints=Constraints(topology_spread=(spread,))
        )
        assert "evict o: all 4 then fit" in texts(parts, asked, 4)

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


def test_beyond_a_number_of_refusals_none_are_looked_for():
    wanted = [batch(1, waiting(f"w{number:03}", memory="9")) for number in range(REMEDIES_MAX + 1)]
    found = fit(Columns(cluster(node("n1", memory="8"))), wanted).outcomes
    assert [bool(each.refusal.remedies) for each in found] == [True] * REMEDIES_MAX + [False]


HOST = "kubernetes.io/hostname"
amounts = st.integers(1, 6)
selectors = st.sampled_from("ab").map(lambda app: LabelSelector({"app": app}))
terms = st.builds(PodAffinityTerm, st.sampled_from(["zone", HOST]), selectors)
sides = st.builds(PodAffinity, st.lists(terms, min_size=1, max_size=1).map(tuple))
affinities = st.one_of(
    st.none(), st.builds(Affinity, pod_affinity=sides), st.builds(Affinity, pod_anti_affinity=sides)
)
spreads = st.lists(
    st.builds(TopologySpread, st.integers(1, 2), st.sampled_from(["zone", HOST]), label_selector=selectors),
    max_size=1,
)
bounds = st.builds(
    Constraints,
    affinity=affinities,
    topology_spread=spreads.map(tuple),
    node_selector=st.sampled_from([{}, {}, {}, {"disk": "ssd"}]),
)
ranges = st.one_of(
    st.none(),
    st.builds(
        LimitRangeItem,
        kind=st.just("Container"),
        min=amounts.map(lambda amount: resources(memory=str(amount))),
        limit_request_ratio_max=st.sampled_from([{}, {"memory": Fraction(2)}]),
    ),
)


@st.composite
def refused(draw) -> tuple[Snapshot, Batch]:
    """A cluster with zones, closed nodes, budgets and limit ranges, and a batch that may not fit."""
    parts = []
    for number in range(draw(st.integers(1, 4))):
        labels = {HOST: f"n{number}", "zone": draw(st.sampled_from("xyz"))}
        labels |= draw(st.sampled_from([{}, {"disk": "ssd"}]))
        machine = node(f"n{number}", memory=str(draw(amounts)), pods="3").labelled(labels)
        change = draw(st.sampled_from(["", "", "", "cordoned", "tainted"]))
        machine = machine.cordoned() if change == "cordoned" else machine
        parts.append(machine.tainted("special") if change == "tainted" else machine)
    for number in range(draw(st.integers(0, 4))):
        where = draw(st.integers(0, len(parts) - 1))
        running = pod(
            f"web/p{number}",
            memory=str(draw(st.integers(1, 4))),
            pods="1",
            labels={"app": draw(st.sampled_from("ab"))},
            priority=draw(st.sampled_from([0, 0, 9])),
            owner=draw(st.sampled_from(["", "ReplicaSet/r", "DaemonSet/d"])),
            terminating=draw(st.sampled_from([False, False, True])),
            constraints=draw(st.sampled_from([Constraints(), draw(bounds)])),
        )
        parts[where] = parts[where].holding(running)
    if draw(st.booleans()):
        budget = DisruptionBudget("b", "web", LabelSelector({"app": "a"}), max_unavailable="1")
        parts.append(budget)
    item = draw(ranges)
    if item is not None:
        parts.append(LimitRange("r", "web", (item,)))
    asked = waiting(
        "web/w",
        memory=str(draw(amounts)),
        pods="1",
        labels={"app": draw(st.sampled_from("ab"))},
        priority=5,
        constraints=draw(bounds),
    )
    if item is not None and item.limit_request_ratio_max:
        asked = msgspec.structs.replace(asked, limits=resources(memory=str(draw(amounts))))
    return cluster(*parts), batch(draw(st.integers(1, 5)), asked)


@pytest.mark.parametrize("placement", ["spread", "preferences"])
@given(question=refused())
def test_every_remedy_helps_under_rules_of_every_kind(placement, question):
    snapshot, wanted = question
    snapshot = msgspec.structs.replace(snapshot, policy=policy(placement=placement))
    if not fit(Columns(snapshot), [wanted]).fits:
        found_for(snapshot, wanted)


class TestSeveralBatches:
    def test_a_remedy_says_that_it_leaves_the_others_aside(self):
        wanted = [batch(1, waiting(name, memory="3")) for name in "ab"]
        first, second = fit(Columns(cluster(node("n1", memory="2"))), wanted).outcomes
        for outcome in (first, second):
            assert outcome.refusal.remedy == (
                "lower the request of memory to 2: it then fits, the others as they are; "
                "or add a node with 3 of memory: it then fits, the others as they are"
            )


class TestNothingHelps:
    def test_what_was_looked_for_is_said(self):
        near = PodAffinityTerm("zone", LabelSelector({"app": "absent"}))
        bound = Constraints(affinity=Affinity(pod_affinity=PodAffinity((near,))))
        parts = [node("n1", memory="4").labelled({"zone": "x"})]
        wanted = batch(1, waiting("a", memory="6", constraints=bound))
        refusal = fit(Columns(cluster(*parts)), [wanted]).outcomes[0].refusal
        assert (refusal.remedies, refusal.remedy) == ((), NOTHING_HELPS)
