"""The best pair of hosts is the one that scoring every pair finds, whatever states hosts are in."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fleet_strategies import rare_kinds, seeds, views
from ganeti_builders import ganeti_cluster, ganeti_node, instance
from ganeti_clusters import Kind, random_cluster
from ullage.engine.balance.allocation import allocable, allocate_pair, pairs_of
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.moves import Place
from ullage.engine.balance.pair_choice import best_pair, possible_pairs, tells_grains_apart
from ullage.engine.balance.pair_scores import PairScores
from ullage.engine.balance.space_columns import Columns
from ullage.engine.balance.space_tests import allowed_by_size, fitting
from ullage.engine.balance.tiered import NewSize
from ullage.model.ganeti import MIB

many = st.builds(
    lambda kind, nodes: kind._replace(nodes=nodes, instances=2 * kind.instances),
    rare_kinds,
    st.integers(17, 22),
)
new_sizes = st.builds(
    NewSize,
    st.sampled_from((64, 300, 512, 1500)).map(MIB.__mul__),
    st.sampled_from((512, 5000)).map(MIB.__mul__),
    st.sampled_from((1000, 3000)),
)


def found_by_kinds(fleet, targets, machine, grain=MIB):
    """Return the pair that is found for a machine, and its score."""
    columns = Columns(fleet, targets)
    fits = fitting(columns, machine, allowed_by_size(fleet, columns, machine))
    rows, others = (np.flatnonzero(each & columns.is_target) for each in fits)
    pair = best_pair(PairScores(columns, machine), rows, others, grain)
    if pair is None:
        return None
    return Place(columns.numbers[pair.primary], columns.numbers[pair.standby]), pair.score


def found_by_all(fleet, targets, machine):
    best = allocate_pair(fleet, machine, pairs_of(fleet, targets)).best
    return None if best is None else (best.placed.place, best.score)


@given(seeds, many, views, new_sizes)
@settings(max_examples=25, deadline=None)
def test_the_pair_is_the_one_that_plain_code_finds(seed, kind, view, size):
    fleet = Fleet(random_cluster(seed, kind), view)
    targets = allocable(fleet, range(kind.groups))
    machine = size.machine()
    expected = found_by_all(fleet, targets, machine)
    assert found_by_kinds(fleet, targets, machine) == expected
    assert found_by_kinds(fleet, targets, machine, 1) == expected


@pytest.mark.parametrize("sizes", [(512,), (512, 512, 300)])
def test_equal_hosts_are_filled_in_the_order_of_plain_code(sizes):
    fleet = Fleet(ganeti_cluster([ganeti_node(f"n{number}", memory=1600) for number in range(18)]))
    for step in range(15):
        machine = NewSize(sizes[step % len(sizes)] * MIB, 512 * MIB, 1000).machine()
        best = allocate_pair(fleet, machine, pairs_of(fleet, fleet.scope)).best
        assert best is not None
        assert found_by_kinds(fleet, fleet.scope, machine) == (best.placed.place, best.score)
        fleet.add(machine, best.placed)


def pairs_in_use(standbys):
    """Return hosts of which the first two are free, and keep memory for each other or for others."""
    nodes = [ganeti_node(f"n{number:02}") for number in range(18)]
    held = [instance(f"full-{node.name}", node.name, memory=900) for node in nodes[2:]]
    both = [instance(f"on-{one}", one, other, memory=200) for one, other in standbys]
    return Fleet(ganeti_cluster(nodes, *held, *both))


@pytest.mark.parametrize(
    ("standbys", "expected"),
    [
        ((), Place(1, 0)),
        ((("n01", "n00"),), Place(0, 1)),
        ((("n00", "n01"),), Place(1, 0)),
        ((("n00", "n01"), ("n01", "n00")), Place(1, 0)),
    ],
)
def test_a_standby_that_would_keep_more_is_second_to_one_that_would_not(standbys, expected):
    fleet = pairs_in_use(standbys)
    machine = NewSize(200 * MIB, 512 * MIB, 1000).machine()
    found = found_by_kinds(fleet, fleet.scope, machine)
    assert found == found_by_all(fleet, fleet.scope, machine)
    assert found is not None
    assert found[0] == expected


def test_no_pair_is_found_where_none_is_possible():
    fleet = pairs_in_use(())
    assert found_by_kinds(fleet, fleet.scope, NewSize(1200 * MIB, 512 * MIB, 1000).machine()) is None
    nodes = [ganeti_node(f"n{number:02}", f"g{number:02}") for number in range(18)]
    apart = Fleet(ganeti_cluster(nodes))
    assert found_by_kinds(apart, apart.scope, NewSize(200 * MIB, 512 * MIB, 1000).machine()) is None


def test_pairs_are_possible_where_the_standby_can_take_over():
    fleet = pairs_in_use((("n00", "n01"),) * 3)
    columns = Columns(fleet, fleet.scope)
    machine = NewSize(390 * MIB, 512 * MIB, 1000).machine()
    hosts = np.arange(2)
    assert possible_pairs(columns, machine, hosts, hosts).tolist() == [[False, True], [True, False]]
    larger = NewSize(400 * MIB, 512 * MIB, 1000).machine()
    assert possible_pairs(columns, larger, hosts, hosts).tolist() == [[False, False], [False, False]]


@pytest.mark.parametrize(
    ("hosts", "grain", "expected"), [(16, MIB, False), (17, MIB, True), (40, MIB, True), (40, 1, False)]
)
def test_few_hosts_or_fine_grains_are_not_told_apart(hosts, grain, expected):
    nodes = [ganeti_node(f"n{number:02}") for number in range(hosts)]
    assert tells_grains_apart(Columns(Fleet(ganeti_cluster(nodes)), ()), grain) == expected


@pytest.mark.parametrize("seed", range(3))
def test_tight_fleets_of_many_hosts_are_filled_in_the_order_of_plain_code(seed):
    fleet = Fleet(random_cluster(seed, Kind(17, 60, is_tight=True)))
    for memory in (256, 512, 256, 512):
        machine = NewSize(memory * MIB, 512 * MIB, 1000).machine()
        found = found_by_all(fleet, fleet.scope, machine)
        assert found_by_kinds(fleet, fleet.scope, machine) == found
        best = allocate_pair(fleet, machine, pairs_of(fleet, fleet.scope)).best
        if best is not None:
            fleet.add(machine, best.placed)
