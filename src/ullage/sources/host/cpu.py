"""Processors: how many, how they are packed, how busy.

The count is that of /sys/devices/system/cpu/online, which is what os.cpu_count() answers. /proc/cpuinfo
knows cores and sockets on x86 only; elsewhere lscpu is asked.
"""

import msgspec

from ullage.model.errors import InputError
from ullage.sources.host.facts import CpuFacts
from ullage.sources.host.machine import AbsentError, Machine
from ullage.sources.host.problems import ProblemLog
from ullage.sources.host.reading import decimal_parts, lines_of, shown, whole_number
from ullage.sources.host.system import CPU_INFORMATION

ONLINE = "/sys/devices/system/cpu/online"
LOAD = "/proc/loadavg"
TOPOLOGY_COMMAND = ("lscpu", "-p=CPU,CORE,SOCKET")
SUMMARY_COMMAND = ("lscpu",)
FILES = (CPU_INFORMATION, ONLINE, LOAD)
COMMANDS = (TOPOLOGY_COMMAND, SUMMARY_COMMAND)
PROCESSORS_MAX = 65536
_LINES_MAX = 4_000_000


class CpuInformation(msgspec.Struct, frozen=True):
    """What /proc/cpuinfo or lscpu says; None where it does not."""

    logical_cores: int
    physical_cores: int | None
    sockets: int | None
    model: str | None


def read_cpu(machine: Machine, log: ProblemLog) -> CpuFacts:
    """Return the processors; missing details are noted, only a missing count is an error."""
    information = parse_cpuinfo(machine.read_text(CPU_INFORMATION))
    try:
        online = parse_cpu_list(machine.read_text(ONLINE))
    except AbsentError:
        online = information.logical_cores
    if online == 0:
        raise InputError("lists no processor", where=CPU_INFORMATION)
    physical, sockets = information.physical_cores, information.sockets
    if physical is None:
        topology = log.attempt("cpu-topology", lambda: parse_topology(machine.run(TOPOLOGY_COMMAND)))
        physical, sockets = topology or (None, None)
    model = information.model
    if model is None:
        model = log.attempt("cpu-model", lambda: parse_model(machine.run(SUMMARY_COMMAND)))
    load = log.attempt("load", lambda: parse_loadavg(machine.read_text(LOAD))) or (None, None, None)
    return CpuFacts(
        logical_cores=online,
        physical_cores=physical,
        sockets=sockets,
        model=model,
        load_one_minute_milli=load[0],
        load_five_minutes_milli=load[1],
        load_fifteen_minutes_milli=load[2],
    )


def parse_cpuinfo(text: str) -> CpuInformation:
    """Count processors, and cores and sockets where every processor names its own."""
    logical, model = 0, None
    cores: set[tuple[str, str]] = set()
    sockets: set[str] = set()
    socket, named = "", 0
    for line in lines_of(text, where=CPU_INFORMATION, lines_max=_LINES_MAX):
        key, _, value = line.partition(":")
        key, value = key.strip(), value.strip()
        if key == "processor":
            logical += 1
        elif key == "physical id":
            socket = value
            sockets.add(value)
        elif key == "core id":
            cores.add((socket, value))
            named += 1
        elif key == "model name" and model is None:
            model = value[:256] or None
    if logical > PROCESSORS_MAX:
        raise InputError(f"{logical} processors, more than {PROCESSORS_MAX}", where=CPU_INFORMATION)
    complete = bool(sockets) and 0 < logical == named
    return CpuInformation(
        logical, len(cores) if complete else None, len(sockets) if complete else None, model
    )


def parse_cpu_list(text: str) -> int:
    """Count the processors of a kernel list such as 0-3,5."""
    count = 0
    for part in text.strip().split(","):
        first, dash, last = part.partition("-")
        low = whole_number(first, where=ONLINE)
        high = whole_number(last, where=ONLINE) if dash else low
        count += high - low + 1
        if not low <= high < PROCESSORS_MAX or count > PROCESSORS_MAX:
            raise InputError(f"{shown(text)} is not a list of processors", where=ONLINE)
    return count


def parse_topology(text: str) -> tuple[int, int]:
    """Return cores and sockets of `lscpu -p=CPU,CORE,SOCKET`."""
    where = TOPOLOGY_COMMAND[0]
    cores: set[str] = set()
    sockets: set[str] = set()
    for line in lines_of(text, where=where, lines_max=PROCESSORS_MAX):
        if line.startswith("#"):
            continue
        fields = line.split(",")
        if len(fields) != 3:
            raise InputError(f"{shown(line)} is not CPU,CORE,SOCKET", where=where)
        cores.add(fields[1])
        sockets.add(fields[2])
    if not cores:
        raise InputError("lists no processor", where=where)
    return len(cores), len(sockets)


def parse_model(text: str) -> str:
    """Return the model name of a plain `lscpu`."""
    for line in lines_of(text, where=SUMMARY_COMMAND[0], lines_max=10_000):
        key, _, value = line.partition(":")
        if key.strip() == "Model name" and value.strip():
            return value.strip()[:256]
    raise InputError("names no processor model", where=SUMMARY_COMMAND[0])


def parse_loadavg(text: str) -> tuple[int, int, int]:
    """Return the three load averages in thousandths."""
    fields = text.split()
    if len(fields) != 5:
        raise InputError(f"{shown(text)} is not a load average", where=LOAD)
    one, five, fifteen = (decimal_parts(field, where=LOAD, digits=2) * 10 for field in fields[:3])
    return one, five, fifteen
