"""The five primitives: what a host refuses first, what force does not help against, that removing undoes."""

from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from fleet_strategies import fleets, rare_kinds
from ganeti_builders import ganeti_cluster, ganeti_node, instance
from ullage.engine.balance.facts import NOWHERE, Host, Machine, View, machine_of
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.state import (
    Failure,
    HostState,
    add_primary,
    add_standby,
    check_migration,
    remove_primary,
    remove_standby,
)
from ullage.model.ganeti import MIB

PEER = 1
"""The primary of machines that the host stands by for."""


def host_and_state(**view: Any) -> tuple[Host, HostState]:
    """Return an empty host with 1000 MiB of memory, 10000 of disk and 64 processors."""
    fleet = Fleet(ganeti_cluster([ganeti_node("a"), ganeti_node("b")]), View(**view))
    return fleet.hosts[0], fleet.states[0]


def machine(**fields: Any) -> Machine:
    """Return one of 100 MiB of memory, 100 of disk and one processor, with a standby."""
    made = machine_of(instance("i", "b", "a"), 7)
    return made._replace(**fields)


PRIMARY_ORDER = (
    ("FailMem", "memory", True, {"now": {"memory_free": 50 * MIB}}),
    ("FailDisk", "disk", True, {"now": {"disk_free": 50 * MIB}}),
    ("FailDisk", "disk", False, {"host": {"disk_low": 99_999 * MIB}}),
    ("FailSpindles", "spindles", True, {"host": {"exclusive": True}, "now": {"spindles_free": 1}}),
    ("FailDisk", "spindles", False, {"host": {"spindles_most": -1}}),
    ("FailMem", "standby", False, {"state": {"reserved": 950 * MIB}}),
    ("FailCPU", "cpu", False, {"host": {"cpu_most": 64}}),
    ("FailTags", "tags", False, {"state": {"tags": {"x": 1}}}),
    ("FailMem", "memory", False, {"later": {"memory_free": 0}}),
    ("FailDisk", "disk", False, {"later": {"disk_free": 0}}),
    ("FailCPU", "cpu", False, {"later": {"cpu": 10**9}}),
)
STANDBY_ORDER = (
    ("FailDisk", "template", True, {"machine": {"template": "ext"}}),
    ("FailDisk", "disk", True, {"now": {"disk_free": 50 * MIB}}),
    ("FailDisk", "disk", False, {"host": {"disk_low": 99_999 * MIB}}),
    ("FailSpindles", "spindles", True, {"host": {"exclusive": True}, "now": {"spindles_free": 1}}),
    ("FailDisk", "spindles", False, {"host": {"spindles_most": -1}}),
    ("FailMem", "memory", False, {"machine": {"memory": 1000 * MIB}}),
    ("FailMem", "standby", False, {"state": {"reserved": 1000 * MIB, "peers": {PEER: 1000 * MIB}}}),
    ("FailDisk", "disk", False, {"later": {"disk_free": 0}}),
    ("FailMem", "memory", False, {"later": {"memory_free": 0}}),
)


def with_faults(faults: list[dict[str, dict[str, Any]]]) -> tuple[Host, HostState, Machine]:
    """Return a host, its state and a machine with all of some faults."""
    host, state = host_and_state()
    asked = machine(exclusion_tags=("x",), spindles=2)
    for fault in reversed(faults):
        host = host._replace(**fault.get("host", {}))
        state = state._replace(**fault.get("state", {}))
        state = state._replace(now=state.now._replace(**fault.get("now", {})))
        state = state._replace(later=state.later._replace(**fault.get("later", {})))
        asked = asked._replace(**fault.get("machine", {}))
    return host, state, asked


@pytest.mark.parametrize("first", range(len(PRIMARY_ORDER)))
def test_of_all_that_forbids_a_primary_the_first_is_the_reason(first):
    kind, resource, is_hard, fault = PRIMARY_ORDER[first]
    host, state, asked = with_faults([fault for *_, fault in PRIMARY_ORDER[first:]])
    found = add_primary(host, state, asked, 0)
    assert isinstance(found, Failure)
    assert (found.kind, found.resource) == (kind, resource)
    host, state, asked = with_faults([fault])
    assert isinstance(add_primary(host, state, asked, 0), Failure)
    assert isinstance(add_primary(host, state, asked, 0, force=True), Failure) is is_hard


@pytest.mark.parametrize("first", range(len(STANDBY_ORDER)))
def test_of_all_that_forbids_a_standby_the_first_is_the_reason(first):
    kind, resource, is_hard, fault = STANDBY_ORDER[first]
    host, state, asked = with_faults([fault for *_, fault in STANDBY_ORDER[first:]])
    found = add_standby(host, state, asked, PEER)
    assert isinstance(found, Failure)
    assert (found.kind, found.resource) == (kind, resource)
    host, state, asked = with_faults([fault])
    assert isinstance(add_standby(host, state, asked, PEER), Failure)
    assert isinstance(add_standby(host, state, asked, PEER, force=True), Failure) is is_hard


@pytest.mark.parametrize(
    ("memory", "exact", "taken"),
    [(999, False, True), (1000, False, False), (1000, True, True), (1001, True, False)],
)
def test_memory_may_be_filled_exactly_by_the_exact_rule_only(memory, exact, taken):
    host, state = host_and_state(exact=exact)
    found = add_primary(host, state, machine(memory=memory * MIB), 0)
    assert isinstance(found, HostState) is taken


@pytest.mark.parametrize(("cpu", "taken"), [(0, True), (1000, False)])
def test_a_host_without_processors_has_none_to_give(cpu, taken):
    bare = replace(ganeti_node("a"), cpu_milli=0)
    fleet = Fleet(ganeti_cluster([bare, ganeti_node("b")]))
    found = add_primary(fleet.hosts[0], fleet.states[0], machine(cpu=cpu), 0)
    assert isinstance(found, HostState) is taken
    forced = add_primary(fleet.hosts[0], fleet.states[0], machine(cpu=cpu), 0, force=True)
    assert isinstance(forced, HostState)


def test_what_is_missing_is_told():
    host, state = host_and_state()
    assert add_primary(host, state, machine(memory=1200 * MIB), 0) == Failure("FailMem", "memory", 200 * MIB)
    assert add_primary(host, state, machine(disk=10_500 * MIB), 0) == Failure("FailDisk", "disk", 500 * MIB)


def test_a_host_that_already_fails_may_get_worse():
    host, state = host_and_state()
    failing = state._replace(reserved=950 * MIB, fails=True)
    found = add_primary(host, failing, machine(), 0)
    assert isinstance(found, HostState)
    assert found.fails


def test_a_disk_on_an_offline_host_is_not_asked_for():
    host, state = host_and_state()
    full = state._replace(now=state.now._replace(disk_free=0))
    assert isinstance(add_standby(host, full, machine(), PEER, force=True), Failure)
    assert isinstance(add_standby(host, full, machine(), PEER, force=True, ignores_disk=True), HostState)


def test_memory_is_reserved_for_the_loss_of_one_host_at_a_time():
    host, state = host_and_state()
    for number, peer, memory in ((1, 1, 100), (2, 2, 150), (3, 1, 100)):
        state = add_standby(host, state, machine(number=number, memory=memory * MIB), peer)
    assert state.reserved == 200 * MIB
    state = remove_standby(host, state, machine(number=1, memory=100 * MIB), 1)
    assert state.reserved == 150 * MIB
    state = remove_standby(host, state, machine(number=2, memory=150 * MIB), 2)
    assert state.reserved == 100 * MIB


@pytest.mark.parametrize(
    ("sends", "receives", "may"),
    [
        (set(), set(), True),
        ({"v:1"}, {"v:1", "v:2"}, True),
        ({"v:1"}, {"v:2"}, False),
        (set(), {"v:2"}, True),
    ],
)
def test_a_machine_moves_live_where_all_tags_of_its_host_are_taken(sends, receives, may):
    host, _ = host_and_state()
    source, target = host._replace(sends=frozenset(sends)), host._replace(receives=frozenset(receives))
    assert (check_migration(source, target) is None) is may


def same_but_for_order(one: HostState, other: HostState) -> bool:
    """Return whether states hold the same; what a host reserves nothing for need not be listed."""
    listed = [
        state._replace(
            primaries=tuple(sorted(state.primaries)),
            standbys=tuple(sorted(state.standbys)),
            peers={peer: needed for peer, needed in state.peers.items() if needed},
            load=tuple(round(each, 9) for each in state.load),
        )
        for state in (one, other)
    ]
    return listed[0] == listed[1]


@given(fleets(rare_kinds), st.data())
@settings(max_examples=60)
def test_adding_then_removing_is_the_identity(fleet, data):
    host = fleet.hosts[data.draw(st.sampled_from(range(len(fleet.hosts))))]
    number = data.draw(st.sampled_from(range(len(fleet.machines))))
    asked, place, state = fleet.machines[number], fleet.places[number], fleet.states[host.number]
    assume(host.number not in place)
    assume(not (host.exclusive and asked.spindles is None))
    added = add_primary(host, state, asked, 1, force=True)
    if not isinstance(added, Failure):
        assert same_but_for_order(remove_primary(host, added, asked, 1), state)
    if place.standby != NOWHERE:
        added = add_standby(host, state, asked, place.primary, force=True)
        if not isinstance(added, Failure):
            assert same_but_for_order(remove_standby(host, added, asked, place.primary), state)


@given(fleets(rare_kinds))
@settings(max_examples=40)
def test_what_is_reserved_is_always_the_most_that_one_host_needs(fleet):
    for number in range(len(fleet.machines)):
        place = fleet.places[number]
        if place.standby != NOWHERE:
            host, state = fleet.hosts[place.standby], fleet.states[place.standby]
            left = remove_standby(host, state, fleet.machines[number], place.primary)
            assert left.reserved == max(left.peers.values(), default=0)
            assert left.fails == host.refuses_memory(left.now.memory_free - left.reserved)
