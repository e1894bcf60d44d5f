"""Maintenance in turns: every turn can really be made, and every host has one or a reason."""

from hypothesis import given, settings

from fleet_strategies import fleets
from ganeti_builders import ganeti_cluster, ganeti_node, instance
from ullage.engine.balance.facts import NOWHERE, View
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.maintenance import Maintenance, maintenance
from ullage.engine.balance.state import Failure


def fleet(*instances, memory=1000, names="abcd", offline=""):
    cluster = ganeti_cluster([ganeti_node(name, memory=memory) for name in names], *instances)
    return Fleet(cluster, View(exact=True, offline=frozenset(offline.split())))


def named(of: Fleet, found: Maintenance) -> list[str]:
    return ["".join(of.hosts[number].name for number in turn.hosts) for turn in found.turns]


def test_hosts_that_share_nothing_are_down_together():
    of = fleet()
    found = maintenance(of)
    assert (named(of, found), found.unable) == (["abcd"], [])


def test_mirrored_machines_start_on_their_standby():
    of = fleet(instance("i", "a", "b"))
    found = maintenance(of)
    assert named(of, found) == ["acd", "b"]
    (shift,) = found.turns[0].shifts
    assert (shift.move.kind, shift.before, shift.after) == ("f", (0, 1), (1, 0))
    assert found.turns[1].shifts == ()


def test_machines_without_standby_go_where_room_is():
    of = fleet(instance("i", "a"))
    found = maintenance(of)
    assert named(of, found) == ["abc", "d"]
    (shift,) = found.turns[0].shifts
    assert (shift.move.kind, shift.after) == ("fa", (3, NOWHERE))


def test_a_standby_without_room_gives_its_machine_no_turn():
    of = fleet(instance("i", "a", "b", memory=600), instance("j", "b", "c", memory=600), names="abc")
    found = maintenance(of)
    assert named(of, found) == ["c", "b"]
    (unable,) = found.unable
    assert (unable.host, unable.machine) == (0, 0)
    assert unable.failure.resource == "memory"


def test_a_turn_that_fails_is_cut_into_single_hosts():
    of = fleet(instance("i", "a", "b", memory=600), instance("j", "b", "c", memory=600))
    found = maintenance(of)
    assert sorted(named(of, found)) == ["bd", "c"]
    assert [each.host for each in found.unable] == [0]


def test_one_host_that_cannot_be_cleared_keeps_no_other_from_its_turn():
    of = fleet(instance("i", "a", memory=900), instance("j", "b", memory=900), names="abc")
    found = maintenance(of)
    assert named(of, found) == ["a", "b", "c"]
    alone = fleet(instance("i", "a", memory=900), instance("j", "b", memory=900), names="ab")
    found = maintenance(alone)
    assert (named(alone, found), [each.host for each in found.unable]) == ([], [0, 1])
    assert {(each.machine, each.failure) for each in found.unable} == {(NOWHERE, None)}


def test_hosts_that_are_offline_have_no_turn():
    of = fleet(offline="b")
    assert named(of, maintenance(of)) == ["acd"]


@given(fleets())
@settings(max_examples=40)
def test_every_host_has_one_turn_that_empties_it_or_a_reason(of):
    found = maintenance(of)
    online = [number for number in of.scope if not of.hosts[number].offline]
    hosts = [number for turn in found.turns for number in turn.hosts]
    assert sorted([*hosts, *(each.host for each in found.unable)]) == online
    for turn in found.turns:
        after = of.copy()
        for shift in turn.shifts:
            moved = after.try_move(shift.machine, shift.move, force=True)
            assert not isinstance(moved, Failure)
            assert moved.place == shift.after
            after.accept(shift.machine, moved)
        assert not any(after.states[number].primaries for number in turn.hosts)
