"""What to buy: nothing, the cheapest, more where rules or losses need it, or why no purchase helps."""

import pytest

from builders import batch, cluster, node, pod, policy, waiting
from ullage.engine.purchase import mix
from ullage.engine.purchase import purchase as module
from ullage.engine.purchase.catalog import Catalog, Item
from ullage.engine.purchase.offers import counts_of
from ullage.engine.purchase.purchase import purchase
from ullage.model.constraints import (
    Affinity,
    Constraints,
    LabelSelector,
    PodAffinity,
    PodAffinityTerm,
    TopologySpread,
)

SECONDS = 10
UNIT = 10**6
ZONE = "topology.kubernetes.io/zone"
APP = LabelSelector({"app": "a"})
NEAR = Constraints(affinity=Affinity(pod_affinity=PodAffinity((PodAffinityTerm("rack", APP),))))


def item(name, price, count_max=None, **amounts):
    return Item(name, price * UNIT, node(name, **amounts).record, count_max)


def site(name, zone, **amounts):
    return node(name, **amounts).in_domain(zone).labelled({ZONE: zone})


def app(constraints=None, **parts):
    return waiting("a", labels={"app": "a"}, constraints=constraints or Constraints(), **parts)


def ask(parts, items, *batches, lost=0):
    snapshot = cluster(*parts, policy=policy())
    return purchase(snapshot, batches, Catalog(tuple(items)), nodes_lost=lost, seconds_max=SECONDS)


def test_nothing_is_bought_where_everything_fits():
    found = ask([node("x", cpu="8")], [item("n", 5, cpu="8")], batch(2, app(cpu="4")))
    assert (found.offers, found.cost_micro, found.proof, found.solves) == ((), 0, "bound", True)


def test_the_cheapest_mix_is_bought_and_proven():
    items = [item("small", 5, cpu="4"), item("large", 9, cpu="8")]
    found = ask([node("x", cpu="2")], items, batch(3, app(cpu="4")))
    assert counts_of(found.offers) == {"small": 1, "large": 1}
    assert (found.cost_micro, found.bound_micro, found.proof) == (14 * UNIT, 14 * UNIT, "bound")


def test_rules_between_workloads_may_need_more_than_room_does():
    spread = Constraints(topology_spread=(TopologySpread(1, ZONE, label_selector=APP),))
    parts = [site("x", "z1", cpu="8"), site("y", "z2", cpu="1")]
    found = ask(parts, [item("n", 5, cpu="8")], batch(4, app(spread, cpu="2")))
    assert found.solves
    assert [offer.domain for offer in found.offers] == ["z2"]
    assert found.proof == "bound"


def test_one_for_each_host_needs_as_many_hosts():
    term = PodAffinityTerm("kubernetes.io/hostname", APP)
    away = Constraints(affinity=Affinity(pod_anti_affinity=PodAffinity((term,))))
    items = [item("small", 5, cpu="2"), item("large", 9, cpu="64")]
    found = ask([], items, batch(3, app(away, cpu="1")))
    assert (counts_of(found.offers), found.proof) == ({"small": 3}, "bound")


def test_one_node_may_fail_after_the_purchase():
    items = [item("n", 5, cpu="8")]
    found = ask([node("x", cpu="8").holding(pod("old", cpu="6"))], items, batch(1, app(cpu="6")), lost=1)
    assert counts_of(found.offers) == {"n": 2}
    assert (found.bound_micro, found.proof) == (10 * UNIT, "bound")
    assert found.checked.survey.worst == ()


def test_what_runs_already_may_need_a_node_for_a_loss():
    parts = [node(name, cpu="8").holding(pod(f"old-{name}", cpu="6")) for name in "xy"]
    items = [item("small", 4, cpu="4"), item("fits", 5, cpu="6")]
    found = ask(parts, items, lost=1)
    assert (counts_of(found.offers), found.cost_micro, found.proof) == ({"fits": 1}, 5 * UNIT, "bound")


def test_cheaper_mixes_are_tried_where_the_bound_leaves_doubt():
    items = [item("cheap", 1, cpu="1"), item("fits", 5, cpu="6")]
    found = ask([], items, batch(1, waiting("new", cpu="6")), lost=1)
    assert (counts_of(found.offers), found.proof) == ({"fits": 2}, "search")
    assert found.tried > 0
    assert found.bound_micro < found.cost_micro


def test_a_price_is_proven_where_no_mix_is_between_it_and_the_bound(monkeypatch):
    monkeypatch.setattr(mix, "NODES_UNKNOWNS_MAX", 0)
    found = ask([], [item("small", 5, cpu="4"), item("large", 7, cpu="6")], batch(9, app(cpu="1")))
    assert (found.cost_micro, found.bound_micro) == (12 * UNIT, 12 * UNIT)
    assert (found.proof, found.tried) == ("bound", 0)


def test_doubt_that_is_too_large_stays_doubt(monkeypatch):
    monkeypatch.setattr(module, "TRIES_MAX", 0)
    items = [item("cheap", 1, cpu="1"), item("fits", 5, cpu="6")]
    found = ask([], items, batch(1, waiting("new", cpu="6")), lost=1)
    assert (found.proof, found.solves) == ("none", True)
    monkeypatch.setattr(module, "MIXES_MAX", 1)
    assert list(module._mixes([], 0, 1)) == [None]


@pytest.mark.parametrize(
    ("parts", "batches", "lost", "reason"),
    [
        ([], [batch(1, app(cpu="99"))], 0, "no item of the catalog takes a (n: size of the node (cpu))"),
        ([], [batch(9, app(cpu="4"))], 0, "the counts that the catalog has do not suffice"),
        (
            [node("x", cpu="8")],
            [batch(1, app(Constraints(scheduling_gates=("wait",))))],
            0,
            "a: it is held back by scheduling gates (wait); no node changes that",
        ),
        (
            [node("x", cpu="8").holding(pod("pinned", cpu="1", constraints=Constraints({"disk": "here"})))],
            [],
            1,
            "without x: no item of the catalog takes pinned (n: node selector)",
        ),
        (
            [],
            [
                batch(
                    1,
                    app(
                        Constraints(
                            affinity=Affinity(pod_affinity=PodAffinity((PodAffinityTerm("rack", APP),)))
                        )
                    ),
                )
            ],
            0,
            "no item of the catalog takes a (n: pod affinity)",
        ),
    ],
    ids=["size", "counts", "gate", "pinned", "affinity"],
)
def test_where_no_purchase_helps_it_is_said_why(parts, batches, lost, reason):
    found = ask(parts, [item("n", 5, count_max=2, cpu="8")], *batches, lost=lost)
    assert (found.solves, found.offers, found.reason) == (False, (), reason)


def test_what_is_still_wrong_when_nothing_more_helps_is_named():
    spread = Constraints(topology_spread=(TopologySpread(1, ZONE, label_selector=APP, min_domains=3),))
    parts = [site("x", "z1", cpu="8"), site("y", "z2", cpu="8")]
    found = ask(parts, [item("n", 5, cpu="8")], batch(4, app(spread, cpu="2")))
    assert not found.solves
    assert found.reason.startswith("a: 2 without a place in the best mix found: ")


@pytest.mark.parametrize("lost", [0, 1])
def test_new_nodes_that_no_workload_tells_apart_go_to_the_domains_with_the_fewest_nodes(lost):
    terms = PodAffinity(required=(PodAffinityTerm("kubernetes.io/hostname", APP),))
    alone = Constraints(affinity=Affinity(pod_anti_affinity=terms))
    parts = [site("x", "z1", cpu="2"), site("y", "z2", cpu="2")]
    found = ask(parts, [item("n", 5, cpu="4")], batch(4 - lost, app(alone, cpu="2")), lost=lost)
    assert found.solves
    assert sorted(offer.domain for offer in found.offers) == ["z1", "z2"]


def test_fewer_nodes_than_may_fail_are_not_enough():
    found = ask([node("x", cpu="4")], [item("n", 5, cpu="4")], batch(1, app(cpu="2")), lost=2)
    assert len(found.offers) == 2


def test_in_large_clusters_fewer_mixes_are_tried(monkeypatch):
    monkeypatch.setattr(module, "ADDED_NODES_MAX", 0)
    spread = Constraints(topology_spread=(TopologySpread(1, ZONE, label_selector=APP),))
    parts = [site("x", "z1", cpu="8"), site("y", "z2", cpu="1")]
    found = ask(parts, [item("n", 5, cpu="8")], batch(4, app(spread, cpu="2")))
    assert (found.solves, found.proof) == (False, "none")
    assert "without a place in the best mix found" in found.reason


def test_equal_questions_have_equal_answers():
    parts = [site(f"n{number}", f"z{number % 3}", cpu="8") for number in range(6)]
    items = [item("small", 5, cpu="4"), item("large", 9, cpu="8")]
    batches = [batch(30, waiting("a", cpu="3")), batch(11, waiting("b", cpu="2"))]
    one, other = (ask(parts, items, *batches, lost=1) for _ in range(2))
    assert one == other
