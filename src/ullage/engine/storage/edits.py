"""What if: a node with other drives, groups or volumes than it has.

Every edit returns a new node and refuses, by InputError, what could not be done on a machine. The hard thing
is a group on several drives: nobody knows which of them its volumes are on, so no drive can be taken out of
it while it has any.
"""

from collections.abc import Iterator
from typing import Final

import msgspec

from ullage.engine.storage.extents import group_bytes
from ullage.model.cluster import Node
from ullage.model.drives import Drive, DriveClass, PlacedVolume, VolumeGroup
from ullage.model.errors import InputError

ADDED_MAX: Final = 1000
"""Drives that one edit may add to a node."""


def with_drives(node: Node, drive_class: DriveClass, size_bytes: int, count: int = 1) -> Node:
    """Return a node with so many more empty drives; they are named after it, their class and a number."""
    if size_bytes < 1:
        raise InputError(f"a drive of {size_bytes} bytes", remedy="give it a size")
    if not 1 <= count <= ADDED_MAX:
        raise InputError(f"{count} drives at once", remedy=f"add 1 to {ADDED_MAX}")
    taken = {drive.uuid for drive in node.drives}
    names = (name for name in _names(node.name, drive_class) if name not in taken)
    added = tuple(Drive(next(names), drive_class, size_bytes) for _ in range(count))
    return msgspec.structs.replace(node, drives=node.drives + added)


def without_drive(node: Node, uuid: str) -> Node:
    """Return a node without a drive, and without what was on that drive alone."""
    _drive(node, uuid)
    group = group_on(node, uuid)
    if group is not None and len(group.drives) > 1:
        if group.free_bytes < group.size_bytes:
            raise InputError(
                f"drive {uuid} is one of {len(group.drives)} of volume group {group.name}, which has volumes",
                remedy="remove these volumes first",
            )
        group = _regrouped(node, group, uuid)
    elif group is not None:
        node = _without_group(node, group.name)
        group = None
    return msgspec.structs.replace(
        node,
        drives=tuple(each for each in node.drives if each.uuid != uuid),
        volume_groups=_with_group(node, group) if group else node.volume_groups,
        placed_volumes=tuple(each for each in node.placed_volumes if each.location != uuid),
    )


def with_class(node: Node, uuid: str, drive_class: DriveClass) -> Node:
    """Return a node one of whose drives, and the group that it is alone in, is of another class."""
    drive = _drive(node, uuid)
    group = group_on(node, uuid)
    if group is not None and len(group.drives) > 1:
        raise InputError(
            f"drive {uuid} is one of {len(group.drives)} of volume group {group.name}",
            remedy="a group has drives of one class only",
        )
    changed = _with_drive(node, msgspec.structs.replace(drive, drive_class=drive_class))
    if group is None:
        return changed
    group = msgspec.structs.replace(group, drive_class=drive_class)
    return msgspec.structs.replace(changed, volume_groups=_with_group(changed, group))


def with_group(node: Node, uuid: str) -> Node:
    """Return a node with an empty drive made a volume group of its own, named after it."""
    drive = _drive(node, uuid)
    if not is_empty(node, drive):
        raise InputError(
            f"drive {uuid} of node {node.name} is not empty or not usable", remedy="name another"
        )
    size_bytes = group_bytes(drive.size_bytes)
    group = VolumeGroup(
        uuid,
        drive.drive_class,
        size_bytes,
        size_bytes,
        drives=(uuid,),
        storage_group=drive.storage_group,
        tainted=drive.tainted,
    )
    changed = _with_drive(node, msgspec.structs.replace(drive, clean=False))
    return msgspec.structs.replace(changed, volume_groups=(*node.volume_groups, group))


def without_volume(node: Node, name: str) -> Node:
    """Return a node without a volume: its space is free again.

    A drive that held it whole is empty then. So is one that was a group for it alone.
    """
    volume = next((each for each in node.placed_volumes if each.name == name), None)
    if volume is None:
        known = ", ".join(each.name for each in node.placed_volumes[:5]) or "none"
        raise InputError(f"node {node.name} has no volume {name}", remedy=f"its volumes are: {known}")
    kept = tuple(each for each in node.placed_volumes if each is not volume)
    node = msgspec.structs.replace(node, placed_volumes=kept)
    group = next((each for each in node.volume_groups if each.name == volume.location), None)
    if group is None:
        drive = next((each for each in node.drives if each.uuid == volume.location), None)
        return node if drive is None else _with_drive(node, msgspec.structs.replace(drive, clean=True))
    free_bytes = min(group.size_bytes, group.free_bytes + volume.size_bytes)
    if free_bytes == group.size_bytes and len(group.drives) == 1 and not group.system:
        drive = _drive(node, group.drives[0])
        node = _without_group(node, group.name)
        return _with_drive(node, msgspec.structs.replace(drive, clean=True))
    pools = tuple(each for each in group.thin_pools if f"{group.name}/{each.name}" != name)
    group = msgspec.structs.replace(group, free_bytes=free_bytes, thin_pools=pools)
    return msgspec.structs.replace(node, volume_groups=_with_group(node, group))


def is_empty(node: Node, drive: Drive) -> bool:
    """Whether a drive offers all of itself: usable, in no group, without volumes."""
    return (
        drive.offers_space
        and group_on(node, drive.uuid) is None
        and all(each.location != drive.uuid for each in node.placed_volumes)
    )


def group_on(node: Node, uuid: str) -> VolumeGroup | None:
    """Return the volume group that a drive is part of."""
    return next((each for each in node.volume_groups if uuid in each.drives), None)


def volumes_on(node: Node, uuid: str) -> tuple[PlacedVolume, ...]:
    """Return the volumes that may be on a drive: its own, and all of the group that it is part of."""
    group = group_on(node, uuid)
    places = {uuid} if group is None else {uuid, group.name}
    return tuple(each for each in node.placed_volumes if each.location in places)


def _drive(node: Node, uuid: str) -> Drive:
    found = next((each for each in node.drives if each.uuid == uuid), None)
    if found is None:
        known = ", ".join(each.uuid for each in node.drives[:5]) or "none"
        raise InputError(f"node {node.name} has no drive {uuid}", remedy=f"its drives are: {known}")
    return found


def _names(node: str, drive_class: DriveClass) -> Iterator[str]:
    number = 0
    while True:
        number += 1
        yield f"{node}-{drive_class.lower()}-new{number}"


def _with_drive(node: Node, drive: Drive) -> Node:
    drives = tuple(drive if each.uuid == drive.uuid else each for each in node.drives)
    return msgspec.structs.replace(node, drives=drives)


def _with_group(node: Node, group: VolumeGroup) -> tuple[VolumeGroup, ...]:
    return tuple(group if each.name == group.name else each for each in node.volume_groups)


def _without_group(node: Node, name: str) -> Node:
    return msgspec.structs.replace(
        node,
        volume_groups=tuple(each for each in node.volume_groups if each.name != name),
        placed_volumes=tuple(each for each in node.placed_volumes if each.location != name),
    )


def _regrouped(node: Node, group: VolumeGroup, uuid: str) -> VolumeGroup:
    """Return an empty group without one of its drives."""
    drives = tuple(each for each in group.drives if each != uuid)
    size_bytes = sum(group_bytes(_drive(node, each).size_bytes, group.extent_bytes) for each in drives)
    return msgspec.structs.replace(group, drives=drives, size_bytes=size_bytes, free_bytes=size_bytes)
