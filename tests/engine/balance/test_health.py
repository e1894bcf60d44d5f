"""Who could take over from whom, who could be emptied, and the two kinds of too much memory."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from ganeti_builders import ganeti_cluster, ganeti_group, ganeti_node, instance
from ullage.engine.balance.facts import View, machine_of
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.health import (
    Conflict,
    GroupHealth,
    HostHealth,
    LocationConflict,
    Peer,
    after_moves,
    health_of,
    room_of,
)
from ullage.engine.balance.rebalance import FoundMove
from ullage.engine.balance.state import Failure, add_primary
from ullage.model.ganeti import MIB, GanetiCluster

EXACT = View(exact=True)
NODES = [ganeti_node("n1"), ganeti_node("n2"), ganeti_node("n3")]


def only(cluster: GanetiCluster, view: View = EXACT) -> GroupHealth:
    (group,) = health_of(Fleet(cluster, view)).groups
    return group


def by_name(cluster: GanetiCluster, view: View = EXACT) -> dict[str, HostHealth]:
    group = only(cluster, view)
    return {cluster.nodes[host.number].name: host for host in group.hosts}


def test_a_host_that_cannot_take_over_names_who_needs_most_and_what_it_lacks():
    cluster = ganeti_cluster(
        NODES,
        instance("a", "n1", "n2", memory=700),
        instance("b", "n3", "n2", memory=600),
        instance("c", "n2", memory=500),
    )
    found = by_name(cluster)["n2"]
    assert (found.room, found.reserved, found.missing) == (500 * MIB, 700 * MIB, 200 * MIB)
    assert found.unmet == (Peer(0, 700 * MIB), Peer(2, 600 * MIB))
    assert (found.violation, only(cluster).failing) == ("soft", 1)


@pytest.mark.parametrize(
    ("runs", "kept", "ratio", "violation"),
    [
        (600, 400, "1", ""),
        (600, 401, "1", "soft"),
        (1000, 0, "1", ""),
        (1001, 0, "1", "hard"),
        (1001, 400, "1.5", ""),
        (1001, 500, "1.5", "soft"),
        (1501, 500, "1.5", "hard"),
    ],
)
def test_machines_alone_are_a_hard_violation_and_only_with_the_reserve_a_soft_one(
    runs, kept, ratio, violation
):
    cluster = ganeti_cluster(
        NODES, instance("runs", "n1", memory=runs), instance("kept", "n2", "n1", memory=kept)
    )
    assert by_name(cluster, EXACT._replace(memory_ratio=Fraction(ratio)))["n1"].violation == violation


def test_filling_to_the_last_byte_is_what_the_other_rule_refuses():
    cluster = ganeti_cluster(NODES, instance("a", "n1", memory=600), instance("b", "n2", "n1", memory=400))
    assert by_name(cluster)["n1"].violation == ""
    found = by_name(cluster, View())["n1"]
    assert (found.violation, found.missing) == ("soft", 1)


def test_memory_that_no_record_explains_is_not_blamed_on_machines():
    cluster = ganeti_cluster([ganeti_node("n1")], instance("a", "n1", memory=600))
    node = replace(cluster.nodes[0], memory_free_bytes=-100 * MIB)
    found = by_name(replace(cluster, nodes=(node,)))["n1"]
    assert (found.violation, found.unaccounted, found.unmet) == ("", 500 * MIB, ())
    assert found.hollow == 100 * MIB


def test_a_host_is_stuck_where_its_machines_have_no_room_elsewhere():
    cluster = ganeti_cluster(
        NODES,
        instance("a", "n1", memory=600),
        instance("b", "n2", memory=700),
        instance("c", "n3", memory=500),
    )
    assert {name: host.can_be_emptied for name, host in by_name(cluster).items()} == {
        "n1": False, "n2": False, "n3": False,
    }  # fmt: skip
    loose = ganeti_cluster(NODES, instance("a", "n1", memory=600), instance("b", "n2", memory=400))
    assert only(loose).stuck == 0


def test_conflicting_tags_name_their_machines():
    cluster = ganeti_cluster(
        NODES,
        instance("a", "n1", tags=("svc:web",)),
        instance("b", "n1", tags=("svc:web", "svc:web")),
        instance("c", "n2", tags=("svc:web", "svc:web")),
        instance("d", "n1", tags=("other:web",)),
        tags=("htools:iextags:svc",),
    )
    group = only(cluster)
    assert [host.conflicts for host in group.hosts] == [(Conflict("svc:web", (0, 1)),), (), ()]
    assert group.conflicting == 1


def test_what_is_on_an_offline_host_is_named():
    cluster = ganeti_cluster(
        [ganeti_node("n1", offline=True), *NODES[1:]],
        instance("a", "n1", "n2"),
        instance("b", "n2", "n1"),
        instance("c", "n2", "n3"),
    )
    found = by_name(cluster)["n1"]
    assert (found.primaries_offline, found.standbys_offline) == ((0,), (1,))
    assert (found.violation, found.unmet) == ("", ())
    group = only(cluster)
    assert (group.primaries_offline, group.standbys_offline, group.is_sound) == (1, 1, False)


def test_locations_that_are_shared_or_missed_are_told():
    racks = ("rack:1",), ("rack:1",), ("rack:2",)
    cluster = ganeti_cluster(
        [ganeti_node(f"n{at}", tags=tags) for at, tags in enumerate(racks, 1)],
        instance("a", "n1", "n2", tags=("svc:web",)),
        instance("b", "n2", "n3", tags=("svc:web",)),
        instance("c", "n3", "n1", tags=("rack:1",)),
        tags=("htools:nlocation:rack", "htools:iextags:svc", "htools:desiredlocation:rack"),
    )
    assert only(cluster).locations == (
        LocationConflict("shared", "rack:1", (0,)),
        LocationConflict("unmet", "rack:1", (2,)),
        LocationConflict("together", "rack:1", (0, 1), "svc:web"),
    )


def test_groups_are_looked_at_each_for_itself_and_only_where_they_have_hosts():
    cluster = ganeti_cluster(
        [ganeti_node("n1", "g"), ganeti_node("n2", "h"), ganeti_node("n3", "h")],
        instance("a", "n1", memory=500),
        instance("b", "n2", memory=500),
        groups=[ganeti_group("g"), ganeti_group("empty"), ganeti_group("h")],
    )
    found = health_of(Fleet(cluster, EXACT)).groups
    assert [(group.group, group.stuck) for group in found] == [(0, 1), (2, 0)]


def move(workload, action, to_node, to_standby=""):
    return FoundMove(workload, action, "", "", to_node, to_standby, "migration", 0, 0.0, 0.0, 1)


@pytest.mark.parametrize(
    ("found", "place"),
    [
        (move("a", "f", "n2", "n1"), (1, 0)),
        (move("a", "r:n3", "n1", "n3"), (0, 2)),
        (move("a", "r:n3 f", "n3", "n1"), (2, 0)),
        (move("a", "f r:n3", "n2", "n3"), (1, 2)),
        (move("a", "f r:n3 f", "n3", "n2"), (2, 1)),
        (move("b", "fa:n1", "n1"), (0, -1)),
    ],
    ids=lambda value: getattr(value, "action", ""),
)
def test_moves_are_made_as_they_are_written_and_leave_the_fleet_as_it_is(found, place):
    cluster = ganeti_cluster(NODES, instance("a", "n1", "n2"), instance("b", "n3"))
    fleet = Fleet(cluster, EXACT)
    before = list(fleet.states)
    after = after_moves(fleet, [found])
    assert after.places["ab".index(found.workload)] == place
    assert fleet.states == before


def test_moves_that_cannot_be_made_are_refused():
    cluster = ganeti_cluster(NODES, instance("a", "n1", memory=600), instance("b", "n2", memory=600))
    with pytest.raises(ValueError, match="a cannot move: FailMem"):
        after_moves(Fleet(cluster, EXACT), [move("a", "fa:n2", "n2")])
    with pytest.raises(ValueError, match="is no move"):
        after_moves(Fleet(cluster, EXACT), [move("a", "x:n2", "n2")])


@st.composite
def clusters(draw: st.DrawFn) -> GanetiCluster:
    names = [f"n{number}" for number in range(draw(st.integers(2, 4)))]
    sizes = st.integers(1, 900)
    machines = []
    for number in range(draw(st.integers(0, 8))):
        primary, standby = draw(st.permutations(names))[:2]
        mirrored = draw(st.booleans())
        machines.append(instance(f"i{number}", primary, standby if mirrored else "", memory=draw(sizes)))
    nodes = [ganeti_node(name, memory_node_bytes=draw(st.integers(0, 100)) * MIB) for name in names]
    return ganeti_cluster(nodes, *machines)


ratios = st.fractions(1, 3, max_denominator=20)


@given(clusters(), ratios)
def test_soft_is_what_exceeds_the_limit_only_with_the_reserve(cluster, ratio):
    fleet = Fleet(cluster, EXACT._replace(memory_ratio=ratio))
    for found in health_of(fleet).hosts:
        host, state = fleet.hosts[found.number], fleet.states[found.number]
        used = sum(fleet.machines[number].memory for number in state.primaries)
        available = host.memory - host.memory_node
        is_hard = used > ratio * available
        is_over = used + state.reserved > ratio * available
        assert (found.violation == "hard") == is_hard
        assert (found.violation == "soft") == (is_over and not is_hard)
        assert bool(found.unmet) == (is_over and state.reserved > 0)


@given(clusters())
def test_a_ratio_of_one_is_no_ratio(cluster):
    one, none = (
        health_of(Fleet(cluster, EXACT._replace(memory_ratio=ratio))) for ratio in (Fraction(1), None)
    )
    assert one == none


@given(clusters(), ratios, ratios, st.integers(1, 2000))
def test_a_higher_ratio_never_refuses_what_a_lower_one_takes(cluster, one, other, memory):
    machine = machine_of(instance("new", memory=memory))
    low, high = (Fleet(cluster, EXACT._replace(memory_ratio=ratio)) for ratio in sorted((one, other)))
    for host in low.hosts:
        at = host.number
        if not isinstance(add_primary(host, low.states[at], machine, 0), Failure):
            assert not isinstance(add_primary(high.hosts[at], high.states[at], machine, 0), Failure)
        assert room_of(host, low.states[at]) <= room_of(high.hosts[at], high.states[at])
