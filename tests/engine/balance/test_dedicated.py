"""Dedicated hosts: what a place costs is counted in machines of the policy's sizes that no longer fit."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from ganeti_builders import ganeti_cluster, ganeti_group, ganeti_node, instance
from ullage.engine.balance.dedicated import copies_of, dedicated_solution, is_dedicated, sizes_of
from ullage.engine.balance.facts import NOWHERE, machine_of
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.group_choice import Conditions, Solution
from ullage.engine.balance.state import Failure, add_primary
from ullage.model.ganeti import MIB, Disk, InstancePolicy, Size

HIGH = Size(1 << 60, 99, 1 << 60, 16, 8, 99)
SIZES = InstancePolicy(bounds=((Size(100 * MIB, 1, 100 * MIB), HIGH), (Size(400 * MIB, 1, 400 * MIB), HIGH)))


def fleet(*memories: int) -> Fleet:
    nodes = [
        ganeti_node(f"n{at}", memory=memory, exclusive_storage=True, spindles=9, spindles_free=9)
        for at, memory in enumerate(memories)
    ]
    return Fleet(ganeti_cluster(nodes, groups=[ganeti_group("g", policy=SIZES)]))


def wanted(memory: int, spindles: int = 1, template: str = "plain"):
    made = instance("new", memory=memory, template=template)
    return machine_of(replace(made, disks=(Disk(100 * MIB, spindles),)), NOWHERE)


@pytest.mark.parametrize(
    ("exclusive", "policies", "asked", "expected"),
    [
        pytest.param((True, True), ("preferred", "preferred"), None, True, id="all hosts are"),
        pytest.param((True, False), ("preferred", "preferred"), None, False, id="one is not"),
        pytest.param((True, False), ("preferred", "unallocable"), None, True, id="but it takes none"),
        pytest.param((True, False), ("preferred", "preferred"), "g0", True, id="but its group is not asked"),
        pytest.param((True, False), ("preferred", "preferred"), "g1", False, id="and its group is asked"),
    ],
)
def test_a_fleet_is_dedicated_if_all_hosts_that_may_be_asked_are(exclusive, policies, asked, expected):
    nodes = [ganeti_node(f"n{at}", f"g{at}", exclusive_storage=each) for at, each in enumerate(exclusive)]
    groups = [ganeti_group(f"g{at}", allocation=each) for at, each in enumerate(policies)]
    assert is_dedicated(Fleet(ganeti_cluster(nodes, groups=groups)), asked) is expected


def test_a_fleet_without_hosts_is_dedicated():
    assert is_dedicated(Fleet(ganeti_cluster([])), None)


def test_sizes_are_counted_from_the_largest_disk_down():
    assert [size.disk // MIB for size in sizes_of(SIZES)] == [400, 100]


@given(
    memory=st.integers(0, 3000),
    size=st.builds(Size, st.integers(0, 900), st.integers(0, 9), st.integers(0, 900)),
)
def test_as_many_copies_are_counted_as_fit_one_after_the_other(memory: int, size: Size) -> None:
    hosts = fleet(memory)
    policy = InstancePolicy(
        bounds=((Size(size.memory_bytes * MIB, size.cpus + 1, size.disk_bytes * MIB), HIGH),)
    )
    (machine,) = sizes_of(policy)
    host, state = hosts.hosts[0], hosts.states[0]
    counted = 0
    held = add_primary(host, state, machine, 0)
    while not isinstance(held, Failure):
        counted += 1
        held = add_primary(host, held, machine, 0)
    assert copies_of(host, state, machine) == counted


def test_a_machine_goes_where_it_costs_fewest_of_the_largest_size():
    found = dedicated_solution(fleet(850, 1050), wanted(200), 1, 0, Conditions())
    assert isinstance(found, Solution)
    assert found.best is not None
    assert found.best.placed.place.primary == 1
    assert found.best.rank == ((0, 2), (9900,))


def test_between_equals_the_last_host_is_taken():
    found = dedicated_solution(fleet(1050, 1050), wanted(200), 1, 0, Conditions())
    assert isinstance(found, Solution)
    assert found.best is not None
    assert found.best.placed.place.primary == 1


def test_a_pair_costs_what_both_of_its_hosts_lose():
    found = dedicated_solution(fleet(1050, 1050), wanted(200, template="drbd"), 2, 0, Conditions())
    assert isinstance(found, Solution)
    assert found.best is not None
    assert found.best.rank == ((0, 4), (19800,))
    assert found.successes == 2


def test_machines_that_need_more_spindles_than_are_free_are_refused_with_that_reason():
    found = dedicated_solution(fleet(1050, 1050), wanted(200, spindles=10), 1, 0, Conditions())
    assert isinstance(found, Solution)
    assert (found.best, found.failures) == (None, {"FailSpindles": 2})
