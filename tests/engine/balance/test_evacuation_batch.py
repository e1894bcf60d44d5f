"""Hosts tried together come out as those tried one by one."""

from hypothesis import assume, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from fleet_strategies import any_size, loads, seeds
from ganeti_builders import ganeti_cluster, ganeti_node, instance
from ganeti_clusters import random_cluster
from ullage.engine.balance.evacuation_batch import Scenario, suits_scenario, try_evacuations, try_scenarios
from ullage.engine.balance.evacuation_room import Rooms
from ullage.engine.balance.evacuation_trial import try_evacuation
from ullage.engine.balance.facts import View, machine_of
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.moves import Moved, Place
from ullage.engine.balance.space_columns import Columns
from ullage.engine.balance.state import Failure, add_primary

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
    assert try_evacuations(Rooms(fleet), online) == [try_evacuation(fleet, number) for number in online]


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
                expected.append(try_evacuation(other, number))
    assume(scenarios)
    assert try_scenarios(Columns(fleet, ()), scenarios) == expected


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
    assert found == [try_evacuation(fleet, each) for each in fleet.scope]
    assert set(found) == {True, False}


def test_mirrored_machines_are_left_to_the_plain_trial():
    nodes = [ganeti_node("n1"), ganeti_node("n2")]
    assert try_evacuations(Rooms(Fleet(ganeti_cluster(nodes, instance("a", "n1", "n2")))), [0]) is None
