"""The control group of this process: which version, and the bounds that hold for it.

A bound set on any ancestor holds too, so the way up to the mounted root is walked and the tightest taken.
In a container the mount shows only a part of the tree: its root is cut off the path, and a path that does not
lie under that root (a cgroup namespace) means that the mount point itself is ours.
"""

import re
from typing import Literal

import msgspec

from ullage.model.errors import InputError
from ullage.sources.host.facts import CgroupFacts
from ullage.sources.host.machine import AbsentError, Machine
from ullage.sources.host.mounts import MOUNTS, Mount, parse_mountinfo
from ullage.sources.host.problems import ProblemLog
from ullage.sources.host.reading import lines_of, shown, whole_number

MEMBERSHIP = "/proc/self/cgroup"
LIMIT_FILES = (
    "memory.max",
    "cpu.max",
    "memory.limit_in_bytes",
    "cpu.cfs_quota_us",
    "cpu.cfs_period_us",
)
FILES = (MEMBERSHIP, MOUNTS)
_DEPTH_MAX = 64
_UNLIMITED_BYTES = 2**62  # v1 has no word for "none": it answers the largest number of pages
_PERIOD = re.compile(r"(max|[0-9]+) ([0-9]+)")


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where one controller is steered: the folders from our own group up to the mounted root."""

    unified: bool
    path: str
    folders: tuple[str, ...]


def parse_membership(text: str) -> dict[str, str]:
    """Return the path per v1 controller, and under the empty name that of v2."""
    paths: dict[str, str] = {}
    for line in lines_of(text, where=MEMBERSHIP, lines_max=256):
        fields = line.split(":", 2)
        if len(fields) != 3 or not fields[2].startswith("/"):
            raise InputError(f"{shown(line)} is not a control group", where=MEMBERSHIP)
        for controller in fields[1].split(","):
            paths[controller] = fields[2]
    return paths


def cgroup_version(mounts: tuple[Mount, ...]) -> Literal["v1", "v2", "hybrid", "none"]:
    """Tell which hierarchies are mounted; both at once is hybrid."""
    kinds = {mount.file_system for mount in mounts}
    if "cgroup" in kinds:
        return "hybrid" if "cgroup2" in kinds else "v1"
    return "v2" if "cgroup2" in kinds else "none"


def find_place(controller: str, mounts: tuple[Mount, ...], paths: dict[str, str]) -> Place | None:
    """Return where a controller is steered: v1 if it is mounted there, since it cannot be in both."""
    if controller in paths:
        for mount in mounts:
            if mount.file_system == "cgroup" and controller in mount.super_options:
                return Place(
                    unified=False, path=paths[controller], folders=folders_upwards(mount, paths[controller])
                )
    if "" in paths:
        for mount in mounts:
            if mount.file_system == "cgroup2":
                return Place(unified=True, path=paths[""], folders=folders_upwards(mount, paths[""]))
    return None


def folders_upwards(mount: Mount, path: str) -> tuple[str, ...]:
    """Return the folders of a group and its ancestors, own first, as far as the mount shows them."""
    root = mount.root.rstrip("/")
    inside = path == root or path.startswith(f"{root}/")
    parts = [part for part in path[len(root) :].split("/") if part] if inside else []
    if len(parts) > _DEPTH_MAX or ".." in parts:
        raise InputError(f"{shown(path)} is not a usable control group", where=MEMBERSHIP)
    point = mount.point.rstrip("/")
    return tuple("/".join((point, *parts[:depth])) for depth in range(len(parts), -1, -1))


def read_cgroup(machine: Machine, log: ProblemLog) -> CgroupFacts:
    """Return version and bounds; a bound that cannot be read is noted."""
    mounts = parse_mountinfo(machine.read_text(MOUNTS))
    version = cgroup_version(mounts)
    if version == "none":
        return CgroupFacts(version="none")
    paths = parse_membership(machine.read_text(MEMBERSHIP))
    memory, cpu = find_place("memory", mounts, paths), find_place("cpu", mounts, paths)
    return CgroupFacts(
        version=version,
        path=memory.path if memory else None,
        memory_limit_bytes=log.attempt("cgroup-memory", lambda: _memory_limit_bytes(machine, memory)),
        cpu_quota_milli=log.attempt("cgroup-cpu", lambda: _cpu_quota_milli(machine, cpu)),
    )


def _memory_limit_bytes(machine: Machine, place: Place | None) -> int | None:
    if place is None:
        return None
    name = "memory.max" if place.unified else "memory.limit_in_bytes"
    limits = []
    for folder in place.folders:
        text = _text(machine, f"{folder}/{name}")
        limit = parse_memory_limit(text, where=f"{folder}/{name}") if text is not None else None
        if limit is not None:
            limits.append(limit)
    return min(limits, default=None)


def _cpu_quota_milli(machine: Machine, place: Place | None) -> int | None:
    if place is None:
        return None
    quotas = []
    for folder in place.folders:
        if place.unified:
            text = _text(machine, f"{folder}/cpu.max")
        else:
            quota, period = (_text(machine, f"{folder}/cpu.cfs_{part}_us") for part in ("quota", "period"))
            text = f"{quota.strip()} {period.strip()}" if quota is not None and period is not None else None
        milli = parse_cpu_quota(text, where=folder) if text is not None else None
        if milli is not None:
            quotas.append(milli)
    return min(quotas, default=None)


def parse_memory_limit(text: str, *, where: str) -> int | None:
    """Return the limit in bytes of memory.max or memory.limit_in_bytes, None for no limit."""
    if text.strip() == "max":
        return None
    limit_bytes = whole_number(text.strip(), where=where)
    return limit_bytes if limit_bytes < _UNLIMITED_BYTES else None


def parse_cpu_quota(text: str, *, where: str) -> int | None:
    """Return the quota in thousandths of a processor of `QUOTA PERIOD`; max (v2) or -1 (v1) mean none."""
    matched = _PERIOD.fullmatch(text.strip().replace("-1 ", "max ", 1))
    period = whole_number(matched[2], where=where) if matched else 0
    if matched is None or period == 0:
        raise InputError(f"{shown(text)} is not a quota and its period", where=where)
    if matched[1] == "max":
        return None
    return whole_number(matched[1], where=where, unit=1000) // period


def _text(machine: Machine, path: str) -> str | None:
    """Return a file's content; root groups do not have the files of limits."""
    try:
        return machine.read_text(path)
    except AbsentError:
        return None
