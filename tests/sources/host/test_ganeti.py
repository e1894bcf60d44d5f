import pytest

from ullage.model.errors import InputError
from ullage.sources.host.ganeti import parse_xen_info, parse_xen_list

KIB, MIB = 1024, 1024 * 1024


def test_on_kvm_free_is_free_buffers_and_cached_and_dom0_is_active(facts_of):
    ganeti = facts_of("kvm-host").ganeti
    assert ganeti.origin == "meminfo"
    assert ganeti.memory_total_bytes == 65536000 * KIB
    assert ganeti.memory_free_bytes == (8000000 + 500000 + 30000000) * KIB
    assert ganeti.memory_dom0_bytes == 20000000 * KIB
    assert ganeti.logical_cores == 4


@pytest.mark.parametrize(
    ("machine", "expected"),
    [
        ("xen-xl", ("xl", 131059 * MIB, 97280 * MIB, 2048 * MIB, 48)),
        ("xen-xm", ("xm", 16378 * MIB, 10240 * MIB, 512 * MIB, 8)),
    ],
)
def test_on_xen_the_hypervisor_speaks_for_the_whole_machine(facts_of, machine, expected):
    facts = facts_of(machine)
    ganeti = facts.ganeti
    memory = (ganeti.memory_total_bytes, ganeti.memory_free_bytes, ganeti.memory_dom0_bytes)
    assert facts.xen_control_domain
    assert (ganeti.origin, *memory, ganeti.logical_cores) == expected


def test_a_xen_control_domain_without_tools_has_no_ganeti_view_at_all(facts_of):
    facts = facts_of("xen-xl", ("@command xl ", "@command gone "))
    assert facts.ganeti is None
    (problem,) = [problem for problem in facts.problems if problem.probe == "ganeti"]
    assert "neither xl nor xm" in problem.reason
    assert "xen-utils" in problem.remedy


def test_a_missing_domain_0_leaves_only_dom0_unknown(facts_of):
    facts = facts_of("xen-xl", ("|Domain-0       ", "|Domain-1       "))
    assert facts.ganeti.memory_free_bytes == 97280 * MIB
    assert facts.ganeti.memory_dom0_bytes is None
    assert any(problem.probe == "xen-domain-0" for problem in facts.problems)


def test_where_xen_does_not_count_processors_the_kernel_does():
    assert parse_xen_info("total_memory : 2\nfree_memory : 1\n", where="xl info").logical_cores is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "total_memory : 1",
        "free_memory : 1",
        "total_memory : x\nfree_memory : 1",
        f"total_memory : {2**60}",
    ],
)
def test_xen_information_without_both_memories_is_refused(text):
    with pytest.raises(InputError, match="xl info"):
        parse_xen_info(text, where="xl info")


@pytest.mark.parametrize(
    ("line", "mib"),
    [
        ("Domain-0                                     0  1024     4     r-----     123.4", 1024),
        ("Domain-0                     0     2000     8 r-----  51.0", 2000),
    ],
)
def test_the_domain_0_line_tells_its_memory(line, mib):
    listing = f"Name  ID  Mem(MiB) VCPUs State Time(s)\nDomain-0-copy  9  77  1  -b----  1.0\n{line}\n"
    assert parse_xen_list(listing, where="xl list") == mib * MIB


@pytest.mark.parametrize(
    "line", ["Domain-0", "Domain-0 0 much 4 r----- 1.0", "Domain-0 7 1024 4 r----- 1.0", ""]
)
def test_a_domain_0_line_of_another_form_is_refused(line):
    with pytest.raises(InputError, match="xl list"):
        parse_xen_list(line, where="xl list")
