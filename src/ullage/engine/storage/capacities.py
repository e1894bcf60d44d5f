"""What the disks of a node offer, and what is promised of it: as planners see it, and as the ledger does.

The hard thing is time. A volume that was promised on a fresh drive turns that drive into a volume group, and
a volume that exists is missing from what is free while the ledger still holds it. So the ledger is supplied
with what is free plus what its bound entries have, and is told which names are those of the same bytes.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, cast

import msgspec

from ullage.engine.storage.extents import group_bytes, volume_bytes, whole_drive_bytes
from ullage.engine.storage.reserves import bytes_beside_spare, shared_bytes, thin_bytes
from ullage.model.cluster import Node
from ullage.model.disk_plan import DiskCapacity, DiskHold, DiskRequest, drive_class_of
from ullage.model.drives import ANY, GROUP_SUFFIX, SYSTEM_GROUP, Drive, LocalClass, ThinPool, VolumeGroup
from ullage.model.ledger import VOLUME_SPACE, WHOLE_DRIVE, Capacity, MadeVolume, StorageMode
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
    entries: Iterable[LedgerEntry], disks: Mapping[str, DiskCapacity | None], *, bound: bool = False
) -> tuple[DiskHold, ...]:
    """Return what is promised of these disks, which are known by the names that the ledger has for them.

    Bound entries are left out unless asked for: where a disk is described as a node shows it, their volumes
    are missing from it already. In what `disk_supply` describes they are not. What was promised on a group
    that is not there any more is promised on whatever its drives are now.
    """
    return tuple(
        _hold(entry, disk)
        for entry in entries
        if (entry.state == "RESERVED" or (bound and entry.state == "BOUND")) and not entry.refers
        for disk in _disks_of(entry, disks)
    )


def _disks_of(entry: LedgerEntry, disks: Mapping[str, DiskCapacity | None]) -> tuple[DiskCapacity, ...]:
    names = (entry.capacity,) if entry.capacity in disks else entry.drives
    found = {disk.name: disk for name in names if (disk := disks.get(name)) is not None}
    return tuple(found.values())


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
    others: Iterable[LedgerEntry] = (),
) -> tuple[Capacity, ...]:
    """Return the ledger's capacities for the drives and groups of a node, and what planners know of them.

    `entries` are those of the ledger: what is bound has its volume, what is reserved has none yet. A disk
    offers what is free and what its bound entries have of it, under whatever name, less what `others` than
    the ledger have reserved. Who is not offered anew has no description for planners.
    """
    return tuple(_Supply(node, entries, others, shared=shared, rules=rules).all())


class _Supply:
    """The disks of one node by all names of their bytes; a drive goes with the first group that it is in."""

    def __init__(
        self,
        node: Node,
        entries: Iterable[LedgerEntry],
        others: Iterable[LedgerEntry],
        *,
        shared: bool,
        rules: Rules,
    ) -> None:
        self._node = node
        self._shared = shared
        self._made = [entry for entry in entries if entry.state == "BOUND"]
        self._others = [entry for entry in others if entry.state == "RESERVED"]
        capacities = capacities_of(node, shared=shared, rules=rules)
        self._offered = {disk_name(disk): disk for disk in capacities}
        self._names = set(by_ledger_name(node, capacities))
        self._group_of: dict[str, VolumeGroup] = {}
        for group in node.volume_groups:
            for uuid in group.drives:
                self._group_of.setdefault(uuid, group)

    def all(self) -> Iterator[Capacity]:
        for drive in self._node.drives:
            name = _drive_name(self._node.name, drive.uuid)
            group = self._group_of.get(drive.uuid)
            yield self._drive(name) if group is None else self._drive_of(group, name)
        for group in self._node.volume_groups:
            yield self._group(group)
            for pool in group.thin_pools:
                yield self._pool(group, pool)

    def _drive(self, name: str) -> Capacity:
        bare = Capacity(name)
        volumes = self._volumes(bare)
        disk, made = self._offered.get(name), self._sum(self._made, bare)
        if disk is None:
            offers = made
        elif self._shared:
            others_bytes = max(0, disk.used_bytes - made.of(VOLUME_SPACE))
            disk = msgspec.structs.replace(disk, used_bytes=others_bytes)
            offers = Resources({VOLUME_SPACE: max(0, disk.size_bytes - others_bytes)})
        else:
            volumes = ()
            offers = Resources({WHOLE_DRIVE: 1, VOLUME_SPACE: group_bytes(disk.size_bytes)})
        return self._less_others(msgspec.structs.replace(bare, offers=offers, disk=disk, made=volumes))

    def _drive_of(self, group: VolumeGroup, name: str) -> Capacity:
        """Return a drive that is a part of a group: what is held of it is held of the group."""
        whole = self._group(group)
        wholly = sum(each.resources.of(WHOLE_DRIVE) for each in self._made if each.capacity == name)
        offers = whole.offers + Resources({WHOLE_DRIVE: wholly}) if wholly else whole.offers
        return msgspec.structs.replace(whole, name=name, offers=offers, disk=None)

    def _group(self, group: VolumeGroup) -> Capacity:
        on_its_drives = {
            name
            for other in self._node.volume_groups
            if other is group or not set(other.drives).isdisjoint(group.drives)
            for name in self._names_in(other)
        }
        not_its_own = {
            _drive_name(self._node.name, uuid)
            for uuid in group.drives
            if self._group_of[uuid] is not group
        }  # fmt: skip
        name = _group_name(self._node.name, group.name)
        return self._share(name, group, (on_its_drives - {name}) | not_its_own)

    def _pool(self, group: VolumeGroup, pool: ThinPool) -> Capacity:
        whole = self._group(group)
        name = _group_name(self._node.name, pool_place(group, pool))
        return self._share(name, group, {whole.name, *whole.drives, *whole.beside} - {name})

    def _share(self, name: str, group: VolumeGroup, beside: set[str]) -> Capacity:
        drives = tuple(_drive_name(self._node.name, uuid) for uuid in group.drives)
        bare = Capacity(name, drives=drives, beside=tuple(sorted(beside)))
        disk = self._offered.get(name)
        space_bytes = (disk.size_bytes if disk else 0) + self._sum(self._made, bare).of(VOLUME_SPACE)
        disk = msgspec.structs.replace(disk, size_bytes=space_bytes) if disk else None
        offers = Resources({VOLUME_SPACE: space_bytes})
        volumes = self._volumes(bare)
        return self._less_others(msgspec.structs.replace(bare, offers=offers, disk=disk, made=volumes))

    def _names_in(self, group: VolumeGroup) -> Iterator[str]:
        yield _group_name(self._node.name, group.name)
        yield from (_group_name(self._node.name, pool_place(group, pool)) for pool in group.thin_pools)

    def _less_others(self, capacity: Capacity) -> Capacity:
        theirs = self._sum(self._others, capacity)
        if not theirs:
            return capacity
        offers = (capacity.offers - theirs).at_least_zero().only(capacity.offers)
        return msgspec.structs.replace(capacity, offers=offers)

    def _sum(self, entries: Iterable[LedgerEntry], capacity: Capacity) -> Resources:
        """Return what entries have of a capacity's bytes: as the ledger's own sums, on the groups of now."""
        found = NOTHING
        for entry in self._there(entries, capacity):
            found += entry.resources
        return found

    def _volumes(self, capacity: Capacity) -> tuple[MadeVolume, ...]:
        """Return the promised volumes that exist of a capacity's bytes."""
        there = self._there(self._made, capacity)
        return tuple(
            MadeVolume(each.reservation, each.request, each.capacity, each.resources) for each in there
        )

    def _there(self, entries: Iterable[LedgerEntry], capacity: Capacity) -> Iterator[LedgerEntry]:
        names = {capacity.name, *capacity.drives}.difference(capacity.beside)
        drives = {*capacity.drives} or {capacity.name}
        for entry in entries:
            gone = entry.capacity not in self._names and not drives.isdisjoint(entry.drives)
            if gone or entry.capacity in names:
                yield entry


def taken(request: DiskRequest, disk: DiskCapacity, mode: StorageMode) -> Resources:
    """Return what the ledger holds of a disk for a volume that goes there."""
    if mode == "zos":
        return Resources({VOLUME_SPACE: request.size_bytes})
    if request.is_share:
        return Resources({VOLUME_SPACE: volume_bytes(request.size_bytes, disk.extent_bytes)})
    return Resources({WHOLE_DRIVE: 1, VOLUME_SPACE: group_bytes(disk.size_bytes)})


def serves(entry: LedgerEntry, request: DiskRequest, disk: DiskCapacity, mode: StorageMode) -> bool:
    """Whether what an entry has of a disk is what a request would have there."""
    if request.storage_group != disk.storage_group:
        return False
    if mode == "zos":
        fits = drive_class_of(request.storage_class) in {"", disk.storage_class}
        return fits and entry.resources == taken(request, disk, mode)
    if request.is_share:
        kind = disk.storage_class if disk.is_group else _group_class(disk.storage_class)
        return kind == request.storage_class and entry.resources == taken(request, disk, mode)
    return (
        bool(entry.resources.of(WHOLE_DRIVE))
        and not disk.is_group
        and request.storage_class in {ANY, disk.storage_class}
        and request.size_bytes <= whole_drive_bytes(disk.size_bytes)
    )


def serves_as_made(entry: LedgerEntry, request: DiskRequest, node: Node) -> bool:
    """Whether the volume that exists for an entry is what a request asks for, or larger."""
    place = entry.capacity.partition("/")[2].partition("/")[2]
    group = next((each for each in node.volume_groups if place in {each.name, *each.drives}), None)
    known = group is not None or any(drive.uuid == place for drive in node.drives)
    if not known or bool(entry.resources.of(WHOLE_DRIVE)) is request.is_share:
        return False
    is_of = class_of_place(node, group.name if group is not None else place)
    if not request.is_share:
        return request.storage_class in {ANY, is_of}
    return is_of == request.storage_class and entry.resources.of(VOLUME_SPACE) >= request.size_bytes


def by_ledger_name(node: Node, capacities: Iterable[DiskCapacity]) -> dict[str, DiskCapacity | None]:
    """Return a node's capacities by the names under which something may be promised on them.

    A group goes by its own name and by those of its drives: what was promised on a drive before it became a
    group is to be had there. What is there and offers nothing has its name, and no capacity.
    """
    found: dict[str, DiskCapacity | None] = {disk_name(disk): disk for disk in capacities}
    for group in node.volume_groups:
        disk = found.setdefault(_group_name(node.name, group.name), None)
        for uuid in group.drives:
            found.setdefault(_drive_name(node.name, uuid), disk)
        for pool in group.thin_pools:
            found.setdefault(_group_name(node.name, pool_place(group, pool)), None)
    for drive in node.drives:
        found.setdefault(_drive_name(node.name, drive.uuid), None)
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
