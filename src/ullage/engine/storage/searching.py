"""A search of limited length for a way to serve one component on one node, the largest volumes first."""

from collections.abc import Iterator, Sequence

from ullage.engine.storage.components import ANY_CLASS, Component
from ullage.engine.storage.extents import MEBIBYTE, volume_bytes
from ullage.engine.storage.rooms import NOT_WHOLE, Kind, Room
from ullage.engine.storage.solving import Served
from ullage.model.disk_plan import DiskRequest
from ullage.model.drives import EXTENT_BYTES


class Search:
    """Puts volumes into rooms one after the other and takes them back, for as many steps as it is given."""

    def __init__(self, asked: Component, kinds: Sequence[Kind], rooms: Sequence[Room]) -> None:
        suited = {sort.items[0][0].storage_class: sort.drive_class for sort in (*asked.shares, *asked.wholes)}
        ordered = sorted(asked.requests, key=lambda each: (-each.size_bytes, each.is_share, each.name))
        self._volumes = [(request, suited[request.storage_class]) for request in ordered]
        self._kinds = [kinds[room.kind] for room in rooms]
        self._rooms = rooms
        self._left = [room.extents for room in rooms]
        self._here: list[list[DiskRequest]] = [[] for _ in rooms]
        self._places: list[int] = []
        self._opened = 0

    def best(self, known: Served | None, enough: int, steps: int) -> Served | None:
        """Return a way that opens fewer drives than the known one, or the known one; `enough` ends it."""
        best = known
        waiting = [self._choices(0)]
        while waiting and steps > 0 and (best is None or best.opened > enough):
            place = next(waiting[-1], None)
            if place is None:
                waiting.pop()
                self._take_back(len(waiting) - 1)
                continue
            steps -= 1
            self._put(len(waiting) - 1, place)
            if best is not None and self._opened >= best.opened:
                self._take_back(len(waiting) - 1)
            elif len(waiting) == len(self._volumes):
                best = self._served()
                self._take_back(len(waiting) - 1)
            else:
                waiting.append(self._choices(len(waiting)))
        return best

    def _put(self, number: int, place: int) -> None:
        request, _ = self._volumes[number]
        self._opened += request.is_share and self._is_free(place)
        self._left[place] -= self._extents(request, place)
        self._here[place].append(request)
        self._places.append(place)

    def _take_back(self, number: int) -> None:
        """Take back the volume of a number, if it is one, and all after it have been."""
        if number < 0:
            return
        request, _ = self._volumes[number]
        place = self._places.pop()
        self._here[place].pop()
        self._left[place] += self._extents(request, place)
        self._opened -= request.is_share and self._is_free(place)

    def _extents(self, request: DiskRequest, place: int) -> int:
        extent_bytes = self._kinds[place][1]
        return volume_bytes(request.size_bytes, extent_bytes) // extent_bytes

    def _is_free(self, place: int) -> bool:
        return self._rooms[place].is_fresh and not self._here[place]

    def _choices(self, number: int) -> Iterator[int]:
        """Return rooms with enough left: in use with least left, then free ones; of those alike the first.

        Shares open the largest free drive, whole drives are the smallest that will do.
        """
        request, drive_class = self._volumes[number]
        found: dict[tuple[bool, int, int], int] = {}
        for place, room in enumerate(self._rooms):
            if drive_class not in {self._kinds[place][0], ANY_CLASS}:
                continue
            free, here, left = self._is_free(place), self._here[place], self._left[place]
            if not request.is_share:
                if free and room.mebibytes * MEBIBYTE >= request.size_bytes:
                    found.setdefault((free, room.mebibytes, room.kind), place)
            elif left >= self._extents(request, place) and not (here and not here[0].is_share):
                found.setdefault((free, -left if free else left, room.kind), place)
        return iter([found[key] for key in sorted(found)])

    def _served(self) -> Served:
        takes = []
        stranded_bytes = 0
        for room, here in zip(self._rooms, self._here, strict=True):
            if not here:
                continue
            takes.append((room, tuple(here)))
            if not here[0].is_share:
                stranded_bytes += room.mebibytes * MEBIBYTE - here[0].size_bytes
            elif room.mebibytes != NOT_WHOLE:
                used_bytes = sum(volume_bytes(each.size_bytes) for each in here)
                stranded_bytes += room.extents * EXTENT_BYTES - used_bytes
        return Served(tuple(takes), self._opened, stranded_bytes, 0)
