"""Hosts tried together come out as those tried one by one."""

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from fleet_strategies import any_size, loads, seeds
from ganeti_builders import ganeti_cluster, ganeti_node, instance
from ganeti_clusters import random_cluster
from ullage.engine.balance.evacuation_batch import trials_of, try_evacuations
from ullage.engine.balance.evacuation_room import Rooms
from ullage.engine.balance.evacuation_terms import KnownAmounts, Scenario, suits_scenario
from ullage.engine.balance.evacuation_trial import trial_of, try_evacuation
from ullage.engine.balance.facts import Load, View, machine_of
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.moves import Moved, Place
from ullage.engine.balance.space_columns import Columns
from ullage.engine.balance.state import Failure, add_primary
from ullage.model.ganeti import MIB, Disk

unmirrored = any_size.map(
    lambda kind: kind._replace(nodes=kind.nodes + 3, storage="ext", groups=1, tagged_share=0.0, is_tight=True)
)
some_templates = st.sampled_from((("ext",), ("plain",), ("ext", "plain", "file", "blockdev", "diskless")))
some_loads = st.dictionaries(st.sampled_from([f"instance-{at:05}" for at in range(14)]), loads, max_size=4)


def unmirrored_fleet(seed, kind, templates, view=None):
    """Return a random fleet of machines without a standby, of these templates by turns."""
    cluster = random_cluster(seed, kind)
    instances = tuple(
        replace(each, template=templates[at % len(templates)]) for at, each in enumerate(cluster.instances)
    )
    return Fleet(replace(cluster, instances=instances), view)


@given(seeds, unmirrored, some_templates, some_loads)
@settings(max_examples=60)
def test_a_group_without_standbys_is_told_at_once(seed, kind, templates, used):
    fleet = unmirrored_fleet(seed, kind, templates, View(loads=used))
    online = [number for number in fleet.scope if suits_scenario(Scenario(Rooms(fleet), number))]
    assume(online)
    expected = [trial_of(fleet, number) for number in online]
    scenarios = [Scenario(Rooms(fleet), number) for number in online]
    columns = Columns(fleet, ())
    assert try_evacuations(Rooms(fleet), online) == [trial.is_evacuated for trial in expected]
    assert trials_of(columns, scenarios, to_the_end=True) == expected
    for early, whole in zip(trials_of(columns, scenarios), expected, strict=True):
        assert early.is_evacuated == whole.is_evacuated
        assert early.hosts == whole.hosts[: len(early.hosts)]


@given(seeds, unmirrored, some_templates, st.sampled_from((200, 900)), st.sampled_from(("ext", "plain")))
@settings(max_examples=30)
def test_one_machine_more_is_as_if_the_fleet_had_it(seed, kind, templates, memory, template):
    fleet = unmirrored_fleet(seed, kind, templates)
    machine = machine_of(instance("new", memory=memory, template=template))
    scenarios, expected = [], []
    for at in fleet.scope:
        held = add_primary(fleet.hosts[at], fleet.states[at], machine, 0)
        if isinstance(held, Failure) or fleet.hosts[at].offline:
            continue
        other = fleet.copy()
        other.add(machine, Moved(Place(at), {at: held}))
        for number in fleet.scope:
            scenario = Scenario(Rooms(other), number, machine, at)
            if suits_scenario(scenario):
                scenarios.append(scenario)
                expected.append(trial_of(other, number))
    assume(scenarios)
    assert trials_of(Columns(fleet, ()), scenarios, to_the_end=True) == expected
    early = trials_of(Columns(fleet, ()), scenarios)
    assert [trial.is_evacuated for trial in early] == [trial.is_evacuated for trial in expected]


def test_equal_hosts_are_told_apart_as_when_tried_one_by_one():
    nodes = [ganeti_node(f"n{number}") for number in range(7)]
    sizes = [150, 150, 250, 250, 310, 70]
    held = [
        instance(f"{node.name}-{size}-{at}", node.name, memory=size)
        for node in nodes[:6]
        for at, size in enumerate(sizes[:4])
    ]
    held += [instance("x", "n6", memory=sizes[4]), instance("y", "n6", memory=sizes[5])]
    fleet = Fleet(ganeti_cluster(nodes, *held))
    found = try_evacuations(Rooms(fleet), fleet.scope)
    expected = [trial_of(fleet, each) for each in fleet.scope]
    assert found == [trial.is_evacuated for trial in expected]
    assert set(found) == {True, False}
    scenarios = [Scenario(Rooms(fleet), number) for number in fleet.scope]
    assert trials_of(Columns(fleet, ()), scenarios, to_the_end=True) == expected


@given(seeds, unmirrored, some_templates, some_loads)
@settings(max_examples=30)
def test_hosts_that_keep_memory_for_others_are_evacuated_the_same_way(seed, kind, templates, used):
    cluster = random_cluster(seed, kind._replace(nodes=kind.nodes + 1))
    first, second, *others = [node.name for node in cluster.nodes]
    assume(others)
    instances = [
        replace(each, template=templates[at % len(templates)])
        if each.primary in others
        else replace(each, primary=first, secondary=second, template="drbd")
        for at, each in enumerate(cluster.instances)
    ]
    fleet = Fleet(replace(cluster, instances=tuple(instances)), View(loads=used))
    chosen = [number for number in fleet.scope if suits_scenario(Scenario(Rooms(fleet), number))]
    assume(chosen)
    scenarios = [Scenario(Rooms(fleet), number) for number in chosen]
    expected = [trial_of(fleet, number) for number in chosen]
    assert trials_of(Columns(fleet, ()), scenarios, to_the_end=True) == expected


def one_stuck():
    """Return hosts of which the first cannot be evacuated, and the others can."""
    nodes = [ganeti_node(f"n{number}") for number in range(4)]
    held = [instance("big", "n0", memory=900), *(instance(f"on-{at}", f"n{at}") for at in range(1, 4))]
    return Fleet(ganeti_cluster(nodes, *held, instance("more", "n1", memory=700)))


def test_of_those_that_belong_together_one_that_fails_ends_the_others():
    fleet = one_stuck()
    rooms = Rooms(fleet)
    scenarios = [Scenario(rooms, number) for number in (1, 0, 1)]
    columns = Columns(fleet, ())
    assert [try_evacuation(fleet, number) for number in fleet.scope] == [False, True, True, True]
    apart = [trial.is_evacuated for trial in trials_of(columns, scenarios)]
    assert apart == [True, False, True]
    together = [trial.is_evacuated for trial in trials_of(columns, scenarios, together=[5, 5, 6])]
    assert together in ([None, False, True], [True, False, True])


def test_trials_are_the_same_with_what_is_remembered():
    fleet = one_stuck()
    known, rooms, columns = KnownAmounts(), Rooms(fleet), Columns(fleet, ())
    scenarios = [Scenario(rooms, number) for number in fleet.scope]
    expected = trials_of(columns, scenarios)
    assert [trials_of(columns, scenarios, known) for _ in range(2)] == [expected] * 2


def whole_trials(cluster, view=None):
    """Return the trials of all hosts at once, and those of the plain rule."""
    fleet = Fleet(cluster, view)
    scenarios = [Scenario(Rooms(fleet), number) for number in fleet.scope]
    together = trials_of(Columns(fleet, ()), scenarios, to_the_end=True)
    assert [trial.is_evacuated for trial in trials_of(Columns(fleet, ()), scenarios)] == [
        trial.is_evacuated for trial in together
    ]
    return together, [trial_of(fleet, number) for number in fleet.scope]


def test_a_machine_with_disks_of_its_own_goes_where_there_is_disk():
    nodes = [ganeti_node("n1"), ganeti_node("n2"), ganeti_node("n3")]
    held = [
        replace(instance("a", "n1", template="plain"), disks=(Disk(2_000 * MIB),)),
        replace(instance("full", "n2", memory=10, template="plain"), disks=(Disk(9_000 * MIB),)),
        *(instance(f"b{at}", "n3", memory=60, template="plain") for at in range(9)),
    ]
    together, expected = whole_trials(ganeti_cluster(nodes, *held))
    assert together == expected
    assert together[0] == (True, [2])


def test_a_new_machine_with_disks_of_its_own_takes_the_disk_of_others():
    nodes = [ganeti_node("n1"), ganeti_node("n2"), ganeti_node("n3", memory=100)]
    held = replace(instance("a", "n1", template="plain"), disks=(Disk(2_000 * MIB),))
    fleet = Fleet(ganeti_cluster(nodes, held))
    extra = machine_of(replace(instance("new", template="plain"), disks=(Disk(9_000 * MIB),)))
    made = add_primary(fleet.hosts[1], fleet.states[1], extra, 0)
    assert not isinstance(made, Failure)
    other = fleet.copy()
    other.add(extra, Moved(Place(1), {1: made}))
    found = trials_of(Columns(fleet, ()), [Scenario(Rooms(other), 0, extra, 1)], to_the_end=True)
    assert found == [trial_of(other, 0)] == [(False, [])]


def test_a_machine_may_fill_the_last_host_that_has_room():
    nodes = [ganeti_node("n1"), ganeti_node("n2"), ganeti_node("n3")]
    held = [instance("b", "n2", memory=500), instance("c", "n3", memory=700)]
    small, large = instance("small", "n1", memory=300), instance("large", "n1", memory=500)
    for order, can in (((small, large), True), ((large, small), False)):
        together, expected = whole_trials(ganeti_cluster(nodes, *held, *order), View(exact=True))
        assert together == expected
        assert together[0].is_evacuated is can


def test_loads_that_differ_for_one_machine_alone_count_by_themselves():
    nodes = [ganeti_node(f"n{number}") for number in range(4)]
    held = [instance(f"on-{at}", f"n{at}", memory=100 + 90 * at) for at in range(4)]
    used = {f"on-{at}": Load(0.0, 0.0, 0.0, 0.0) for at in range(1, 4)} | {"on-0": Load(0.0, 9.0, 1.0, 0.0)}
    together, expected = whole_trials(ganeti_cluster(nodes, *held, instance("x", "n0")), View(loads=used))
    assert together == expected


@pytest.mark.parametrize("reserved", [300, 600])
@pytest.mark.parametrize("others", range(1, 9))
def test_hosts_that_could_not_take_over_any_more_are_avoided(reserved, others):
    nodes = [ganeti_node(f"n{number}") for number in range(5)]
    held = [instance(f"leaves-{at}", "n0", memory=190) for at in range(5)]
    more = [instance(f"on-{host}-{at}", host, memory=20) for host in ("n1", "n2") for at in range(others)]
    kept = instance("kept", "n3", "n4", memory=reserved)
    fleet = Fleet(ganeti_cluster(nodes, *held, *more, kept))
    trial = trials_of(Columns(fleet, ()), [Scenario(Rooms(fleet), 0)], to_the_end=True)
    assert trial == [trial_of(fleet, 0)]


def test_one_machine_more_takes_the_room_of_others():
    nodes = [ganeti_node("n1"), ganeti_node("n2"), ganeti_node("n3", memory=100)]
    fleet = Fleet(ganeti_cluster(nodes, instance("a", "n1", memory=500)))
    extra = machine_of(instance("new", memory=600))
    held = add_primary(fleet.hosts[1], fleet.states[1], extra, 0)
    assert not isinstance(held, Failure)
    other = fleet.copy()
    other.add(extra, Moved(Place(1), {1: held}))
    columns = Columns(fleet, ())
    assert trials_of(columns, [Scenario(Rooms(fleet), 0)], to_the_end=True) == [(True, [1])]
    assert trials_of(columns, [Scenario(Rooms(other), 0, extra, 1)], to_the_end=True) == [(False, [])]


def test_mirrored_machines_are_left_to_the_plain_trial():
    nodes = [ganeti_node("n1"), ganeti_node("n2")]
    assert try_evacuations(Rooms(Fleet(ganeti_cluster(nodes, instance("a", "n1", "n2")))), [0]) is None
