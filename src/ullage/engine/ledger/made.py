"""Which promised volumes exist: then they take their room themselves, and their promises do not.

A volume answers for one promise: that of its claim, or one of those of the workload that it goes with. It is
counted for as much as it has and was promised, so that a promise that has grown still holds the difference.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping

import msgspec

from ullage.engine.ledger.naming import claim_named_by, ordinal_of, place_of_owner, volume_of
from ullage.engine.ledger.view import Key, key_of
from ullage.engine.placement.running import sets_of
from ullage.engine.storage.capacities import entries_by_node
from ullage.engine.storage.extents import volume_bytes
from ullage.model.cluster import Node, Snapshot
from ullage.model.drives import PlacedVolume
from ullage.model.ledger import VOLUME_SPACE, WHOLE_DRIVE
from ullage.model.ledger_entry import LedgerEntry
from ullage.model.resources import NOTHING, Resources


def made_of(
    snapshot: Snapshot, entries: Iterable[LedgerEntry], new: Collection[Key] = ()
) -> dict[Key, Resources]:
    """Return what exists of the volumes that entries promise; those of which nothing does are left out.

    The `new` ones are promised only now: a volume that is there and nobody's was not made for them.
    """
    found: dict[Key, Resources] = {}
    by_claim = any(volume.claim for node in snapshot.nodes for volume in node.placed_volumes)
    for name, promised in entries_by_node(entry for entry in entries if entry.holds).items():
        node = snapshot.nodes.get(name)
        if node is not None:
            found.update(_Node(snapshot, node, by_claim=by_claim).matched(promised, new))
    return found


def as_it_is(entry: LedgerEntry, made: Mapping[Key, Resources]) -> tuple[LedgerEntry, ...]:
    """Return an entry as the cluster shows it: bound as far as its volume exists, reserved for the rest."""
    exists = made.get(key_of(entry), NOTHING)
    rest = (entry.resources - exists).without_zeros()
    parts = []
    if exists:
        parts.append(msgspec.structs.replace(entry, state="BOUND", resources=exists))
    if rest or not exists:
        parts.append(msgspec.structs.replace(entry, state="RESERVED", resources=rest))
    return tuple(parts)


class _Node:
    """The volumes of a node: by claim, and by the workload or the set that they go with."""

    def __init__(self, snapshot: Snapshot, node: Node, *, by_claim: bool) -> None:
        self._of_claim: dict[str, list[PlacedVolume]] = {}
        self._of_owner: dict[tuple[str, str], list[PlacedVolume]] = {}
        self._of_nobody: dict[str, list[PlacedVolume]] = {}
        self._in_use = {drive.uuid for drive in node.drives if not drive.clean}
        self._in_use -= {volume.location for volume in node.placed_volumes}
        for volume in node.placed_volumes:
            if not by_claim and not volume.owner:
                self._of_nobody.setdefault(volume.name.rpartition("/")[2], []).append(volume)
            self._of_claim.setdefault(volume.claim, []).append(volume)
            self._of_owner.setdefault(("", volume.owner), []).append(volume)
            workload = snapshot.workloads.get(volume.owner)
            if workload is not None and workload.owner:
                for name in sets_of(workload.owner):
                    self._of_owner.setdefault((workload.namespace, name), []).append(volume)
        self._extents = {group.name: group.extent_bytes for group in node.volume_groups}
        self._groups_on: dict[str, set[str]] = {}
        for group in node.volume_groups:
            for uuid in group.drives:
                self._groups_on.setdefault(uuid, set()).add(group.name)

    def matched(
        self, entries: Iterable[LedgerEntry], new: Collection[Key]
    ) -> Iterator[tuple[Key, Resources]]:
        """Yield what is made of each; claims say it for sure, of what goes with a workload the nearest."""
        pairs = []
        for entry in entries:
            if entry.refers:
                continue  # the volume is that of the entry which has the bytes
            places = self._places(entry)
            whole = entry.state == "BOUND" and bool(entry.resources.of(WHOLE_DRIVE))
            if whole and not self._in_use.isdisjoint(places):
                yield key_of(entry), entry.resources
                continue
            asked_bytes = entry.resources.of(VOLUME_SPACE)
            for rank, volumes in enumerate(self._meant(entry, is_new=key_of(entry) in new)):
                for volume in volumes:
                    if volume.location in places:
                        apart_bytes = abs(self._bytes(volume) - asked_bytes) if rank else 0
                        pairs.append((rank, apart_bytes, volume.name, key_of(entry), entry, volume))
        done: set[Key] = set()
        used: set[str] = set()
        for _, _, name, key, entry, volume in sorted(pairs, key=lambda pair: pair[:4]):
            if key not in done and name not in used:
                done.add(key)
                used.add(name)
                yield key, self._exists(entry, volume)

    def _meant(self, entry: LedgerEntry, *, is_new: bool) -> Iterator[list[PlacedVolume]]:
        """Yield the volumes of an entry's claim, of its owner, and of the pods of the set that owns it.

        Hosts do not know claims: there a volume that nobody has is known by the name and the size that were
        promised.
        """
        namespace, name = place_of_owner(entry.owner)
        kind, _ = ordinal_of(entry.reservation, entry.owner)
        claim = entry.claim or claim_named_by(entry.owner, entry.request)
        yield self._of_claim.get(claim, [])
        alike = [] if is_new else self._of_nobody.get(volume_of(entry.request), [])
        asked_bytes, wholly = entry.resources.of(VOLUME_SPACE), bool(entry.resources.of(WHOLE_DRIVE))
        yield [volume for volume in alike if wholly or self._bytes(volume) == asked_bytes]
        if not entry.request.startswith(f"{name}-"):
            return  # what goes with a workload is called after it
        yield self._of_owner.get(("", entry.owner), [])
        yield self._of_owner.get((namespace, f"{kind}/{name}"), []) if kind else []

    def _places(self, entry: LedgerEntry) -> set[str]:
        """Return the drives and groups that bytes of an entry may be on by now."""
        names = {place_of_disk(name) for name in (entry.capacity, *entry.drives)}
        return names.union(*(self._groups_on.get(name, ()) for name in names))

    def _bytes(self, volume: PlacedVolume) -> int:
        extent_bytes = self._extents.get(volume.location)
        return volume_bytes(volume.size_bytes, extent_bytes) if extent_bytes else volume.size_bytes

    def _exists(self, entry: LedgerEntry, volume: PlacedVolume) -> Resources:
        resources = entry.resources
        if resources.of(WHOLE_DRIVE) and volume.location not in self._extents:
            return resources
        return Resources({VOLUME_SPACE: min(self._bytes(volume), resources.of(VOLUME_SPACE))})


def place_of_disk(capacity: str) -> str:
    """Return the name of a drive or group on its node: what comes after the kind and the node."""
    return capacity.partition("/")[2].partition("/")[2]
