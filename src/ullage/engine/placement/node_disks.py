"""The disks of one node in a trial: what they offer, what is held of them, and what serving volumes costs."""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from ullage.model.cluster import Node
from ullage.model.disk_plan import DiskCapacity, DiskHold, NodeDisks
from ullage.model.drives import PlacedVolume
from ullage.model.ledger import StorageMode

Cost = tuple[int, int]


class Disks(NamedTuple):
    """What a node's disks offer, what is held of them, and how one is chosen."""

    mode: StorageMode
    capacities: tuple[DiskCapacity, ...]
    holds: tuple[DiskHold, ...]

    def signature(self) -> tuple[object, ...]:
        """Return what the planner's yes or no depends on: equal for nodes whose disks differ in name only."""
        held: dict[str, list[tuple[str, int]]] = {}
        for hold in self.holds:
            held.setdefault(hold.capacity, []).append((hold.storage_class, hold.size_bytes))
        kinds = [
            (
                each.storage_class, each.size_bytes, each.storage_group, each.tainted, each.cold,
                each.virtual_disks, each.used_bytes, each.extent_bytes,
                tuple(sorted(held.get(each.name, ()))),
            )
            for each in self.capacities
        ]  # fmt: skip
        return self.mode, tuple(sorted(kinds))

    def cost(self, served: NodeDisks) -> Cost:
        """Return what the node's way of serving costs, the less the better, as its mode sees it.

        Drives opened, then what is stranded; in mode compat the node with most capacities wins, in mode zos
        the one that spins up the fewest drives.
        """
        if self.mode == "compat":
            return -sum(not each.tainted for each in self.capacities), 0
        if self.mode == "zos":
            return len(served.spun_up), 0
        return len(served.opened), served.stranded_bytes


def without_volumes(node: Node, gone: Sequence[PlacedVolume]) -> Node:
    """Return a node without volumes: groups have more free, and a drive that had one is free again."""
    names = {volume.name for volume in gone}
    freed: dict[str, int] = {}
    for volume in gone:
        freed[volume.location] = freed.get(volume.location, 0) + volume.size_bytes
    return msgspec.structs.replace(
        node,
        placed_volumes=tuple(each for each in node.placed_volumes if each.name not in names),
        drives=tuple(
            msgspec.structs.replace(each, clean=True) if each.uuid in freed else each for each in node.drives
        ),
        volume_groups=tuple(
            msgspec.structs.replace(each, free_bytes=each.free_bytes + freed[each.name])
            if each.name in freed
            else each
            for each in node.volume_groups
        ),
    )
