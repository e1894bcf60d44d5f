"""Facts of this real machine, against what Python and psutil say of it."""

import os
import platform
import subprocess
import sys
from datetime import UTC, datetime, timedelta, timezone

import psutil
import pytest

from ullage.model.errors import InputError
from ullage.sources.host.collect import collect
from ullage.sources.host.facts import decode_host_facts, encode_host_facts
from ullage.sources.host.recorded import HEADER, parse_bundle


@pytest.fixture(name="here", scope="module")
def fixture_here():
    return collect(datetime(2025, 3, 1, 12, tzinfo=UTC))


def test_names_are_those_of_this_machine(here):
    assert here.hostname == platform.node()
    assert here.kernel == platform.release()
    assert here.architecture == platform.machine()


def test_processors_are_those_python_counts(here):
    assert here.cpu.logical_cores == os.cpu_count()
    if psutil.cpu_count(logical=False) is not None:
        assert here.cpu.physical_cores == psutil.cpu_count(logical=False)


def test_memory_is_that_of_the_kernel(here):
    with open("/proc/meminfo", encoding="ascii") as file:  # noqa: PTH123 - as plain as can be
        total_kib = int(next(line for line in file if line.startswith("MemTotal")).split()[1])
    assert here.memory.memory_total_bytes == total_kib * 1024 == psutil.virtual_memory().total
    assert here.memory.swap_total_bytes == psutil.swap_memory().total
    assert (
        here.memory.memory_actual_bytes == here.memory.memory_total_bytes - here.memory.memory_available_bytes
    )
    assert 0 < here.memory.memory_available_bytes <= here.memory.memory_total_bytes


def test_mounts_are_real_and_sized_as_the_system_says(here):
    for mount in here.mounts:
        answer = os.statvfs(mount.mount_point)
        assert mount.size_bytes == answer.f_blocks * answer.f_frsize


def test_the_document_of_this_machine_reads_back(here):
    assert decode_host_facts(encode_host_facts(here)) == here


def test_a_machine_that_answers_nothing_gives_a_document_of_problems(noon):
    facts = collect(noon, machine=parse_bundle(f"{HEADER}\n@end\n".encode()))
    known = {name for name in facts.__struct_fields__ if getattr(facts, name) is not None}
    assert known == {
        "api_version",
        "collected_at",
        "virtualisation",
        "xen_control_domain",
        "gpus",
        "problems",
    }
    probes = [problem.probe for problem in facts.problems]
    assert probes == sorted(set(probes), key=probes.index)
    assert {"cpu", "memory", "ganeti", "disks", "lvm", "mounts", "cgroup", "pressure", "hostname"} <= set(
        probes
    )
    assert all(problem.reason for problem in facts.problems)


def test_a_whole_machine_has_no_problems(facts_of):
    assert facts_of("kvm-host").problems == ()


def test_the_time_is_told_in_utc_and_must_have_a_zone(noon):
    machine = parse_bundle(f"{HEADER}\n@end\n".encode())
    elsewhere = noon.astimezone(timezone(timedelta(hours=5, minutes=30)))
    assert encode_host_facts(collect(elsewhere, machine=machine)) == encode_host_facts(
        collect(noon, machine=machine)
    )
    with pytest.raises(InputError, match="no time zone"):
        collect(noon.replace(tzinfo=None), machine=machine)


def test_the_collector_runs_on_the_standard_library_and_msgspec_alone():
    program = """
import sys
before = set(sys.modules)
from datetime import UTC, datetime
from ullage.sources.host import ssh
from ullage.sources.host.collect import collect
from ullage.sources.host.facts import encode_host_facts
encode_host_facts(collect(datetime.now(UTC)))
loaded = {name.partition(".")[0] for name in set(sys.modules) - before}
print(*(loaded - set(sys.stdlib_module_names)))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    # typing_extensions is msgspec's own choice where it is installed.
    assert set(done.stdout.split()) - {"typing_extensions"} == {"msgspec", "ullage"}
