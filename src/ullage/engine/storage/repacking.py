"""The cheapest repack: a group emptied into others of its node, so that its drive can be had whole again.

Only groups on one drive, all of whose volumes are known, can be emptied, and no fresh drive is opened for it.
Candidates are tried in order of the bytes that move: the first that can be done is the cheapest.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from ullage.engine.storage.capacities import IN_USE, class_of_place
from ullage.engine.storage.exact import plan_nodes
from ullage.engine.storage.extents import volume_bytes
from ullage.model.cluster import Node
from ullage.model.disk_plan import DiskCapacity, DiskHold, DiskRequest
from ullage.model.drives import Drive, LocalClass, PlacedVolume, VolumeGroup

VOLUMES_MOVED_MAX: Final = 12
"""Volumes of one group that a repack would move."""
TRIED_MAX: Final = 1000
"""Repacks that are tried for one question."""


class Repack(NamedTuple):
    """Volumes of a group moved into other groups of their node, so that its drive is empty again."""

    node: str
    group: str
    drive: str
    drive_bytes: int
    moved_bytes: int
    moves: tuple[tuple[str, str], ...]


class Candidate(NamedTuple):
    """A group that might be emptied: what would move, and where it might go."""

    node: str
    group: str
    drive: Drive
    moved_bytes: int
    requests: tuple[DiskRequest, ...]
    others: tuple[DiskCapacity, ...]
    holds: tuple[DiskHold, ...]

    @property
    def kind(self) -> tuple[LocalClass, str]:
        """The class and storage group of what would move."""
        return self.requests[0].storage_class, self.requests[0].storage_group


def candidates_on(
    node: Node, capacities: Sequence[DiskCapacity], holds: Sequence[DiskHold]
) -> Iterator[Candidate]:
    """Yield the groups of a node that might be emptied."""
    drives = {drive.uuid: drive for drive in node.drives}
    for group in node.volume_groups:
        drive = drives.get(group.drives[0]) if len(group.drives) == 1 else None
        volumes = [each for each in node.placed_volumes if each.location == group.name]
        if drive is None or not _can_be_emptied(group, drive, volumes):
            continue
        if any(hold.capacity == group.name for hold in holds):
            continue
        others = tuple(each for each in capacities if each.is_group and each.name != group.name)
        moved_bytes = sum(each.size_bytes for each in volumes)
        if moved_bytes > sum(each.size_bytes for each in others):
            continue
        storage_class = class_of_place(node, group.name)
        storage_group = group.storage_group or drive.storage_group
        requests = tuple(
            DiskRequest(each.name, storage_class, each.size_bytes, storage_group) for each in volumes
        )
        yield Candidate(node.name, group.name, drive, moved_bytes, requests, others, tuple(holds))


def cheapest(candidates: Iterable[Candidate]) -> dict[tuple[LocalClass, str], Repack]:
    """Return for each class and storage group the repack that moves the fewest bytes."""
    found: dict[tuple[LocalClass, str], Repack] = {}
    tried = 0
    for each in sorted(candidates, key=_cheapest_first):
        if each.kind in found or tried >= TRIED_MAX:
            continue
        tried += 1
        planned = plan_nodes(each.others, each.holds, each.requests, [each.node]).nodes
        if planned:
            moves = tuple(sorted(planned[0].chosen.items()))
            drive = each.drive
            found[each.kind] = Repack(
                each.node, each.group, drive.uuid, drive.size_bytes, each.moved_bytes, moves
            )
    return found


def _can_be_emptied(group: VolumeGroup, drive: Drive, volumes: Sequence[PlacedVolume]) -> bool:
    """Whether the volumes are all there is in a group, few enough to move, and its drive is good."""
    known_bytes = sum(volume_bytes(each.size_bytes, group.extent_bytes) for each in volumes)
    good = drive.is_healthy and drive.usage == IN_USE and not drive.system and not group.system
    good = good and not group.thin_pools
    few = 0 < len(volumes) <= VOLUMES_MOVED_MAX and all(each.size_bytes for each in volumes)
    return good and few and group.size_bytes - group.free_bytes == known_bytes


def _cheapest_first(candidate: Candidate) -> tuple[int, int, str, str]:
    return candidate.moved_bytes, -candidate.drive.size_bytes, candidate.node, candidate.group
