"""What machines add to hosts, and which terms of the score may be taken as one."""

import numpy as np
import pytest

from ganeti_builders import ganeti_cluster, ganeti_node, instance
from ullage.engine.balance.evacuation_room import Rooms
from ullage.engine.balance.evacuation_terms import (
    KnownAmounts,
    Merged,
    Scenario,
    amounts_of,
    held_amounts,
    suits_scenario,
)
from ullage.engine.balance.evacuation_trial import leaving
from ullage.engine.balance.facts import Load, View, machine_of
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.space_columns import Columns
from ullage.engine.balance.space_scores import LOADS
from ullage.model.ganeti import MIB

NODES = [ganeti_node("n1"), ganeti_node("n2"), ganeti_node("n3", memory=2000)]
HELD = [instance("a", "n1"), instance("b", "n2", memory=300), instance("c", "n2", template="plain")]


def fleet_of(*instances, **view):
    return Fleet(ganeti_cluster(NODES, *instances), View(**view))


def amounts(fleet, number):
    return KnownAmounts().leaving(Scenario(Rooms(fleet), number))


def test_a_machine_adds_what_it_asks_for_now_and_later():
    found = amounts(fleet_of(*HELD), 1)
    assert found.deltas[:, 0].tolist() == [-300 * MIB, -300 * MIB, 1000, 1000, 0, 0, 0, 0]
    assert found.deltas[:, 1].tolist() == [-100 * MIB] * 2 + [1000] * 2 + [-100 * MIB] * 2 + [1, 1]
    assert found.is_local.tolist() == [False, True]
    assert found.is_even
    assert found.all_run


def test_one_that_is_down_uses_no_memory_now():
    down = machine_of(instance("a", "n1", status="ADMIN_down"))
    found = amounts_of(leaving(fleet_of(*HELD), 0), [down])
    assert found.deltas[:2, 0].tolist() == [0, -100 * MIB]
    assert not found.all_run


def test_what_machines_add_is_remembered_as_long_as_they_are_the_same():
    fleet, known = fleet_of(*HELD), KnownAmounts()
    rooms = Rooms(fleet)
    first = known.leaving(Scenario(rooms, 1))
    assert known.leaving(Scenario(rooms, 1)) is first
    assert known.leaving(Scenario(rooms, 2)) is not first


@pytest.mark.parametrize(
    ("held", "expected"),
    [
        ((instance("a", "n1"),), True),
        ((instance("a", "n1", "n2"),), False),
        ((instance("a", "n1", template="plain"),), True),
        ((instance("a", "n1", tags=("service:web",)),), False),
    ],
)
def test_machines_that_differ_in_more_than_their_size_are_not_tried_together(held, expected):
    scenario = Scenario(Rooms(fleet_of(*held, exclusion_tags=("service:",))), 0)
    assert suits_scenario(scenario) == expected
    assert KnownAmounts().suits(scenario) == expected


def test_a_new_machine_with_a_standby_is_not_tried_together():
    rooms, known = Rooms(fleet_of(*HELD)), KnownAmounts()
    mirrored, alone = machine_of(instance("m", "n1", "n2")), machine_of(instance("m", "n1"))
    for extra, expected in ((mirrored, False), (alone, True), (mirrored, False)):
        assert suits_scenario(Scenario(rooms, 0, extra, 1)) == expected
        assert known.suits(Scenario(rooms, 0, extra, 1)) == expected


@pytest.mark.parametrize(
    ("loads", "rows"),
    [({}, 3), ({"a": Load(1.0, 2.0, 1.0, 1.0)}, 6)],
)
def test_terms_that_stay_the_same_are_taken_as_one(loads, rows):
    fleet = fleet_of(instance("a", "n1"), instance("b", "n2", memory=300), loads=loads)
    columns = Columns(fleet, ())
    merged = Merged(columns, [amounts(fleet, number) for number in (0, 1)])
    assert len(merged.weights) == rows
    assert not merged.has_local
    assert float(merged.weights.sum()) == 6.0
    assert set(merged.row_of) == {0, 13, 6, 15, *LOADS}
    held = held_amounts(columns)
    exact = merged.exact(columns, held, columns.values[LOADS])
    for term, row in merged.row_of.items():
        assert exact[row].tolist() == columns.values[term].tolist()
    assert np.allclose(merged.values(held, columns.values[LOADS]), exact)


def test_machines_of_uneven_loads_keep_loads_apart():
    fleet = fleet_of(*HELD, loads={"b": Load(1.0, 2.0, 1.0, 1.0)})
    even = Fleet(ganeti_cluster(NODES, HELD[0]))
    assert not amounts(fleet, 1).is_even
    assert len(Merged(Columns(even, ()), [amounts(fleet, 1)]).loads) == len(LOADS)
    assert len(Merged(Columns(even, ()), [amounts(even, 0)]).loads) == 1


def test_disks_count_where_machines_have_their_own():
    fleet = fleet_of(*HELD)
    merged = Merged(Columns(fleet, ()), [amounts(fleet, 1)])
    assert merged.has_local
    assert set(merged.row_of) == {0, 13, 6, 15, 1, 14, 12, 16, *LOADS}
