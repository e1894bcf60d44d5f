"""The choice of a group: by policy, then by evenness, among those that have networks and hosts for it."""

import pytest

from ganeti_builders import ganeti_cluster, ganeti_group, ganeti_node, instance
from ullage.engine.balance.facts import machine_of
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.group_choice import Conditions, Solution, choose_group, usual_solution

GROUPS = ("g", "h")


def fleet(*policies: str, busy: str = "", networks: tuple[str, ...] = ()) -> Fleet:
    nodes = [ganeti_node(f"{group}{at}", group) for group in GROUPS for at in range(2)]
    groups = [
        ganeti_group(name, allocation=policy, networks=networks if name == "g" else ())
        for name, policy in zip(GROUPS, policies, strict=True)
    ]
    running = [instance(f"i{at}", f"{busy}{at % 2}", memory=300) for at in range(2)] if busy else []
    return Fleet(ganeti_cluster(nodes, *running, groups=groups))


@pytest.mark.parametrize(
    ("policies", "busy", "expected"),
    [
        pytest.param(("preferred", "preferred"), "h", "g", id="the emptier one of equals"),
        pytest.param(("preferred", "preferred"), "", "h", id="the last one of equals"),
        pytest.param(("last_resort", "preferred"), "h", "h", id="a preferred one before a last resort"),
        pytest.param(("last_resort", "unallocable"), "g", "g", id="never one that takes none"),
        pytest.param(("unallocable", "unallocable"), "", None, id="none where none takes any"),
    ],
)
def test_the_group_is_chosen_by_policy_then_evenness(policies, busy, expected):
    found = choose_group(fleet(*policies, busy=busy), machine_of(instance("new")), 1, Conditions())
    assert (GROUPS[found.chosen.group] if found.chosen else None) == expected
    assert [each.group for each in found.tried] == [0, 1]


def test_a_machine_goes_only_to_groups_that_have_its_networks():
    machine = machine_of(instance("new", networks=("red",)))
    found = choose_group(fleet("preferred", "preferred", networks=("red", "blue")), machine, 1, Conditions())
    assert found.chosen is not None
    assert (found.chosen.group, found.unconnected) == (0, (1,))


def test_only_allowed_groups_are_tried():
    asked = machine_of(instance("new"))
    found = choose_group(fleet("preferred", "preferred"), asked, 1, Conditions(), allowed=[0])
    assert [each.group for each in found.tried] == [0]


@pytest.mark.parametrize(
    ("hosts", "restricted", "expected"),
    [
        pytest.param(1, {"g1"}, 1, id="one host of those named"),
        pytest.param(2, {"g1"}, "Not enough online nodes", id="no pair among those named"),
        pytest.param(1, {"h1"}, "No online nodes", id="none of this group is named"),
        pytest.param(3, None, "Unsupported number of nodes, only one or two  supported", id="never three"),
    ],
)
def test_hosts_are_restricted_to_those_named(hosts, restricted, expected):
    conditions = Conditions(restricted=None if restricted is None else frozenset(restricted))
    machine = machine_of(instance("new", template="drbd" if hosts == 2 else "ext"))
    found = usual_solution(fleet("preferred", "preferred"), machine, hosts, 0, conditions)
    assert (found.successes if isinstance(found, Solution) else found) == expected
