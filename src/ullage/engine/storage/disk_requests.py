"""The volumes of a workload that want a local disk on the node it is put on.

A claim that has its volume asks for nothing: where that is decides where the workload can go. A volume that
goes with its workload is asked for wherever the workload comes to be. The hard thing is to ask once: two
volumes may name one claim, a claim may have a volume on a disk before it is bound, and one that is promised
to another has its disk already; where that disk can give nothing any more, nobody new is to come to it.
"""

from collections.abc import Collection, Iterator
from typing import NamedTuple

import msgspec

from ullage.engine.columns import RulesByPlace
from ullage.engine.storage.capacities import by_ledger_name, capacities_of
from ullage.engine.storage.local_class import PROVISIONER, local_class, stated_class
from ullage.model.cluster import Node, Snapshot, Volume, Workload
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


class Lost(NamedTuple):
    """A claim that is promised on a disk which gives nothing to new volumes, and who has been promised it."""

    claim: str
    capacity: str
    reservations: tuple[str, ...]

    @property
    def reason(self) -> str:
        """Why nobody else can have it."""
        return f"claim {self.claim} is promised on {self.capacity}, which gives nothing to new volumes now"

    @property
    def remedy(self) -> str:
        """What to do: if all who have been promised it ask for it anew, it is planned anew."""
        return f"release {', '.join(self.reservations)} first, or ask for all who share the claim together"


def disk_requests(workload: Workload, snapshot: Snapshot) -> tuple[DiskRequest, ...]:
    """Return what one workload asks of local disks, by name; for many workloads see DiskRequests."""
    return DiskRequests(snapshot).of(workload)


class DiskRequests:
    """Looks up claims, classes and volumes of one snapshot for many workloads."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._default_class = next((each.name for each in snapshot.storage_classes if each.default), "")
        self._rules = RulesByPlace(snapshot)
        self._offers: dict[str, dict[str, str]] = {}
        self._placed: dict[str, list[str]] = {}
        for node in snapshot.nodes:
            for volume in node.placed_volumes:
                if volume.claim:
                    self._placed.setdefault(volume.claim, []).append(node.name)
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

    def lost(self, workload: Workload) -> tuple[Lost, ...]:
        """Return the claims of a workload that others have been promised where nothing is to be had now."""
        if not workload.volumes or not self._promised:
            return ()
        found = []
        for volume in {each.claim: each for each in workload.volumes if each.claim}.values():
            entry = self._promised_to_others(workload, volume)
            if entry is not None and self._disk_of(entry) is None:
                found.append(self._lost(claim_key(workload, volume), entry))
        return tuple(found)

    def lost_together(self, owners: Collection[str]) -> list[LedgerEntry]:
        """Return the promises of claims that are lost and that nobody but these owners has."""
        found = []
        for key, entries in self._promised.items():
            holders = {each.owner for each in entries}
            entry = next((each for each in entries if not each.refers), None)
            theirs = holders <= set(owners) and not self._has_volume(key)
            if entry is not None and theirs and self._disk_of(entry) is None:
                found += entries
        return found

    def nodes_with(self, workload: Workload, volume: Volume) -> tuple[str, ...]:
        """Return the nodes on whose disks a claim of a workload that comes anew has its volume.

        None where it has none there, nor for what runs: what becomes of its volumes when its node is lost or
        drained is not asked here.
        """
        if workload.holds_capacity:
            return ()
        return tuple(self._placed.get(claim_key(workload, volume), ()))

    def knows(self, workload: Workload, volume: Volume) -> bool:
        """Whether a claim is there, has a volume, or is promised to others: then not every node will do."""
        key = claim_key(workload, volume)
        others = self._promised_to_others(workload, volume) is not None
        return others or key in self._placed or key in self._snapshot.claims

    def _promised_to_others(self, workload: Workload, volume: Volume) -> LedgerEntry | None:
        """Return who has the bytes of a claim that exists as a promise, and not only to who asks for it."""
        key = claim_key(workload, volume)
        entries = self._promised.get(key, ())
        if volume.inline or self._has_volume(key) or all(each.owner == workload.key for each in entries):
            return None
        return next((each for each in entries if not each.refers), None)

    def _place_of(self, workload: Workload, volume: Volume) -> tuple[str, str, Resources] | None:
        """Return node and disk where somebody else has been promised the volume of a claim, and how much."""
        entry = self._promised_to_others(workload, volume)
        place = None if entry is None else self._disk_of(entry)
        return None if entry is None or place is None else (node_of(entry.capacity), place, entry.resources)

    def _disk_of(self, entry: LedgerEntry) -> str | None:
        """Return the drive or group on which a promise would be kept; None where it has gone or fails."""
        node = self._snapshot.nodes.get(node_of(entry.capacity))
        if node is None:
            return None
        offered = self._offered(node)
        for name in (entry.capacity, *entry.drives):
            if name in offered:
                return offered[name]
        return None

    def _offered(self, node: Node) -> dict[str, str]:
        """Return the disks of a node that give something to new volumes, by their names in a ledger."""
        found = self._offers.get(node.name)
        if found is None:
            rules = self._rules.of(node)
            disks = capacities_of(node, shared=rules.storage_mode == "zos", rules=rules)
            named = by_ledger_name(node, disks).items()
            found = {name: disk.name for name, disk in named if disk is not None}
            self._offers[node.name] = found
        return found

    def _lost(self, key: str, entry: LedgerEntry) -> Lost:
        names = {each.reservation for each in self._promised[key]}
        return Lost(key, entry.capacity, tuple(sorted(names)))

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
        others = self._promised_to_others(workload, volume)
        if not comes_along and (self._has_volume(key) or others is not None):
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


def volumes_of_replica(workload: Workload, replica: str) -> tuple[Volume, ...]:
    """Return the volumes of a set with the claims of a replica in place of those of its templates."""
    if workload.kind != "StatefulSet":
        return workload.volumes
    return tuple(
        msgspec.structs.replace(each, claim=f"{each.name}-{replica}")
        if each.claim and not each.inline and is_own_claim(workload, each)
        else each
        for each in workload.volumes
    )


def _is_template(workload: Workload, volume: Volume) -> bool:
    """Whether a volume is one of which each replica of a set has its own, with a claim of its own."""
    return workload.kind == "StatefulSet" and bool(volume.size_bytes) and not volume.inline


def _free_name(name: str, taken: dict[str, DiskRequest]) -> str:
    """Return a name that no other request has: names of claims and of volumes may meet."""
    candidates = (name, *(f"{name}-{number}" for number in range(2, len(taken) + 2)))
    return next(each for each in candidates if each not in taken)


def _renamed(request: DiskRequest, name: str) -> DiskRequest:
    return msgspec.structs.replace(request, name=name)
