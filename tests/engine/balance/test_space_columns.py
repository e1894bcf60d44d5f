"""Columns are what the hosts that are online hold, and are read again where a host has changed."""

import numpy as np
from hypothesis import assume, given, settings

from fleet_strategies import rare_kinds, seeds, views
from ganeti_builders import ganeti_cluster, ganeti_node, instance
from ganeti_clusters import random_cluster
from ullage.engine.balance.facts import machine_of
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.score import TERMS
from ullage.engine.balance.space_columns import UNBOUNDED, Columns, Whole, suits
from ullage.engine.balance.state import Failure, add_primary

NEW = machine_of(instance("new", memory=10))


@given(seeds, rare_kinds, views)
@settings(max_examples=25)
def test_reading_what_changed_is_as_reading_all(seed, kind, view):
    fleet = Fleet(random_cluster(seed, kind), view)
    online = [number for number in fleet.scope if not fleet.hosts[number].offline]
    columns = Columns(fleet, online)
    held = (
        add_primary(fleet.hosts[online[0]], fleet.states[online[0]], NEW, 0) if online else Failure("FailMem")
    )
    assume(not isinstance(held, Failure))
    fleet.states[online[0]] = held
    columns.note(online[:1])
    assert columns.renewed(fleet) is columns
    anew = Columns(fleet, online)
    for name in (
        "values",
        "amounts",
        "room_as_primary",
        "room_as_standby",
        "peers",
        "reserved",
        "fails",
        "machines",
        "room",
        "room_kept",
        "room_for_pair",
    ):
        assert np.array_equal(getattr(columns, name), getattr(anew, name)), name
    assert all(map(np.array_equal, (*columns.now, *columns.later), (*anew.now, *anew.later)))


@given(seeds, rare_kinds, views)
@settings(max_examples=25)
def test_rooms_are_what_hosts_refuse(seed, kind, view):
    fleet = Fleet(random_cluster(seed, kind), view)
    columns = Columns(fleet, fleet.scope)
    for at, number in enumerate(columns.numbers):
        host, state = fleet.hosts[number], fleet.states[number]
        room = int(columns.room[at])
        assert host.refuses_memory(state.now.memory_free - room - 1)
        assert not host.refuses_memory(state.now.memory_free - room)
        assert (columns.room_kept[at] == UNBOUNDED) == state.fails
        assert columns.values[:, at].tolist() == [term.value(host, state) for term in TERMS]


def test_hosts_in_one_state_are_of_one_kind():
    nodes = [ganeti_node(f"n{number}") for number in range(5)]
    both = [instance("a", "n0", "n1"), instance("b", "n1", "n0"), instance("c", "n2", "n3", memory=200)]
    fleet = Fleet(ganeti_cluster([*nodes, ganeti_node("n5", memory=2000)], *both))
    columns = Columns(fleet, fleet.scope)
    primary, standby = columns.primary_kind.tolist(), columns.standby_kind.tolist()
    assert primary[0] == primary[1]
    assert len({*primary}) == 5
    assert standby[0] == standby[1]
    assert len({*standby}) == 5


def test_pairs_are_of_different_targets_of_one_group():
    nodes = [ganeti_node("n1"), ganeti_node("n2"), ganeti_node("m1", "h"), ganeti_node("n3")]
    columns = Columns(Fleet(ganeti_cluster(nodes)), [0, 1, 2])
    assert np.argwhere(columns.pairs).tolist() == [[0, 1], [1, 0]]


def test_a_share_of_nothing_is_a_fixed_value():
    whole = Whole(np.array([4.0, 0.0]))
    assert whole.share(np.array([1, 1]), 0.5).tolist() == [0.25, 0.5]
    assert whole.units().tolist() == [0.25, 0.0]


def test_numbers_must_be_small_enough_for_exact_shares():
    assert suits(Fleet(ganeti_cluster([ganeti_node("n1")])))
    assert not suits(Fleet(ganeti_cluster([ganeti_node("n1", memory=1 << 31)])))
