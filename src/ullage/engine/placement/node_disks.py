"""The disks of one node in a trial: what they offer, what is held of them, and what serving volumes costs."""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from ullage.engine.storage.growth import Growth
from ullage.model.cluster import Node
from ullage.model.disk_plan import DiskCapacity, DiskHold, DiskWitness, NodeDisks
from ullage.model.drives import PlacedVolume
from ullage.model.ledger import StorageMode
from ullage.model.quantity import readable_bytes

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

    def lacking(self, growing: Sequence[Growth]) -> DiskWitness | None:
        """Return why volumes that exist cannot all grow on the disks they are on; None if they can."""
        names = tuple(each.request for each in growing)
        node = growing[0].node
        refused = [each.refusal for each in growing if each.refusal]
        if refused:
            remedy = "make a new claim of that class or size, and copy the data"
            return DiskWitness(node, names, "; ".join(refused), remedy=remedy)
        for place in sorted({each.place for each in growing}):
            more_bytes = sum(each.more_bytes for each in growing if each.place == place)
            free_bytes = self._free_bytes(place)
            if more_bytes > free_bytes:
                listed = ", ".join(each.request for each in growing if each.place == place)
                reason = (
                    f"{listed} cannot grow by {readable_bytes(more_bytes)}: {place} has "
                    f"{readable_bytes(free_bytes)} free"
                )
                missing_bytes = more_bytes - free_bytes
                remedy = f"ask for {readable_bytes(missing_bytes)} less, or free as much there"
                return DiskWitness(node, names, reason, missing_bytes, remedy)
        return None

    def _free_bytes(self, place: str) -> int:
        """Return what a group or a shared drive has beside what is held of it."""
        has_bytes = sum(each.size_bytes - each.used_bytes for each in self.capacities if each.name == place)
        return max(0, has_bytes - sum(each.size_bytes for each in self.holds if each.capacity == place))

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


def growth_hold(growth: Growth) -> DiskHold:
    """Return what a volume that grows takes beside what it has."""
    return DiskHold(
        "", growth.request, growth.node, growth.place, growth.storage_class, growth.more_bytes, bound=True
    )


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
