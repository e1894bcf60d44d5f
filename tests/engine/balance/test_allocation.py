"""Where a new machine goes: the most even place, the last of equals; why others are none."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fleet_strategies import rare_kinds, seeds
from ganeti_builders import ganeti_cluster, ganeti_node, instance
from ganeti_clusters import random_cluster
from ullage.engine.balance.allocation import (
    Allocation,
    after,
    allocable,
    allocate_pair,
    allocate_single,
    on_pair,
    on_single,
    pairs_of,
)
from ullage.engine.balance.facts import View, machine_of
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.global_n1 import Redundancy
from ullage.engine.balance.moves import Place
from ullage.engine.balance.score import statistics
from ullage.engine.balance.state import Failure

NODES = [ganeti_node("n1"), ganeti_node("n2"), ganeti_node("n3")]
PAIRED = machine_of(instance("new", template="drbd"))
SINGLE = machine_of(instance("new"))


def test_the_last_of_equal_hosts_wins():
    found = allocate_single(Fleet(ganeti_cluster(NODES)), SINGLE, [0, 1, 2])
    assert found.best is not None
    assert found.best.placed.place == Place(2)
    assert (found.successes, found.failures) == (3, {})


def test_of_equal_pairs_the_last_standby_wins_and_then_the_last_primary():
    fleet = Fleet(ganeti_cluster(NODES))
    found = allocate_pair(fleet, PAIRED, pairs_of(fleet, [0, 1, 2]))
    assert found.best is not None
    assert found.best.placed.place == Place(2, 1)
    assert found.successes == 6


def test_the_most_even_host_wins():
    fleet = Fleet(ganeti_cluster(NODES, instance("a", "n2"), instance("b", "n3")))
    found = allocate_single(fleet, SINGLE, [0, 1, 2])
    assert found.best is not None
    assert found.best.placed.place == Place(0)
    assert found.best.score == after(fleet, found.best).score()


def test_failures_are_counted_by_kind():
    full = [instance("a", "n1", memory=950), instance("b", "n2", memory=950)]
    found = allocate_single(Fleet(ganeti_cluster(NODES, *full)), SINGLE, [0, 1, 2])
    assert (found.successes, found.failures, found.failed) == (1, {"FailMem": 2}, 2)


def test_a_place_that_leaves_a_host_stuck_is_counted_as_such():
    held = [instance("a", "n1", memory=500), instance("b", "n2", memory=400)]
    fleet = Fleet(ganeti_cluster(NODES[:2], *held))
    found = allocate_single(fleet, SINGLE, [0, 1], redundancy=Redundancy())
    assert (found.best, found.failures) == (None, {"FailN1": 2})
    assert allocate_single(fleet, SINGLE, [0, 1]).successes == 2


def test_soft_rules_bind_the_standby_even_with_force():
    held = [instance("a", "n1", memory=950), instance("b", "n2", memory=950)]
    fleet = Fleet(ganeti_cluster(NODES[:2], *held))
    fleet.states[0] = fleet.states[0]._replace(reserved=60)
    known = statistics(fleet.hosts, fleet.states)
    small = machine_of(instance("new", memory=40, template="drbd"))
    forced = on_pair(fleet, known, small, Place(0, 1), force=True)
    assert isinstance(forced, Allocation)
    large = machine_of(instance("new", memory=60, template="drbd"))
    assert on_pair(fleet, known, large, Place(0, 1), force=True) == Failure("FailMem", "memory", 10 << 20)


def test_hosts_that_are_offline_or_of_other_groups_take_nothing():
    nodes = [*NODES, ganeti_node("n4", offline=True), ganeti_node("m1", "h")]
    fleet = Fleet(ganeti_cluster(nodes))
    assert allocable(fleet, {0}) == [0, 1, 2]
    assert allocable(fleet, {0, 1}, {"n2", "m1"}) == [1, 4]
    assert pairs_of(fleet, [0, 1, 4]) == [(0, [1]), (1, [0])]


def test_meeting_a_machine_of_the_same_tag_in_a_failure_domain_counts():
    nodes = [ganeti_node("n1", tags=("loc:a",)), ganeti_node("n2", tags=("loc:b",)), ganeti_node("n3")]
    tags = ("htools:nlocation:loc", "htools:iextags:svc")
    fleet = Fleet(ganeti_cluster(nodes, instance("a", "n1", tags=("svc:web",)), tags=tags))
    new = machine_of(instance("new", template="drbd", tags=("svc:web",)), exclusion=["svc"])
    known = statistics(fleet.hosts, fleet.states)
    found = on_pair(fleet, known, new, Place(0, 2), force=True)
    assert isinstance(found, Allocation)
    assert found.score == pytest.approx(after(fleet, found).score(), abs=1e-9)


@given(seeds, rare_kinds, st.sampled_from((View(), View(exact=True))))
@settings(max_examples=25)
def test_scores_by_correction_are_those_of_the_state_that_follows(seed, kind, view):
    fleet = Fleet(random_cluster(seed, kind), view)
    hosts = allocable(fleet, range(kind.groups))
    known = statistics(fleet.hosts, fleet.states)
    machine = machine_of(instance("new", template="drbd"))
    for at, standbys in pairs_of(fleet, hosts)[:3]:
        for found in (on_pair(fleet, known, machine, Place(at, standbys[0])), on_single(fleet, machine, at)):
            if isinstance(found, Allocation):
                assert found.score == pytest.approx(after(fleet, found).score(), abs=1e-7)
