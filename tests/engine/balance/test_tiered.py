"""How many more machines fit: of one size, and of a size that shrinks."""

import pytest

from ganeti_builders import ganeti_cluster, ganeti_node, instance
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.global_n1 import Redundancy, is_redundant
from ullage.engine.balance.tiered import Ground, NewSize, by_count, fill, fill_tiered
from ullage.model.ganeti import MIB

NODES = [ganeti_node("n1", memory=1025), ganeti_node("n2", memory=1025)]
SHARED = NewSize(256 * MIB, 512 * MIB, 1000, template="ext")
MIRRORED = SHARED._replace(template="drbd")


def ground(*held, nodes=None, redundancy=None):
    fleet = Fleet(ganeti_cluster(nodes or NODES, *held))
    return Ground(fleet, list(fleet.scope), redundancy)


def sizes(filled):
    return [size.memory_bytes // MIB for size, _ in filled.added]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("FailMem", SHARED._replace(memory_bytes=192 * MIB)),
        ("FailDisk", SHARED._replace(disk_bytes=256 * MIB)),
        ("FailCPU", None),
        ("FailSpindles", None),
        ("FailN1", None),
    ],
)
def test_a_size_shrinks_by_a_unit_and_never_below_one(kind, expected):
    assert SHARED.shrunk(kind) == expected


def test_the_most_frequent_failure_comes_last_and_of_equals_the_later_kind():
    counts = {"FailMem": 2, "FailCPU": 3, "FailN1": 3}
    assert by_count(counts)[-3:] == ["FailMem", "FailCPU", "FailN1"]


def test_a_cluster_is_filled_until_nothing_fits_and_says_why():
    filled = ground()
    assert fill(filled, SHARED) == {"FailMem": 2}
    assert len(filled.added) == 8
    assert [machine.name for _, machine in filled.added[:2]] == ["new-0", "new-1"]
    assert filled.fleet.machines[-1].instance.name == "new-7"


def test_a_limit_stops_it_and_the_round_that_was_tried_counts():
    filled = ground(instance("a", "n1", memory=900))
    assert fill(filled, SHARED, 2) == {"FailMem": 1}
    assert len(filled.added) == 2


def test_mirrored_machines_leave_room_for_each_other():
    filled = ground()
    assert fill(filled, MIRRORED) == {"FailMem": 2}
    assert len(filled.added) == 4
    assert not filled.fleet.bad_hosts()


@pytest.mark.parametrize(("held", "count"), [([], 4), ([instance("a", "n1", memory=300)], 2)])
def test_with_redundancy_every_host_stays_evacuable(held, count):
    filled = ground(*held, redundancy=Redundancy())
    failures = fill(filled, SHARED)
    assert failures["FailN1"] > 0
    assert len(filled.added) == count
    assert is_redundant(filled.fleet)


def test_a_size_shrinks_by_what_is_short_until_it_fits():
    filled = ground()
    fill_tiered(filled, SHARED._replace(memory_bytes=640 * MIB))
    assert sizes(filled) == [640, 640, 384, 384]


def test_where_shrinking_by_turns_leads_nowhere_one_resource_alone_is_shrunk():
    filled = ground(nodes=[ganeti_node("n1", memory=321), ganeti_node("n2", memory=321)])
    size = NewSize(640 * MIB, 100_000 * MIB, 1000, template="plain")
    fill_tiered(filled, size)
    assert filled.added
    assert filled.added[0][0].memory_bytes <= 320 * MIB
    assert filled.added[0][0].disk_bytes < 10_000 * MIB


@pytest.mark.parametrize("total", [1, 3, 4])
def test_a_total_is_reached_across_sizes(total):
    filled = ground(instance("a", "n1", memory=100), instance("b", "n2", memory=200))
    fill_tiered(filled, SHARED._replace(memory_bytes=640 * MIB), total)
    assert len(filled.added) == total
