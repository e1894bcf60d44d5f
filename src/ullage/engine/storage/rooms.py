"""What the drives and groups of each node have left for one component of the volumes that are asked for."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from ullage.engine.storage.components import BYTES_MAX, Component, group_class
from ullage.engine.storage.extents import MEBIBYTE, METADATA_BYTES, volume_bytes
from ullage.model.disk_plan import DiskCapacity, DiskHold, DiskRequest, is_share
from ullage.model.drives import EXTENT_BYTES
from ullage.model.errors import InputError
from ullage.model.quantity import print_bytes

NOT_WHOLE: Final = -1

Kind = tuple[int, int]
"""The place of a class among those of a component, and the bytes of an extent."""


Row = tuple[int, str, int, int, int, bool, bool]
"""A room as a plain tuple: there are many."""


class Room(NamedTuple):
    """A drive or group that may take volumes of a component; rooms sort by size, then by name.

    `extents` are left for shares (below 0 where more is promised than there is), `mebibytes` is the size of a
    volume that has all of it, where nobody holds any: then it is a fresh drive. `kind` is a place in `kinds`.
    """

    size_bytes: int
    name: str
    kind: int
    extents: int
    mebibytes: int
    is_group: bool
    cold: bool

    @property
    def is_fresh(self) -> bool:
        """Whether it is a drive of which nobody holds anything."""
        return self.mebibytes != NOT_WHOLE


class Rooms:
    """The rooms of one component by node, in their order.

    `kinds` are those that its rooms have. `barred` says why others of the right class are not among them, as
    counts by reason. `conflicts` are the fewest requests that cannot stand together on a node, where somebody
    has looked.
    """

    def __init__(self, asked: Component, nodes: Iterable[str]) -> None:
        self.component = asked
        self.kinds: list[Kind] = []
        self.by_node: dict[str, list[Row]] = {node: [] for node in nodes}
        self.barred: dict[str, dict[str, int]] = {}
        self.conflicts: dict[str, tuple[DiskRequest, ...]] = {}

    def takers(self) -> "list[tuple[tuple[str, str], _Taker]]":
        """Return who takes the capacities of each storage group and class that may serve."""
        asked = self.component
        shared = sorted({sort.drive_class for sort in asked.shares})
        groups = [(group_class(asked.classes[place]), _Taker(self, place, is_group=True)) for place in shared]
        drives = [(name, _Taker(self, place, is_group=False)) for place, name in enumerate(asked.classes)]
        return [((asked.storage_group, name), taker) for name, taker in groups + drives]

    def kind(self, drive_class: int, extent_bytes: int) -> int:
        """Return the place of a kind, which is made if it is new."""
        kind = drive_class, extent_bytes
        if kind not in self.kinds:
            self.kinds.append(kind)
        return self.kinds.index(kind)


class _Taker:
    """Makes rooms of the capacities of one class; `kinds` are the places of its kinds, by extent."""

    def __init__(self, rooms: Rooms, drive_class: int, *, is_group: bool) -> None:
        self.rooms = rooms
        self.by_node = rooms.by_node
        self.drive_class = drive_class
        self.is_group = is_group
        self.kinds: dict[int, int] = {}

    def kind(self, extent_bytes: int) -> int:
        """Return the place of a kind, which is made if it is new."""
        self.kinds[extent_bytes] = kind = self.rooms.kind(self.drive_class, extent_bytes)
        return kind

    def take(self, capacity: DiskCapacity, holds: Sequence[DiskHold], row: Row) -> Row | None:
        """Return a row as it is beside what is held; None, and counted, if it takes nothing."""
        whole = any(not is_share(hold.storage_class) for hold in holds)
        if whole or capacity.tainted or capacity.size_bytes <= 0:
            reason = "tainted" if capacity.tainted else "not usable" if capacity.size_bytes <= 0 else "held"
            barred = self.rooms.barred.setdefault(capacity.node, {})
            barred[reason] = barred.get(reason, 0) + 1
            return None
        if not holds:
            return row
        size_bytes, name, kind, extents, _, is_group, cold = row
        extent_bytes = self.rooms.kinds[kind][1]
        extents -= sum(volume_bytes(hold.size_bytes, extent_bytes) for hold in holds) // extent_bytes
        return size_bytes, name, kind, extents, NOT_WHOLE, is_group, cold


def rooms_of(
    components: Sequence[Component],
    capacities: Iterable[DiskCapacity],
    holds: Iterable[DiskHold],
    nodes: Iterable[str],
) -> list[Rooms]:
    """Return for every component what each node has left for it."""
    wanted = list(nodes)
    found = [Rooms(each, wanted) for each in components]
    takers = {place: taker for rooms in found for place, taker in rooms.takers()}
    held = _by_place(holds)
    for capacity in capacities:  # once for every disk of a cluster: no calls but where something is held
        taker = takers.get((capacity.storage_group, capacity.storage_class))
        here = None if taker is None else taker.by_node.get(capacity.node)
        if taker is None or here is None:
            continue
        size_bytes = capacity.size_bytes
        if taker.is_group:
            extent_bytes, mebibytes = capacity.extent_bytes, NOT_WHOLE
            extents = size_bytes // extent_bytes
        else:
            extent_bytes, mebibytes = EXTENT_BYTES, size_bytes // MEBIBYTE
            extents = (size_bytes - METADATA_BYTES) // EXTENT_BYTES
        kind = taker.kinds.get(extent_bytes)
        if kind is None:
            kind = taker.kind(extent_bytes)
        row: Row | None
        row = size_bytes, capacity.name, kind, extents, mebibytes, taker.is_group, capacity.cold
        if held or capacity.tainted or size_bytes <= 0:
            row = taker.take(capacity, held.get((capacity.node, capacity.name), ()), row)
        if row is not None:
            here.append(row)
    for rooms in found:
        for here in rooms.by_node.values():
            here.sort()
            if here and here[-1][0] > BYTES_MAX:
                what = f"{here[-1][1]} has {print_bytes(here[-1][0])}"
                raise InputError(what, remedy=f"a disk has at most {print_bytes(BYTES_MAX)}")
    return found


def _by_place(holds: Iterable[DiskHold]) -> Mapping[tuple[str, str], Sequence[DiskHold]]:
    found: dict[tuple[str, str], list[DiskHold]] = {}
    for hold in holds:
        found.setdefault((hold.node, hold.capacity), []).append(hold)
    return found
