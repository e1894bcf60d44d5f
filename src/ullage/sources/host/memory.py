"""Memory, swap and huge pages from /proc/meminfo and /sys/kernel/mm/hugepages."""

import re

from ullage.model.errors import InputError
from ullage.sources.host.facts import HugePages, MemoryFacts
from ullage.sources.host.machine import AbsentError, Machine
from ullage.sources.host.problems import ProblemLog
from ullage.sources.host.reading import KIB, lines_of, shown, whole_number

MEMINFO = "/proc/meminfo"
HUGE_PAGES_FOLDER = "/sys/kernel/mm/hugepages"
HUGE_PAGES_COUNTERS = ("nr_hugepages", "free_hugepages", "resv_hugepages", "surplus_hugepages")
FILES = (MEMINFO,)
_HUGE_PAGES_NAME = re.compile(r"hugepages-([0-9]{1,15})kB")


def parse_meminfo(text: str) -> dict[str, int]:
    """Return the amounts of /proc/meminfo by name: bytes where the kernel says kB, else plain counts."""
    amounts: dict[str, int] = {}
    for line in lines_of(text, where=MEMINFO, lines_max=1000):
        name, colon, value = line.partition(":")
        number, _, unit = value.strip().partition(" ")
        if not colon or unit.strip() not in ("", "kB"):
            raise InputError(f"{shown(line)} is not `Name: number kB`", where=MEMINFO)
        amounts[name.strip()] = whole_number(number, where=f"{MEMINFO}: {name}", unit=KIB if unit else 1)
    return amounts


def amount(amounts: dict[str, int], name: str) -> int:
    """Return one amount of /proc/meminfo that every kernel has."""
    if name not in amounts:
        raise InputError(f"has no line {name}", where=MEMINFO)
    return amounts[name]


def read_memory(machine: Machine, log: ProblemLog) -> MemoryFacts:
    """Return memory as ZOS counts it: actual use is what is not available."""
    amounts = parse_meminfo(machine.read_text(MEMINFO))
    total_bytes = amount(amounts, "MemTotal")
    available_bytes = log.attempt("memory-available", lambda: _available_bytes(amounts))
    return MemoryFacts(
        memory_total_bytes=total_bytes,
        memory_available_bytes=available_bytes,
        memory_actual_bytes=None if available_bytes is None else max(0, total_bytes - available_bytes),
        swap_total_bytes=amount(amounts, "SwapTotal"),
        swap_free_bytes=amount(amounts, "SwapFree"),
        huge_pages=log.attempt("huge-pages", lambda: _read_huge_pages(machine)) or (),
    )


def _available_bytes(amounts: dict[str, int]) -> int:
    if "MemAvailable" not in amounts:
        raise InputError("has no line MemAvailable", where=MEMINFO, remedy="use a kernel of 3.14 or later")
    return amounts["MemAvailable"]


def _read_huge_pages(machine: Machine) -> tuple[HugePages, ...]:
    try:
        names = machine.list_dir(HUGE_PAGES_FOLDER)
    except AbsentError:
        return ()  # a kernel without huge pages
    pools = []
    for name in names:
        folder = f"{HUGE_PAGES_FOLDER}/{name}"
        matched = _HUGE_PAGES_NAME.fullmatch(name)
        if matched is None:
            raise InputError(f"{shown(name)} is not a size of huge pages", where=HUGE_PAGES_FOLDER)
        counts = [_counter(machine, f"{folder}/{counter}") for counter in HUGE_PAGES_COUNTERS]
        pools.append(
            HugePages(
                page_size_bytes=whole_number(matched[1], where=folder, unit=KIB),
                total_pages=counts[0],
                free_pages=counts[1],
                reserved_pages=counts[2],
                surplus_pages=counts[3],
            )
        )
    return tuple(sorted(pools, key=lambda pool: pool.page_size_bytes))


def _counter(machine: Machine, path: str) -> int:
    return whole_number(machine.read_text(path).strip(), where=path)
