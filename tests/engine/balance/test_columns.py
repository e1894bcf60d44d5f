"""Columns: which fleets they serve, and that they hold what the states hold."""

import numpy as np
import pytest
from hypothesis import assume, given, settings

from fleet_strategies import balancings, fleets
from ganeti_builders import ganeti_cluster, ganeti_node, instance
from ganeti_clusters import Kind, random_cluster
from ullage.engine.balance.candidates import Balancing
from ullage.engine.balance.columns import Columns, suits
from ullage.engine.balance.facts import View
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.score import TERMS, with_weights
from ullage.engine.balance.state import Failure, add_primary, add_standby
from ullage.model.ganeti import MIB

USUAL = Kind(4, 8)


@pytest.mark.parametrize(
    ("kind", "serves"),
    [
        pytest.param(USUAL, True, id="usual machines"),
        pytest.param(Kind(4, 8, "plain"), False, id="none that move"),
        pytest.param(USUAL._replace(forthcoming_share=1.0), False, id="still to come"),
        pytest.param(USUAL._replace(exclusive_share=1.0), False, id="exclusive storage"),
    ],
)
def test_columns_serve_usual_machines(kind, serves):
    assert suits(Fleet(random_cluster(1, kind))) is serves


def test_columns_serve_weights_of_the_users_own_but_not_other_terms():
    fleet = Fleet(random_cluster(1, USUAL))
    assert suits(fleet, with_weights({"n1_cnt": 3.0}))
    assert not suits(fleet, with_weights({"n1_cnt": -3.0}))
    assert not suits(fleet, TERMS[:5])


def test_columns_do_not_serve_sizes_whose_shares_would_be_rounded():
    fleet = Fleet(
        ganeti_cluster([ganeti_node("a"), ganeti_node("b", memory=1 << 33)], instance("i", "a", "b"))
    )
    assert not suits(fleet)


def test_columns_do_not_serve_hosts_that_are_all_offline():
    assert not suits(
        Fleet(random_cluster(1, USUAL), View(offline=frozenset(f"node-000{at}" for at in range(4))))
    )


def test_terms_that_are_the_same_everywhere_are_merged():
    merged = Columns(Fleet(random_cluster(1, USUAL)), Balancing()).linear.merged
    assert merged["cpu_load_cv"] == merged["mem_load_cv"] == merged["net_load_cv"] != merged["disk_load_cv"]
    assert merged["free_disk_cv"] == merged["free_disk_cv_forth"]


@given(fleets(), balancings)
@settings(max_examples=40)
def test_there_is_room_exactly_where_the_primitives_take_a_machine(fleet, options):
    assume(suits(fleet))
    columns = Columns(fleet, options)
    for force in (False, True):
        rooms = columns.rooms[True, force]
        for at, machine in enumerate(columns.machines):
            has_room = (columns.asked.primary[at][:, None] <= rooms).all(axis=0)
            for host in columns.hosts:
                state = fleet.states[host.number]
                untagged = machine._replace(exclusion_tags=())
                taken = not isinstance(add_primary(host, state, untagged, 0, force=force), Failure)
                assert bool(has_room[columns.local[host.number]]) is taken


@given(fleets(), balancings)
@settings(max_examples=30)
def test_a_standby_has_room_where_the_primitives_take_it_for_a_new_peer(fleet, options):
    assume(suits(fleet))
    columns = Columns(fleet, options)
    for force in (False, True):
        rooms = columns.rooms[False, force]
        for at, machine in enumerate(columns.machines):
            if not machine.has_standby:
                continue
            has_room = (columns.asked.standby[at][:, None] <= rooms).all(axis=0)
            for host in columns.hosts:
                found = add_standby(host, fleet.states[host.number], machine, -5, force=force)
                assert bool(has_room[columns.local[host.number]]) is not isinstance(found, Failure)


def test_what_a_host_reserves_is_listed_with_the_two_largest():
    nodes = [ganeti_node(name) for name in "abcd"]
    instances = [
        instance("i", "b", "a"),
        instance("j", "c", "a", memory=300),
        instance("k", "d", "a", memory=200),
    ]
    columns = Columns(Fleet(ganeti_cluster(nodes, *instances)), Balancing())
    assert columns.reserved[0] == 300 * MIB
    assert columns.reserved_for[0] == 2
    assert columns.reserved_next[0] == 200 * MIB
    assert (columns.peers[0, :4] // MIB).tolist() == [0, 100, 300, 200]
    assert np.count_nonzero(columns.peers) == 3
