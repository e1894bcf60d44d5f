"""What the disks of a node offer, and what is promised of it: as planners see it, and as the ledger does.

The hard thing is time. A volume that was promised on a fresh drive turns that drive into a volume group, and
a volume that exists is missing from what is free while the ledger still holds it. So the ledger is supplied
with what is free plus what its bound entries have, and a group does not offer what is still promised on its
drives.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, cast

import msgspec

from ullage.engine.storage.extents import group_bytes, volume_bytes
from ullage.engine.storage.reserves import bytes_beside_spare, shared_bytes, thin_bytes
from ullage.model.cluster import Node
from ullage.model.disk_plan import DiskCapacity, DiskHold, DiskRequest
from ullage.model.drives import GROUP_SUFFIX, SYSTEM_GROUP, Drive, LocalClass, ThinPool, VolumeGroup
from ullage.model.ledger import VOLUME_SPACE, WHOLE_DRIVE, Capacity, StorageMode
from ullage.model.ledger_entry import LedgerEntry
from ullage.model.resources import NOTHING, Resources
from ullage.model.settings import Rules

IN_USE: Final = "IN_USE"
NOTHING_KEPT: Final = Rules()
"""The rules of a node of which no policy keeps anything back."""


def capacities_of(
    node: Node, *, shared: bool = False, rules: Rules = NOTHING_KEPT
) -> tuple[DiskCapacity, ...]:
    """Return what a node's drives, groups and thin pools still offer, whatever is promised of it.

    Where drives are `shared`, as in mode zos, volumes are files and folders on them: then a drive that has
    some offers itself with what they take of it, and groups are not looked at.
    """
    if shared:
        return tuple(_shared_drives(node, rules))
    return (*_free_drives(node), *_groups_with_room(node, rules))


def holds_of(
    entries: Iterable[LedgerEntry], disks: Mapping[str, DiskCapacity], *, bound: bool = False
) -> tuple[DiskHold, ...]:
    """Return what is promised of these disks, which are known by the names that the ledger has for them.

    Bound entries are left out unless asked for: where a disk is described as a node shows it, their volumes
    are missing from it already. In what `disk_supply` describes they are not.
    """
    return tuple(
        _hold(entry, disks[entry.capacity])
        for entry in entries
        if entry.capacity in disks and (entry.state == "RESERVED" or (bound and entry.state == "BOUND"))
    )


def entries_by_node(entries: Iterable[LedgerEntry]) -> dict[str, list[LedgerEntry]]:
    """Return the entries that are about drives and groups, by their nodes."""
    found: dict[str, list[LedgerEntry]] = {}
    for entry in entries:
        kind, _, rest = entry.capacity.partition("/")
        if kind in {"drive", "group"}:
            found.setdefault(rest.partition("/")[0], []).append(entry)
    return found


def disk_supply(
    node: Node,
    entries: Iterable[LedgerEntry] = (),
    *,
    shared: bool = False,
    rules: Rules = NOTHING_KEPT,
) -> tuple[Capacity, ...]:
    """Return the ledger's capacities for the drives and groups of a node, and what planners know of them.

    `entries` are those of the ledger when the node was read. Whoever is not offered anew offers what is
    promised on it, so that sums hold; planners are not told of it.
    """
    reserved, bound = _promised(entries)
    offered = {disk_name(disk): disk for disk in capacities_of(node, shared=shared, rules=rules)}
    in_groups = _drives_in_groups(node)
    supply = []
    for drive in node.drives:
        name = _drive_name(node.name, drive.uuid)
        disk = offered.get(name)
        if disk is None:
            held = bound.get(name, NOTHING)
            offers = held + reserved.get(name, NOTHING) if drive.uuid in in_groups else held
        elif shared:
            others_bytes = max(0, disk.used_bytes - bound.get(name, NOTHING).of(VOLUME_SPACE))
            disk = msgspec.structs.replace(disk, used_bytes=others_bytes)
            offers = Resources({VOLUME_SPACE: max(0, disk.size_bytes - others_bytes)})
        else:
            offers = Resources({WHOLE_DRIVE: 1, VOLUME_SPACE: group_bytes(disk.size_bytes)})
        supply.append(Capacity(name, offers, disk=disk))
    for group in node.volume_groups:
        name = _group_name(node.name, group.name)
        below = (reserved.get(_drive_name(node.name, uuid), NOTHING) for uuid in group.drives)
        promised_bytes = sum(each.of(VOLUME_SPACE) for each in below)
        supply.append(_share_supply(name, offered.get(name), promised_bytes, bound))
        for pool in group.thin_pools:
            name = _group_name(node.name, pool_place(group, pool))
            supply.append(_share_supply(name, offered.get(name), 0, bound))
    return tuple(supply)


def _share_supply(
    name: str, disk: DiskCapacity | None, promised_bytes: int, bound: Mapping[str, Resources]
) -> Capacity:
    """Return what a group or pool offers beside promises, and what its bound entries have of it."""
    space_bytes = max(0, disk.size_bytes - promised_bytes) if disk else 0
    space_bytes += bound.get(name, NOTHING).of(VOLUME_SPACE)
    disk = msgspec.structs.replace(disk, size_bytes=space_bytes) if disk else None
    return Capacity(name, Resources({VOLUME_SPACE: space_bytes}), disk=disk)


def taken(request: DiskRequest, disk: DiskCapacity, mode: StorageMode) -> Resources:
    """Return what the ledger holds of a disk for a volume that goes there."""
    if mode == "zos":
        return Resources({VOLUME_SPACE: request.size_bytes})
    if request.is_share:
        return Resources({VOLUME_SPACE: volume_bytes(request.size_bytes, disk.extent_bytes)})
    return Resources({WHOLE_DRIVE: 1, VOLUME_SPACE: group_bytes(disk.size_bytes)})


def by_ledger_name(node: Node, capacities: Iterable[DiskCapacity]) -> dict[str, DiskCapacity]:
    """Return a node's capacities by the names under which something may be promised on them.

    A group goes by its own name and by those of its drives: what was promised on a drive before it became a
    group is to be had there.
    """
    found = {disk_name(disk): disk for disk in capacities}
    for group in node.volume_groups:
        disk = found.get(_group_name(node.name, group.name))
        if disk is not None:
            for uuid in group.drives:
                found.setdefault(_drive_name(node.name, uuid), disk)
    return found


def disk_name(disk: DiskCapacity) -> str:
    """Return the name under which the ledger knows a drive or group."""
    name = _group_name if disk.is_group else _drive_name
    return name(disk.node, disk.name)


def class_of_place(node: Node, place: str) -> LocalClass:
    """Return what a volume on a drive or in a group of a node is: a whole drive, or a share."""
    group = next((each for each in node.volume_groups if each.name == place), None)
    if group is not None:
        return _class_of(group)
    return next(drive.drive_class for drive in node.drives if drive.uuid == place)


def pool_place(group: VolumeGroup, pool: ThinPool) -> str:
    """Return the name under which planners know a thin pool: groups may have pools of the same name."""
    return f"{group.name}/{pool.name}"


def _drive_name(node: str, uuid: str) -> str:
    return f"drive/{node}/{uuid}"


def _group_name(node: str, group: str) -> str:
    return f"group/{node}/{group}"


def _free_drives(node: Node) -> Iterator[DiskCapacity]:
    taken_up = _drives_in_groups(node) | {volume.location for volume in node.placed_volumes}
    for drive in node.drives:
        if drive.offers_space and drive.size_bytes > 0 and drive.uuid not in taken_up:
            yield _of_drive(node, drive)


def _shared_drives(node: Node, rules: Rules) -> Iterator[DiskCapacity]:
    in_groups = _drives_in_groups(node)
    for drive in node.drives:
        volumes = [volume for volume in node.placed_volumes if volume.location == drive.uuid]
        usable = _takes_volumes(drive) and not drive.system and (drive.clean or volumes)
        if usable and drive.size_bytes > 0 and drive.uuid not in in_groups:
            used_bytes = sum(volume.size_bytes for volume in volumes)
            yield msgspec.structs.replace(
                _of_drive(node, drive),
                size_bytes=shared_bytes(drive, used_bytes, rules),
                used_bytes=used_bytes,
                virtual_disks=any(volume.virtual_disk for volume in volumes),
            )


def _of_drive(node: Node, drive: Drive) -> DiskCapacity:
    return DiskCapacity(
        drive.uuid,
        node.name,
        drive.drive_class,
        drive.size_bytes,
        storage_group=drive.storage_group,
        tainted=drive.tainted,
        cold=drive.cold,
    )


def _groups_with_room(node: Node, rules: Rules) -> Iterator[DiskCapacity]:
    drives = {drive.uuid: drive for drive in node.drives}
    for group in node.volume_groups:
        below = [drives[uuid] for uuid in group.drives if uuid in drives]
        if not all(map(_takes_volumes, below)):
            continue
        places = [(group.name, bytes_beside_spare(group, rules))]
        places += [(pool_place(group, pool), thin_bytes(pool, rules)) for pool in group.thin_pools]
        for name, size_bytes in places:
            if size_bytes > 0:
                yield DiskCapacity(
                    name,
                    node.name,
                    _class_of(group),
                    size_bytes,
                    storage_group=group.storage_group or _storage_group(below),
                    tainted=group.tainted or any(drive.tainted for drive in below),
                    extent_bytes=group.extent_bytes,
                )


def _class_of(group: VolumeGroup) -> LocalClass:
    return SYSTEM_GROUP if group.system else _group_class(group.drive_class)


def _group_class(drive_class: LocalClass) -> LocalClass:
    return cast("LocalClass", f"{drive_class}{GROUP_SUFFIX}")


def _storage_group(drives: Iterable[Drive]) -> str:
    """Return the storage group that the drives of a volume group share, if they do."""
    named = {drive.storage_group for drive in drives}
    return named.pop() if len(named) == 1 else ""


def _takes_volumes(drive: Drive) -> bool:
    """Whether what is on a drive may have more volumes beside it."""
    return drive.is_healthy and drive.usage == IN_USE


def _drives_in_groups(node: Node) -> set[str]:
    return {uuid for group in node.volume_groups for uuid in group.drives}


def _promised(entries: Iterable[LedgerEntry]) -> tuple[dict[str, Resources], dict[str, Resources]]:
    """Return what reserved and what bound entries have of each capacity."""
    reserved: dict[str, Resources] = {}
    bound: dict[str, Resources] = {}
    for entry in entries:
        if entry.holds:
            sums = reserved if entry.state == "RESERVED" else bound
            sums[entry.capacity] = sums.get(entry.capacity, NOTHING) + entry.resources
    return reserved, bound


def _hold(entry: LedgerEntry, disk: DiskCapacity) -> DiskHold:
    """Return an entry as a planner sees it: who has the whole drive has all of it, others a share."""
    whole = bool(entry.resources.of(WHOLE_DRIVE))
    as_it_is = whole or disk.is_group
    return DiskHold(
        entry.reservation,
        entry.request,
        disk.node,
        disk.name,
        disk.storage_class if as_it_is else _group_class(disk.storage_class),
        disk.size_bytes if whole else entry.resources.of(VOLUME_SPACE),
        bound=entry.state == "BOUND",
    )
