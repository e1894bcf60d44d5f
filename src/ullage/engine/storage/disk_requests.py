"""The volumes of a workload that want a local disk on the node it is put on.

A claim that has its volume asks for nothing: where that is decides where the workload can go. A volume that
goes with its workload is asked for wherever the workload comes to be. The hard thing is to ask once: two
volumes may name one claim, a claim may have a volume on a disk before it is bound, and one that is promised
to another has its disk already.
"""

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from ullage.engine.storage.local_class import PROVISIONER, local_class, stated_class
from ullage.model.cluster import Snapshot, Volume, Workload
from ullage.model.disk_plan import DiskRequest
from ullage.model.drives import LocalClass
from ullage.model.ledger import node_of
from ullage.model.ledger_entry import LedgerEntry
from ullage.model.resources import Resources


class Promised(NamedTuple):
    """A volume that another owner has been promised: where it will be, and what it has there of a disk."""

    request: DiskRequest
    node: str
    place: str
    resources: Resources


def disk_requests(workload: Workload, snapshot: Snapshot) -> tuple[DiskRequest, ...]:
    """Return what one workload asks of local disks, by name; for many workloads see DiskRequests."""
    return DiskRequests(snapshot).of(workload)


class DiskRequests:
    """Looks up claims, classes and volumes of one snapshot for many workloads."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._default_class = next((each.name for each in snapshot.storage_classes if each.default), "")
        self._placed = frozenset(
            volume.claim for node in snapshot.nodes for volume in node.placed_volumes if volume.claim
        )
        self._promised: dict[str, list[LedgerEntry]] = {}
        for entry in snapshot.reservations:
            if entry.claim and entry.holds:
                self._promised.setdefault(entry.claim, []).append(entry)

    def of(self, workload: Workload) -> tuple[DiskRequest, ...]:
        """Return what a workload asks of local disks, in order of names; claims have their own names."""
        if not workload.volumes:
            return ()
        found: dict[str, DiskRequest] = {}
        for request in sorted(self._requests(workload), key=lambda each: not each.claim):
            name = _free_name(request.name, found)
            found[name] = request if name == request.name else _renamed(request, name)
        return tuple(found[name] for name in sorted(found))

    def promised(self, workload: Workload) -> tuple[Promised, ...]:
        """Return the volumes of a workload that others have been promised and that do not exist yet."""
        if not workload.volumes or not self._promised:
            return ()
        found = []
        for volume in {each.claim: each for each in workload.volumes if each.claim}.values():
            place = self._place_of(workload, volume)
            asked = self.asked_by_claim(workload, volume) if place is not None else None
            if place is not None and asked is not None:
                found.append(Promised(asked, *place))
        return tuple(found)

    def _place_of(self, workload: Workload, volume: Volume) -> tuple[str, str, Resources] | None:
        """Return node and disk where somebody else has been promised the volume of a claim, and how much."""
        key = claim_key(workload, volume)
        entries = self._promised.get(key, ())
        if volume.inline or self._has_volume(key) or all(each.owner == workload.key for each in entries):
            return None
        entry = next((each for each in entries if not each.refers), None)
        node = None if entry is None else self._snapshot.nodes.get(node_of(entry.capacity))
        if entry is None or node is None:
            return None
        groups = {uuid: group.name for group in reversed(node.volume_groups) for uuid in group.drives}
        known = {drive.uuid: groups.get(drive.uuid, drive.uuid) for drive in node.drives}
        known.update((group.name, group.name) for group in node.volume_groups)
        names = (name.partition("/")[2].partition("/")[2] for name in (entry.capacity, *entry.drives))
        place = next((known[name] for name in names if name in known), None)
        return None if place is None else (node.name, place, entry.resources)

    def _has_volume(self, key: str) -> bool:
        claim = self._snapshot.claims.get(key)
        return key in self._placed or (claim is not None and (claim.bound or bool(claim.volume)))

    def _requests(self, workload: Workload) -> Iterator[DiskRequest]:
        asked: set[str] = set()
        for volume in workload.volumes:
            if not volume.claim:
                yield from self._without_claim(workload, volume)
            elif volume.claim not in asked:
                asked.add(volume.claim)
                yield from self._of_claim(workload, volume)

    def _without_claim(self, workload: Workload, volume: Volume) -> Iterator[DiskRequest]:
        """Yield a volume that a driver makes for one workload, under the name that csi-baremetal gives it."""
        if volume.driver == PROVISIONER:
            wanted: LocalClass | None = stated_class(volume.storage_class)
        else:
            wanted = None if volume.driver else self._class_of(volume.storage_class)
        if wanted is not None:
            name = f"{workload.name}-{volume.name}"
            yield DiskRequest(name, wanted, volume.size_bytes, volume.storage_group, volume.virtual_disk)

    def _of_claim(self, workload: Workload, volume: Volume) -> Iterator[DiskRequest]:
        key = claim_key(workload, volume)
        comes_along = volume.inline and workload.holds_capacity
        if not comes_along and (self._has_volume(key) or self._place_of(workload, volume) is not None):
            return
        asked = self.asked_by_claim(workload, volume)
        if asked is not None:
            yield asked

    def asked_by_claim(self, workload: Workload, volume: Volume) -> DiskRequest | None:
        """Return what a claim asks of a local disk, whether it has its volume or not; None if nothing."""
        claim = self._snapshot.claims.get(claim_key(workload, volume))
        stated = volume.storage_class if claim is None else claim.storage_class
        if claim is not None and _is_template(workload, volume):
            # what is asked for is what the set says, also where a replica has its claim already
            stated = volume.storage_class or claim.storage_class
            claim = msgspec.structs.replace(claim, size_bytes=volume.size_bytes)
        wanted = self._class_of(stated or (self._default_class if claim is None else ""))
        if wanted is None:
            return None
        size_bytes = volume.size_bytes if claim is None else claim.size_bytes
        group = volume.storage_group if claim is None else claim.storage_group
        shared = "" if is_own_claim(workload, volume) else claim_key(workload, volume)
        return DiskRequest(volume.claim, wanted, size_bytes, group, volume.virtual_disk, shared)

    def _class_of(self, name: str) -> LocalClass | None:
        return local_class(self._snapshot.storage_classes.get(name), name)


def claim_key(workload: Workload, volume: Volume) -> str:
    """Return the key of the claim that a volume of a workload names."""
    return f"{workload.namespace}/{volume.claim}" if workload.namespace else volume.claim


def is_own_claim(workload: Workload, volume: Volume) -> bool:
    """Whether each replica has a claim of its own: one that goes with it, or one of a StatefulSet."""
    _, _, owner = workload.owner.partition("/")
    return volume.inline or (workload.kind == "StatefulSet" and volume.claim == f"{volume.name}-{owner}")


def _is_template(workload: Workload, volume: Volume) -> bool:
    """Whether a volume is one of which each replica of a set has its own, with a claim of its own."""
    return workload.kind == "StatefulSet" and bool(volume.size_bytes) and not volume.inline


def _free_name(name: str, taken: dict[str, DiskRequest]) -> str:
    """Return a name that no other request has: names of claims and of volumes may meet."""
    candidates = (name, *(f"{name}-{number}" for number in range(2, len(taken) + 2)))
    return next(each for each in candidates if each not in taken)


def _renamed(request: DiskRequest, name: str) -> DiskRequest:
    return msgspec.structs.replace(request, name=name)
