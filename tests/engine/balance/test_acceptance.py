"""What is asked before a move is taken: who says no, and that the others then take it back."""

import pytest

from builders import cluster, node, pod
from ganeti_builders import ganeti_cluster, ganeti_node, instance
from ullage.engine.balance import acceptance
from ullage.engine.balance.acceptance import EnoughError, Guard, follow_all
from ullage.engine.balance.candidates import Step
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.loss_watch import watch_of
from ullage.engine.balance.moves import Move, Place
from ullage.engine.balance.placement import Placement
from ullage.engine.balance.rebalance import fleet_of

HELD = {"n0": (3,), "n1": (5, 3), "n2": (2, 4)}
SNAPSHOT = cluster(
    *(
        node(name, cpu="9", memory="10", pods=9).holding(
            *(pod(f"w/{name}{size}", memory=str(size), pods=1, owner="ReplicaSet/r") for size in sizes)
        )
        for name, sizes in HELD.items()
    )
)


def step_of(fleet, name, target):
    number = next(each.number for each in fleet.machines if each.name == name)
    step = Step(number, Move("fa", target), Place(target), 0.0, fleet.places[number])
    return step, fleet.try_move(number, step.move)


def of_pods():
    fleet, watch = fleet_of(SNAPSHOT), watch_of(SNAPSHOT)
    return fleet, Placement(SNAPSHOT, fleet), watch


def test_a_move_that_makes_a_loss_worse_is_taken_back_everywhere():
    fleet, rules, watch = of_pods()
    watch.rewind(watch.every_row)
    guard = Guard(fleet, rules, watch=watch)
    assert not guard.accepts(*step_of(fleet, "w/n13", 0))
    assert (guard.refused, watch.verdicts()) == (1, [0, 0, 0])
    assert guard.accepts(*step_of(fleet, "w/n22", 0))
    assert rules.move("w/n13", step_of(fleet, "w/n13", 0)[0])


def test_rules_and_losses_go_along_with_what_was_accepted():
    fleet, rules, watch = of_pods()
    step, _ = step_of(fleet, "w/n13", 0)
    follow_all(fleet, [step], rules, watch)
    assert watch.worse() == [1]
    assert not rules.move("w/n15", step_of(fleet, "w/n15", 0)[0])


def test_a_move_after_which_a_host_cannot_take_over_is_refused():
    nodes = [ganeti_node("a", offline=True), ganeti_node("b"), ganeti_node("c")]
    fleet = Fleet(ganeti_cluster(nodes, instance("i", "a", memory=600), instance("j", "c", "b", memory=500)))
    step, moved = step_of(fleet, "i", 1)
    assert not Guard(fleet, None).accepts(step, moved)


def test_the_search_ends_after_so_many_refusals(monkeypatch):
    monkeypatch.setattr(acceptance, "REFUSED_MAX", 1)
    fleet, rules, watch = of_pods()
    watch.rewind(watch.every_row)
    guard = Guard(fleet, rules, watch=watch)
    assert not guard.accepts(*step_of(fleet, "w/n13", 0))
    with pytest.raises(EnoughError):
        guard.accepts(*step_of(fleet, "w/n22", 0))
