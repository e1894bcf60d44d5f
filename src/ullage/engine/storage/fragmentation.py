"""How much of the free disk space can be had: in pieces that no single volume may span.

For every class the sum of what is free is set beside the largest volume that still has a place, and what is
stranded: the rest of each piece after as many volumes of one size as it holds. A fresh drive counts for two
classes, because it can be had whole or become a group. Where drives are shared (mode zos) they are pieces.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from ullage.engine.columns import Columns
from ullage.engine.storage.capacities import (
    by_ledger_name,
    capacities_of,
    class_of_place,
    entries_by_node,
    holds_of,
)
from ullage.engine.storage.extents import group_bytes, volume_bytes, whole_drive_bytes
from ullage.engine.storage.repacking import Candidate, Repack, candidates_on, cheapest
from ullage.model.cluster import Node
from ullage.model.disk_plan import DiskCapacity, DiskHold, is_share
from ullage.model.drives import GROUP_SUFFIX, SYSTEM_GROUP, LocalClass

CLASSES: Final[tuple[LocalClass, ...]] = (
    "HDD", "SSD", "NVME", "HDDLVG", "SSDLVG", "NVMELVG", SYSTEM_GROUP,
)  # fmt: skip
"""Classes that space is reported by: whole drives, and shares of groups."""
Kind = tuple[LocalClass, str]
"""A class of volumes, and the storage group that they have to be of."""


class Piece(NamedTuple):
    """Space that one volume could have, on a drive or in a group; a fresh drive would be opened for it.

    Volumes share it in whole extents; where `extent_bytes` is 0, one volume has all of it.
    """

    node: str
    place: str
    free_bytes: int
    fresh: bool
    extent_bytes: int

    def volumes(self, size_bytes: int) -> int:
        """Return how many volumes of a size have a place here."""
        if not self.extent_bytes:
            return int(self.free_bytes >= size_bytes)
        return self.free_bytes // volume_bytes(size_bytes, self.extent_bytes)

    def left_bytes(self, size_bytes: int) -> int:
        """Return what no volume of a size has when as many are here as have a place."""
        taken_bytes = volume_bytes(size_bytes, self.extent_bytes or 1)
        return self.free_bytes - self.volumes(size_bytes) * taken_bytes


class ClassSpace(NamedTuple):
    """What is free of one class; `size_bytes` is the size of volumes by which space counts as stranded.

    `blocked_bytes` are free on nodes that take nothing new, and are part of no other figure.
    """

    storage_class: LocalClass
    storage_group: str
    free_bytes: int
    pieces: int
    largest: Piece | None
    size_bytes: int
    volumes: int
    stranded_bytes: int
    blocked_bytes: int
    repack: Repack | None


class _Found:
    """What nodes have of one kind."""

    def __init__(self) -> None:
        self.pieces: list[Piece] = []
        self.blocked: list[Piece] = []
        self.existing: list[int] = []


def space_of(
    columns: Columns, *, sizes: Callable[[LocalClass], int | None] = lambda _: None
) -> tuple[ClassSpace, ...]:
    """Return what is free of every class of which a node has any.

    `sizes` says by which size of volumes space counts as stranded; where it says None, that is the middle one
    of the volumes that exist in the class, else the largest that has a place.
    """
    found: dict[Kind, _Found] = {}
    candidates: list[Candidate] = []
    entries = entries_by_node(columns.snapshot.reservations)
    for node in columns.nodes:
        if not node.drives and not node.volume_groups:
            continue
        rules = columns.rules_of(node)
        shared = rules.storage_mode == "zos"
        capacities = capacities_of(node, shared=shared, rules=rules)
        holds = holds_of(entries.get(node.name, ()), by_ledger_name(node, capacities))
        for kind, piece in pieces_of(capacities, holds, shared=shared):
            here = found.setdefault(kind, _Found())
            (here.pieces if node.state == "ready" else here.blocked).append(piece)
        for kind, size_bytes in _volumes_of(node):
            found.setdefault(kind, _Found()).existing.append(size_bytes)
        if node.state == "ready" and not shared:
            candidates += candidates_on(node, capacities, holds)
    repacks = cheapest(candidates)
    return tuple(
        _class_space(kind, found[kind], repacks.get(kind), sizes(kind[0]))
        for kind in sorted(found, key=lambda each: (CLASSES.index(each[0]), each[1]))
    )


def pieces_of(
    capacities: Sequence[DiskCapacity], holds: Iterable[DiskHold], *, shared: bool = False
) -> Iterator[tuple[Kind, Piece]]:
    """Yield what single volumes of each class could have; tainted disks and those held whole give none."""
    held: dict[tuple[str, str], list[DiskHold]] = {}
    for hold in holds:
        held.setdefault((hold.node, hold.capacity), []).append(hold)
    for disk in capacities:
        if not disk.tainted:
            here = held.get((disk.node, disk.name), [])
            yield from _shared_piece(disk, here) if shared else _pieces(disk, here)


def _pieces(disk: DiskCapacity, holds: Sequence[DiskHold]) -> Iterator[tuple[Kind, Piece]]:
    if not all(is_share(hold.storage_class) for hold in holds):
        return
    place, fresh = (disk.node, disk.name), not disk.is_group and not holds
    whole_bytes = whole_drive_bytes(disk.size_bytes)
    if fresh and whole_bytes:
        yield (disk.storage_class, disk.storage_group), Piece(*place, whole_bytes, fresh, 0)
    extent_bytes = disk.extent_bytes
    size_bytes = disk.size_bytes if disk.is_group else group_bytes(disk.size_bytes)
    held_bytes = sum(volume_bytes(hold.size_bytes, extent_bytes) for hold in holds)
    free_bytes = (size_bytes - held_bytes) // extent_bytes * extent_bytes
    if free_bytes > 0:
        yield (_share_class(disk), disk.storage_group), Piece(*place, free_bytes, fresh, extent_bytes)


def _shared_piece(disk: DiskCapacity, holds: Sequence[DiskHold]) -> Iterator[tuple[Kind, Piece]]:
    free_bytes = disk.size_bytes - disk.used_bytes - sum(hold.size_bytes for hold in holds)
    if free_bytes > 0:
        fresh = not disk.used_bytes and not holds
        yield (
            (disk.storage_class, disk.storage_group),
            Piece(disk.node, disk.name, free_bytes, fresh, 1),
        )


def _share_class(disk: DiskCapacity) -> LocalClass:
    if disk.is_group:
        return disk.storage_class
    return next(each for each in CLASSES if each == f"{disk.storage_class}{GROUP_SUFFIX}")


def _class_space(kind: Kind, found: _Found, repack: Repack | None, size_bytes: int | None) -> ClassSpace:
    largest = min(found.pieces, key=_largest_first, default=None)
    if size_bytes is None:
        middle = sorted(found.existing)[len(found.existing) // 2] if found.existing else 0
        size_bytes = middle or (largest.free_bytes if largest else 0)
    counted = found.pieces if size_bytes > 0 else []
    return ClassSpace(
        *kind,
        free_bytes=sum(each.free_bytes for each in found.pieces),
        pieces=len(found.pieces),
        largest=largest,
        size_bytes=size_bytes,
        volumes=sum(each.volumes(size_bytes) for each in counted),
        stranded_bytes=sum(each.left_bytes(size_bytes) for each in counted),
        blocked_bytes=sum(each.free_bytes for each in found.blocked),
        repack=repack,
    )


def _largest_first(piece: Piece) -> tuple[int, bool, str, str]:
    return -piece.free_bytes, piece.fresh, piece.node, piece.place


def _volumes_of(node: Node) -> Iterator[tuple[Kind, int]]:
    """Yield the volumes that a node has, each with its class and the storage group of its place."""
    groups = {drive.uuid: drive.storage_group for drive in node.drives}
    for group in node.volume_groups:
        below = {groups.get(uuid, "") for uuid in group.drives}
        groups[group.name] = group.storage_group or (below.pop() if len(below) == 1 else "")
    for volume in node.placed_volumes:
        if volume.location in groups:
            yield (class_of_place(node, volume.location), groups[volume.location]), volume.size_bytes
