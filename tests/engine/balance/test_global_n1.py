"""A cluster is redundant if each host that must be can be evacuated."""

import pytest
from hypothesis import given, settings

from fleet_strategies import rare_kinds, seeds, views
from ganeti_builders import ganeti_cluster, ganeti_node, instance
from ganeti_clusters import random_cluster
from ullage.engine.balance.evacuation_trial import try_evacuation
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.global_n1 import can_evacuate, evacuable, is_redundant

STUCK = ganeti_cluster(
    [ganeti_node("n1"), ganeti_node("n2", offline=True), ganeti_node("m1", "h"), ganeti_node("m2", "h")],
    instance("a", "n2"),
    instance("b", "n1"),
    instance("c", "m1", memory=600),
    instance("d", "m2", memory=100),
)


@pytest.mark.parametrize(
    ("accepts_existing", "ignored", "expected"),
    [(False, (), False), (True, (), False), (False, (0,), True), (True, (0, 1), True)],
)
def test_ignored_groups_and_offline_hosts_that_are_accepted_do_not_count(accepts_existing, ignored, expected):
    fleet = Fleet(STUCK)
    assert is_redundant(fleet, accepts_existing=accepts_existing, ignored_groups=ignored) == expected


def test_a_host_that_is_offline_must_be_evacuable_unless_accepted():
    cluster = ganeti_cluster(
        [ganeti_node("n1"), ganeti_node("n2"), ganeti_node("n3", offline=True)],
        instance("a", "n3", memory=999),
        instance("b", "n1", memory=10),
        instance("c", "n2", memory=10),
    )
    assert not is_redundant(Fleet(cluster))
    assert is_redundant(Fleet(cluster), accepts_existing=True)


@given(seeds, rare_kinds, views)
@settings(max_examples=30)
def test_all_answers_are_those_of_the_plain_trial(seed, kind, view):
    fleet = Fleet(random_cluster(seed, kind), view)
    expected = [number for number in fleet.scope if try_evacuation(fleet, number)]
    assert evacuable(fleet) == expected
    assert is_redundant(fleet) == (len(expected) == len(fleet.scope))
    assert can_evacuate(fleet, 0) == (0 in expected)
    assert evacuable(fleet, [1]) == [number for number in expected if number == 1]
