"""Mode zos: volumes share drives, each of which is one pool; the roomiest that runs already is taken first.

How classes map: ZOS knows drives that turn and drives that do not. HDD and HDDLVG go to HDD drives, SSD and
SSDLVG to SSD and NVME drives, NVME and NVMELVG to NVME drives alone, ANY to HDD drives and then to the
others. There are no volume groups in ZOS: those of a node are not used, and SYSLVG is always refused. A class
never means a whole drive here: a volume takes its own bytes, not rounded, and leaves the rest to others.

The hard thing is drives that are spun down. What is free there is only seen after a look, and a look costs:
drives that are too small by themselves are not looked at, and one that is too full is shut again (an HDD
keeps running). Drives are tried in the order of their names.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from ullage.model.disk_plan import DiskCapacity, DiskHold, DiskPlan, DiskRequest, DiskWitness, NodeDisks
from ullage.model.drives import LocalClass
from ullage.model.quantity import print_bytes

_Classes = tuple[LocalClass, ...]
_HeldBytes = Mapping[tuple[str, str], int]

_TURNING: Final[_Classes] = ("HDD",)
_STILL: Final[_Classes] = ("SSD", "NVME")
_IN_TURN: Final[dict[LocalClass, tuple[_Classes, ...]]] = {
    "ANY": (_TURNING, _STILL),
    "HDD": (_TURNING,),
    "HDDLVG": (_TURNING,),
    "SSD": (_STILL,),
    "SSDLVG": (_STILL,),
    "NVME": (("NVME",),),
    "NVMELVG": (("NVME",),),
    "SYSLVG": (),
}


def plan_nodes(
    capacities: Iterable[DiskCapacity],
    holds: Iterable[DiskHold],
    requests: Iterable[DiskRequest],
    nodes: Iterable[str],
    *,
    explains: bool = True,
) -> DiskPlan:
    """Return the nodes that serve every request, those first that spin up the fewest drives."""
    ordered = in_order(requests)
    held_bytes: dict[tuple[str, str], int] = {}
    for hold in holds:
        key = (hold.node, hold.capacity)
        held_bytes[key] = held_bytes.get(key, 0) + hold.size_bytes
    offered: dict[str, list[DiskCapacity]] = {name: [] for name in nodes}
    for capacity in capacities:
        if capacity.node in offered and not capacity.tainted:
            offered[capacity.node].append(capacity)
    served: list[NodeDisks] = []
    witnesses: list[DiskWitness] = []
    for name in sorted(offered):
        node = _Node(name, offered[name], held_bytes)
        refused = node.serve(ordered)
        if refused is None:
            served.append(NodeDisks(name, node.chosen, spun_up=tuple(node.spun_up)))
        elif explains:
            witnesses.append(_witness(node, refused, ordered, held_bytes))
    return DiskPlan(tuple(sorted(served, key=lambda disks: len(disks.spun_up))), tuple(witnesses))


def in_order(requests: Iterable[DiskRequest]) -> list[DiskRequest]:
    """Return requests in the order of their turns: the largest first."""
    return sorted(requests, key=lambda request: (-request.size_bytes, request.name))


class _Pool:
    """A drive that volumes share: what is left of it, and whether it runs."""

    def __init__(self, capacity: DiskCapacity, held_bytes: int) -> None:
        self.capacity = capacity
        self.name = capacity.name
        self.left_bytes = capacity.size_bytes - capacity.used_bytes - held_bytes
        self.used = capacity.used_bytes + held_bytes > 0
        self.cold = capacity.cold
        self.virtual_disks = capacity.virtual_disks

    def fits(self, request: DiskRequest) -> bool:
        """Whether a volume fits what is left."""
        return self.capacity.size_bytes > 0 and request.size_bytes <= self.left_bytes

    def take(self, request: DiskRequest) -> None:
        """Put a volume here; for that the drive has to run."""
        self.left_bytes -= request.size_bytes
        self.used = True
        self.cold = False
        self.virtual_disks = self.virtual_disks or request.virtual_disk


class _Node:
    """The pools of one node, what was put where, and which drives had to be looked at."""

    def __init__(self, name: str, capacities: Iterable[DiskCapacity], held_bytes: _HeldBytes) -> None:
        self.name = name
        self.pools = [
            _Pool(capacity, held_bytes.get((name, capacity.name), 0))
            for capacity in sorted(capacities, key=lambda each: each.name)
        ]
        self.chosen: dict[str, str] = {}
        self.spun_up: list[str] = []

    def serve(self, ordered: Iterable[DiskRequest]) -> DiskRequest | None:
        """Put every request on a pool; return the first that finds none."""
        for request in ordered:
            pool = self._pool_for(request)
            if pool is None:
                return request
            pool.take(request)
            self.chosen[request.name] = pool.name
        return None

    def pools_for(self, request: DiskRequest) -> list[_Pool]:
        """Return the drives of the right kind, whatever is left of them."""
        return [pool for classes in _IN_TURN[request.storage_class] for pool in self._of(classes, request)]

    def _pool_for(self, request: DiskRequest) -> _Pool | None:
        for classes in _IN_TURN[request.storage_class]:
            pools = self._of(classes, request)
            turning = classes == _TURNING and not request.virtual_disk
            pool = self._turning_pool(pools, request) if turning else self._still_pool(pools, request)
            if pool is not None:
                return pool
        return None

    def _of(self, classes: _Classes, request: DiskRequest) -> list[_Pool]:
        return [
            pool
            for pool in self.pools
            if pool.capacity.storage_class in classes and pool.capacity.storage_group == request.storage_group
        ]

    def _still_pool(self, pools: Sequence[_Pool], request: DiskRequest) -> _Pool | None:
        """Return the roomiest running pool, for virtual disks one that has some; else the first cold one."""
        running = [pool for pool in pools if not pool.cold and pool.fits(request)]
        if running:
            return min(
                running,
                key=lambda pool: (
                    request.virtual_disk and not pool.virtual_disks,
                    -pool.left_bytes,
                    pool.name,
                ),
            )
        return self._look(pools, request, keeps_running=False)

    def _turning_pool(self, pools: Sequence[_Pool], request: DiskRequest) -> _Pool | None:
        """Return a running pool that is in use already, else one that is not, else the first cold one."""
        running = [pool for pool in pools if not pool.cold and pool.fits(request)]
        if running:
            return min(running, key=lambda pool: (not pool.used, pool.name))
        return self._look(pools, request, keeps_running=True)

    def _look(self, pools: Iterable[_Pool], request: DiskRequest, *, keeps_running: bool) -> _Pool | None:
        """Spin up one cold drive after the other until one has room."""
        for pool in pools:
            if not pool.cold or pool.capacity.size_bytes < request.size_bytes:
                continue
            if pool.name not in self.spun_up:
                self.spun_up.append(pool.name)
            if pool.fits(request):
                return pool
            pool.cold = not keeps_running
        return None


def _witness(
    node: _Node, refused: DiskRequest, ordered: Sequence[DiskRequest], held_bytes: _HeldBytes
) -> DiskWitness:
    """Return why a request found no pool, beside which others, and a size with which all of them fit."""
    pools = node.pools_for(refused)
    asked = f"{refused.name} ({refused.storage_class}, {print_bytes(refused.size_bytes)})"
    if not pools:
        return DiskWitness(node.name, (refused.name,), f"{asked}: no drive serves this class")
    names = {pool.name for pool in pools}
    roomiest = max(pools, key=lambda pool: pool.left_bytes)
    room_bytes = max(0, roomiest.left_bytes)
    room = print_bytes(room_bytes)
    smaller = msgspec.structs.replace(refused, size_bytes=room_bytes)
    others = [request for request in ordered if request.name != refused.name]
    again = _Node(node.name, [pool.capacity for pool in node.pools], held_bytes)
    helps = room_bytes > 0 and again.serve(in_order([*others, smaller])) is None
    return DiskWitness(
        node.name,
        (*(name for name, chosen in node.chosen.items() if chosen in names), refused.name),
        f"{asked}: of {len(pools)} that serve this class, {roomiest.name} has most: {room}",
        refused.size_bytes - room_bytes if helps else None,
        f"it fits if {refused.name} is at most {room}" if helps else "",
    )
