"""Sides: what moves do to the two hosts that a machine has, against the same moves in the states."""

import numpy as np
import pytest
from hypothesis import assume, given, settings

from fleet_strategies import balancings, fleets
from ganeti_builders import ganeti_cluster, ganeti_node, instance
from ullage.engine.balance.candidates import Balancing
from ullage.engine.balance.columns import FAILOVER, Columns, suits
from ullage.engine.balance.facts import NOWHERE
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.sides import FR, FRF, RF, R, conflicts_on, kept_for, left_of, sides_of
from ullage.engine.balance.state import remove_standby
from ullage.model.ganeti import MIB

ONE = np.array([0])


def columns_of(*instances, tags: tuple[str, ...] = ()) -> Columns:
    nodes = [ganeti_node(name) for name in "abcd"]
    return Columns(Fleet(ganeti_cluster(nodes, *instances, tags=tags)), Balancing())


@given(fleets(), balancings)
@settings(max_examples=40)
def test_a_standby_keeps_for_others_what_is_left_without_the_machine(fleet, options):
    assume(suits(fleet))
    columns = Columns(fleet, options)
    left = left_of(columns, np.arange(len(columns.movers)))
    for at, number in enumerate(columns.movers):
        place = fleet.places[number]
        if place.standby != NOWHERE:
            host, state = fleet.hosts[place.standby], fleet.states[place.standby]
            after = remove_standby(host, state, fleet.machines[number], place.primary)
            assert left[at] == after.reserved


@pytest.mark.parametrize(
    ("kind", "primary", "standby"),
    [
        pytest.param(R, (0.0, 0.0), (0.0, 0.0), id="the old standby is free of it"),
        pytest.param(RF, (0.1, 0.1), (0.0, 0.0), id="the old primary keeps memory for the new one"),
        pytest.param(FRF, (0.0, 0.0), (0.1, 0.1), id="the old standby keeps it for the new primary"),
        pytest.param(FR, (0.0, 0.0), (0.0, 0.0), id="the new standby does"),
        pytest.param(FAILOVER, (0.1, 0.1), (0.0, 0.0), id="the two change places"),
    ],
)
def test_what_the_two_hosts_reserve_after_a_move(kind, primary, standby):
    sides = sides_of(columns_of(instance("i", "a", "b")), ONE)
    assert (sides.primary_least[kind, 0], sides.primary_most[kind, 0]) == primary
    assert (sides.standby_least[kind, 0], sides.standby_most[kind, 0]) == standby


def test_what_is_kept_for_a_new_host_adds_to_what_is_kept_for_it_already():
    columns = columns_of(instance("i", "a", "b"), instance("j", "c", "a", memory=300))
    assert (kept_for(columns, RF, ONE)[0, :4] // MIB).tolist() == [300, 300, 400, 300]
    sides = sides_of(columns, ONE)
    assert (sides.primary_least[RF, 0], sides.primary_most[RF, 0]) == (0.3, 0.4)


def test_a_tag_that_a_host_holds_is_a_conflict():
    tags = ("htools:iextags:service",)
    web = {"tags": ("service:web",)}
    columns = columns_of(instance("i", "a", "b", **web), instance("j", "b", "c", **web), tags=tags)
    assert conflicts_on(columns, ("service:web",)).tolist() == [1, 1, 0, 0, 0]
    assert not sides_of(columns, ONE).possible[FAILOVER, 0]
