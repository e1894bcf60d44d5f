"""Filling a fleet looked at as columns adds the same machines in the same places as the plain code."""

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from fleet_strategies import rare_kinds, seeds, views
from ganeti_builders import ganeti_cluster, ganeti_node, instance
from ganeti_clusters import Kind, random_cluster
from ullage.engine.balance.allocation import allocable
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.global_n1 import Redundancy
from ullage.engine.balance.quick_ground import QuickGround, ground_of
from ullage.engine.balance.tiered import Ground, NewSize, fill, fill_tiered
from ullage.model.ganeti import MIB, InstancePolicy, Size

redundancies = st.sampled_from(
    (None, Redundancy(), Redundancy(accepts_existing=True), Redundancy(ignored_groups=frozenset({0})))
)
new_sizes = st.builds(
    NewSize,
    st.sampled_from((300, 512, 1500, 4096)).map(MIB.__mul__),
    st.sampled_from((512, 1024, 5000, 20480)).map(MIB.__mul__),
    st.sampled_from((1000, 3000)),
    st.sampled_from((1, 2)),
    st.sampled_from((1, 2)),
    st.sampled_from(("drbd", "drbd", "ext", "plain", "diskless")),
)
TWO_SIZES = InstancePolicy(
    bounds=(
        (Size(128 * MIB, 1, 512 * MIB, 1, 1, 1), Size(300 * MIB, 2, 1024 * MIB, 9, 9, 3)),
        (Size(1000 * MIB, 1, 512 * MIB, 1, 1, 1), Size(5000 * MIB, 9, 90_000 * MIB, 9, 9, 3)),
    )
)


def both(fleet, targets, redundancy, fills):
    """Return what both ways of filling a fleet come to: machines with sizes and places, and failures."""
    found = []
    for kind in (Ground, QuickGround):
        ground = kind(fleet, targets, redundancy)
        failures = fills(ground)
        added = [(size, ground.fleet.places[machine.number]) for size, machine in ground.added]
        found.append((added, dict(failures), ground.fleet.states))
    return found


@given(seeds, rare_kinds, views, redundancies, new_sizes)
@settings(max_examples=40)
def test_machines_of_one_size_go_to_the_same_places(seed, kind, view, redundancy, size):
    fleet = Fleet(random_cluster(seed, kind), view)
    targets = allocable(fleet, range(kind.groups))
    assume(targets)
    plain, quick = both(fleet, targets, redundancy, lambda ground: fill(ground, size, 4))
    assert quick == plain


@given(seeds, rare_kinds, redundancies, new_sizes, st.sampled_from((InstancePolicy(), TWO_SIZES)))
@settings(max_examples=25, deadline=None)
def test_a_size_that_shrinks_goes_the_same_way(seed, kind, redundancy, size, policy):
    cluster = random_cluster(seed, kind._replace(is_tight=True))
    groups = tuple(replace(group, policy=policy) for group in cluster.groups)
    fleet = Fleet(replace(cluster, groups=groups))
    targets = allocable(fleet, range(kind.groups))
    assume(targets)
    small = size._replace(memory_bytes=min(size.memory_bytes, 1500 * MIB), disk_bytes=1500 * MIB)
    plain, quick = both(fleet, targets, redundancy, lambda ground: fill_tiered(ground, small, 3))
    assert quick == plain


@pytest.mark.parametrize("template", ["drbd", "ext"])
@pytest.mark.parametrize("seed", range(3))
def test_a_fleet_is_filled_to_the_end_the_same_way(template, seed):
    fleet = Fleet(random_cluster(seed, Kind(4, 12, template, is_tight=True)))
    size = NewSize(1024 * MIB, 2048 * MIB, 1000, template=template)
    plain, quick = both(fleet, list(fleet.scope), Redundancy(), lambda ground: fill(ground, size))
    assert quick == plain


@pytest.mark.parametrize("seed", range(4))
def test_tight_fleets_of_many_sizes_are_filled_the_same_way(seed):
    cluster = random_cluster(seed, Kind(5, 30, "ext", has_distinct_sizes=True, is_tight=True))
    instances = tuple(replace(each, template="ext") for each in cluster.instances)
    fleet = Fleet(replace(cluster, instances=instances))
    size = NewSize(1024 * MIB, 1024 * MIB, 1000, template="ext")
    plain, quick = both(fleet, list(fleet.scope), Redundancy(), lambda ground: fill_tiered(ground, size, 6))
    assert quick == plain


def test_numbers_beyond_exact_floats_are_left_to_the_plain_code():
    fleet = Fleet(ganeti_cluster([ganeti_node("n1", memory=1 << 40)], instance("a", "n1")))
    assert type(ground_of(fleet, [0])) is Ground
    assert type(ground_of(Fleet(ganeti_cluster([ganeti_node("n1")])), [0])) is QuickGround


def test_what_surely_breaks_redundancy_is_not_tried():
    nodes = [ganeti_node("n1"), ganeti_node("n2"), ganeti_node("n3")]
    held = [instance(f"on-{node.name}", node.name, memory=600) for node in nodes]
    ground = QuickGround(Fleet(ganeti_cluster(nodes, *held)), [0, 1, 2], Redundancy())
    size = NewSize(200 * MIB, 512 * MIB, 1000, template="ext")
    assert ground.surely_breaks(size, 1)
    free = QuickGround(Fleet(ganeti_cluster(nodes)), [0, 1, 2], Redundancy())
    assert not free.surely_breaks(size, 1)
