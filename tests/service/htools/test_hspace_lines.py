"""The lines of hspace: every figure under its name, in its order."""

from fractions import Fraction

from msgspec.structs import replace

from ganeti_builders import SMALL, ganeti_cluster, ganeti_group, ganeti_node, instance
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.tiered import Ground, NewSize, fill_tiered
from ullage.model.ganeti import MIB
from ullage.service.htools.hspace_lines import (
    Result,
    say_cluster,
    say_size,
    say_standard,
    say_tiered,
    tell_map,
)
from ullage.service.htools.printed import Page

SIZE = NewSize(600 * MIB, 512 * MIB, 1000, template="plain")
NODES = [ganeti_node("n1"), ganeti_node("n2")]
EXCLUSIVE = [ganeti_node("n1", exclusive_storage=True, spindles=4, spindles_free=3), NODES[1]]


def result(fleet: Fleet) -> Result:
    ground = Ground(fleet, [0, 1])
    fill_tiered(ground, SIZE, 3)
    return Result(ground.fleet, ground.added, [("FailMem", 2), ("FailN1", 0)])


def said(say, *words, **named):
    page = Page()
    say(page, *words, **named)
    return page.done().stdout.splitlines()


def test_spindles_are_shown_where_storage_is_exclusive():
    plain, exclusive = Fleet(ganeti_cluster(NODES)), Fleet(ganeti_cluster(EXCLUSIVE))
    assert said(say_cluster, plain, machine_readable=False)[1] == "  MEM 2000, DSK 20000, CPU 128, VCPU 512."
    line = said(say_cluster, exclusive, machine_readable=False)[1]
    assert line == "  MEM 2000, DSK 20000, CPU 128, VCPU 512, SPN 5."
    size = said(say_size, exclusive, SIZE, tiered=False, machine_readable=False)
    assert size == [
        "Standard (fixed-size) instance spec is:",
        "  MEM 600, DSK 512, CPU 1, SPN 1, using disk template 'plain'.",
    ]


def test_sizes_are_counted_as_they_come():
    fleet = Fleet(ganeti_cluster(NODES))
    lines = said(say_tiered, fleet, result(fleet), machine_readable=False)
    assert lines[:4] == [
        "Tiered allocation results:",
        "  -   2 instances of spec MEM 600, DSK 512, CPU 1",
        "  -   1 instances of spec MEM 344, DSK 512, CPU 1",
        "  - most likely failure reason: FailMem",
    ]
    assert lines[-3:] == [
        "  - memory usage efficiency: 77.20%",
        "  -   disk usage efficiency:  7.68%",
        "  -   vcpu usage efficiency:  0.59%",
    ]


def test_nothing_added_is_said_so():
    fleet = Fleet(ganeti_cluster(NODES))
    lines = said(say_tiered, fleet, Result(fleet, [], [("FailN1", 1)]), machine_readable=False)
    assert lines[1:3] == ["  - no instances allocated", "  - most likely failure reason: FailN1"]


def test_scripts_get_sizes_as_a_list_and_what_is_used_added_and_left():
    fleet = Fleet(ganeti_cluster(NODES, instance("a", "n1", memory=10)))
    lines = said(say_tiered, fleet, result(fleet), machine_readable=True)
    assert "HTS_TSPEC='600,512,1,1=2 344,512,1,1=1'" in lines
    assert [line for line in lines if "_KM_" in line and "_MEM=" in line] == [
        "HTS_KM_USED_MEM=10",
        "HTS_KM_POOL_MEM=1544",
        "HTS_KM_UNAV_MEM=446",
    ]
    assert "HTS_KM_POOL_NPU=0.75" in lines


def test_scripts_get_every_reason_the_most_frequent_first():
    fleet = Fleet(ganeti_cluster(NODES, instance("a", "n1", memory=10)))
    lines = said(say_standard, fleet, result(fleet), machine_readable=True)
    assert lines[-5:] == [
        "HTS_ALLOC_USAGE=0.25000000",
        "HTS_ALLOC_INSTANCES=3",
        "HTS_ALLOC_FAIL_REASON=FAILMEM",
        "HTS_ALLOC_FAILMEM_CNT=2",
        "HTS_ALLOC_FAILN1_CNT=0",
    ]


def test_a_share_of_nothing_is_no_number():
    lines = said(say_cluster, Fleet(ganeti_cluster([])), machine_readable=True)
    assert "HTS_INI_MEM_EFF=NaN" in lines


def test_the_map_shows_where_each_goes():
    page = Page()
    tell_map(page, result(Fleet(ganeti_cluster(EXCLUSIVE))), "Tiered allocation")
    assert page.done().stderr.splitlines() == [
        "Tiered allocation map",
        " new-0 n2  600 512 1 1",
        " new-1 n1  600 512 1 1",
        " new-2 n2  344 512 1 1",
    ]


def test_where_no_processor_may_be_given_shares_of_them_are_endless():
    groups = [ganeti_group("g", policy=replace(SMALL, cpu_ratio=Fraction(0)))]
    fleet = Fleet(ganeti_cluster(NODES, instance("a", "n1"), groups=groups))
    lines = said(say_tiered, fleet, Result(fleet, [], [("FailCPU", 2)]), machine_readable=True)
    shares = [line for line in lines if "NPU" in line or "CPU_EFF" in line]
    assert shares == [
        "HTS_TRL_CPU_EFF=Infinity",
        "HTS_KM_USED_NPU=NaN",
        "HTS_KM_POOL_NPU=NaN",
        "HTS_KM_UNAV_NPU=NaN",
    ]
