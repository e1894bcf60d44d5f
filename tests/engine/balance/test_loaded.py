"""Loading: what a node reports free is so with its machines there, but for those that are down or to come."""

import pytest

from ganeti_builders import ganeti_cluster, ganeti_node, instance
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.held import Held
from ullage.model.ganeti import MIB


def held(**fields) -> tuple[Held, Held]:
    fleet = Fleet(ganeti_cluster([ganeti_node("a"), ganeti_node("b")], instance("i", "a", "b", **fields)))
    return fleet.states[0].now, fleet.states[0].later


@pytest.mark.parametrize(
    ("fields", "now", "later"),
    [
        pytest.param({}, 900, 900, id="running, it is counted in what the node reports"),
        pytest.param({"status": "ADMIN_down"}, 1000, 900, id="down, it will need its memory later"),
        pytest.param({"forthcoming": True}, 1000, 900, id="to come as well"),
    ],
)
def test_memory_is_free_now_and_later(fields, now, later):
    found = held(**fields)
    assert [each.memory_free // MIB for each in found] == [now, later]


@pytest.mark.parametrize(
    ("fields", "now", "later"),
    [
        pytest.param({}, 1000, 1000, id="one processor"),
        pytest.param({"forthcoming": True}, 0, 1000, id="none before it comes"),
        pytest.param({"status": "ADMIN_offline"}, 0, 0, id="none while it is off for good"),
    ],
)
def test_processors_are_counted_now_and_later(fields, now, later):
    assert [each.cpu for each in held(**fields)] == [now, later]


def test_disk_is_as_the_node_reports_it_but_for_machines_to_come():
    reported = Fleet(ganeti_cluster([ganeti_node("a"), ganeti_node("b")], instance("i", "a", "b"))).states
    assert [state.now.disk_free // MIB for state in reported] == [9900, 9900]
    assert [state.later.disk_free // MIB for state in reported] == [9900, 9900]
    coming = instance("i", "a", "b", forthcoming=True)
    states = Fleet(ganeti_cluster([ganeti_node("a"), ganeti_node("b")], coming)).states
    assert [(state.now.disk_free - state.later.disk_free) // MIB for state in states] == [100, 100]


def test_a_machine_to_come_is_neither_there_nor_reserved_for():
    states = Fleet(
        ganeti_cluster([ganeti_node("a"), ganeti_node("b")], instance("i", "a", "b", forthcoming=True))
    ).states
    assert [(state.primaries, state.standbys, state.peers) for state in states] == [((), (), {})] * 2
