"""Moves: where a machine is afterwards, what is checked on its way, and when soft rules are ignored."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fleet_strategies import fleets, rare_kinds
from ganeti_builders import ganeti_cluster, ganeti_node, instance
from ullage.engine.balance.facts import View
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.moves import COMMANDS, Move, Moved, Place, place_after
from ullage.engine.balance.state import Failure


@pytest.mark.parametrize(
    ("kind", "place", "command"),
    [
        ("f", Place(1, 0), "f"),
        ("fa", Place(2, 1), "fa:c"),
        ("r", Place(0, 2), "r:c"),
        ("rf", Place(2, 0), "r:c f"),
        ("frf", Place(2, 1), "f r:c f"),
        ("fr", Place(1, 2), "f r:c"),
    ],
)
def test_a_move_is_written_and_ends_as_its_kind_says(kind, place, command):
    assert place_after(Place(0, 1), Move(kind, 2)) == place
    assert COMMANDS[kind].format("c") == command


def tried(kind: str, nodes, view: View | None = None, *, tags=(), force: bool = False, **fields):
    """Try a move of one machine on a with its standby on b (and c as the target)."""
    asked = instance("i", "a", "b", **fields)
    fleet = Fleet(ganeti_cluster(nodes, asked, tags=tags), view)
    return fleet.try_move(0, Move(kind, 2), force=force)


MIGRATION = ("htools:migration:v",)


@pytest.mark.parametrize(
    ("kind", "versions", "may"),
    [
        pytest.param("f", "121", False, id="a failover moves to the standby"),
        pytest.param("f", "112", True, id="and nowhere else"),
        pytest.param("r", "123", True, id="a new standby moves nothing"),
        pytest.param("rf", "121", True, id="to a new primary it moves directly"),
        pytest.param("rf", "112", False, id="from the old one"),
        pytest.param("frf", "121", False, id="to a replaced primary by way of the standby"),
        pytest.param("frf", "112", False, id="both ways"),
        pytest.param("fr", "121", False, id="to the standby, then that is replaced"),
        pytest.param("fr", "112", True, id="which moves nothing"),
    ],
)
def test_a_live_move_is_checked_along_its_way(kind, versions, may):
    nodes = [ganeti_node(name, tags=(f"v:{at}",)) for name, at in zip("abc", versions, strict=True)]
    found = tried(kind, nodes, tags=MIGRATION)
    assert isinstance(found, Moved) is may
    if not may:
        assert found.kind == "FailMig"


def test_a_standby_must_be_able_to_run_a_machine_that_passes_through():
    nodes = [ganeti_node("a"), ganeti_node("b", memory=90), ganeti_node("c")]
    assert tried("frf", nodes) == Failure("FailMem", "memory", 10 << 20)
    assert isinstance(tried("rf", nodes), Moved)


@pytest.mark.parametrize("kind", ["f", "r", "rf", "frf", "fr"])
@pytest.mark.parametrize("offline", ["a", "b"])
def test_soft_rules_are_ignored_for_what_must_leave_an_offline_host(kind, offline):
    """Every host breaks a soft rule: there are more processors than it shares out."""
    nodes = [ganeti_node(name) for name in "abc"]
    view = View(cpu_ratio=0.001, offline=frozenset(offline))
    leaves = {"a": {"f", "frf", "fr", "r"}, "b": {"r"}}[offline]
    assert isinstance(tried(kind, nodes, view), Moved) is (kind in leaves)
    assert isinstance(tried(kind, nodes, view, force=True), Moved)


def test_a_failover_from_an_offline_host_does_not_ask_for_its_disk():
    nodes = [ganeti_node(name) for name in "abc"]
    fleet = Fleet(ganeti_cluster(nodes, instance("i", "a", "b")), View(offline=frozenset("a")))
    fleet.states[0] = fleet.states[0]._replace(now=fleet.states[0].now._replace(disk_free=-1))
    assert isinstance(fleet.try_move(0, Move("f")), Moved)
    assert isinstance(fleet.try_move(0, Move("rf", 2), force=True), Failure)


@given(fleets(rare_kinds), st.data())
@settings(max_examples=60)
def test_a_move_changes_no_host_but_those_it_touches_and_loses_nothing(fleet, data):
    internal = [each.number for each in fleet.machines if fleet.places[each.number].standby >= 0]
    if not internal:
        return
    number = data.draw(st.sampled_from(internal))
    place = fleet.places[number]
    others = [host.number for host in fleet.hosts if host.number not in place]
    kind = data.draw(st.sampled_from(("f", "r", "rf", "frf", "fr") if others else ("f",)))
    move = Move(kind, data.draw(st.sampled_from(others))) if kind != "f" else Move("f")
    moved = fleet.try_move(number, move, force=True)
    if isinstance(moved, Failure):
        return
    assert set(moved.changed) == {*place, *moved.place}
    after = [moved.changed.get(each.number, fleet.states[each.number]) for each in fleet.hosts]
    if not fleet.machines[number].forthcoming:
        assert [at for at, state in enumerate(after) if number in state.primaries] == [moved.place.primary]
        assert [at for at, state in enumerate(after) if number in state.standbys] == [moved.place.standby]
    for name in ("memory_free", "cpu"):
        assert sum(getattr(state.now, name) for state in after) == sum(
            getattr(state.now, name) for state in fleet.states
        )
