"""The disks of a host as drives, volume groups and volumes of a node.

The hard part is what can really be used. A disk that is reached on two paths is still one drive. Extents of a
physical volume that is closed to allocation are free and cannot be had; a group with a missing one takes no
new volumes at all. Volumes of a thin pool take nothing of their group: the pool does.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

import msgspec

from ullage.model.drives import Drive, DriveClass, PlacedVolume, ThinPool, VolumeGroup
from ullage.model.quantity import print_bytes
from ullage.sources.host.facts import DiskFacts, HostFacts, LogicalVolume
from ullage.sources.host.facts import VolumeGroup as LvmGroup

_THIN_POOL: Final = frozenset(("thin", "pool"))
_POOLED: Final = frozenset(("thin", "vdo"))
"""Layouts of volumes whose extents are their pool's; a cached volume names a pool too and has its own."""


class HostDisks(NamedTuple):
    """What a host stores things on, and in words what of it is left out or cannot be used."""

    drives: tuple[Drive, ...]
    volume_groups: tuple[VolumeGroup, ...]
    placed_volumes: tuple[PlacedVolume, ...]
    unknowns: tuple[str, ...]


def host_disks(facts: HostFacts) -> HostDisks:
    """Return the disks of a host; those of no known class are left out and said."""
    unknowns = [
        f"disk {disk.name} has no known class and is left out"
        for disk in facts.disks or ()
        if disk.drive_class is None
    ]
    drives = _drives(facts)
    groups, placed = [], []
    for each in facts.lvm.volume_groups if facts.lvm else ():
        group = _volume_group(each, facts.disks or (), drives)
        if group is None:
            unknowns.append(
                f"volume group {each.name} lies on disks of no or several classes and is left out"
            )
            continue
        groups.append(group)
        placed += [_placed(each, volume) for volume in each.logical_volumes if not _is_in_pool(volume)]
        if group.free_bytes < each.free_bytes:
            lost = print_bytes(each.free_bytes - group.free_bytes)
            unknowns.append(f"volume group {each.name}: {lost} are free but cannot be used: {_why(each)}")
    listed = tuple(dict.fromkeys(drives.values()))
    return HostDisks(listed, tuple(groups), tuple(placed), tuple(unknowns))


def usable_bytes(group: LvmGroup) -> int:
    """Return what new volumes can have of a group: its free extents, where LVM would give them out."""
    if _why(group, closed=False):
        return 0
    closed_bytes = sum(pv.free_bytes for pv in group.physical_volumes if not pv.allocatable)
    return max(0, group.free_bytes - closed_bytes)


def _why(group: LvmGroup, *, closed: bool = True) -> str:
    """Return why a group gives nothing, or less than is free, to new volumes."""
    attributes = group.attributes
    if "p" in attributes[3:4] or any(pv.missing for pv in group.physical_volumes):
        return "a physical volume is missing"
    if "x" in attributes[2:3]:
        return "the group is exported"
    if "r" in attributes[:1]:
        return "the group is read-only"
    return "a physical volume is closed to allocation" if closed else ""


def _drives(facts: HostFacts) -> dict[str, Drive]:
    """Return drives by the kernel's name of their disk; a disk with two paths is one drive with two names."""
    mounted = {mount.source.removeprefix("/dev/") for mount in facts.mounts or ()}
    found: dict[str, Drive] = {}
    first_of: dict[str, DiskFacts] = {}
    for disk in facts.disks or ():
        drive = _drive(disk, mounted)
        if drive is None:
            continue
        first = first_of.setdefault(drive.uuid, disk)
        if first is not disk and not set(first.children).isdisjoint(disk.children):
            drive = found[first.kernel_name]
        elif first is not disk:
            drive = msgspec.structs.replace(drive, uuid=f"{drive.uuid}-{disk.name}")
        found[disk.kernel_name] = drive
    return found


def _drive(disk: DiskFacts, mounted: set[str]) -> Drive | None:
    """Return a disk as a drive; None where its class is not known."""
    if disk.drive_class is None:
        return None
    is_mounted = not mounted.isdisjoint({disk.name, disk.kernel_name, *disk.children})
    return Drive(
        disk.wwn or disk.serial or disk.name,
        disk.drive_class,
        disk.size_bytes,
        system=disk.system,
        clean=disk.clean and not (disk.system or disk.read_only or disk.removable or is_mounted),
        path=f"/dev/{disk.name}",
        model=disk.model or "",
    )


def _volume_group(
    group: LvmGroup, disks: Iterable[DiskFacts], drives: Mapping[str, Drive]
) -> VolumeGroup | None:
    """Return a volume group whose physical volumes lie on drives of one class, else None."""
    below: list[Drive] = []
    present = [volume for volume in group.physical_volumes if not volume.missing]
    for volume in present:
        device = volume.name.removeprefix("/dev/")
        found = [disk for disk in disks if device in {disk.name, disk.kernel_name, *disk.children}]
        below += [drives[disk.kernel_name] for disk in found if disk.kernel_name in drives]
        if not found or found[0].kernel_name not in drives:
            return None
    classes: set[DriveClass] = {drive.drive_class for drive in below}
    if len(classes) != 1:
        return None
    return VolumeGroup(
        group.name,
        classes.pop(),
        group.size_bytes,
        usable_bytes(group),
        group.extent_size_bytes,
        tuple(dict.fromkeys(drive.uuid for drive in below)),
        system=any(drive.system for drive in below),
        thin_pools=() if _why(group, closed=False) else tuple(_thin_pools(group)),
    )


def _thin_pools(group: LvmGroup) -> Iterator[ThinPool]:
    """Yield the thin pools of a group, each with the virtual size of its volumes and snapshots."""
    for pool in group.logical_volumes:
        if _THIN_POOL.issubset(pool.layout):
            inside = (each for each in group.logical_volumes if each.pool == pool.name and _is_in_pool(each))
            yield ThinPool(pool.name, pool.size_bytes, sum(each.size_bytes for each in inside))


def _is_in_pool(volume: LogicalVolume) -> bool:
    """Whether a volume has no extents of its own: it is one of a pool's, thin or deduplicated."""
    if volume.pool is None or "pool" in volume.layout:
        return False
    return not volume.layout or not _POOLED.isdisjoint(volume.layout)


def _placed(group: LvmGroup, volume: LogicalVolume) -> PlacedVolume:
    """Return a logical volume under its full name: groups may have volumes of the same name."""
    return PlacedVolume(f"{group.name}/{volume.name}", group.name, volume.size_bytes)
