"""Tests of all hosts at once fail as the primitives do, for the same reason."""

from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from fleet_strategies import rare_kinds, seeds, views
from ganeti_builders import ganeti_cluster, ganeti_node
from ganeti_clusters import random_cluster
from ullage.engine.balance.allocation import allocable, on_pair, on_single, pairs_of
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.moves import Place
from ullage.engine.balance.score import statistics
from ullage.engine.balance.space_columns import Columns
from ullage.engine.balance.space_tests import (
    FITS,
    allowed_by_size,
    disk_change_below,
    fitting,
    pair_counts,
    primary_codes,
    single_counts,
    standby_codes,
    surely_fit,
)
from ullage.engine.balance.state import FAILURES, Failure
from ullage.engine.balance.tiered import NewSize
from ullage.model.ganeti import MIB, DiskTemplate

EDGE_MAX = 1 << 60
memories = st.sampled_from((100, 1024, 4096, 9000)).map(MIB.__mul__)
disks = st.sampled_from((1024, 20_000, 200_000)).map(MIB.__mul__)
cpus = st.sampled_from((1000, 9000))


def new_sizes(*templates: DiskTemplate):
    uses = st.sampled_from((1, 3, 40))
    return st.builds(
        NewSize, memories, disks, cpus, st.sampled_from((1, 5)), uses, st.sampled_from(templates)
    )


def at_an_edge(draw, columns: Columns, size: NewSize) -> NewSize:
    """Ask for just as much memory or disk as some host has left of it in some way, or a little more."""
    rooms = [columns.room, columns.room_kept, columns.later[0] - columns.floor, columns.room_for_pair.ravel()]
    spaces = [held[1] - columns.disk_floor for held in (columns.now, columns.later)]
    memory = [int(room) for each in rooms for room in each if 0 < room < EDGE_MAX]
    disk = [int(space) for each in spaces for space in each if 0 < space < EDGE_MAX]
    more = draw(st.sampled_from((0, 1)))
    match draw(st.sampled_from(("memory", "disk", "neither"))):
        case "memory" if memory:
            return size._replace(memory_bytes=draw(st.sampled_from(memory)) + more)
        case "disk" if disk:
            return size._replace(disk_bytes=draw(st.sampled_from(disk)) + more)
    return size


@given(seeds, rare_kinds, views, new_sizes("ext", "plain", "diskless", "drbd"), st.data())
@settings(max_examples=100)
def test_a_host_takes_no_machine_for_the_reason_of_the_primitives(seed, kind, view, size, data):
    fleet = Fleet(random_cluster(seed, kind), view)
    targets = allocable(fleet, range(kind.groups))
    columns = Columns(fleet, targets)
    size = at_an_edge(data.draw, columns, size)
    codes = primary_codes(fleet, columns, size.machine())
    expected = []
    for number in targets:
        found = on_single(fleet, size.machine(), number)
        kind_of = found.kind if isinstance(found, Failure) else ""
        expected.append(kind_of)
        assert ([*FAILURES, ""])[codes[columns.position[number]]] == kind_of
    counted = Counter(kind_of for kind_of in expected if kind_of)
    assert single_counts(columns, codes) == counted


@given(seeds, rare_kinds, views, new_sizes("drbd"), st.data())
@settings(max_examples=100)
def test_pairs_fail_for_the_reasons_of_the_primitives(seed, kind, view, size, data):
    fleet = Fleet(random_cluster(seed, kind), view)
    targets = allocable(fleet, range(kind.groups))
    columns = Columns(fleet, targets)
    size = at_an_edge(data.draw, columns, size)
    machine = size.machine()
    known = statistics(fleet.hosts, fleet.states)
    places = [Place(at, other) for at, others in pairs_of(fleet, targets) for other in others]
    found = [on_pair(fleet, known, machine, place) for place in places]
    codes, standby = primary_codes(fleet, columns, machine), standby_codes(columns, machine)
    expected = Counter(each.kind for each in found if isinstance(each, Failure))
    assert pair_counts(columns, codes, standby, machine.memory) == expected


@given(seeds, rare_kinds, views, new_sizes("ext", "plain", "diskless", "drbd"), st.data())
@settings(max_examples=100)
def test_hosts_that_fit_are_those_without_a_code(seed, kind, view, size, data):
    fleet = Fleet(random_cluster(seed, kind), view)
    columns = Columns(fleet, allocable(fleet, range(kind.groups)))
    machine = at_an_edge(data.draw, columns, size).machine()
    fits = fitting(columns, machine, allowed_by_size(fleet, columns, machine))
    assert (fits.primary == (primary_codes(fleet, columns, machine) == FITS)).all()
    if not machine.local:
        assert not fits.standby.any()
        return
    standby = standby_codes(columns, machine)
    assert (fits.standby == ((standby.before == FITS) & (standby.after == FITS))).all()


@given(seeds, rare_kinds, views, new_sizes("ext", "plain"))
@settings(max_examples=60)
def test_as_many_machines_as_surely_fit_do(seed, kind, view, size):
    fleet = Fleet(random_cluster(seed, kind), view)
    columns = Columns(fleet, allocable(fleet, range(kind.groups)))
    machine = size._replace(memory_bytes=max(size.memory_bytes, 1024 * MIB)).machine()
    fits = fitting(columns, machine, allowed_by_size(fleet, columns, machine))
    places = np.flatnonzero(fits.primary & columns.is_target)
    count = 0
    for number in (columns.numbers[at] for at in places):
        while not isinstance(found := on_single(fleet, machine, number), Failure):
            fleet.add(machine, found.placed)
            count += 1
    assert places.size <= surely_fit(columns, machine, places) <= count


def test_hosts_take_as_many_machines_as_they_have_memory_and_processors_for():
    fleet = Fleet(ganeti_cluster([ganeti_node("n1"), ganeti_node("n2", memory=500)]))
    columns, places = Columns(fleet, [0, 1]), np.arange(2)
    assert surely_fit(columns, NewSize(100 * MIB, MIB, 1000, template="ext").machine(), places) == 9 + 4
    assert surely_fit(columns, NewSize(MIB, MIB, 100_000, template="ext").machine(), places) == 2
    assert surely_fit(columns, NewSize(100 * MIB, MIB, 1000, template="plain").machine(), places) == 2


@given(seeds, rare_kinds, new_sizes("plain", "drbd"))
@settings(max_examples=40)
def test_between_changes_a_smaller_disk_has_the_same_outcome(seed, kind, size):
    fleet = Fleet(random_cluster(seed, kind))
    columns = Columns(fleet, fleet.scope)
    change = disk_change_below(fleet, columns, size.disk_bytes)
    assert change < size.disk_bytes
    smallest = size._replace(disk_bytes=change + 1).machine()
    assert (primary_codes(fleet, columns, smallest) == primary_codes(fleet, columns, size.machine())).all()
    if size.template == "drbd":
        one, other = standby_codes(columns, smallest), standby_codes(columns, size.machine())
        assert (one.before == other.before).all()
        assert (one.after == other.after).all()


def test_a_machine_that_fits_everywhere_has_no_code():
    fleet = Fleet(ganeti_cluster([ganeti_node("n1"), ganeti_node("n2")]))
    size = NewSize(MIB, MIB, 1000)
    assert primary_codes(fleet, Columns(fleet, [0, 1]), size.machine()).tolist() == [FITS, FITS]
