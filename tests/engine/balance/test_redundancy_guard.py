"""Candidates judged together: the first that leaves a fleet redundant is the one that plain code finds."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from fleet_strategies import rare_kinds, seeds
from ganeti_clusters import Kind, random_cluster
from ullage.engine.balance.allocation import Allocation, after, allocable, on_single
from ullage.engine.balance.evacuation_trial import try_evacuation
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.global_n1 import Redundancy, watched
from ullage.engine.balance.redundancy_guard import Guard
from ullage.engine.balance.space_columns import Columns
from ullage.engine.balance.tiered import NewSize
from ullage.model.ganeti import MIB

redundancies = st.sampled_from(
    (Redundancy(), Redundancy(accepts_existing=True), Redundancy(ignored_groups=frozenset({0})))
)
memories = st.sampled_from((512, 2048, 4096))


def is_redundant(fleet, redundancy):
    return all(try_evacuation(fleet, number) for number in watched(fleet, redundancy))


@given(seeds, rare_kinds, redundancies, memories, st.sampled_from(("ext", "plain")))
@settings(max_examples=40, deadline=None)
def test_the_first_candidate_that_keeps_redundancy_is_found(seed, kind, redundancy, memory, template):
    fleet = Fleet(random_cluster(seed, kind._replace(is_tight=True)))
    targets = allocable(fleet, range(kind.groups))
    machine = NewSize(memory * MIB, 1024 * MIB, 1000, template=template).machine()
    tried = [on_single(fleet, machine, at) for at in targets]
    candidates = [each for each in tried if isinstance(each, Allocation)]
    good = [at for at, each in enumerate(candidates) if is_redundant(after(fleet, each), redundancy)]
    guard = Guard(redundancy, fleet, Columns(fleet, targets))
    for _ in range(2):
        found = guard.first(fleet, candidates)
        assert found == ((good[0], candidates[good[0]]) if good else None)
    assert guard.holds(fleet) == is_redundant(fleet, redundancy)
    if guard.is_past_help(fleet):
        assert not good


@pytest.mark.parametrize("seed", range(8))
def test_candidates_that_counting_leaves_open_are_judged_together(seed):
    cluster = random_cluster(seed, Kind(6, 36, "ext", has_distinct_sizes=True, is_tight=True))
    instances = tuple(replace(each, template="ext") for each in cluster.instances)
    fleet = Fleet(replace(cluster, instances=instances))
    guard = Guard(Redundancy(), fleet, Columns(fleet, fleet.scope))
    for memory in (900, 2500, 4096):
        machine = NewSize(memory * MIB, 1024 * MIB, 1000, template="ext").machine()
        tried = [on_single(fleet, machine, at) for at in fleet.scope]
        candidates = [each for each in tried if isinstance(each, Allocation)]
        good = [at for at, each in enumerate(candidates) if is_redundant(after(fleet, each), Redundancy())]
        found = guard.first(fleet, candidates)
        assert (None if found is None else found[0]) == (good[0] if good else None)
