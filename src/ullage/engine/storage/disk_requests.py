"""The volumes of a workload that want a local disk on the node it is put on.

A claim that has its volume asks for nothing: where that is decides where the workload can go. A volume that
goes with its workload is asked for wherever the workload comes to be. The hard thing is to ask once: two
volumes may name one claim, and a claim may have a volume on a disk before it is bound.
"""

from collections.abc import Iterator

import msgspec

from ullage.engine.storage.local_class import PROVISIONER, local_class, stated_class
from ullage.model.cluster import Snapshot, Volume, Workload
from ullage.model.disk_plan import DiskRequest
from ullage.model.drives import LocalClass


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

    def of(self, workload: Workload) -> tuple[DiskRequest, ...]:
        """Return what a workload asks of local disks, in order of names."""
        if not workload.volumes:
            return ()
        found: dict[str, DiskRequest] = {}
        for request in self._requests(workload):
            name = _free_name(request.name, found)
            found[name] = request if name == request.name else _renamed(request, name)
        return tuple(found[name] for name in sorted(found))

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
        claim = self._snapshot.claims.get(key)
        comes_along = volume.inline and workload.holds_capacity
        if not comes_along and (key in self._placed or (claim is not None and (claim.bound or claim.volume))):
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
        return DiskRequest(volume.claim, wanted, size_bytes, group, volume.virtual_disk)

    def _class_of(self, name: str) -> LocalClass | None:
        return local_class(self._snapshot.storage_classes.get(name), name)


def claim_key(workload: Workload, volume: Volume) -> str:
    """Return the key of the claim that a volume of a workload names."""
    return f"{workload.namespace}/{volume.claim}" if workload.namespace else volume.claim


def _is_template(workload: Workload, volume: Volume) -> bool:
    """Whether a volume is one of which each replica of a set has its own, with a claim of its own."""
    return workload.kind == "StatefulSet" and bool(volume.size_bytes) and not volume.inline


def _free_name(name: str, taken: dict[str, DiskRequest]) -> str:
    """Return a name that no other request has: names of claims and of volumes may meet."""
    candidates = (name, *(f"{name}-{number}" for number in range(2, len(taken) + 2)))
    return next(each for each in candidates if each not in taken)


def _renamed(request: DiskRequest, name: str) -> DiskRequest:
    return DiskRequest(
        name, request.storage_class, request.size_bytes, request.storage_group, request.virtual_disk
    )
