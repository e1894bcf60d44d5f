"""What a host has left: machines take it and give it back."""

import pytest

from ganeti_builders import ganeti_cluster, ganeti_node, instance
from ullage.engine.balance.facts import machine_of
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.held import (
    counted,
    disk_given_back,
    disk_taken,
    given_back,
    location_pairs,
    spindles_left,
    taken,
    unmet_locations,
    without,
)
from ullage.model.ganeti import MIB

FLEET = Fleet(ganeti_cluster([ganeti_node("a")]))
HOST, HELD = FLEET.hosts[0], FLEET.states[0].now


@pytest.mark.parametrize("template", ["drbd", "plain", "ext", "file"])
@pytest.mark.parametrize("uses_memory", [True, False])
def test_what_is_taken_is_given_back(template, uses_memory):
    machine = machine_of(instance("i", template=template))
    held = taken(HOST, HELD, machine, uses_memory=uses_memory)
    local = template in {"drbd", "plain"}
    assert HELD.memory_free - held.memory_free == (100 * MIB if uses_memory else 0)
    assert HELD.disk_free - held.disk_free == (100 * MIB if local else 0)
    assert held.cpu - HELD.cpu == 1000
    assert held.spindles - HELD.spindles == (1 if local else 0)
    assert given_back(HOST, held, machine, uses_memory=uses_memory) == HELD


def test_a_standby_takes_disk_alone():
    machine = machine_of(instance("i", "a", "b"))
    held = disk_taken(HOST, HELD, machine)
    assert held == HELD._replace(disk_free=HELD.disk_free - 100 * MIB, spindles=1.0)
    assert disk_given_back(HOST, held, machine) == HELD


@pytest.mark.parametrize(
    ("exclusive", "spindles", "left", "given"),
    [
        pytest.param(False, 3, 0, 0, id="not counted unless storage is exclusive"),
        pytest.param(True, 3, 2, 8, id="counted where it is"),
        pytest.param(True, None, -1, 5, id="not known: it fits nowhere"),
    ],
)
def test_spindles_are_a_resource_where_storage_is_exclusive(exclusive, spindles, left, given):
    host, held = HOST._replace(exclusive=exclusive), HELD._replace(spindles_free=5)
    machine = machine_of(instance("i"))._replace(spindles=spindles)
    assert spindles_left(host, held, machine, taken=True) == left
    assert spindles_left(host, held, machine, taken=False) == given


def test_counts_that_come_to_nothing_are_left_out():
    counts = counted({"x": 1}, ["x", "y"], 1)
    assert counts == {"x": 2, "y": 1}
    assert counted(counts, ["y"], -1) == {"x": 2}
    assert counts == {"x": 2, "y": 1}


def test_places_that_a_machine_would_like_are_unmet_where_a_host_is_not_in_them():
    host = HOST._replace(locations=frozenset({"rack:1", "rack:2"}))
    machine = machine_of(instance("i"))._replace(
        desired_locations=frozenset({"rack:1", "rack:3"}), exclusion_tags=("web",)
    )
    assert unmet_locations(host, machine) == 1
    assert sorted(location_pairs(host, machine)) == [("rack:1", "web"), ("rack:2", "web")]


def test_one_of_several_is_left_out():
    assert without((3, 1, 2), 1) == (3, 2)
