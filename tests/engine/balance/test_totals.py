"""Sums over hosts, and what an allocation changes of them."""

from math import inf

from msgspec.structs import replace

from ganeti_builders import SMALL, ganeti_cluster, ganeti_group, ganeti_node, instance
from ullage.engine.balance.facts import View
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.tiered import Ground, NewSize, fill
from ullage.engine.balance.totals import allocated, totals
from ullage.model.ganeti import MIB

NODES = [ganeti_node("n1", memory_node_bytes=100 * MIB), ganeti_node("n2")]
HELD = [instance("a", "n1", "n2", memory=200), instance("b", "n2", memory=50, status="ADMIN_down")]


def test_memory_and_disk_are_summed_over_hosts():
    found = totals(Fleet(ganeti_cluster(NODES, *HELD), View(disk_min=0.5)))
    assert found.machines == 2
    assert (found.memory, found.memory_node, found.memory_used) == (2000 * MIB, 100 * MIB, 200 * MIB)
    assert (found.memory_free, found.memory_available) == (1700 * MIB, 1500 * MIB)
    assert found.memory_available_max == 800 * MIB
    assert (found.disk_free, found.disk_used) == (19_800 * MIB, 200 * MIB)
    assert (found.disk_available, found.disk_available_max) == (9800 * MIB, 4900 * MIB)


def test_memory_that_hosts_report_less_than_records_leave_is_missing():
    cluster = ganeti_cluster(NODES, *HELD)
    first = replace(cluster.nodes[0], memory_free_bytes=cluster.nodes[0].memory_free_bytes - 30 * MIB)
    found = totals(Fleet(replace(cluster, nodes=(first, cluster.nodes[1]))))
    assert found.memory_missing == 30 * MIB


def test_processors_are_counted_as_shares_of_what_may_be_given():
    found = totals(Fleet(ganeti_cluster(NODES, *HELD), View(cpu_ratio=2.0)))
    assert (found.cpu, found.cpu_used, found.cpu_high, found.cpu_shares) == (128_000, 2000, 256, 1.0)


def test_where_no_processor_may_be_given_what_is_used_is_endless():
    cluster = ganeti_cluster(NODES, *HELD, groups=[ganeti_group("g", policy=replace(SMALL, cpu_ratio=0))])
    found = totals(Fleet(cluster))
    assert (found.cpu_high, found.cpu_shares) == (0, inf)


def test_what_was_used_what_was_added_and_what_is_left_make_up_all():
    fleet = Fleet(ganeti_cluster(NODES, *HELD))
    ground = Ground(fleet, [0, 1])
    fill(ground, NewSize(100 * MIB, 100 * MIB, 1000, template="plain"), 3)
    used, added, left = allocated(totals(fleet), totals(ground.fleet))
    assert (used.memory, added.memory, left.memory) == (200 * MIB, 300 * MIB, 1500 * MIB)
    assert (used.disk, added.disk, left.disk) == (200 * MIB, 300 * MIB, 19_500 * MIB)
    assert (used.cpu, added.cpu, left.cpu) == (2000, 3000, 512_000 - 5000)
