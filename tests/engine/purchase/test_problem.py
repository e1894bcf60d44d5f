"""The question in numbers: equal workloads are one shape, equal offers one kind, equal nodes one place."""

from builders import cluster, node, pod, policy, waiting
from ullage.engine.purchase import problem as module
from ullage.engine.purchase.catalog import Catalog, Item
from ullage.engine.purchase.offers import Market
from ullage.engine.purchase.problem import Problem
from ullage.model.constraints import Constraints

ZONE = "topology.kubernetes.io/zone"


def site(name, zone, **amounts):
    return node(name, **amounts).in_domain(zone).labelled({ZONE: zone})


def problem(parts, *demand, items=None):
    listed = items or [Item("cpu", 1, node("cpu", cpu="8").record)]
    return Problem(Market(cluster(*parts, policy=policy()), Catalog(tuple(listed))), demand, "spread")


def test_equal_workloads_are_one_shape():
    found = problem([], (waiting("a", cpu="1"), 2), (waiting("b", cpu="1"), 3), (waiting("c", cpu="1"), 0))
    assert found.demands == [5]


def test_offers_that_a_workload_tells_apart_are_two_kinds():
    parts = [site("a", "z1", cpu="1"), site("b", "z2", cpu="1")]
    alike = problem(parts, (waiting("a", cpu="1"), 1))
    assert [len(kind.offers) for kind in alike.kinds] == [2]
    choosy = waiting("a", cpu="1", constraints=Constraints(node_selector={ZONE: "z2"}))
    (kind,) = problem(parts, (choosy, 1)).kinds
    assert [offer.domain for offer in kind.offers] == ["z2"]


def test_a_new_node_has_the_room_that_its_daemons_leave():
    daemon = pod("agent", owner="DaemonSet/agent", cpu="2")
    (kind,) = problem([node("a", cpu="2").holding(daemon)], (waiting("a", cpu="3"), 9)).kinds
    assert (kind.slots, kind.room) == ((2,), (6000,))


def test_nodes_that_are_there_are_taken_together_where_they_are_many(monkeypatch):
    parts = [node(name, cpu="4") for name in "abc"]
    assert [len(place.rows) for place in problem(parts, (waiting("w", cpu="1"), 9)).places] == [1, 1, 1]
    monkeypatch.setattr(module, "NODES_ALONE_MAX", 2)
    assert [len(place.rows) for place in problem(parts, (waiting("w", cpu="1"), 9)).places] == [3]


def test_what_no_item_takes_is_named_with_the_reason_for_each():
    items = [
        Item("small", 1, node("small", cpu="8").record),
        Item("closed", 2, node("closed", cpu="99").tainted("gpu").record),
    ]
    found = problem([node("a", cpu="30")], (waiting("w", cpu="20"), 2), items=items)
    assert found.without_a_place() == [0]
    assert found.why_no_kind(0) == (
        "no item of the catalog takes w (small: size of the node (cpu); closed: taint gpu), "
        "and the nodes that are there take 1 of 2"
    )
    assert problem([node("a", cpu="30")], (waiting("w", cpu="20"), 1), items=items).without_a_place() == []
