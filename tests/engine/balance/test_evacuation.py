"""Evacuation: machines leave hosts by the steps that their disks allow, to where it is most even."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ganeti_builders import ganeti_cluster, ganeti_group, ganeti_node, instance
from ganeti_clusters import Kind, random_cluster
from ullage.engine.balance.evacuation import Left, Stayed, change_group, evacuate
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.group_choice import Conditions
from ullage.engine.balance.moves import COMMANDS, Moved
from ullage.engine.balance.requests import EvacuationMode

NODES = [ganeti_node(name) for name in "abcd"]


def steps(fleet: Fleet, left: Left) -> str:
    """Return the steps and the hosts of a machine as one text."""
    names = [fleet.hosts[each].name for each in left.hosts]
    moves = [COMMANDS[move.kind].format(fleet.hosts[move.target].name) for move in left.moves]
    return f"{' '.join(moves)} -> {' '.join(names)}"


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        pytest.param("primary-only", "f -> b a", id="it fails over to its standby"),
        pytest.param("secondary-only", "r:d -> a d", id="it gets a new standby; the last of equals"),
        pytest.param("all", "r:d f r:c -> d c", id="it is copied, fails over, and is copied again"),
    ],
)
def test_a_mirrored_machine_leaves(mode: EvacuationMode, expected: str) -> None:
    fleet = Fleet(ganeti_cluster(NODES, instance("i", "a", "b")))
    found = evacuate(fleet, [0], mode)
    assert [steps(fleet, each) for each in found.left] == [expected]


def test_a_machine_on_a_host_that_is_offline_fails_over_before_it_is_copied():
    nodes = [ganeti_node("a", offline=True), *NODES[1:]]
    fleet = Fleet(ganeti_cluster(nodes, instance("i", "a", "b")))
    assert [steps(fleet, each) for each in evacuate(fleet, [0], "all").left] == ["f r:d f r:c -> d c"]


def test_a_machine_whose_disks_all_hosts_reach_moves_to_where_fewest_are():
    fleet = Fleet(ganeti_cluster(NODES[:3], instance("i", "a"), instance("j", "c")))
    assert [steps(fleet, each) for each in evacuate(fleet, [0], "primary-only").left] == ["fa:b -> b"]


@pytest.mark.parametrize(
    ("machine", "mode", "why"),
    [
        pytest.param(
            instance("i", "a", template="plain"),
            "all",
            "Instances of type plain cannot be relocated",
            id="disks on one host alone",
        ),
        pytest.param(
            instance("i", "a"),
            "secondary-only",
            "Instances with disk template 'ext' can't execute change secondary",
            id="no standby to replace",
        ),
        pytest.param(
            instance("i", "a", template="drbd"),
            "all",
            "The instance has no secondary node",
            id="a mirror that is not there",
        ),
        pytest.param(
            instance("i", "a", "b", memory=990),
            "secondary-only",
            "Can't find any good node:  Node c failed: FailMem; Node d failed: FailMem;",
            id="each host says why not",
        ),
    ],
)
def test_a_machine_stays_and_it_is_said_why(machine, mode: EvacuationMode, why: str) -> None:
    nodes = [ganeti_node("a"), ganeti_node("b"), ganeti_node("c", memory=500), ganeti_node("d", memory=500)]
    fleet = Fleet(ganeti_cluster(nodes, machine))
    assert evacuate(fleet, [0], mode).outcomes == (Stayed(0, why),)


def test_a_machine_does_not_go_to_a_host_that_others_leave():
    machines = (instance("i", "a"), instance("j", "b"))
    fleet = Fleet(ganeti_cluster(NODES[:3], *machines))
    assert [steps(fleet, each) for each in evacuate(fleet, [0, 1], "primary-only").left] == [
        "fa:c -> c",
        "fa:c -> c",
    ]


def test_a_machine_changes_to_the_group_that_is_named():
    nodes = [ganeti_node("a", "g"), ganeti_node("b", "h"), ganeti_node("c", "k")]
    fleet = Fleet(ganeti_cluster(nodes, instance("i", "a")))
    assert [steps(fleet, each) for each in change_group(fleet, [0], [1], Conditions()).left] == ["fa:b -> b"]


def test_a_machine_changes_to_a_group_that_none_leaves_where_none_is_named():
    nodes = [ganeti_node("a", "g"), ganeti_node("b", "h"), ganeti_node("c", "k")]
    fleet = Fleet(ganeti_cluster(nodes, instance("i", "a"), instance("j", "b")))
    found = change_group(fleet, [0, 1], [], Conditions())
    assert [steps(fleet, each) for each in found.left] == ["fa:c -> c", "fa:c -> c"]


def test_a_machine_stays_where_the_other_group_takes_none():
    nodes = [ganeti_node("a", "g"), ganeti_node("b", "h")]
    groups = [ganeti_group("g"), ganeti_group("h", allocation="unallocable")]
    fleet = Fleet(ganeti_cluster(nodes, instance("i", "a"), groups=groups))
    found = change_group(fleet, [0], [], Conditions())
    assert [each.machine for each in found.stayed] == [0]


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000), mode=st.sampled_from(("primary-only", "secondary-only", "all")))
def test_the_steps_of_all_machines_lead_to_the_state_that_is_promised(
    seed: int, mode: EvacuationMode
) -> None:
    fleet = Fleet(random_cluster(seed, Kind(5, 10, storage="mixed")))
    found = evacuate(fleet, range(4), mode)
    replayed = fleet.copy()
    for each in found.left:
        for move in each.moves:
            moved = replayed.try_move(each.machine, move)
            assert isinstance(moved, Moved)
            replayed.accept(each.machine, moved)
    assert replayed.states == found.fleet.states
    assert replayed.places == found.fleet.places
    assert len(found.outcomes) == 4
