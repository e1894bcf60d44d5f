"""Plans for more volumes than all of whose sets can be looked at: within bounds, which the answer tells.

Two smaller questions are answered exactly. Without its smallest volumes a component needs no more than with
them: so few drives are opened at least, and what cannot be then cannot be at all. With its smallest volumes
tied together it needs no less: that is a plan. Where the two do not meet, a search of limited length tries to
do better. Whether nothing is possible where nothing was found is then not known.
"""

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from ullage.engine.storage.components import Component, Item, Sort, component
from ullage.engine.storage.lattice import pairs_of
from ullage.engine.storage.rooms import Room, Rooms
from ullage.engine.storage.searching import Search
from ullage.engine.storage.solving import Answer, Undecided, solve
from ullage.model.drives import EXTENT_BYTES

STEPS_MAX: Final = 1 << 16
"""Volumes that the searches of all nodes may put somewhere, unless these for each are more."""
STEPS_PER_VOLUME_MIN: Final = 8


def solve_large(rooms: Rooms, nodes: Sequence[str], pairs_max: int) -> dict[str, Answer]:
    """Return a way for every node that has one, with a bound on the drives that any way opens."""
    asked = rooms.component
    least = solve(rooms, core_of(asked, pairs_max), nodes)
    tied = tied_together(asked, pairs_max)
    most = dict(solve(rooms, tied, nodes)) if tied is not None else dict.fromkeys(nodes)
    steps = max(STEPS_PER_VOLUME_MIN * len(asked.requests), STEPS_MAX // max(1, len(nodes)))
    found: dict[str, Answer] = {}
    for node in nodes:
        below = least[node]
        if below is None:
            found[node] = None
            continue
        here = [Room._make(row) for row in rooms.by_node[node]]
        bound = max(below.opened, _opened_by_volume(asked, here, rooms))
        best = most[node]
        if best is None or best.opened > bound:
            best = Search(asked, rooms.kinds, here).best(best, bound, steps)
        found[node] = Undecided() if best is None else best._replace(bound=bound)
    return found


def core_of(asked: Component, pairs_max: int) -> Component:
    """Return a component without as many of its smallest volumes as it has too many."""
    by_size = sorted(asked.requests, key=lambda each: (each.size_bytes, each.name))

    def without(dropped: int) -> Component:
        kept = set(by_size[dropped:])
        requests = [request for request in asked.requests if request in kept]
        return component(asked.storage_group, asked.classes, requests)

    def is_few(dropped: int) -> bool:
        core = without(dropped)
        return pairs_of(core.share_counts, core.whole_counts) <= pairs_max

    return without(bisect_left(range(len(by_size)), 1, key=is_few))


def tied_together(asked: Component, pairs_max: int) -> Component | None:
    """Return a component with its smallest shares tied together in pairs till they are few; None if never."""
    items = sorted(_entry(sort.drive_class, item) for sort in asked.shares for item in sort.items)
    while True:
        tied = asked._replace(shares=_sorts(items))
        if pairs_of(tied.share_counts, tied.whole_counts) <= pairs_max:
            return tied
        counts = Counter(drive_class for _, drive_class, _, _ in items)
        first = next((place for place, entry in enumerate(items) if counts[entry[1]] > 1), None)
        if first is None:
            return None
        _, drive_class, _, item = items.pop(first)
        second = next(place for place, entry in enumerate(items) if entry[1] == drive_class)
        insort(items, _entry(drive_class, item + items.pop(second)[3]))


def _entry(drive_class: int, item: Item) -> tuple[int, int, list[str], Item]:
    """Return volumes that stay together, behind all that they are sorted by."""
    return _total(item), drive_class, [request.name for request in item], item


def _total(item: Item) -> int:
    return sum(request.size_bytes for request in item)


def _sorts(items: Iterable[tuple[int, int, list[str], Item]]) -> tuple[Sort, ...]:
    found: dict[tuple[int, tuple[int, ...]], list[Item]] = {}
    for _, drive_class, _, item in items:
        sizes = tuple(sorted(request.size_bytes for request in item))
        found.setdefault((drive_class, sizes), []).append(item)
    return tuple(Sort(drive_class, tuple(alike)) for (drive_class, _), alike in found.items())


def _opened_by_volume(asked: Component, here: Sequence[Room], rooms: Rooms) -> int:
    """Return how many fresh drives are opened at least, if shares could be cut: the largest come first."""
    opened = 0
    for drive_class in range(len(asked.classes)):
        of_class = [room for room in here if rooms.kinds[room.kind][0] == drive_class]
        sorts = [sort for sort in asked.shares if sort.drive_class == drive_class]
        left = sum(_total(item) for sort in sorts for item in sort.items)
        left -= sum(
            max(0, room.extents) * rooms.kinds[room.kind][1] for room in of_class if not room.is_fresh
        )
        for room in sorted(of_class, reverse=True):
            if left <= 0:
                break
            if room.is_fresh:
                left -= room.extents * EXTENT_BYTES
                opened += 1
    return opened
