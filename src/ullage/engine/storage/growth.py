"""Volumes that exist, or are promised to others too, and are asked for in another size or class.

A volume grows where it is: a logical volume by extents of its own group, a volume that has a whole drive into
what the drive has left. It does not become one of another class, and it does not shrink: what it has beyond
what is asked for it keeps.
"""

from collections.abc import Iterator
from typing import NamedTuple, cast

from ullage.engine.storage.capacities import class_of_place
from ullage.engine.storage.disk_requests import DiskRequests, Promised, claim_key
from ullage.engine.storage.extents import volume_bytes, whole_drive_bytes
from ullage.model.cluster import Node, Snapshot, Workload
from ullage.model.disk_plan import DiskRequest, drive_class_of, is_share
from ullage.model.drives import ANY, EXTENT_BYTES, GROUP_SUFFIX, LocalClass, PlacedVolume
from ullage.model.ledger import VOLUME_SPACE, WHOLE_DRIVE
from ullage.model.quantity import readable_bytes


class Growth(NamedTuple):
    """A volume that is to have `more_bytes` on the disk it is on; `refusal` says why it cannot become that.

    Where there is a refusal nothing is to be had. `size_bytes` is what is asked for in all.
    """

    request: str
    node: str
    place: str
    storage_class: LocalClass
    size_bytes: int
    more_bytes: int
    refusal: str = ""


class Growths:
    """Finds the volumes of claims in one snapshot, for many workloads."""

    def __init__(self, snapshot: Snapshot, requests: DiskRequests) -> None:
        self._nodes = snapshot.nodes
        self._requests = requests
        self._made = {
            volume.claim: (node.name, volume)
            for node in snapshot.nodes
            for volume in node.placed_volumes
            if volume.claim
        }

    def is_made(self, claim: str) -> bool:
        """Whether the claim of a key has its volume on a local disk."""
        return claim in self._made

    def of(self, workload: Workload, shared: frozenset[str] = frozenset()) -> tuple[Growth, ...]:
        """Return the volumes that cannot stay as they are; `shared` are nodes whose volumes share drives."""
        return tuple(self._of(workload, shared)) if workload.volumes else ()

    def _of(self, workload: Workload, shared: frozenset[str]) -> Iterator[Growth]:
        for volume in {each.claim: each for each in workload.volumes if each.claim}.values():
            made = self._made.get(claim_key(workload, volume))
            if made is None or (volume.inline and workload.holds_capacity):
                continue
            asked = self._requests.asked_by_claim(workload, volume)
            if asked is not None:
                found = _grown(asked, self._nodes[made[0]], made[1], shared=made[0] in shared)
                if found.refusal or found.more_bytes:
                    yield found
        for each in self._requests.promised(workload):
            found = _grown_promise(each, self._nodes[each.node], shared=each.node in shared)
            if found.refusal or found.more_bytes:
                yield found


def _grown(asked: DiskRequest, node: Node, volume: PlacedVolume, *, shared: bool) -> Growth:
    place = volume.location
    is_of = class_of_place(node, place)
    size_bytes, more_bytes, refusal = asked.size_bytes, 0, ""
    if not _serves(is_of, asked.storage_class, shared=shared):
        refusal = (
            f"volume {asked.name} is on {place} and of class {is_of}: it cannot become {asked.storage_class}"
        )
    elif is_share(is_of):
        extent_bytes = next(each.extent_bytes for each in node.volume_groups if each.name == place)
        has_bytes = volume_bytes(volume.size_bytes, extent_bytes)
        more_bytes = max(0, volume_bytes(size_bytes, extent_bytes) - has_bytes)
    elif shared:
        more_bytes = max(0, size_bytes - volume.size_bytes)
    else:
        drive_bytes = next(each.size_bytes for each in node.drives if each.uuid == place)
        has_bytes = max(volume.size_bytes, whole_drive_bytes(drive_bytes))
        if size_bytes > has_bytes:
            refusal = f"volume {asked.name} has all of drive {place}, which are {readable_bytes(has_bytes)}"
    return Growth(asked.name, node.name, place, is_of, size_bytes, more_bytes, refusal)


def _grown_promise(promised: Promised, node: Node, *, shared: bool) -> Growth:
    """Return how a volume grows that is not there yet: a share of a drive will be one of its group."""
    asked, name, place, has = promised
    is_of = class_of_place(node, place)
    size_bytes, more_bytes, refusal = asked.size_bytes, 0, ""
    whole = bool(has.of(WHOLE_DRIVE))
    if not (shared or whole or is_share(is_of)):
        is_of = cast("LocalClass", f"{is_of}{GROUP_SUFFIX}")
    if not _serves(is_of, asked.storage_class, shared=shared):
        refusal = f"volume {asked.name} is promised on {place} as {is_of}: it cannot be {asked.storage_class}"
    elif whole:
        drive_bytes = next((each.size_bytes for each in node.drives if each.uuid == place), 0)
        if size_bytes > whole_drive_bytes(drive_bytes):
            refusal = f"volume {asked.name} is promised on drive {place}, which is smaller"
    else:
        extents = {each.name: each.extent_bytes for each in node.volume_groups}
        wanted_bytes = size_bytes if shared else volume_bytes(size_bytes, extents.get(place, EXTENT_BYTES))
        more_bytes = max(0, wanted_bytes - has.of(VOLUME_SPACE))
    return Growth(asked.name, name, place, is_of, size_bytes, more_bytes, refusal)


def _serves(is_of: LocalClass, wanted: LocalClass, *, shared: bool) -> bool:
    if shared:
        return drive_class_of(wanted) in {"", drive_class_of(is_of)}
    return wanted == is_of or (wanted == ANY and not is_share(is_of))
