"""What volumes that cannot stand together lack: the least change of one size that lets them.

A change helps if all of a set is served but for one drive that is overfull: by so much the drive would have
to be larger, or one of the volumes on it smaller. So the sets are covered once more, and one drive of each
node may take more than it has, at the cost of what is too much. Sizes in bytes need all the bits of a number:
the cost is the place of a size among all that occur.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ullage.engine.storage.components import Component
from ullage.engine.storage.conflict import Sets
from ullage.engine.storage.cover import NEVER, batches, columns_of, cover
from ullage.engine.storage.excess import Facts, Side, excess_costs
from ullage.engine.storage.extents import MEBIBYTE, METADATA_BYTES
from ullage.engine.storage.rooms import Room, Rooms, Row
from ullage.model.disk_plan import DiskRequest


class Shortfall(NamedTuple):
    """Requests that cannot stand together on a node, though fewer could; and which room lacks how much.

    If `room` were `more_bytes` larger, or one of `smaller` smaller by the bytes beside it, they could. There
    is no room where no size helps.
    """

    requests: tuple[DiskRequest, ...]
    room: Room | None = None
    more_bytes: int = 0
    smaller: tuple[tuple[DiskRequest, int], ...] = ()

    @property
    def missing_bytes(self) -> int | None:
        """The least of these changes."""
        if self.room is None:
            return None
        return min([self.more_bytes, *(less_bytes for _, less_bytes in self.smaller)])


def shortfalls(rooms: Rooms, asked: Component, nodes: Sequence[str]) -> Iterator[tuple[str, Shortfall]]:
    """Yield for every node, none of which can serve all requests, the fewest that it cannot.

    Whole drives of different sizes must be different sorts of the component.
    """
    sets = Sets(asked, spare=True)
    here = {node: _first_of_alike(rooms.by_node[node], len(asked.requests)) for node in nodes}
    alike: dict[tuple[Facts, ...], list[str]] = {}
    for node, rows in here.items():
        alike.setdefault(tuple([_facts(row) for row in rows]), []).append(node)
    for batch in batches(alike, sets.tables):
        for key, (number, place, taken) in zip(batch, _overfull(rooms, sets, batch), strict=True):
            requests = sets.requests(number)
            for node in alike[key]:
                if taken:
                    room = Room._make(here[node][place])
                    extent_bytes = rooms.kinds[room.kind][1]
                    yield node, shortfall(requests, room, extent_bytes, sets.requests(taken))
                else:
                    yield node, Shortfall(requests)


def shortfall(
    requests: tuple[DiskRequest, ...], room: Room, extent_bytes: int, there: Sequence[DiskRequest]
) -> Shortfall:
    """Return what a room lacks for the requests that would be there."""
    if not there[0].is_share:
        needed_bytes = -(-there[0].size_bytes // MEBIBYTE) * MEBIBYTE
        less_bytes = there[0].size_bytes - room.mebibytes * MEBIBYTE
        smaller = ((there[0], less_bytes),) if room.mebibytes > 0 else ()
        return Shortfall(requests, room, needed_bytes - room.size_bytes, smaller)
    extents = {request: -(-request.size_bytes // extent_bytes) for request in there}
    over = sum(extents.values()) - room.extents
    beyond = room.size_bytes if room.is_group else room.size_bytes - METADATA_BYTES
    changes = [
        (request, request.size_bytes - (takes - over) * extent_bytes)
        for request, takes in extents.items()
        if takes > over
    ]
    changes.sort(key=lambda change: (change[1], change[0].name))
    return Shortfall(requests, room, over * extent_bytes - beyond % extent_bytes, tuple(changes))


def _overfull(rooms: Rooms, sets: Sets, keys: Sequence[tuple[Facts, ...]]) -> Iterator[tuple[int, int, int]]:
    """Yield for each node the set that cannot stand, and which drive would be overfull with what; or nothing.

    What is odd has the spare digit: a drive that takes it is the overfull one.
    """
    columns = columns_of([tuple([facts[:3] for facts in key]) for key in keys])
    height = len(columns.active)
    side = Side.of(sets.asked, rooms.kinds, sets.tables, columns, keys)
    found = cover(sets.tables, excess_costs(side), columns.active)
    least = found.least.reshape(-1, len(keys))
    numbers = sets.first_never(least >= NEVER)
    taken = found.trace([number + 1 for number in numbers])
    for node, (key, number) in enumerate(zip(keys, numbers, strict=True)):
        if least[number + 1, node] < NEVER:
            drive = next(place for place, each in enumerate(taken[node]) if each % 2)
            yield number, drive - height + len(key), taken[node][drive] - 1
        else:
            yield number, 0, 0


def _facts(row: Row) -> Facts:
    size_bytes, _, kind, extents, mebibytes, is_group, _ = row
    return kind, extents, mebibytes, size_bytes, is_group


def _first_of_alike(rows: Sequence[Row], copies_max: int) -> list[Row]:
    """Return rooms, of those that are alike no more than there are volumes."""
    seen: dict[Facts, int] = {}
    found = []
    for row in rows:
        facts = _facts(row)
        seen[facts] = seen.get(facts, 0) + 1
        if seen[facts] <= copies_max:
            found.append(row)
    return found
