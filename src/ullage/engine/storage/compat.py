"""Mode compat: volumes go where csi-baremetal would put them, with LVM's arithmetic.

Logical volumes first, then small ones before large ones, each on the smallest capacity that has room: groups
before drives, and never another choice afterwards. That is why it can refuse what fits in another order; a
witness therefore speaks of this order alone, and a change that it proposes was tried.
"""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from ullage.engine.storage.extents import (
    MEBIBYTE,
    METADATA_BYTES,
    group_bytes,
    volume_bytes,
    whole_drive_bytes,
)
from ullage.model.disk_plan import (
    DiskCapacity,
    DiskHold,
    DiskPlan,
    DiskRequest,
    DiskWitness,
    NodeDisks,
    drive_class_of,
    is_share,
)
from ullage.model.drives import ANY, DRIVE_CLASSES, LocalClass
from ullage.model.quantity import print_bytes

_Holds = Mapping[tuple[str, str], Sequence[DiskHold]]


def plan_nodes(
    capacities: Iterable[DiskCapacity],
    holds: Iterable[DiskHold],
    requests: Iterable[DiskRequest],
    nodes: Iterable[str],
    *,
    few_drives: bool = True,
    explains: bool = True,
) -> DiskPlan:
    """Return the nodes that serve every request in this order, those with most capacities first.

    With `few_drives`, nothing is decided while a class of groups that is asked for is held by a reservation
    whose volumes are not made yet.
    """
    ordered = in_order(requests)
    holds = list(holds)
    waits_for = _waits_for(ordered, holds) if few_drives else ()
    if waits_for:
        return DiskPlan(waits_for=waits_for)
    held: dict[tuple[str, str], list[DiskHold]] = {}
    for hold in holds:
        held.setdefault((hold.node, hold.capacity), []).append(hold)
    offered: dict[str, list[DiskCapacity]] = {name: [] for name in nodes}
    for capacity in capacities:
        if capacity.node in offered and not capacity.tainted:
            offered[capacity.node].append(capacity)
    served: list[NodeDisks] = []
    witnesses: list[DiskWitness] = []
    for name in sorted(offered, key=lambda name: (-len(offered[name]), name)):
        node = _Node(name, offered[name], held)
        refused = node.serve(ordered)
        if refused is None:
            served.append(node.disks())
        elif explains:
            witnesses.append(_witness(node, refused, ordered, held))
    return DiskPlan(tuple(served), tuple(witnesses))


def in_order(requests: Iterable[DiskRequest]) -> list[DiskRequest]:
    """Return requests in the order of their turns: logical volumes, then whole drives, small before large."""
    return sorted(requests, key=lambda request: (not request.is_share, request.size_bytes, request.name))


def _waits_for(requests: Iterable[DiskRequest], holds: Iterable[DiskHold]) -> tuple[str, ...]:
    """Return the reservations that hold a class of groups that is asked for, their volumes not made yet."""
    classes = {request.storage_class for request in requests if request.is_share}
    return tuple(
        sorted({each.reservation for each in holds if each.storage_class in classes and not each.bound})
    )


class _Space:
    """One capacity while volumes are put on it: what is left for shares, and in which way it is held."""

    def __init__(self, capacity: DiskCapacity, holds: Sequence[DiskHold]) -> None:
        self.capacity = capacity
        self.fresh = not holds and not capacity.is_group
        self.held = bool(holds)
        self.shareable = all(is_share(hold.storage_class) for hold in holds)
        offered_bytes = capacity.size_bytes if capacity.is_group else group_bytes(capacity.size_bytes)
        taken_bytes = sum(volume_bytes(hold.size_bytes, capacity.extent_bytes) for hold in holds)
        self.left_bytes = offered_bytes - taken_bytes
        self.volumes: list[DiskRequest] = []

    def may_serve(self, request: DiskRequest) -> bool:
        """Whether it is of the right kind and not held in another way, whatever its size."""
        if self.capacity.storage_group != request.storage_group or self.capacity.size_bytes <= 0:
            return False
        if request.is_share:
            return self.shareable
        return not self.held

    def room_bytes(self, request: DiskRequest) -> int:
        """Return the size of the largest volume of the same kind that fits here."""
        if request.is_share:
            return self.left_bytes // self.capacity.extent_bytes * self.capacity.extent_bytes
        return whole_drive_bytes(self.capacity.size_bytes)

    def enlarged(self, request: DiskRequest) -> DiskCapacity:
        """Return the capacity with as many more bytes as the volume lacks."""
        if not request.is_share:
            size_bytes = whole_drive_bytes(request.size_bytes + MEBIBYTE - 1)
        elif self.capacity.is_group:
            lacking = volume_bytes(request.size_bytes, self.capacity.extent_bytes) - self.left_bytes
            size_bytes = self.capacity.size_bytes + lacking
        else:
            taken_bytes = group_bytes(self.capacity.size_bytes) - self.left_bytes
            size_bytes = taken_bytes + volume_bytes(request.size_bytes) + METADATA_BYTES
        return msgspec.structs.replace(self.capacity, size_bytes=size_bytes)

    def take(self, request: DiskRequest) -> None:
        """Put a volume here; shares have had their turn when the first whole drive is taken."""
        self.held = True
        self.left_bytes -= volume_bytes(request.size_bytes, self.capacity.extent_bytes)
        self.volumes.append(request)

    @property
    def is_opened(self) -> bool:
        """Whether it is a drive that nobody had and that becomes a group."""
        return self.fresh and any(volume.is_share for volume in self.volumes)

    @property
    def stranded_bytes(self) -> int:
        """What nobody else gets of a whole drive, and what is left of an opened one."""
        if self.is_opened:
            return self.left_bytes
        whole_bytes = whole_drive_bytes(self.capacity.size_bytes)
        return sum(whole_bytes - volume.size_bytes for volume in self.volumes if not volume.is_share)


class _Node:
    """The capacities of one node, in the order in which each class of requests tries them."""

    def __init__(self, name: str, capacities: Iterable[DiskCapacity], holds: _Holds) -> None:
        self.name = name
        self.spaces = [
            _Space(capacity, holds.get((name, capacity.name), ()))
            for capacity in sorted(capacities, key=lambda each: (each.size_bytes, each.name))
        ]
        self._candidates: dict[str, list[_Space]] = {}

    def candidates(self, storage_class: LocalClass) -> list[_Space]:
        """Return the capacities that may serve a class: of ANY by kind of drive, of groups before drives."""
        if storage_class not in self._candidates:
            self._candidates[storage_class] = [
                space
                for wanted in _classes_in_turn(storage_class)
                for space in self.spaces
                if space.capacity.storage_class == wanted
            ]
        return self._candidates[storage_class]

    def serve(self, ordered: Iterable[DiskRequest]) -> DiskRequest | None:
        """Put every request on its first capacity with room; return the first that finds none."""
        for request in ordered:
            for space in self.candidates(request.storage_class):
                if space.may_serve(request) and request.size_bytes <= space.room_bytes(request):
                    space.take(request)
                    break
            else:
                return request
        return None

    def disks(self) -> NodeDisks:
        """Return what was put where."""
        return NodeDisks(
            self.name,
            {volume.name: space.capacity.name for space in self.spaces for volume in space.volumes},
            opened=tuple(space.capacity.name for space in self.spaces if space.is_opened),
            stranded_bytes=sum(space.stranded_bytes for space in self.spaces),
        )


def _classes_in_turn(storage_class: LocalClass) -> tuple[str, ...]:
    """Return the classes of capacities that may serve a class of requests, in the order of trying them."""
    if storage_class == ANY:
        return DRIVE_CLASSES
    if is_share(storage_class):
        return (storage_class, drive_class_of(storage_class))
    return (storage_class,)


def _witness(node: _Node, refused: DiskRequest, ordered: Sequence[DiskRequest], holds: _Holds) -> DiskWitness:
    """Return why a request found no room, beside which others, and a change after which everything fits."""
    spaces = [
        space
        for space in node.candidates(refused.storage_class)
        if space.capacity.storage_group == refused.storage_group and space.capacity.size_bytes > 0
    ]
    capacities = [space.capacity for space in node.spaces]
    beside = [volume for space in spaces for volume in space.volumes]
    if beside and _Node(node.name, capacities, holds).serve([refused]) is not None:
        beside = []
    open_spaces = [space for space in spaces if space.may_serve(refused)]
    missing_bytes, remedy = _change(node, refused, open_spaces, ordered, holds) if open_spaces else (None, "")
    return DiskWitness(
        node.name,
        tuple(volume.name for volume in in_order([*beside, refused])),
        _reason(refused, spaces, open_spaces),
        missing_bytes,
        remedy,
    )


def _reason(refused: DiskRequest, spaces: Sequence[_Space], open_spaces: Sequence[_Space]) -> str:
    asked = f"{refused.name} ({refused.storage_class}, {print_bytes(refused.size_bytes)})"
    group = f" of storage group {refused.storage_group}" if refused.storage_group else ""
    if not spaces:
        return f"{asked}: no drive or volume group{group} serves this class"
    if not open_spaces:
        return f"{asked}: all {len(spaces)} that serve this class{group} are held"
    roomiest = max(open_spaces, key=lambda space: space.room_bytes(refused))
    room = print_bytes(max(0, roomiest.room_bytes(refused)))
    return (
        f"{asked}: of {len(spaces)} that serve this class{group}, {roomiest.capacity.name} has most: {room}"
    )


def _change(
    node: _Node,
    refused: DiskRequest,
    open_spaces: Sequence[_Space],
    ordered: Sequence[DiskRequest],
    holds: _Holds,
) -> tuple[int | None, str]:
    """Return the smaller of two changes for the refused request that make all of them fit, if one does."""
    capacities = [space.capacity for space in node.spaces]
    found: list[tuple[int, str]] = []
    room_bytes = max(space.room_bytes(refused) for space in open_spaces)
    smaller = msgspec.structs.replace(refused, size_bytes=room_bytes)
    others = [request for request in ordered if request.name != refused.name]
    if room_bytes > 0 and _Node(node.name, capacities, holds).serve(in_order([*others, smaller])) is None:
        remedy = f"it fits if {refused.name} is at most {print_bytes(room_bytes)}"
        found.append((refused.size_bytes - room_bytes, remedy))
    larger = [(space.enlarged(refused), space.capacity) for space in open_spaces]
    new, old = min(larger, key=lambda pair: (pair[0].size_bytes - pair[1].size_bytes, pair[0].name))
    changed = [new if capacity is old else capacity for capacity in capacities]
    if _Node(node.name, changed, holds).serve(ordered) is None:
        more_bytes = new.size_bytes - old.size_bytes
        found.append((more_bytes, f"it fits if {new.name} is {print_bytes(more_bytes)} larger"))
    return min(found, default=(None, ""))
