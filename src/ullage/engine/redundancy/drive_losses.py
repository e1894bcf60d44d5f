"""What happens when drives are lost: which volumes are gone, who used them, and where new ones could be.

The data is lost; what is asked is whether everyone could start again with empty volumes. A workload whose
other volumes are still on its node stays there, any other may go elsewhere. Of a group on several drives
nobody knows which drive its volumes are on: all of them count as lost.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

import msgspec

from ullage.engine.columns import Columns
from ullage.engine.placement.device_claims import without_device_claims
from ullage.engine.placement.fit import fit
from ullage.engine.storage.capacities import class_of_place
from ullage.engine.storage.edits import group_on, volumes_on
from ullage.engine.storage.extents import volume_bytes
from ullage.model.cluster import Batch, Node, Snapshot, Volume, Workload
from ullage.model.delta import Delta, apply
from ullage.model.drives import PlacedVolume
from ullage.model.table import Table

VOLUME_KIND = "Volume"


class LostVolume(NamedTuple):
    """A volume that was on a lost drive, or may have been; `place` is the drive or group it was on."""

    name: str
    node: str
    place: str
    size_bytes: int
    claim: str
    workloads: tuple[str, ...]


class NewHome(NamedTuple):
    """Where something that lost a volume could start again, and the disk of each new volume."""

    subject: str
    from_node: str
    to_node: str
    disks: tuple[tuple[str, str], ...]


class Homeless(NamedTuple):
    """Something that lost a volume and has no place to start again."""

    subject: str
    node: str
    reason: str
    remedy: str


class DriveLoss(NamedTuple):
    """What the loss of some drives together means.

    `unknown_bytes` were in use on them by volumes that the source does not name.
    """

    drives: tuple[str, ...]
    volumes: tuple[LostVolume, ...]
    rehomed: tuple[NewHome, ...]
    homeless: tuple[Homeless, ...]
    unknown_bytes: int


def drive_loss(snapshot: Snapshot, drives: Sequence[tuple[str, str]], placement: str = "") -> DriveLoss:
    """Return what the loss of drives means, each given as its node and its identifier."""
    by_node: dict[str, set[str]] = {}
    for name, uuid in drives:
        by_node.setdefault(name, set()).add(uuid)
    lost = [each for name, uuids in by_node.items() for each in _lost(snapshot, snapshot.nodes[name], uuids)]
    users = {key for volume in lost for key in volume.workloads}
    alone = [volume for volume in lost if not volume.workloads]
    gone = {(volume.node, volume.name) for volume in lost}
    running = sorted((snapshot.workloads[key] for key in users), key=_most_important_first)
    asked = [_anew(each, stays=_stays(snapshot.nodes[each.node], each, gone)) for each in running]
    asked += [_on_its_own(volume, snapshot.nodes[volume.node]) for volume in alone]
    after = _without(snapshot, by_node, lost, users)
    found = fit(Columns(after), [Batch(each) for each in asked], placement=placement) if asked else None
    unused = {_key(volume): volume for volume in alone}
    homes: list[NewHome] = []
    homeless: list[Homeless] = []
    for outcome in found.outcomes if found else ():
        volume = unused.get(outcome.subject)
        subject = volume.name if volume else outcome.subject
        node = volume.node if volume else snapshot.workloads[outcome.subject].node
        if outcome.refusal is None:
            disks = tuple((subject if volume else each.volume, each.place) for each in outcome.disks)
            homes.append(NewHome(subject, node, outcome.nodes[0][0], disks))
        else:
            homeless.append(Homeless(subject, node, outcome.refusal.reason, outcome.refusal.remedy))
    unknown = sum(_unknown_bytes(snapshot.nodes[name], uuids) for name, uuids in by_node.items())
    names = tuple(sorted(uuid for _, uuid in drives))
    return DriveLoss(names, tuple(lost), tuple(homes), tuple(homeless), unknown)


def _lost(snapshot: Snapshot, node: Node, uuids: Collection[str]) -> Iterator[LostVolume]:
    seen: set[str] = set()
    for uuid in sorted(uuids):
        for volume in volumes_on(node, uuid):
            if volume.name not in seen:
                seen.add(volume.name)
                yield LostVolume(
                    volume.name,
                    node.name,
                    volume.location,
                    volume.size_bytes,
                    volume.claim,
                    _users(snapshot, node, volume),
                )


def _users(snapshot: Snapshot, node: Node, volume: PlacedVolume) -> tuple[str, ...]:
    """Return the running workloads of a node that a volume goes with, or that name its claim."""
    owner = snapshot.workloads.get(volume.owner)
    if owner is not None and owner.holds_capacity and owner.node == node.name:
        return (owner.key,)
    if not volume.claim:
        return ()
    return tuple(
        each.key
        for each in snapshot.workloads
        if each.node == node.name and each.holds_capacity and _uses(each, volume)
    )


def _uses(workload: Workload, volume: PlacedVolume) -> bool:
    if volume.owner == workload.key:
        return True
    namespace, _, claim = volume.claim.rpartition("/")
    named = any(mounted.claim == claim for mounted in workload.volumes)
    return bool(claim) and namespace == workload.namespace and named


def _stays(node: Node, workload: Workload, gone: Collection[tuple[str, str]]) -> bool:
    """Whether another volume that a workload needs is still on its node; one that it owns would go along."""
    return any(
        _uses(workload, volume) and volume.owner != workload.key and (node.name, volume.name) not in gone
        for volume in node.placed_volumes
    )


def _most_important_first(workload: Workload) -> tuple[int, int, str]:
    """Order workloads as they are placed anew: by priority, then those that want the most disk space."""
    return -workload.priority, -sum(volume.size_bytes for volume in workload.volumes), workload.key


def _anew(workload: Workload, *, stays: bool) -> Workload:
    """Return a workload as one that wants a place; its devices are left aside, as in every loss."""
    asked = without_device_claims(workload)
    return msgspec.structs.replace(asked, node=workload.node if stays else "", state="init")


def _on_its_own(volume: LostVolume, node: Node) -> Workload:
    """Return a volume that nobody uses as something that wants a disk of the same class on its node."""
    wanted = Volume(
        volume.name,
        storage_class=class_of_place(node, volume.place),
        size_bytes=volume.size_bytes,
        inline=True,
        storage_group=_storage_group(node, volume.place),
    )
    return Workload(volume.name, node.name, VOLUME_KIND, node.name, state="init", volumes=(wanted,))


def _storage_group(node: Node, place: str) -> str:
    """Return the storage group of a drive or group, that of its first drive where it states none."""
    of_drive = {drive.uuid: drive.storage_group for drive in node.drives}
    group = next((each for each in node.volume_groups if each.name == place), None)
    if group is None:
        return of_drive.get(place, "")
    return group.storage_group or next((of_drive.get(uuid, "") for uuid in group.drives), "")


def _key(volume: LostVolume) -> str:
    """Return the key of a volume that nobody uses: two nodes may have volumes of one name."""
    return f"{volume.node}/{volume.name}"


def _without(
    snapshot: Snapshot,
    by_node: dict[str, set[str]],
    lost: Sequence[LostVolume],
    users: Collection[str],
) -> Snapshot:
    """Return the cluster after the loss: claims of lost volumes are open again, and their users are gone.

    Quotas are left out: those who start again were admitted before, and nobody is to be evicted for them.
    """
    claims = [claim for each in lost if (claim := snapshot.claims.get(each.claim)) is not None]
    gone = {each.volume for each in claims if each.volume in snapshot.volumes}
    reopened = (
        msgspec.structs.replace(each, bound=False, volume="", selected_node="", terminating=False)
        for each in claims
    )
    return apply(
        msgspec.structs.replace(snapshot, quotas=Table(())),
        Delta(
            nodes=tuple(_damaged(snapshot.nodes[name], uuids) for name, uuids in by_node.items()),
            claims=tuple({each.key: each for each in reopened}.values()),
            dropped={"workloads": tuple(sorted(users)), "volumes": tuple(sorted(gone))},
        ),
    )


def _damaged(node: Node, uuids: Collection[str]) -> Node:
    """Return a node whose drives have failed, without every group that one of them was part of."""
    broken = {group.name for uuid in uuids if (group := group_on(node, uuid)) is not None}
    used = {uuid for group in node.volume_groups if group.name in broken for uuid in group.drives}
    drives = (
        msgspec.structs.replace(each, status="OFFLINE", clean=False)
        if each.uuid in uuids
        else msgspec.structs.replace(each, clean=False)
        if each.uuid in used
        else each
        for each in node.drives
    )
    return msgspec.structs.replace(
        node,
        drives=tuple(drives),
        volume_groups=tuple(each for each in node.volume_groups if each.name not in broken),
        placed_volumes=tuple(each for each in node.placed_volumes if each.location not in {*uuids, *broken}),
    )


def _unknown_bytes(node: Node, uuids: Collection[str]) -> int:
    """Return what the broken groups have in use beyond the volumes that are known."""
    broken = [group for group in node.volume_groups if any(uuid in uuids for uuid in group.drives)]
    sizes: dict[str, list[int]] = {}
    for volume in node.placed_volumes:
        sizes.setdefault(volume.location, []).append(volume.size_bytes)
    unknown_bytes = 0
    for group in broken:
        known = (volume_bytes(size_bytes, group.extent_bytes) for size_bytes in sizes.get(group.name, ()))
        unknown_bytes += max(0, group.size_bytes - group.free_bytes - sum(known))
    return unknown_bytes
