"""Candidates: which moves are looked at, in which order, and that the first of equals is taken."""

import pytest
from hypothesis import given, settings

from fleet_strategies import balancings, fleets, rare_kinds
from ganeti_builders import ganeti_cluster, ganeti_node, instance
from ullage.engine.balance.candidates import (
    Balancing,
    movers_of,
    moves_of,
    plain_step,
    score_after,
    targets_of,
)
from ullage.engine.balance.facts import View
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.moves import Move
from ullage.engine.balance.state import Failure

NODES = [ganeti_node(name) for name in "abcd"]


def listed(options: Balancing, offline: str = "", **fields) -> str:
    """Return the moves of a machine on b with its standby on c, in their order."""
    secondary = fields.pop("secondary", "c")
    cluster = ganeti_cluster(NODES, instance("i", "b", secondary, **fields))
    fleet = Fleet(cluster, View(offline=frozenset(offline)))
    moves = moves_of(fleet, 0, options, targets_of(fleet))
    names = {host.number: host.name for host in fleet.hosts}
    return " ".join(f"{move.kind}:{names[move.target]}" if move.target >= 0 else move.kind for move in moves)


@pytest.mark.parametrize(
    ("options", "offline", "expected"),
    [
        pytest.param({}, "", "f r:a rf:a frf:a fr:a r:d rf:d frf:d fr:d", id="all kinds, host by host"),
        pytest.param({}, "a", "f r:d rf:d frf:d fr:d", id="to hosts that are online"),
        pytest.param({}, "c", "r:a rf:a r:d rf:d", id="not by way of a standby that is offline"),
        pytest.param({"instance_moves": False}, "", "r:a r:d", id="without moves of primaries"),
        pytest.param({"disk_moves": False}, "", "f", id="without copies of disks"),
        pytest.param({"disk_moves": False}, "c", "", id="nor a standby"),
        pytest.param({"restricted_migration": True}, "", "f r:a r:d", id="restricted"),
        pytest.param(
            {"restricted_migration": True}, "b", "f r:a rf:a fr:a r:d rf:d fr:d", id="from an offline one"
        ),
        pytest.param(
            {"restricted_migration": True}, "bc", "r:a rf:a r:d rf:d", id="with the standby offline too"
        ),
    ],
)
def test_moves_of_a_machine_with_a_standby(options, offline, expected):
    assert listed(Balancing(**options), offline) == expected


@pytest.mark.parametrize(
    ("options", "expected"),
    [({}, "fa:a fa:c fa:d"), ({"disk_moves": False}, "fa:a fa:c fa:d"), ({"instance_moves": False}, "")],
)
def test_moves_of_a_machine_on_shared_storage(options, expected):
    assert listed(Balancing(**options), secondary="", template="ext") == expected


def test_machines_that_stay_and_in_evacuation_those_that_touch_no_offline_host_do_not_move():
    instances = [
        instance("i", "a", "b"),
        instance("j", "a", template="plain"),
        instance("k", "b", "c"),
        instance("l", "d", template="ext"),
    ]
    fleet = Fleet(ganeti_cluster(NODES, *instances), View(offline=frozenset("c")))
    assert movers_of(fleet, Balancing()) == [0, 2, 3]
    assert movers_of(fleet, Balancing(evac_mode=True)) == [2]


def test_of_equal_moves_the_first_machine_goes_to_the_first_host():
    instances = [instance(name, "a", template="ext") for name in "ijkl"]
    step = plain_step(Fleet(ganeti_cluster(NODES, *instances)), Balancing())
    assert step is not None
    assert (step.machine, step.move) == (0, Move("fa", 1))


@given(fleets(rare_kinds), balancings)
@settings(max_examples=40)
def test_no_move_has_a_lower_score_than_the_step(fleet, options):
    step = plain_step(fleet, options)
    lowest = score_after(fleet, {}) if step is None else step.score
    for number in movers_of(fleet, options):
        for move in moves_of(fleet, number, options, targets_of(fleet)):
            moved = fleet.try_move(number, move, force=options.force)
            assert isinstance(moved, Failure) or score_after(fleet, moved.changed) >= lowest
