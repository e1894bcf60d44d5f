"""The drives of nodes that would be added: as they come when new, made to measure, and in words.

A new node is like one of the cluster, but nothing is on its drives yet: groups and volumes of the model are
not bought with it. What belongs to the system comes with every node.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from ullage.engine.storage.capacities import capacities_of
from ullage.engine.storage.extents import MEBIBYTE, METADATA_BYTES, volume_bytes
from ullage.engine.storage.planning import plan
from ullage.model.cluster import Node
from ullage.model.disk_plan import DiskRequest, drive_class_of
from ullage.model.drives import ANY, DRIVE_CLASSES, SYSTEM_GROUP, Drive, DriveClass
from ullage.model.quantity import print_bytes
from ullage.model.settings import Rules


def with_new_drives(node: Node) -> Node:
    """Return a node with its drives as they are when nobody has used them."""
    groups = tuple(group for group in node.volume_groups if group.system)
    kept = {group.name for group in groups} | {drive.uuid for drive in node.drives if drive.system}
    return msgspec.structs.replace(
        node,
        drives=tuple(drive if drive.system else _as_new(drive) for drive in node.drives),
        volume_groups=groups,
        placed_volumes=tuple(volume for volume in node.placed_volumes if volume.location in kept),
    )


def with_drives_for(node: Node, requests: Sequence[DiskRequest], rules: Rules) -> Node:
    """Return a new node that serves these volumes: with a drive more for each of them, unless its own do."""
    new = with_new_drives(node)
    mode = rules.storage_mode
    capacities = capacities_of(new, shared=mode == "zos", rules=rules)
    if plan(mode, capacities, (), requests, [new.name], few_drives=False, explains=False).nodes:
        return new
    known = {drive.uuid for drive in new.drives}
    names = (name for number in range(len(known) + len(requests)) if (name := f"new-{number}") not in known)
    wanted = [each for each in requests if each.storage_class != SYSTEM_GROUP]
    added = tuple(_made_for(request, name) for request, name in zip(wanted, names, strict=False))
    return msgspec.structs.replace(new, drives=(*new.drives, *added))


def drive_words(node: Node, requests: Iterable[DiskRequest]) -> str:
    """Return the drives of a node of the classes that are asked for, as `2 HDD drives of 4Ti`."""
    asked = {each.storage_class for each in requests}
    classes = DRIVE_CLASSES if ANY in asked else {drive_class_of(each) for each in asked}
    counts = Counter(
        (drive.drive_class, drive.size_bytes)
        for drive in node.drives
        if drive.drive_class in classes and not drive.system
    )
    return ", ".join(
        f"{count} {drive_class} drive{'' if count == 1 else 's'} of {print_bytes(size_bytes)}"
        for (drive_class, size_bytes), count in sorted(counts.items())
    )


def _as_new(drive: Drive) -> Drive:
    return msgspec.structs.replace(
        drive, health="GOOD", status="ONLINE", usage="IN_USE", clean=True, tainted=False, available_bytes=None
    )


def _made_for(request: DiskRequest, name: str) -> Drive:
    """Return the smallest drive that takes a volume, as a whole or as a group."""
    named = drive_class_of(request.storage_class)
    drive_class: DriveClass = next(each for each in DRIVE_CLASSES if named in {"", each})
    size_bytes = volume_bytes(request.size_bytes) + METADATA_BYTES if request.is_share else request.size_bytes
    size_bytes = -(-size_bytes // MEBIBYTE) * MEBIBYTE
    return Drive(name, drive_class, size_bytes, storage_group=request.storage_group)
