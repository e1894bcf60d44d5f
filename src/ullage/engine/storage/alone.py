"""Single volumes that fit nowhere on a node, and the least change of one size that gives them a place.

Most nodes that cannot serve fail by one volume already; then no sets need to be looked at. Of rooms of one
kind only the largest matter: what a room has beyond its last extent is less than one extent.
"""

from collections.abc import Mapping, Sequence

from ullage.engine.storage.components import ANY_CLASS, Component
from ullage.engine.storage.extents import MEBIBYTE
from ullage.engine.storage.rooms import NOT_WHOLE, Kind, Room, Rooms, Row
from ullage.engine.storage.shortfall import Shortfall, shortfall
from ullage.model.disk_plan import DiskRequest


class Alone:
    """Finds the first request of a component, in the stable order, that fits nowhere on a node."""

    def __init__(self, rooms: Rooms, asked: Component) -> None:
        self._rooms = rooms
        classes = {
            item[0].name: sort.drive_class for sort in (*asked.shares, *asked.wholes) for item in sort.items
        }
        self._wanted = [
            (request, request.is_share, _needs(request, classes[request.name], rooms.kinds))
            for request in asked.requests
        ]

    def find(self, node: str) -> Shortfall | None:
        """Return what the first request without a place lacks; None if each has one for itself."""
        rows = self._rooms.by_node[node]
        extents, mebibytes = _largest(rows, shares=True), _largest(rows, shares=False)
        for request, is_share, needs in self._wanted:
            largest = extents if is_share else mebibytes
            for kind, need in needs.items():
                if kind in largest and largest[kind] >= need:
                    break
            else:
                return self._short(request, needs, rows, largest)
        return None

    def _short(
        self, request: DiskRequest, needs: Mapping[int, int], rows: Sequence[Row], largest: Mapping[int, int]
    ) -> Shortfall:
        """Return the least that is missing, of the first of the rooms that miss as much."""
        shares = request.is_share
        found = [
            shortfall((request,), Room._make(row), self._rooms.kinds[row[2]][1], (request,))
            for row in rows
            if row[2] in needs and (row[3] if shares else row[4]) == largest.get(row[2])
        ]
        if len(found) == 1:
            return found[0]
        return min(found, key=lambda short: short.missing_bytes or 0, default=Shortfall((request,)))


def _largest(rows: Sequence[Row], *, shares: bool) -> dict[int, int]:
    """Return the extents of the largest room of each kind, or the mebibytes of the largest fresh drive."""
    found: dict[int, int] = {}
    for _, _, kind, extents, mebibytes, _, _ in rows:
        size = extents if shares else mebibytes
        if (shares or mebibytes != NOT_WHOLE) and (kind not in found or found[kind] < size):
            found[kind] = size
    return found


def _needs(request: DiskRequest, drive_class: int, kinds: Sequence[Kind]) -> dict[int, int]:
    """Return what a request needs of each kind of room that may take it: extents, or mebibytes."""
    return {
        place: -(-request.size_bytes // (extent_bytes if request.is_share else MEBIBYTE))
        for place, (kind_class, extent_bytes) in enumerate(kinds)
        if drive_class in {kind_class, ANY_CLASS}
    }
