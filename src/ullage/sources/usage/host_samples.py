"""What this host uses right now: the node, and each pod and container that runs on it.

Processors are counters, so the host is read twice, a moment apart. Memory of the node is what is not
available, which is what cannot be discarded; that of a container is its working set: all but the files that
were not used lately. The hard thing is to know whose control group is whose: kubelets name groups by the
identities of pods and containers, and the folders of their logs say what these are called.
"""

import os
import re
import time
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

import numpy as np

from ullage.engine.usage.book import Samples
from ullage.model.cluster import Snapshot
from ullage.model.errors import InputError
from ullage.model.usage import USAGE
from ullage.sources.given import refuse_others
from ullage.sources.host.cgroup import cgroup_version
from ullage.sources.host.machine import LocalMachine, Machine, UnavailableError
from ullage.sources.host.memory import MEMINFO, amount, parse_meminfo
from ullage.sources.host.mounts import MOUNTS, parse_mountinfo
from ullage.sources.host.pressure import parse_pressure
from ullage.sources.host.reading import lines_of, whole_number
from ullage.sources.host.system import HOSTNAME, read_line
from ullage.sources.usage.csv_samples import subject_problem

STAT: Final = "/proc/stat"
CONTAINER_LOGS: Final = "/var/log/containers"
BETWEEN_SECONDS: Final = 1.0
PRESSURES: Final = ("cpu", "memory", "io")
PRESSURE: Final = "ullage.dev/{}-pressure"
"""How much of the last ten seconds somebody waited, in ten-thousandths."""
PODS_MAX: Final = 4096
GROUPS_MAX: Final = 65_536
_LINES_MAX: Final = 100_000
_IDLE: Final = frozenset((3, 4, 7))
"""Which numbers of a processor are no work: idle, waiting for a disk, and taken by the hypervisor."""
_COUNTED: Final = 8
"""Behind these stand guests, whose time is in the first ones already."""
_POD_GROUP: Final = re.compile(
    r"(?:kubepods(?:-burstable|-besteffort)?-)?pod[0-9a-f]{8}[0-9a-f_-]{24,}(?:\.slice)?"
)
_CLASS_GROUP: Final = re.compile(r"(?:kubepods-)?(?:burstable|besteffort)(?:\.slice)?")
_CONTAINER_GROUP: Final = re.compile(r"(?:[a-z-]+-)?([0-9a-f]{64})(?:\.scope)?")
_LOG: Final = re.compile(r"([^_]+)_([^_]+)_(.+)-([0-9a-f]{64})\.log")


class Group(NamedTuple):
    """The control group of a container, in the folder of each controller."""

    subject: str
    cpu: str
    memory: str


class _Reading(NamedTuple):
    """Counters at a moment: seconds of processors used, by subject."""

    at: float
    used: dict[str, float]


def read_host(
    snapshot: Snapshot | None = None,
    *,
    machine: Machine | None = None,
    between_seconds: float = BETWEEN_SECONDS,
    now: Callable[[], float] = time.time,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[Samples]:
    """Yield what this host and the pods on it use, as an average over a moment; pressure too.

    The snapshot says what the node is called. An InputError where this host does not say what it uses.
    """
    refuse_others("host")
    asked: Machine = LocalMachine() if machine is None else machine
    node = f"node/{_node_name(read_line(asked, HOSTNAME), snapshot)}"
    groups = list(find_groups(asked))
    before = _reading(asked, node, groups, clock)
    sleep(between_seconds)
    after = _reading(asked, node, groups, clock)
    at_seconds = int(now())
    elapsed = max(after.at - before.at, 1e-9)
    processors = {
        subject: max(0, round(1000 * (used - before.used[subject]) / elapsed))
        for subject, used in after.used.items()
        if subject in before.used
    }
    memory = {node: _node_memory_bytes(asked)}
    for group in groups:
        found = _working_set_bytes(asked, group)
        if found is not None:
            memory[group.subject] = found
    yield _samples("cpu", processors, at_seconds)
    yield _samples("memory", memory, at_seconds)
    for each in PRESSURES:
        waited = _pressure(asked, each)
        if waited is not None:
            yield _samples(PRESSURE.format(each), {node: waited}, at_seconds)


def find_groups(machine: Machine) -> Iterator[Group]:
    """Yield the control groups of the containers whose names the logs of the kubelet tell."""
    names = _container_names(machine)
    if not names:
        return
    cpu, memory = _roots(machine)
    found = 0
    for folder in _pod_folders(machine, memory):
        for name in _folders(machine, f"{memory}{folder}"):
            matched = _CONTAINER_GROUP.fullmatch(name)
            subject = names.get(matched[1]) if matched else None
            if subject is not None and found < GROUPS_MAX:
                found += 1
                yield Group(subject, f"{cpu}{folder}/{name}", f"{memory}{folder}/{name}")


def _samples(resource: str, amounts: dict[str, int], at_seconds: int) -> Samples:
    """Return amounts as points; a pod is the sum of its containers."""
    whole = dict(amounts)
    for subject, each in amounts.items():
        if subject.startswith("container/"):
            pod = "pod/" + subject.partition("/")[2].rpartition("/")[0]
            whole[pod] = whole.get(pod, 0) + each
    count = len(whole)
    return Samples(
        resource,
        USAGE,
        list(whole),
        np.arange(count),
        np.full(count, at_seconds, np.int64),
        np.fromiter(whole.values(), np.int64, count),
    )


def _node_name(host: str, snapshot: Snapshot | None) -> str:
    """Return what the snapshot calls this host, also where one of both names has its domain behind it."""
    names = [node.name for node in snapshot.nodes] if snapshot is not None else []
    if host in names:
        return host
    short = host.partition(".")[0]
    return next((name for name in names if name.partition(".")[0] == short), host)


def _reading(machine: Machine, node: str, groups: list[Group], clock: Callable[[], float]) -> _Reading:
    used = {node: parse_busy(machine.read_text(STAT), os.sysconf("SC_CLK_TCK"))}
    at = clock()
    for group in groups:
        seconds = _used_seconds(machine, group)
        if seconds is not None:
            used[group.subject] = seconds
    return _Reading(at, used)


def parse_busy(text: str, ticks_per_second: int) -> float:
    """Return for how many seconds processors have worked since the host started."""
    for line in lines_of(text, where=STAT, lines_max=_LINES_MAX):
        word, *numbers = line.split()
        if word == "cpu":
            counted = [whole_number(each, where=STAT) for each in numbers[:_COUNTED]]
            return sum(each for place, each in enumerate(counted) if place not in _IDLE) / ticks_per_second
    raise InputError("has no line cpu", where=STAT)


def _node_memory_bytes(machine: Machine) -> int:
    amounts = parse_meminfo(machine.read_text(MEMINFO))
    return max(0, amount(amounts, "MemTotal") - amount(amounts, "MemAvailable"))


def _pressure(machine: Machine, resource: str) -> int | None:
    path = f"/proc/pressure/{resource}"
    try:
        return parse_pressure(machine.read_text(path), where=path).some.avg10_basis_points
    except InputError:
        return None  # a kernel without it


def _used_seconds(machine: Machine, group: Group) -> float | None:
    """Return the seconds that a group used of processors; None where it is gone."""
    try:
        return whole_number(machine.read_text(f"{group.cpu}/cpuacct.usage").strip(), where=group.cpu) / 1e9
    except InputError:
        pass  # that is how the first version counts
    try:
        microseconds = _fields(machine.read_text(f"{group.cpu}/cpu.stat")).get("usage_usec")
    except InputError:
        return None
    return None if microseconds is None else microseconds / 1e6


def _working_set_bytes(machine: Machine, group: Group) -> int | None:
    """Return what a group holds in memory, but for files that were not used lately; None where it is gone."""
    try:
        statistics = _fields(machine.read_text(f"{group.memory}/memory.stat"))
        try:
            text = machine.read_text(f"{group.memory}/memory.current")
        except UnavailableError:
            text = machine.read_text(f"{group.memory}/memory.usage_in_bytes")
        used = whole_number(text.strip(), where=group.memory)
    except InputError:
        return None
    inactive = statistics.get("total_inactive_file", statistics.get("inactive_file", 0))
    return max(0, used - inactive)


def _fields(text: str) -> dict[str, int]:
    """Return the numbers of a file of lines `name number`."""
    found = {}
    for line in lines_of(text, where="a control group", lines_max=_LINES_MAX):
        name, _, number = line.partition(" ")
        if number.isascii() and number.isdecimal():
            found[name] = int(number)
    return found


def _container_names(machine: Machine) -> dict[str, str]:
    """Return the subject of each container by its identity, as the links to logs are called."""
    try:
        names = machine.list_dir(CONTAINER_LOGS)
    except UnavailableError:
        return {}
    found = {}
    for name in names:
        matched = _LOG.fullmatch(name)
        if matched is not None:
            subject = f"container/{matched[2]}/{matched[1]}/{matched[3]}"
            if not subject_problem(subject):
                found[matched[4]] = subject
    return found


def _roots(machine: Machine) -> tuple[str, str]:
    """Return where the groups of processors and of memory begin."""
    mounts = parse_mountinfo(machine.read_text(MOUNTS))
    unified = next((each.point for each in mounts if each.file_system == "cgroup2"), "")
    if cgroup_version(mounts) == "v2":
        return unified, unified

    def steered(controller: str) -> str:
        first = [each for each in mounts if each.file_system == "cgroup"]
        return next((each.point for each in first if controller in each.super_options), unified)

    return steered("cpuacct"), steered("memory")


def _pod_folders(machine: Machine, root: str) -> Iterator[str]:
    """Yield the folders of pods below a root, whichever way kubelets name them."""
    found = 0
    for top in ("/kubepods.slice", "/kubepods"):
        waiting = [top]
        while waiting:
            folder = waiting.pop()
            for name in _folders(machine, root + folder):
                if _POD_GROUP.fullmatch(name) and found < PODS_MAX:
                    found += 1
                    yield f"{folder}/{name}"
                elif _CLASS_GROUP.fullmatch(name) and folder == top:
                    waiting.append(f"{folder}/{name}")


def _folders(machine: Machine, path: str) -> tuple[str, ...]:
    try:
        return machine.list_dir(path)
    except UnavailableError:
        return ()
