"""Drives, volume groups, the volumes on them and the promises about them, with pseudonyms.

The hard part is names inside names: a promise names its capacity as drive/NODE/UUID or group/NODE/NAME (or
group/NODE/NAME/POOL), and whoever it is for may be a workload, which has a pseudonym of its own.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from ullage.model.cluster import Node, Workload
from ullage.model.drives import Drive, PlacedVolume, VolumeGroup
from ullage.model.ledger_entry import LedgerEntry
from ullage.model.storage import Claim
from ullage.sources.redact_storage import StorageRedactor

REDACTED = "redacted"
_ON_NODES = {"drive": "drive", "group": "vg"}
_BY_NAME = {"node": "node", "cache": "node", "quota": "quota"}


class DriveRedactor:
    """Redacts what nodes store things on; knows the workloads and claims that names may mean."""

    def __init__(
        self,
        storage: StorageRedactor,
        nodes: Iterable[Node],
        workloads: Iterable[Workload],
        claims: Iterable[Claim],
    ) -> None:
        self._storage = storage
        self._name = storage.name
        self._workloads = {each.key: each for each in workloads}
        self._claims = {each.name for each in claims}
        self._kinds: dict[str, str] = {}
        self._pools: dict[str, tuple[str, str]] = {}
        for node in nodes:
            self._kinds |= {group.name: "vg" for group in node.volume_groups} | {node.name: "node"}
            for group in node.volume_groups:
                self._pools |= {
                    f"{group.name}/{each.name}": (group.name, each.name) for each in group.thin_pools
                }

    def disks(self, node: Node) -> dict[str, Any]:
        """Return the fields of a node that are about its disks."""
        groups = {group.name for group in node.volume_groups}
        return {
            "drives": tuple(map(self._drive, node.drives)),
            "volume_groups": tuple(map(self._group, node.volume_groups)),
            "placed_volumes": tuple(self._placed(volume, groups) for volume in node.placed_volumes),
        }

    def _drive(self, drive: Drive) -> Drive:
        return msgspec.structs.replace(
            drive,
            uuid=self._name("drive", drive.uuid),
            path="",
            storage_group=self._storage.storage_group(drive.storage_group),
        )

    def _group(self, group: VolumeGroup) -> VolumeGroup:
        return msgspec.structs.replace(
            group,
            name=self._name("vg", group.name),
            drives=tuple(self._name("drive", uuid) for uuid in group.drives),
            storage_group=self._storage.storage_group(group.storage_group),
            thin_pools=tuple(
                msgspec.structs.replace(each, name=self._name("pool", each.name)) for each in group.thin_pools
            ),
        )

    def _placed(self, volume: PlacedVolume, groups: set[str]) -> PlacedVolume:
        return msgspec.structs.replace(
            volume,
            name=self._name("pv", volume.name),
            location=self._name("vg" if volume.location in groups else "drive", volume.location),
            claim=self._storage.claim_key(volume.claim),
            owner=self._owner(volume.owner),
        )

    def reservation(self, entry: LedgerEntry) -> LedgerEntry:
        """Return a promise with pseudonyms for whom it is, what for, and where."""
        request = "claim" if entry.request in self._claims else "request"
        return msgspec.structs.replace(
            entry,
            reservation=self._name("reservation", entry.reservation),
            request=self._name(request, entry.request),
            capacity=self._capacity(entry.capacity),
            drives=tuple(map(self._capacity, entry.drives)),
            owner=self._owner(entry.owner),
            blocked_by=self._name("reservation", entry.blocked_by),
            reason=REDACTED if entry.reason else "",
        )

    def _owner(self, owner: str) -> str:
        workload = self._workloads.get(owner)
        if workload is None:
            return self._name("owner", owner)
        name = self._name("workload", workload.name)
        return f"{self._name('namespace', workload.namespace)}/{name}" if workload.namespace else name

    def _capacity(self, capacity: str) -> str:
        kind, _, rest = capacity.partition("/")
        if rest and kind in _BY_NAME:
            return f"{kind}/{self._name(_BY_NAME[kind], rest)}"
        node, slash, disk = rest.partition("/")
        if kind == "group" and disk in self._pools:
            group, pool = self._pools[disk]
            return f"group/{self._name('node', node)}/{self._name('vg', group)}/{self._name('pool', pool)}"
        if slash and kind in _ON_NODES:
            return f"{kind}/{self._name('node', node)}/{self._name(_ON_NODES[kind], disk)}"
        return self._name(self._kinds.get(capacity, "drive"), capacity)
