"""Candidates judged together: the first that leaves a fleet redundant is the one that plain code finds."""

from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from fleet_strategies import rare_kinds, seeds
from ganeti_builders import ganeti_cluster, ganeti_node, instance
from ganeti_clusters import Kind, random_cluster
from ullage.engine.balance.allocation import Allocation, after, allocable, on_single
from ullage.engine.balance.evacuation_trial import try_evacuation
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.global_n1 import Redundancy, watched
from ullage.engine.balance.redundancy_guard import Candidate, Guard
from ullage.engine.balance.space_columns import Columns
from ullage.engine.balance.tiered import NewSize
from ullage.model.ganeti import MIB

redundancies = st.sampled_from(
    (Redundancy(), Redundancy(accepts_existing=True), Redundancy(ignored_groups=frozenset({0})))
)
memories = st.sampled_from((512, 2048, 4096))


def as_candidates(allocations):
    return [Candidate(each.machine, each.placed.place, lambda each=each: each) for each in allocations]


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
        found = guard.first(fleet, as_candidates(candidates))
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
        found = guard.first(fleet, as_candidates(candidates))
        assert (None if found is None else found[0]) == (good[0] if good else None)


def tight_fleet(seed, *more):
    """Return equal hosts with machines of a few sizes, such that counting leaves much open, and others."""
    random = Random(seed)  # noqa: S311 - chance by seed, to repeat it
    sizes = {(host, at): random.choice((70, 90, 150, 190)) for host in range(6) for at in range(6)}
    held = [instance(f"i{host}-{at}", f"n{host}", memory=size) for (host, at), size in sizes.items()]
    return Fleet(ganeti_cluster([*(ganeti_node(f"n{host}") for host in range(6)), *more], *held))


@pytest.mark.parametrize(
    ("seed", "adds_every", "more"),
    [
        *((seed, 2, ()) for seed in (2, 9, 11, 12, 20, 34)),
        *((seed, 100, ()) for seed in (2, 9, 34)),
        *((seed, 100, (ganeti_node("other", "h"),)) for seed in (2, 9, 11, 12)),
    ],
)
def test_sizes_that_shrink_step_by_step_are_judged_as_each_by_itself(seed, adds_every, more):
    fleet = tight_fleet(seed, *more)
    guard = Guard(Redundancy(), fleet, Columns(fleet, fleet.scope))
    found_so_far = 0
    for memory in range(400, 40, -24):
        machine = NewSize(memory * MIB, 100 * MIB, 1000, template="ext").machine()
        tried = [on_single(fleet, machine, at) for at in fleet.scope]
        candidates = [each for each in tried if isinstance(each, Allocation)]
        good = [at for at, each in enumerate(candidates) if is_redundant(after(fleet, each), Redundancy())]
        found = guard.first(fleet, as_candidates(candidates))
        assert (None if found is None else found[0]) == (good[0] if good else None)
        found_so_far += found is not None
        if found is not None and found_so_far % adds_every == 0:
            fleet.add(machine, found[1].placed)
            guard.columns.note(found[1].placed.changed)


def test_trials_of_sizes_that_come_next_are_known_when_they_are_asked_for():
    fleet = tight_fleet(6)
    guard = Guard(Redundancy(), fleet, Columns(fleet, fleet.scope))
    known = []
    for memory in range(400, 40, -24):
        machine = NewSize(memory * MIB, 100 * MIB, 1000, template="ext").machine()
        tried = [on_single(fleet, machine, at) for at in fleet.scope]
        guard.first(fleet, as_candidates([each for each in tried if isinstance(each, Allocation)]))
        known.append(len(guard.past.verdicts))
    asked = [more > before for before, more in pairwise(known)]
    assert known[-1] > 0
    assert sum(asked) < len(asked) / 2


def first_of(guard, fleet, memory, hosts):
    """Return how many hosts come before the first that keeps a fleet redundant, None where none does."""
    machine = NewSize(memory * MIB, 100 * MIB, 1000, template="ext").machine()
    tried = [on_single(fleet, machine, at) for at in hosts]
    found = guard.first(fleet, as_candidates([each for each in tried if isinstance(each, Allocation)]))
    return None if found is None else found[0]


def test_larger_machines_are_counted_anew_after_smaller_ones():
    held = [instance("a", "n0", memory=400), instance("b", "n1", memory=400)]
    fleet = Fleet(ganeti_cluster([ganeti_node("n0"), ganeti_node("n1")], *held))
    guard = Guard(Redundancy(), fleet, Columns(fleet, fleet.scope))
    assert [first_of(guard, fleet, memory, fleet.scope) for memory in (60, 300, 60)] == [0, None, 0]


def test_smaller_machines_are_counted_anew_after_larger_ones():
    held = [instance("a", "n0"), instance("b", "n1", memory=800)]
    held += [instance(f"c{at}", "n2") for at in range(8)]
    fleet = Fleet(ganeti_cluster([ganeti_node(f"n{number}") for number in range(3)], *held))
    guard = Guard(Redundancy(), fleet, Columns(fleet, fleet.scope))
    assert [first_of(guard, fleet, memory, [0]) for memory in (150, 140, 60, 150)] == [None, None, 0, None]
