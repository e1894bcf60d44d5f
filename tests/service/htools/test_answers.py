"""Answers to requests: granted with their result, or refused with the reason; the state follows from them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from ganeti_builders import ganeti_cluster, ganeti_group, ganeti_node, instance
from ganeti_clusters import Kind, random_cluster
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.global_n1 import Redundancy
from ullage.engine.balance.group_choice import Conditions
from ullage.engine.balance.requests import (
    Allocate,
    AllocateMany,
    AllocateStandby,
    ChangeGroup,
    Evacuate,
    Relocate,
    Request,
    Wanted,
)
from ullage.model.ganeti import MIB, Disk
from ullage.service.htools.answers import Answer, Asked, answer
from ullage.service.htools.names import Names

NODES = [ganeti_node("a"), ganeti_node("b"), ganeti_node("c", "h"), ganeti_node("d", "h")]
RUNNING = (instance("i", "a", "b"), instance("j", "a"), instance("k", "a", template="plain"))


def ask(request: Request, *, conditions: Conditions | None = None, nodes=None, **fields) -> Answer:
    cluster = ganeti_cluster(nodes or NODES, *RUNNING, **fields)
    return answer(Fleet(cluster), Asked(request, Names(cluster), conditions or Conditions(), cluster.tags))


def wanted(name: str = "new", group: str | None = None, memory: int = 100, **fields) -> Wanted:
    return Wanted(instance(name, memory=memory, **fields), 1, group)


def test_a_new_instance_goes_to_the_best_group():
    found = ask(Allocate(wanted()))
    assert (found.success, found.result) == (True, ["d"])
    assert found.info.startswith("Request successful: Selected group: h, Group g (preferred): score: ")
    assert found.fleet.machines[-1].name == "new"


def test_a_new_instance_goes_to_the_group_that_is_asked_for_and_only_that_is_described():
    found = ask(Allocate(wanted(group="g")))
    assert found.result == ["b"]
    assert found.info.startswith("Request successful: Group g (preferred): score: ")


@pytest.mark.parametrize(
    ("request_", "why"),
    [
        pytest.param(
            Allocate(wanted(memory=5000, group="g")),
            "Group g (preferred): No valid allocation solutions, failure reasons: FailMem: 2",
            id="no room",
        ),
        pytest.param(
            Allocate(wanted(group="zz")), "Wrong number of elems found with name zz", id="no such group"
        ),
        pytest.param(
            Allocate(wanted(group="g", networks=("red",))),
            "The group g is not connected to a network required by instance new",
            id="no network",
        ),
        pytest.param(Allocate(wanted(group="g"), ("c",)), "No online nodes", id="no host that is named"),
        pytest.param(AllocateStandby("i"), "Instance already has a secondary", id="a standby is there"),
        pytest.param(
            Relocate("k", 1, ("a",)), "Can't relocate non-mirrored instances", id="disks on one host"
        ),
        pytest.param(
            Relocate("i", 2, ("a",)), "Exchange 2 nodes mode is not implemented", id="two hosts at once"
        ),
        pytest.param(
            Relocate("i", 1, ("a",)),
            "Unsupported request: excluded nodes not equal to instance's secondary(1 versus [0])",
            id="not its standby",
        ),
        pytest.param(Relocate("i", 1, ("b",)), "Can't find any good node: ", id="no other host"),
    ],
)
def test_a_request_that_cannot_be_met_is_refused_with_the_reason(request_, why):
    found = ask(request_)
    assert (found.success, found.info, found.result) == (False, f"Request failed: {why}", [])


def test_options_restrict_hosts_before_the_request_does():
    conditions = Conditions(restricted=frozenset("a"))
    assert ask(Allocate(wanted(), ("b",)), conditions=conditions).result == ["a"]


def test_many_instances_are_placed_one_after_the_other():
    found = ask(AllocateMany((wanted("x", memory=600), wanted("y", memory=600), wanted("z", memory=600))))
    assert found.result == [[["x", ["d"]], ["y", ["c"]], ["z", ["b"]]], []]
    assert (
        found.info == "Request successful: 0 instances failed to allocate and 3 were allocated successfully"
    )


def test_each_of_many_instances_goes_to_its_own_group_and_those_without_room_are_told():
    many = (wanted("x", "g"), wanted("y", "h"), wanted("z", "g", memory=5000))
    found = ask(AllocateMany(many))
    failure = "Group g (preferred): No valid allocation solutions, failure reasons: FailMem: 2"
    assert found.result == [[["x", ["b"]], ["y", ["d"]]], [["z", failure]]]


def test_one_of_many_instances_that_fits_nowhere_refuses_all():
    assert not ask(AllocateMany((wanted("x"), wanted("y", memory=5000)))).success


def test_a_single_instance_gets_a_standby_and_is_mirrored_from_then_on():
    found = ask(AllocateStandby("k"))
    assert found.result == "b"
    assert found.fleet.machines[2].template == "drbd"
    assert found.fleet.states[1].standbys == (2, 0)


def test_an_instance_is_relocated():
    found = ask(Relocate("j", 1, ("a",)))
    assert (found.info, found.result) == ("Request successful: success", ["b"])


def test_instances_that_move_and_that_do_not_are_told_with_the_jobs():
    found = ask(Evacuate(("j", "k"), "primary-only"))
    moved, failed, jobs = found.result
    assert moved == [["j", "g", ["b"]]]
    assert failed == [["k", "Instances of type plain cannot be relocated"]]
    assert [[each["OP_ID"] for each in job] for job in jobs] == [["OP_INSTANCE_MIGRATE"]]
    assert found.info == "Request successful: 1 instances failed to move and 1 were moved successfully"


def test_instances_change_groups():
    found = ask(ChangeGroup(("i",), ("h",)))
    assert found.result[0] == [["i", "h", ["d", "c"]]]
    assert len(found.result[2][0]) == 3


def test_dedicated_hosts_are_judged_by_what_a_place_costs():
    nodes = [ganeti_node(name, exclusive_storage=True, spindles=9, spindles_free=9) for name in "ab"]
    asked = wanted()
    asked = asked._replace(instance=replace(asked.instance, disks=(Disk(MIB, 1),)))
    found = ask(Allocate(asked), nodes=nodes, groups=[ganeti_group("g")])
    assert "score: ([" in found.info


def test_only_tags_that_the_cluster_names_keep_new_instances_apart():
    nodes = [ganeti_node("a"), ganeti_node("b")]
    tagged = Allocate(wanted(tags=("t:1",)))
    running = instance("r", "b", tags=("t:1",))
    cluster = ganeti_cluster(
        nodes, running, instance("s", "a"), instance("u", "a"), tags=("htools:iextags:t",)
    )
    asked = Asked(tagged, Names(cluster), Conditions(), cluster.tags)
    assert answer(Fleet(cluster), asked).result == ["a"]
    assert answer(Fleet(cluster), asked._replace(tags=())).success is True


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), memory=st.integers(1, 6000), checks=st.booleans())
def test_the_state_after_an_answer_is_that_of_the_cluster_with_the_new_instance(seed, memory, checks):
    cluster = random_cluster(seed, Kind(4, 6, storage="ext"))
    conditions = Conditions(redundancy=Redundancy() if checks else None)
    fleet = Fleet(cluster)
    before = list(fleet.states)
    found = answer(fleet, Asked(Allocate(wanted(memory=memory)), Names(cluster), conditions, ()))
    assert fleet.states == before
    if found.success:
        (name,) = found.result
        at = next(host.number for host in fleet.hosts if host.name == name)
        assert found.fleet.states[at].primaries[0] == len(cluster.instances)
        assert found.fleet.states[at].now.memory_free == before[at].now.memory_free - memory * MIB
