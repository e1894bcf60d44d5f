"""A fleet: what is loaded, which group counts, and that copies are apart."""

from fractions import Fraction

from hypothesis import given, settings

from fleet_strategies import fleets, rare_kinds
from ganeti_builders import ganeti_cluster, ganeti_node, instance
from ullage.engine.balance.facts import NOWHERE
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.moves import Move, Moved, Place
from ullage.engine.balance.score import score_of
from ullage.engine.balance.search import balance
from ullage.engine.balance.state import add_primary
from ullage.model.ganeti import MIB

NODES = [ganeti_node("a"), ganeti_node("b"), ganeti_node("c", "other"), ganeti_node("d", "other")]
INSTANCES = [instance("i", "a", "b"), instance("j", "c", "d"), instance("k", "c", "a")]


def test_every_machine_is_where_its_instance_is():
    fleet = Fleet(ganeti_cluster(NODES, *INSTANCES))
    assert fleet.places == [Place(0, 1), Place(2, 3), Place(2, 0)]
    assert [state.primaries for state in fleet.states] == [(0,), (), (2, 1), ()]
    assert [state.standbys for state in fleet.states] == [(2,), (0,), (), (1,)]
    assert [state.now.memory_free // MIB for state in fleet.states] == [900, 1000, 800, 1000]
    assert [state.reserved // MIB for state in fleet.states] == [100, 100, 0, 100]


def test_one_group_counts_its_hosts_and_the_machines_that_run_there():
    fleet = Fleet(ganeti_cluster(NODES, *INSTANCES)).of_group(1)
    assert fleet.scope == (2, 3)
    assert fleet.subjects == (1, 2)
    assert fleet.score() == score_of(fleet.hosts[2:], fleet.states[2:])


def test_a_copy_moves_alone():
    fleet = Fleet(ganeti_cluster(NODES, *INSTANCES))
    copy = fleet.copy()
    moved = copy.try_move(0, Move("f"))
    assert isinstance(moved, Moved)
    copy.accept(0, moved)
    assert copy.places[0] == Place(1, 0)
    assert fleet.places[0] == Place(0, 1)
    assert fleet.states[0].primaries == (0,)


def test_a_machine_that_is_taken_in_gets_the_next_number():
    fleet = Fleet(ganeti_cluster(NODES, *INSTANCES))
    asked = fleet.machines[0]._replace(number=NOWHERE, name="new")
    state = add_primary(fleet.hosts[1], fleet.states[1], asked, 0)
    added = fleet.add(asked, Moved(Place(1), {1: state}))
    assert added.number == 3
    assert fleet.machines[3].name == "new"
    assert fleet.states[1].primaries == (3,)
    assert fleet.subjects[-1] == 3


def test_hosts_that_could_not_take_over_are_bad_with_all_they_hold():
    fleet = Fleet(ganeti_cluster([ganeti_node("a"), ganeti_node("b", memory=50)], instance("i", "a", "b")))
    assert [host.name for host in fleet.bad_hosts()] == ["b"]
    assert fleet.bad_machines() == [0]


def test_a_host_that_is_offline_is_not_bad():
    nodes = [ganeti_node("a"), ganeti_node("b", memory=50, offline=True)]
    assert Fleet(ganeti_cluster(nodes, instance("i", "a", "b"))).bad_hosts() == []


@given(fleets(rare_kinds))
@settings(max_examples=40)
def test_what_hosts_hold_follows_from_where_machines_are(fleet):
    for host in fleet.hosts:
        state = fleet.states[host.number]
        here = [
            machine
            for machine in fleet.machines
            if fleet.places[machine.number].primary == host.number and not machine.forthcoming
        ]
        assert sorted(state.primaries) == [machine.number for machine in here]
        used = sum(machine.memory for machine in here if machine.uses_memory)
        missing = 0 if host.exact else host.memory_missing
        free = host.memory - host.memory_node - missing - used
        assert state.now.memory_free == free
        assert state.fails == host.refuses_memory(free - state.reserved)


@settings(max_examples=25)
@given(fleets(rare_kinds))
def test_by_the_exact_rule_a_ratio_of_one_is_no_ratio_scores_and_moves_included(fleet):
    plain = fleet.view._replace(exact=True, memory_ratio=None)
    one, none = (Fleet(fleet.cluster, plain._replace(memory_ratio=each)) for each in (Fraction(1), None))
    assert one.hosts == none.hosts
    assert one.states == none.states
    assert one.score() == none.score()
    assert list(balance(one)) == list(balance(none))
