"""Mounted file systems on real devices, each once, with its sizes.

The hard thing is what to leave out. File systems without a device of their own (tmpfs, overlay, network) are
not space of this machine, and asking a dead network mount would hang; images (snap, iso) are always full; and
one device may be mounted a thousand times by containers, so only its plainest mount is kept.
"""

import functools
import re

import msgspec

from ullage.model.errors import InputError
from ullage.sources.host.facts import MountFacts
from ullage.sources.host.machine import Machine
from ullage.sources.host.problems import ProblemLog
from ullage.sources.host.reading import in_range, lines_of, shown

MOUNTS = "/proc/self/mountinfo"
FILES = (MOUNTS,)
MOUNTS_MAX = 65536
DEVICES_MAX = 4096
_IMAGES = frozenset({"squashfs", "iso9660", "udf", "erofs", "cramfs"})
_POOLED = frozenset({"zfs", "bcachefs"})  # these name a pool or a list of devices as their source
_ESCAPE = re.compile(r"\\([0-7]{3})")


class Mount(msgspec.Struct, frozen=True):
    """One line of mountinfo; `root` is the folder of the file system that is mounted at `point`."""

    root: str
    point: str
    options: tuple[str, ...]
    file_system: str
    source: str
    super_options: tuple[str, ...]


def parse_mountinfo(text: str) -> tuple[Mount, ...]:
    """Return every mount of /proc/self/mountinfo in the kernel's order."""
    mounts = []
    for line in lines_of(text, where=MOUNTS, lines_max=MOUNTS_MAX):
        before, dash, after = line.partition(" - ")
        fields, rest = before.split(" "), after.split(" ")
        if not dash or len(fields) < 6 or len(rest) < 3:
            raise InputError(f"{shown(line)} is not a mount", where=MOUNTS)
        mounts.append(
            Mount(
                root=unescape(fields[3]),
                point=unescape(fields[4]),
                options=tuple(fields[5].split(",")),
                file_system=rest[0],
                source=unescape(rest[1]),
                super_options=tuple(rest[2].split(",")),
            )
        )
    return tuple(mounts)


def unescape(text: str) -> str:
    """Return a path with the kernel's octal escapes (space, tab, newline, backslash) undone."""
    return _ESCAPE.sub(lambda matched: chr(int(matched[1], 8)), text)


def real_mounts(mounts: tuple[Mount, ...]) -> tuple[Mount, ...]:
    """Return one mount per real device: of the whole file system if possible, then the shortest path."""
    plainest: dict[str, Mount] = {}
    for mount in mounts:
        kind = mount.file_system
        on_device = mount.source.startswith("/dev/") and (kind == "fuseblk" or not kind.startswith("fuse"))
        if kind in _IMAGES or not (on_device or kind in _POOLED):
            continue
        kept = plainest.get(mount.source)
        if kept is None or _plainness(mount) < _plainness(kept):
            plainest[mount.source] = mount
    if len(plainest) > DEVICES_MAX:
        raise InputError(f"{len(plainest)} mounted devices, more than {DEVICES_MAX}", where=MOUNTS)
    return tuple(sorted(plainest.values(), key=lambda mount: mount.point))


def _plainness(mount: Mount) -> tuple[bool, int, str]:
    return mount.root != "/", len(mount.point), mount.point


def read_mounts(machine: Machine, log: ProblemLog) -> tuple[MountFacts, ...]:
    """Return the sizes of all real mounts; one that cannot be asked is noted and left out."""
    found = []
    for mount in real_mounts(parse_mountinfo(machine.read_text(MOUNTS))):
        facts = log.attempt("mounts", functools.partial(_size, machine, mount))
        if facts is not None:
            found.append(facts)
    return tuple(found)


def _size(machine: Machine, mount: Mount) -> MountFacts:
    size = machine.file_system_size(mount.point)
    size_bytes, free_bytes, available_bytes = (
        in_range(blocks * size.block_bytes, where=mount.point)
        for blocks in (size.total_blocks, size.free_blocks, size.available_blocks)
    )
    return MountFacts(
        source=mount.source,
        mount_point=mount.point,
        file_system=mount.file_system,
        size_bytes=size_bytes,
        used_bytes=max(0, size_bytes - free_bytes),
        available_bytes=available_bytes,
        read_only="ro" in mount.options or "ro" in mount.super_options,
    )
