"""What the records of a cluster know of where workloads may go, beyond what nodes hold."""

from builders import cluster, node, pod, tolerating
from ullage.engine.balance.candidates import Step
from ullage.engine.balance.moves import Move, Place
from ullage.engine.balance.placement import Placement
from ullage.engine.balance.rebalance import fleet_of
from ullage.model.admission import DisruptionBudget
from ullage.model.constraints import Constraints, HostPort, LabelSelector

SNAPSHOT = cluster(
    node("a", cpu="4", pods=9).holding(
        pod("w/plain", cpu="1", pods=1, owner="ReplicaSet/r"),
        pod(
            "w/port",
            cpu="1",
            pods=1,
            owner="ReplicaSet/p",
            constraints=Constraints(host_ports=(HostPort(80),)),
        ),
        pod("w/guarded", cpu="1", pods=1, owner="ReplicaSet/g", labels={"app": "g"}),
        pod("w/tolerant", cpu="1", pods=1, owner="ReplicaSet/t", constraints=tolerating("dedicated")),
    ),
    node("b", cpu="4", pods=9).holding(
        pod(
            "w/other",
            cpu="1",
            pods=1,
            owner="ReplicaSet/p",
            constraints=Constraints(host_ports=(HostPort(80),)),
        )
    ),
    node("c", cpu="4", pods=9).tainted("dedicated"),
    DisruptionBudget("g", "w", LabelSelector({"app": "g"}), min_available="1"),
)


def placed():
    fleet = fleet_of(SNAPSHOT)
    return fleet, Placement(SNAPSHOT, fleet), {each.name: each.number for each in fleet.machines}


def step(fleet, number, target):
    before = fleet.places[number]
    return Step(number, Move("fa", target), Place(target), 0.0, before)


def test_nodes_closed_for_good_are_barred_for_each_kind_of_workload():
    _, placement, numbers = placed()
    bars = placement.bars()
    allowed = {
        name: [bars.allows(number, Move("fa", host)) for host in range(3)] for name, number in numbers.items()
    }
    assert allowed["w/plain"] == [True, True, False]
    assert allowed["w/tolerant"] == [True, True, True]
    assert allowed["w/guarded"] == [False, False, False]
    assert placement.kind_of[numbers["w/port"]] == placement.kind_of[numbers["w/other"]]


def test_a_move_is_made_only_where_every_rule_allows_it_now():
    fleet, placement, numbers = placed()
    assert not placement.move("w/port", step(fleet, numbers["w/port"], 1))
    assert placement.move("w/plain", step(fleet, numbers["w/plain"], 1))
    placement.bars()
    for _ in range(2):
        assert placement.move("w/plain", step(fleet, numbers["w/plain"], 1))


def test_what_is_kept_counts_for_what_comes_after():
    fleet, placement, numbers = placed()
    away = step(fleet, numbers["w/other"], 2)._replace(place=Place(0), before=Place(1))
    assert not placement.move("w/other", away)
    assert placement.move("w/tolerant", step(fleet, numbers["w/tolerant"], 2))
    placement.begin()
    placement.bars()
    assert placement.move("w/plain", step(fleet, numbers["w/plain"], 1))


def test_a_move_that_is_taken_back_counts_no_more():
    fleet, placement, numbers = placed()
    away = step(fleet, numbers["w/other"], 0)
    assert not placement.move("w/other", away)
    assert placement.move("w/port", step(fleet, numbers["w/port"], 1)._replace(place=Place(0)))
    assert placement.move("w/tolerant", step(fleet, numbers["w/tolerant"], 2))
    placement.take_back()
    assert placement.move("w/tolerant", step(fleet, numbers["w/tolerant"], 2))
