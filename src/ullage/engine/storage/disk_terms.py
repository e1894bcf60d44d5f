"""What every disk of a node has: its size, what is in use, promised and free of it, or why it offers nothing.

The hard thing is that space is seen twice: a drive of a volume group is counted there, not by itself, also
where both have the same name. What is on a disk of such a name is in the group.
"""

from collections.abc import Iterable, Iterator
from typing import Final, Literal

from ullage.engine.storage.capacities import (
    NOTHING_KEPT,
    by_ledger_name,
    capacities_of,
    class_of_place,
    holds_of,
    pool_place,
)
from ullage.engine.storage.edits import group_on
from ullage.engine.storage.fragmentation import pieces_of
from ullage.engine.storage.reserves import bytes_beside_spare, thin_bytes
from ullage.model.cluster import Node
from ullage.model.constraints import Record
from ullage.model.drives import FAILING, Drive, DriveClass, LocalClass, PlacedVolume, ThinPool, VolumeGroup
from ullage.model.ledger import VOLUME_SPACE, WHOLE_DRIVE
from ullage.model.ledger_entry import LedgerEntry
from ullage.model.settings import Rules

KEPT_BACK: Final = "kept back"
"""What a disk is closed for of which the policy of its node gives no more."""
Place = tuple[bool, str]
"""Whether it is a group or a pool of one, and its name: a drive may have the same."""


class VolumeTerms(Record, frozen=True):
    """A volume on a disk, the claim that it serves and the workload it goes with."""

    name: str
    size_bytes: int
    claim: str = ""
    owner: str = ""


class PromiseTerms(Record, frozen=True):
    """What a reservation holds of a disk, for whom and until when."""

    reservation: str
    request: str
    owner: str
    size_bytes: int
    expires_seconds: int | None = None


class DiskTerms(Record, frozen=True):
    """A drive, a volume group or a thin pool; `largest_bytes` is the largest volume that could be put there.

    `closed` says why it offers nothing; what is free on a node that takes nothing new is told all the same. A
    drive that is part of a `group` has nothing by itself; a pool of one has what its volumes may have by the
    policy, whatever is written of it, and its own size is in use in the group. `promised_bytes` is what
    reservations hold for volumes that do not exist yet.
    """

    node: str
    name: str
    kind: Literal["drive", "group", "pool"]
    storage_class: LocalClass
    drive_class: DriveClass
    size_bytes: int
    used_bytes: int
    promised_bytes: int
    free_bytes: int
    largest_bytes: int
    closed: tuple[str, ...] = ()
    group: str = ""
    drives: tuple[str, ...] = ()
    volumes: tuple[VolumeTerms, ...] = ()
    promises: tuple[PromiseTerms, ...] = ()
    storage_group: str = ""
    system: bool = False
    failing: bool = False
    path: str = ""
    model: str = ""


def disk_terms(
    node: Node,
    entries: Iterable[LedgerEntry] = (),
    *,
    shared: bool = False,
    rules: Rules = NOTHING_KEPT,
) -> tuple[DiskTerms, ...]:
    """Return the disks of a node: every volume group, then its pools and drives, then the other drives.

    `entries` are the node's in the ledger. Where drives are `shared`, as in mode zos, volumes are folders.
    Thin pools are told where the rules of the node let them take volumes.
    """
    return tuple(_Terms(node, entries, shared=shared, rules=rules).all())


class _Terms:
    """The disks of one node, with what is promised of them and what single volumes could have."""

    def __init__(self, node: Node, entries: Iterable[LedgerEntry], *, shared: bool, rules: Rules) -> None:
        self._node = node
        self._shared = shared
        self._rules = rules
        waiting = [entry for entry in entries if entry.state == "RESERVED"]
        capacities = capacities_of(node, shared=shared, rules=rules)
        known = by_ledger_name(node, capacities)
        self._group_names = frozenset(group.name for group in node.volume_groups)
        self._largest: dict[Place, int] = {}
        for in_group in (False, True):
            disks = [disk for disk in capacities if disk.is_group is in_group]
            mine = {
                name: disk if disk is not None and disk.is_group is in_group else None
                for name, disk in known.items()
            }
            for _, piece in pieces_of(disks, holds_of(waiting, mine), shared=shared):
                place = in_group, piece.place
                self._largest[place] = max(piece.free_bytes, self._largest.get(place, 0))
        self._entries: dict[Place, list[LedgerEntry]] = {}
        for entry in waiting:
            self._entries.setdefault(self._place_of(entry), []).append(entry)

    def _place_of(self, entry: LedgerEntry) -> Place:
        """Return the drive or group that an entry holds of; what became a group is held there."""
        kind, _, rest = entry.capacity.partition("/")
        name = rest.partition("/")[2]
        group = group_on(self._node, name) if kind == "drive" else None
        return (True, group.name) if group is not None else (kind == "group", name)

    def all(self) -> Iterator[DiskTerms]:
        drives = {drive.uuid: drive for drive in self._node.drives}
        listed: set[str] = set()
        for group in self._node.volume_groups:
            below = [drives[uuid] for uuid in group.drives if uuid in drives]
            yield self._group(group, below)
            if self._rules.thin_pool_ratio and not self._shared:
                yield from (self._pool(group, pool, below) for pool in group.thin_pools)
            for drive in below:
                if drive.uuid not in listed:
                    listed.add(drive.uuid)
                    yield self._drive(drive, group.name)
        for drive in self._node.drives:
            if drive.uuid not in listed:
                yield self._drive(drive, "")

    def _group(self, group: VolumeGroup, below: list[Drive]) -> DiskTerms:
        promises = self._promises((True, group.name), group.size_bytes)
        promised_bytes = sum(each.size_bytes for each in promises)
        largest_bytes = self._largest_of((True, group.name))
        closed = _closed_below(group, below)
        if not closed and not largest_bytes:
            closed.append(self._why_full(group))
        return DiskTerms(
            self._node.name,
            group.name,
            "group",
            class_of_place(self._node, group.name),
            group.drive_class,
            group.size_bytes,
            group.size_bytes - group.free_bytes,
            promised_bytes,
            0 if closed else max(0, bytes_beside_spare(group, self._rules) - promised_bytes),
            largest_bytes if self._node.state == "ready" else 0,
            (*closed, *self._closed_node()),
            drives=group.drives,
            volumes=self._volumes(group.name),
            promises=promises,
            storage_group=group.storage_group,
            system=group.system,
            failing=any(not drive.is_healthy for drive in below),
        )

    def _pool(self, group: VolumeGroup, pool: ThinPool, below: list[Drive]) -> DiskTerms:
        place = pool_place(group, pool)
        promises = self._promises((True, place), pool.size_bytes)
        promised_bytes = sum(each.size_bytes for each in promises)
        largest_bytes = self._largest_of((True, place))
        offered_bytes = thin_bytes(pool, self._rules)
        closed = _closed_below(group, below)
        if not closed and not largest_bytes:
            closed.append("promised" if offered_bytes >= group.extent_bytes else "full")
        return DiskTerms(
            self._node.name,
            place,
            "pool",
            class_of_place(self._node, group.name),
            group.drive_class,
            pool.size_bytes,
            pool.virtual_bytes,
            promised_bytes,
            0 if closed else max(0, offered_bytes - promised_bytes),
            largest_bytes if self._node.state == "ready" else 0,
            (*closed, *self._closed_node()),
            drives=group.drives,
            promises=promises,
            storage_group=group.storage_group,
            system=group.system,
            failing=any(not drive.is_healthy for drive in below),
        )

    def _drive(self, drive: Drive, group: str) -> DiskTerms:
        volumes = () if drive.uuid in self._group_names else self._volumes(drive.uuid)
        promises = () if group else self._promises((False, drive.uuid), drive.size_bytes)
        largest_bytes = self._largest_of((False, drive.uuid))
        if self._shared:
            used_bytes = sum(volume.size_bytes for volume in volumes)
        else:
            used_bytes = drive.size_bytes if volumes and not group else 0
        closed = () if largest_bytes else (*self._why_closed(drive, group, volumes, promises),)
        if self._shared and not largest_bytes and not closed:
            closed = (KEPT_BACK,)
        return DiskTerms(
            self._node.name,
            drive.uuid,
            "drive",
            drive.drive_class,
            drive.drive_class,
            drive.size_bytes,
            used_bytes,
            sum(each.size_bytes for each in promises),
            largest_bytes,
            largest_bytes if self._node.state == "ready" else 0,
            (*closed, *self._closed_node()),
            group=group,
            volumes=volumes,
            promises=promises,
            storage_group=drive.storage_group,
            system=drive.system,
            failing=not drive.is_healthy,
            path=drive.path,
            model=drive.model,
        )

    def _why_closed(
        self, drive: Drive, group: str, volumes: tuple[VolumeTerms, ...], promises: tuple[PromiseTerms, ...]
    ) -> Iterator[str]:
        """Yield why a drive offers nothing, the worst first."""
        yield from _trouble(drive)
        if drive.system:
            yield "system"
        if group:
            yield f"in group {group}"
        elif volumes:
            yield "in use"
        elif not drive.clean and not drive.system:
            yield "not clean"
        if drive.tainted:
            yield "tainted"
        if promises:
            yield "promised"
        if not drive.size_bytes:
            yield "no size"

    def _why_full(self, group: VolumeGroup) -> str:
        if self._shared:
            return "not used in mode zos"
        if group.free_bytes < group.extent_bytes:
            return "full"
        kept = bytes_beside_spare(group, self._rules) < group.extent_bytes
        return KEPT_BACK if kept else "promised"

    def _closed_node(self) -> tuple[str, ...]:
        return () if self._node.state == "ready" else (f"node {self._node.state}",)

    def _largest_of(self, place: Place) -> int:
        return self._largest.get(place, 0)

    def _volumes(self, place: str) -> tuple[VolumeTerms, ...]:
        return tuple(_volume(each) for each in self._node.placed_volumes if each.location == place)

    def _promises(self, place: Place, size_bytes: int) -> tuple[PromiseTerms, ...]:
        return tuple(
            PromiseTerms(
                each.reservation,
                each.request,
                each.owner,
                size_bytes if each.resources.of(WHOLE_DRIVE) else each.resources.of(VOLUME_SPACE),
                each.expires_seconds,
            )
            for each in self._entries.get(place, ())
        )


def _closed_below(group: VolumeGroup, below: list[Drive]) -> list[str]:
    """Return what keeps new volumes off a group, whatever it has free."""
    closed = [f"drive {drive.uuid}: {why}" for drive in below for why in _trouble(drive)]
    return [*closed, "tainted"] if group.tainted else closed


def _trouble(drive: Drive) -> Iterator[str]:
    """Yield what keeps new volumes off a drive, empty or not."""
    if drive.health in FAILING:
        yield drive.health
    if drive.status != "ONLINE":
        yield drive.status
    if drive.usage != "IN_USE":
        yield f"usage {drive.usage}"


def _volume(volume: PlacedVolume) -> VolumeTerms:
    return VolumeTerms(volume.name, volume.size_bytes, volume.claim, volume.owner)
