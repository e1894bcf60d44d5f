"""The machine as Ganeti's node report has it: from /proc/meminfo, or from the Xen tools on a control domain.

On Xen /proc/meminfo speaks of the control domain alone, so it is never a substitute there: when neither xl
nor xm answers, no number is better than one forty times too small.
"""

import re
from typing import Literal

import msgspec

from ullage.model.errors import InputError
from ullage.sources.host.facts import GanetiFacts
from ullage.sources.host.machine import AbsentError, Machine
from ullage.sources.host.memory import MEMINFO, amount, parse_meminfo
from ullage.sources.host.problems import ProblemLog
from ullage.sources.host.reading import MIB, in_range, lines_of, shown, whole_number

Toolstack = Literal["xl", "xm"]
TOOLSTACKS: tuple[Toolstack, ...] = ("xl", "xm")
COMMANDS = tuple((tool, verb) for tool in TOOLSTACKS for verb in ("info", "list"))
_LINES_MAX = 65536
_UNITS = {"total_memory": MIB, "free_memory": MIB, "nr_cpus": 1}
_DOMAIN0 = re.compile(r"Domain-0\s+0\s+([0-9]+)\s+[0-9]+\s+\S+\s+[0-9.]+\s*")


class XenInformation(msgspec.Struct, frozen=True):
    """What the hypervisor says of the whole machine."""

    memory_total_bytes: int
    memory_free_bytes: int
    logical_cores: int | None


def read_ganeti(
    machine: Machine, log: ProblemLog, *, xen_control_domain: bool, logical_cores: int | None
) -> GanetiFacts:
    """Return Ganeti's view; `logical_cores` is the kernel's count, used where Xen does not know better."""
    if not xen_control_domain:
        return _from_meminfo(parse_meminfo(machine.read_text(MEMINFO)), logical_cores)
    tool, text = _xen_info(machine)
    xen = parse_xen_info(text, where=f"{tool} info")
    dom0_bytes = log.attempt("xen-domain-0", lambda: _domain0_bytes(machine, tool))
    return GanetiFacts(
        origin=tool,
        memory_total_bytes=xen.memory_total_bytes,
        memory_free_bytes=xen.memory_free_bytes,
        memory_dom0_bytes=dom0_bytes,
        logical_cores=logical_cores if xen.logical_cores is None else xen.logical_cores,
    )


def _from_meminfo(amounts: dict[str, int], logical_cores: int | None) -> GanetiFacts:
    free_bytes = sum(amount(amounts, name) for name in ("MemFree", "Buffers", "Cached"))
    return GanetiFacts(
        origin="meminfo",
        memory_total_bytes=amount(amounts, "MemTotal"),
        memory_free_bytes=in_range(free_bytes, where=MEMINFO),
        memory_dom0_bytes=amount(amounts, "Active"),
        logical_cores=logical_cores,
    )


def _xen_info(machine: Machine) -> tuple[Toolstack, str]:
    for tool in TOOLSTACKS:
        try:
            return tool, machine.run((tool, "info"))
        except AbsentError:
            continue
    raise AbsentError(
        "neither xl nor xm is installed on this Xen control domain",
        where="xl info",
        remedy="install xen-utils, and run as root",
    )


def _domain0_bytes(machine: Machine, tool: Toolstack) -> int:
    return parse_xen_list(machine.run((tool, "list")), where=f"{tool} list")


def parse_xen_info(text: str, *, where: str) -> XenInformation:
    """Return memory (Xen counts MiB) and processors of `xl info` or `xm info`."""
    numbers: dict[str, int] = {}
    for line in lines_of(text, where=where, lines_max=_LINES_MAX):
        key, _, value = line.partition(":")
        name = key.strip()
        if name in _UNITS:
            numbers[name] = whole_number(value.strip(), where=f"{where}: {name}", unit=_UNITS[name])
    if "total_memory" not in numbers or "free_memory" not in numbers:
        raise InputError("has no line total_memory or none free_memory", where=where)
    return XenInformation(numbers["total_memory"], numbers["free_memory"], numbers.get("nr_cpus"))


def parse_xen_list(text: str, *, where: str) -> int:
    """Return the memory in bytes on the Domain-0 line of `xl list` or `xm list`."""
    for line in lines_of(text, where=where, lines_max=_LINES_MAX):
        if line.split()[:1] == ["Domain-0"]:
            matched = _DOMAIN0.fullmatch(line)
            if matched is None:
                raise InputError(f"{shown(line)} is not a domain with its memory", where=where)
            return whole_number(matched[1], where=where, unit=MIB)
    raise InputError("has no line Domain-0", where=where)
