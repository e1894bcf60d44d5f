import pytest

from ullage.model.errors import InputError
from ullage.sources.host.memory import parse_meminfo

KIB = 1024


def test_actual_use_is_what_is_not_available(facts_of):
    memory = facts_of("kvm-host").memory
    assert memory.memory_total_bytes == 65536000 * KIB
    assert memory.memory_available_bytes == 40000000 * KIB
    assert memory.memory_actual_bytes == 25536000 * KIB
    assert (memory.swap_total_bytes, memory.swap_free_bytes) == (8388608 * KIB, 8000000 * KIB)


def test_actual_use_is_never_negative(facts_of):
    memory = facts_of("kvm-host", ("MemAvailable:   40000000", "MemAvailable:   70000000")).memory
    assert memory.memory_actual_bytes == 0


def test_a_kernel_that_does_not_tell_what_is_available_leaves_actual_use_unknown(facts_of):
    facts = facts_of("xen-xm")
    assert facts.memory.memory_available_bytes is None
    assert facts.memory.memory_actual_bytes is None
    (problem,) = [problem for problem in facts.problems if problem.probe == "memory-available"]
    assert problem.remedy == "use a kernel of 3.14 or later"


def test_huge_pages_are_listed_by_size(facts_of):
    small, large = facts_of("kvm-host").memory.huge_pages
    assert (small.page_size_bytes, small.total_pages, small.free_pages) == (2 * KIB * KIB, 1024, 1000)
    assert large.page_size_bytes == KIB**3
    assert (large.total_pages, large.free_pages, large.reserved_pages, large.surplus_pages) == (4, 3, 2, 1)


def test_unreadable_huge_pages_cost_only_themselves(facts_of):
    facts = facts_of("kvm-host", ("|1024\n|\n@file", "|many\n|\n@file"))
    assert facts.memory.memory_total_bytes == 65536000 * KIB
    assert facts.memory.huge_pages == ()
    assert [problem.probe for problem in facts.problems] == ["huge-pages"]


@pytest.mark.parametrize("line", ["MemTotal 1 kB", "MemTotal: x kB", "MemTotal: 1 MB", "MemTotal: -1 kB"])
def test_lines_of_another_form_are_refused(line):
    with pytest.raises(InputError, match="/proc/meminfo"):
        parse_meminfo(line)


def test_counts_without_a_unit_are_taken_as_they_stand():
    assert parse_meminfo("HugePages_Total:    1024\nMemTotal: 2 kB\n") == {
        "HugePages_Total": 1024,
        "MemTotal": 2048,
    }


def test_without_a_total_there_is_no_memory_but_a_problem(facts_of):
    facts = facts_of("kvm-host", ("|MemTotal:       65536000 kB\n", ""))
    assert facts.memory is None
    assert facts.ganeti is None
    assert [problem.probe for problem in facts.problems] == ["memory", "ganeti"]
