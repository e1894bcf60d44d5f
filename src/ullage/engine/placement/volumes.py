"""What the volumes of a workload mean for where it may go, as kube-scheduler judges them.

A claim that has a volume is where that volume is reached from. One that waits for its first consumer gets a
free volume, or one is made for it, on the node that is chosen. The hard thing is a claim that nobody has made
yet: those of a workload that is asked about are judged as if they were there, all others stop it.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np

from ullage.engine.columns import Columns
from ullage.engine.placement.attachments import AttachLimit, Attachments
from ullage.engine.placement.disk_holders import DiskHolder
from ullage.engine.placement.local_disks import DiskRule, LocalDisks
from ullage.engine.placement.node_columns import Flags, NodeColumns
from ullage.engine.placement.rules import Fixed, Rule
from ullage.engine.placement.selectors import requirements_of
from ullage.engine.placement.shapes import Shape
from ullage.engine.placement.volume_binding import (
    Attached,
    Binding,
    ClaimUse,
    Offer,
    OpenClaim,
    SinglePod,
    VolumeHold,
)
from ullage.engine.placement.volume_places import NO_PROVISIONER, OnNodes, Places, Reach
from ullage.engine.placement.volume_pools import Pool, Wanted
from ullage.engine.storage.disk_requests import DiskRequests, Lost, is_own_claim
from ullage.engine.storage.growth import Growths
from ullage.engine.storage.local_class import class_standing_for_itself
from ullage.model.cluster import Volume, Workload
from ullage.model.settings import rules_for
from ullage.model.storage import Claim, PersistentVolume, StorageClass

SINGLE_POD: Final = "ReadWriteOncePod"
WAITS: Final = "WaitForFirstConsumer"
MIGRATED: Final = {
    "kubernetes.io/aws-ebs": "ebs.csi.aws.com",
    "kubernetes.io/azure-disk": "disk.csi.azure.com",
    "kubernetes.io/cinder": "cinder.csi.openstack.org",
    "kubernetes.io/gce-pd": "pd.csi.storage.gke.io",
    "kubernetes.io/portworx-volume": "pxd.portworx.com",
}
"""Drivers that serve the provisioners which Kubernetes once had built in."""


class Volumes:
    """The claims, volumes and attachments of a cluster, as far as shapes have asked for them."""

    def __init__(self, columns: Columns, nodes: NodeColumns) -> None:
        snapshot = columns.snapshot
        self._snapshot = snapshot
        self.disks = LocalDisks(columns, nodes.nodes)
        self.requests = DiskRequests(snapshot)
        self.growths = Growths(snapshot, self.requests)
        self._few_drives = rules_for(snapshot.policy, snapshot.resource_types).few_drives == "yes"
        self._places = Places(snapshot, nodes)
        self._nodes = nodes.nodes
        self._count = len(nodes.nodes)
        self._row_of = {node.name: row for row, node in enumerate(nodes.nodes)}
        self.pools: dict[str, Pool] = {}
        self._of_class: dict[str, list[PersistentVolume]] = {}
        self._meant: dict[str, list[PersistentVolume]] = {}
        for volume in snapshot.volumes:
            self._of_class.setdefault(volume.storage_class, []).append(volume)
            if volume.claim:
                self._meant.setdefault(volume.claim, []).append(volume)
        self.open_claims: dict[str, OpenClaim] = {}
        self._nowhere: Flags = np.zeros(self._count, np.bool_)
        self._default_class = next((each.name for each in snapshot.storage_classes if each.default), "")
        self._knows_storage = bool(len(snapshot.storage_classes) or len(snapshot.volumes))
        self.uses = ClaimUse()
        self.attachments = Attachments(nodes.nodes)
        self._count_running()

    def _count_running(self) -> None:
        single = any(SINGLE_POD in each.access_modes for each in self._snapshot.claims)
        if not single and not self.attachments.limits:
            return
        for run in self._snapshot.workloads.runs():
            for workload in run:
                if workload.volumes and workload.holds_capacity:
                    self._count_volumes(workload, self._row_of[workload.node])

    def _count_volumes(self, workload: Workload, row: int) -> None:
        for key, volume in _claims_of(workload):
            record = self._snapshot.claims.get(key)
            if record is not None:
                self.attachments.add(self._driver_of(record), key, row, 1)
                if _takes_one(record, volume):
                    self.uses.add(key, 1)

    def rules_of(self, workload: Workload, shape: Shape) -> list[Rule]:
        """Return the rules that follow from a workload's volumes; what it takes is noted in the shape."""
        rules: list[Rule] = []
        fixed: list[Attached] = []
        single: list[str] = []
        claims: list[OpenClaim] = []
        for key, volume in _claims_of(workload):
            record = self._snapshot.claims.get(key)
            if record is not None and _takes_one(record, volume):
                single.append(key)
            if volume.inline and record is not None and workload.holds_capacity:
                if self._knows_storage:
                    claims.append(self._replaced(volume, record, key))
            elif refusal := self._refusal(volume, record):
                rules.append(OnNodes(self._places.nowhere(), refusal))
            elif record is not None and record.bound:
                fixed.append(Attached(self._driver_of(record), key))
                rules += self._where_bound(record, volume)
            elif record is not None:
                claims.append(self._waiting(record))
            elif self._knows_storage or self._is_local(volume):
                claims.append(self._fresh(volume, "" if is_own_claim(workload, volume) else key))
        rules += self._where_open(shape, claims)
        rules += self._on_disks(workload, shape, claims)
        rules += self._limits(shape, fixed, single, claims)
        return rules

    def _refusal(self, volume: Volume, record: Claim | None) -> str:
        """Return why a claim stops its workload on every node; nothing where it does not."""
        if record is None:
            return "" if volume.inline or volume.size_bytes else f"claim {volume.claim} is unknown"
        if volume.foreign_claim:
            return f"claim {record.name} was not created for it"
        if record.terminating:
            return f"claim {record.name} is being deleted"
        if record.bound:
            if record.volume and record.volume not in self._snapshot.volumes:
                return f"claim {record.name} has volume {record.volume}, which is unknown"
            return ""
        storage = self._storage_of(record.storage_class)
        if storage is None or storage.binding != WAITS or record.volume:
            return f"claim {record.name} waits for its volume"
        return ""

    def _storage_of(self, name: str) -> StorageClass | None:
        """Return the class of a name; those of local disks need no object where disks are known."""
        known = self._snapshot.storage_classes.get(name)
        return class_standing_for_itself(name) if known is None and self.disks.are_known else known

    def _is_local(self, volume: Volume) -> bool:
        """Whether a volume is one of local disks, which need no other objects to be known."""
        known = class_standing_for_itself(volume.storage_class) if self.disks.are_known else None
        return known is not None

    # Claims that have a volume

    def _where_bound(self, record: Claim, volume: Volume) -> Iterator[Rule]:
        bound = self._snapshot.volumes.get(record.volume)
        if bound is None:
            return
        reach = self._places.of_volume(bound)
        if reach is not None:
            yield OnNodes(reach, f"node affinity of volume {bound.name}")
        zone = None if volume.inline else self._places.in_zone(bound)
        if zone is not None:
            yield OnNodes(zone, f"zone of volume {bound.name}")

    def _driver_of(self, record: Claim) -> str:
        """Return who attaches a claim: the driver of its volume, else that of its class."""
        bound = self._snapshot.volumes.get(record.volume)
        if bound is not None:
            return bound.driver
        return _driver_of_class(self._storage_of(record.storage_class))

    # Claims that have none yet

    def _waiting(self, record: Claim) -> OpenClaim:
        found = self.open_claims.get(record.key)
        if found is None:
            offer = self._offer(record.storage_class, record.key, _wanted(record))
            found = OpenClaim(record.name, record.key, _wanted(record), offer, places=self._places)
            if record.selected_node:
                found.pin(self._row_of.get(record.selected_node, -1))
            self.open_claims[record.key] = found
        return found

    def _fresh(self, volume: Volume, key: str) -> OpenClaim:
        """Return a claim that is not there yet but will be, before its workload is placed."""
        found = self.open_claims.get(key)
        if found is None:
            wanted = Wanted(volume.size_bytes)
            offer = self._offer(volume.storage_class or self._default_class, key, wanted)
            found = OpenClaim(volume.claim, key, wanted, offer, places=self._places)
            if key:
                self.open_claims[key] = found
        return found

    def _replaced(self, volume: Volume, record: Claim, key: str) -> OpenClaim:
        """Return the claim that a running workload will have in stead of one that goes with it."""
        wanted = _wanted(record)
        offer = self._offer(record.storage_class or self._default_class, "", wanted)
        left = Attached(self._driver_of(record), key)
        return OpenClaim(volume.claim, "", wanted, offer, places=self._places, left=left)

    def _offer(self, class_name: str, key: str, wanted: Wanted) -> Offer:
        storage = self._storage_of(class_name)
        pool = self.pools.get(class_name)
        if pool is None:
            pool = self.pools[class_name] = Pool(self._of_class.get(class_name, ()), self._places)
        meant = [
            each
            for each in self._meant.get(key, ())
            if each.storage_class == class_name
            and each.size_bytes >= wanted.size_bytes
            and each.volume_mode == wanted.volume_mode
        ]
        return Offer(
            pool if pool.suits(wanted) else None,
            meant[0] if meant else None,
            self._provided(storage, wanted),
            _driver_of_class(storage),
            self._places.too_large(storage, wanted.size_bytes) if storage is not None else "",
        )

    def _provided(self, storage: StorageClass | None, wanted: Wanted) -> Flags | None:
        """Return the nodes for which a class can make a volume; None for all of them."""
        if storage is None or storage.provisioner in NO_PROVISIONER:
            return self._nowhere
        return self._places.provided(storage, wanted.size_bytes)

    def _where_open(self, shape: Shape, claims: list[OpenClaim]) -> Iterator[Rule]:
        """Yield the rules of open claims: those that no placement changes need no looking at again."""
        changing = []
        for claim in claims:
            if claim.key or claim.offer.pool is not None:
                changing.append(claim)
                claim.dependents.append(shape)
            elif claim.offer.provided is not None:
                yield Fixed(claim.offer.provided, f"no volume for claim {claim.told}")
        if changing:
            yield Binding(changing, shape, self._count)

    def _on_disks(self, workload: Workload, shape: Shape, claims: list[OpenClaim]) -> Iterator[Rule]:
        """Yield the rule of volumes on local disks, and note what they take before claims are decided."""
        if not self.disks.are_known:
            return
        yield from self._on_their_nodes(workload)
        requests = self.requests.of(workload)
        for request in requests:
            if request.size_bytes <= 0:
                yield OnNodes(self._places.nowhere(), f"volume {request.name} states no size")
                return
        growing = self.growths.of(workload, self.disks.shared)
        promised = self.requests.promised(workload)
        if requests or growing or promised:
            shared = {claim.name: claim for claim in claims if claim.key}
            rule = DiskRule(self.disks, requests, shared, workload.key, growing, promised=promised)
            yield rule
            shape.takes.append(DiskHolder(rule, workload))
            shape.disks = rule if self._few_drives else None

    def _on_their_nodes(self, workload: Workload) -> Iterator[Rule]:
        """Yield the rules of claims whose volumes are on disks of some node, or are promised there."""
        for _, volume in _claims_of(workload):
            names = self.requests.nodes_with(workload, volume)
            if names:
                rows = np.unique([self._row_of[name] for name in names])
                listed = ", ".join(self._nodes[row].name for row in rows.tolist())
                yield OnNodes(Reach(rows, self._count), f"volume of claim {volume.claim} is on node {listed}")
        for each in self.requests.promised(workload):
            reason = f"claim {each.request.name} is promised on node {each.node}"
            yield OnNodes(self._places.at(self._row_of[each.node]), reason)
        lost = self.lost(workload)
        if lost is not None:
            yield OnNodes(self._places.nowhere(), f"{lost.reason}: {lost.remedy}")

    def lost(self, workload: Workload) -> Lost | None:
        """Return a claim that others have been promised on a disk which gives nothing now."""
        return next(iter(self.requests.lost(workload)), None) if self.disks.are_known else None

    def _limits(
        self, shape: Shape, fixed: list[Attached], single: list[str], claims: list[OpenClaim]
    ) -> Iterator[Rule]:
        for key in single:
            self.uses.dependents.setdefault(key, []).append(shape)
            yield SinglePod(self.uses, key, self._count)
        changing = [claim for claim in claims if claim.key or claim.offer.pool is not None]
        drivers = {each.driver for each in (*fixed, *(claim.attached for claim in claims))}
        limited = sorted(filter(self.attachments.limits_any, drivers))
        if limited or (changing and self.attachments.limits):

            def attached() -> list[tuple[str, str]]:
                return [*fixed, *(claim.attached for claim in claims)]

            self.attachments.dependents.append(shape)
            listed = ", ".join(limited or sorted(self.attachments.limits))
            yield AttachLimit(self.attachments, attached, f"limit of attached volumes ({listed})")
        if limited or single or changing:
            binding = Binding(claims, shape, self._count)
            hold = VolumeHold(self.attachments, self.uses, binding, fixed=fixed, single=single)
            shape.takes.append(hold)


def _claims_of(workload: Workload) -> Iterator[tuple[str, Volume]]:
    """Yield the claims that a workload names, each once, with their keys."""
    prefix = f"{workload.namespace}/" if workload.namespace else ""
    for claim, volume in {each.claim: each for each in workload.volumes if each.claim}.items():
        yield f"{prefix}{claim}", volume


def _takes_one(record: Claim, volume: Volume) -> bool:
    return SINGLE_POD in record.access_modes and not volume.inline


def _wanted(record: Claim) -> Wanted:
    requirements = requirements_of(record.selector)
    return Wanted(record.size_bytes, frozenset(record.access_modes), record.volume_mode, requirements)


def _driver_of_class(storage: StorageClass | None) -> str:
    return "" if storage is None else MIGRATED.get(storage.provisioner, storage.provisioner)
