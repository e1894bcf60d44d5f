"""What one node can hold with which drives: every set of drives worth buying, and the most that fits with it.

A pattern says how many of each wish a node of a place holds, by its room and by a plan of all their volumes
together; the drives that are bought for it are its bundle. Only patterns are kept that no smaller bundle
allows. The hard thing is their number: bundles are looked at by price, none beyond one with which disks bind
no longer; planners are asked about all nodes at once, and every look is counted. Where that was not enough,
`complete` is false, and what was left out may be part of a cheaper purchase.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from math import prod
from typing import Final, NamedTuple

import msgspec

from ullage.engine.placement.node_disks import Disks
from ullage.engine.purchase.catalog import DriveItem
from ullage.engine.purchase.disk_places import DRIVES_MAX, DiskPlace, Wish
from ullage.engine.storage.components import components_of
from ullage.engine.storage.exact import PAIRS_MAX
from ullage.engine.storage.extents import group_bytes
from ullage.engine.storage.lattice import pairs_of
from ullage.engine.storage.planning import REQUESTS_MAX, plan
from ullage.model.disk_plan import DiskCapacity, DiskHold, DiskRequest, drive_class_of
from ullage.model.drives import ANY
from ullage.model.ledger import StorageMode

Counts = tuple[int, ...]
"""How many of each wish."""
Bundle = tuple[DriveItem, ...]

EVERY_WISH_MAX: Final = 200
"""Patterns of a node up to which those wishes are part of them that want no disks."""
PATTERNS_MAX: Final = 4000
"""Patterns of a node up to which all of them are looked at."""
BUNDLES_MAX: Final = 300
"""Bundles that are looked at for one place."""
WORK_MAX: Final = 6_000_000
LOOK: Final = 1000
NODES_AT_ONCE: Final = 10
"""What all looks at plans may cost: each this, and its pairs (lattice.py) for so many nodes side by side."""
_ALWAYS: Final = 1 << 62


class Pattern(NamedTuple):
    """What a node of a place holds at most with a bundle, wish by wish."""

    place: int
    bundle: Bundle
    counts: Counts

    @property
    def drives_micro(self) -> int:
        """What the bundle costs."""
        return sum(each.price_micro for each in self.bundle)


class _Ground(NamedTuple):
    """A place with how many of each wish a node takes, and its bundles with the numbers that planners see."""

    place: DiskPlace
    limits: Counts
    bundles: tuple[tuple[Bundle, int], ...]


class _Node(NamedTuple):
    """Disks with a bundle beside them, as one node that planners are asked about."""

    disks: Disks
    bundle: Bundle


class Patterns:
    """The patterns of all places; those of the first `width` wishes count, the others are bound by room."""

    def __init__(self, wishes: Sequence[Wish], places: Sequence[DiskPlace]) -> None:
        self.wishes = wishes
        self.places = places
        self.complete = all(each.counted for each in wishes)
        self._work_left = WORK_MAX
        self._numbers: dict[tuple[object, ...], int] = {}
        self._nodes: list[_Node] = []
        self._serving: dict[Counts, frozenset[int]] = {}
        sizes = [prod(each + 1 for each in self._limits(place, len(wishes))) for place in places]
        self._wanting = sum(bool(each.requests) for each in wishes)
        self.width = len(wishes) if max(sizes, default=0) <= EVERY_WISH_MAX else self._wanting
        grounds = [self._ground(place) for place in places]
        self.found = [each for number, ground in enumerate(grounds) for each in self._of(number, ground)]

    def _limits(self, place: DiskPlace, width: int) -> Counts:
        """Return how many of each wish a node may hold at most."""
        return tuple(
            max(0, min(slots, wish.demand, *_by_room(place, wish)))
            for slots, wish in zip(place.slots[:width], self.wishes[:width], strict=True)
        )

    # Bundles

    def _ground(self, place: DiskPlace) -> _Ground:
        signature = place.disks.signature()
        limits = self._limits(place, self.width)
        bundles = []
        for bundle in self._bundles(place, limits):
            number = self._numbers.setdefault((signature, bundle), len(self._nodes))
            if number == len(self._nodes):
                self._nodes.append(_Node(place.disks, bundle))
            bundles.append((bundle, number))
        return _Ground(place, limits, tuple(bundles))

    def _bundles(self, place: DiskPlace, limits: Counts) -> Iterator[Bundle]:
        """Yield sets of drives that could be of use, the cheapest first, beginning with none."""
        wanted = [
            (request, limit)
            for limit, wish in zip(limits, self.wishes, strict=False)
            for request in wish.requests
            if limit
        ]
        useful = [
            (drive, min(most, sum(limit for request, limit in wanted if _could_hold(drive, request, place))))
            for drive, most in place.drives
        ]
        useful = [(drive, most) for drive, most in useful if most]
        volumes = sum(limit for _, limit in wanted)
        waiting: list[tuple[int, tuple[int, ...]]] = [(0, ())]
        for _ in range(BUNDLES_MAX):
            if not waiting:
                return
            price_micro, numbers = heappop(waiting)
            yield tuple(useful[number][0] for number in numbers)
            if len(numbers) >= min(volumes, DRIVES_MAX):
                continue
            for number in range(numbers[-1] if numbers else 0, len(useful)):
                drive, most = useful[number]
                if numbers.count(number) < most:
                    heappush(waiting, (price_micro + drive.price_micro, (*numbers, number)))
        self.complete = self.complete and not waiting

    def _of(self, number: int, ground: _Ground) -> list[Pattern]:
        """Return the patterns of a place."""
        can_tell = prod(each + 1 for each in ground.limits[:-1]) <= PATTERNS_MAX
        most = set(self._frontier(ground, None)) if can_tell else None
        kept: list[Pattern] = []
        enough: list[Counter[DriveItem]] = []
        for bundle, node in ground.bundles:
            drives = Counter(bundle)
            if any(each <= drives for each in enough):
                continue
            patterns = self._frontier(ground, node)
            if most is not None and most.issubset(patterns):
                enough.append(drives)
            smaller = [each for each in kept if Counter(each.bundle) <= drives]
            kept += [
                Pattern(number, bundle, counts)
                for counts in patterns
                if not any(_covers(each.counts, counts) for each in smaller)
            ]
        return kept

    # What fits

    def _frontier(self, ground: _Ground, node: int | None) -> list[Counts]:
        """Return the counts that fit and that no other ones exceed; without a node, by room alone."""
        width = len(ground.limits)
        alone = ((0,) * number for number in range(width))
        limits = tuple(self._last(ground, node, each, (0,) * (width - 1 - len(each))) for each in alone)
        ground = ground._replace(limits=limits)
        if prod(each + 1 for each in limits[:-1]) > PATTERNS_MAX:
            self.complete = False
            found = {self._filled(ground, node, first) for first in range(len(ground.limits))}
        else:
            found = set(self._largest(ground, node, ()))
        return sorted(each for each in found if not any(_covers(other, each) for other in found - {each}))

    def _largest(self, ground: _Ground, node: int | None, first: Counts) -> Iterator[Counts]:
        """Yield counts that begin with some and fit, the last of them as large as can be."""
        depth = len(first)
        if depth == len(ground.limits):
            yield first
            return
        rest = (0,) * (len(ground.limits) - depth - 1)
        if not rest:
            yield (*first, self._last(ground, node, first, rest))
            return
        for count in range(ground.limits[depth] + 1):
            if not self._fits(ground, node, (*first, count, *rest)):
                return
            yield from self._largest(ground, node, (*first, count))

    def _filled(self, ground: _Ground, node: int | None, first: int) -> Counts:
        """Return counts that fit, as many as can be of one wish, then of the others in turn."""
        counts = [0] * len(ground.limits)
        for number in (first, *(each for each in range(len(counts)) if each != first)):
            before, after = tuple(counts[:number]), tuple(counts[number + 1 :])
            counts[number] = self._last(ground, node, before, after)
        return tuple(counts)

    def _last(self, ground: _Ground, node: int | None, before: Counts, after: Counts) -> int:
        """Return how many of one wish fit beside the others, by doubling and halving; none of it fits."""
        few, many, step = 0, ground.limits[len(before)] + 1, 1
        while many - few > 1:
            middle = min(few + step, (few + many) // 2) if step else (few + many) // 2
            if self._fits(ground, node, (*before, middle, *after)):
                few, step = middle, step * 2
            else:
                many, step = middle, 0
        return few

    def _fits(self, ground: _Ground, node: int | None, counts: Counts) -> bool:
        """Whether a node takes so many of each wish; its disks are looked at where it is given."""
        for column, room in enumerate(ground.place.room):
            taken = sum(
                wish.amounts[column] * count for wish, count in zip(self.wishes, counts, strict=False)
            )
            if room is not None and taken > room:
                return False
        return node is None or node in self._that_serve(counts[: self._wanting])

    def _that_serve(self, counts: Counts) -> frozenset[int]:
        """Return the nodes whose disks serve all volumes of so many of each wish: all are asked at once."""
        found = self._serving.get(counts)
        if found is None:
            asked = [self._serving[each] for each in _smaller(counts) if each in self._serving]
            nodes = frozenset(range(len(self._nodes))).intersection(*asked)
            found = self._serving[counts] = self._asked(counts, nodes) if any(counts) and nodes else nodes
        return found

    def _asked(self, counts: Counts, nodes: frozenset[int]) -> frozenset[int]:
        requests = [
            msgspec.structs.replace(request, name=f"{number}-{replica}-{place:03}-{request.name}")
            for number, (wish, count) in enumerate(zip(self.wishes, counts, strict=False))
            for replica in range(count)
            for place, request in enumerate(wish.requests)
        ]
        pairs = sum(pairs_of(each.share_counts, each.whole_counts) for each in components_of(requests))
        self._work_left -= LOOK + pairs * len(nodes) // NODES_AT_ONCE
        if self._work_left < 0 or pairs > PAIRS_MAX or len(requests) > REQUESTS_MAX:
            self.complete = False
            return frozenset()
        # What mode compat places, mode exact places too: so its yes is a bound for both.
        shared = frozenset(number for number in nodes if self._nodes[number].disks.mode == "zos")
        self.complete = self.complete and not shared
        return self._served("exact", requests, nodes - shared) | self._served("zos", requests, shared)

    def _served(
        self, mode: StorageMode, requests: Sequence[DiskRequest], nodes: frozenset[int]
    ) -> frozenset[int]:
        """Return the nodes on which a planner places all volumes together."""
        if not nodes:
            return nodes
        capacities: list[DiskCapacity] = []
        holds: list[DiskHold] = []
        for number in sorted(nodes):
            disks, bundle = self._nodes[number]
            name = str(number)
            capacities += [msgspec.structs.replace(each, node=name) for each in disks.capacities]
            capacities += [
                DiskCapacity(f"bought/{place}", name, each.drive_class, each.size_bytes)
                for place, each in enumerate(bundle)
            ]
            holds += [msgspec.structs.replace(each, node=name) for each in disks.holds]
        found = plan(mode, capacities, holds, requests, map(str, sorted(nodes)))
        return frozenset(int(each.node) for each in found.nodes)


def _by_room(place: DiskPlace, wish: Wish) -> list[int]:
    """Return how many of a wish each resource of a node allows."""
    return [
        room // amount if amount and room is not None else _ALWAYS
        for room, amount in zip(place.room, wish.amounts, strict=True)
    ]


def _could_hold(drive: DriveItem, request: DiskRequest, place: DiskPlace) -> bool:
    """Whether a volume could be on a drive at all."""
    if place.disks.mode == "zos":
        return request.size_bytes <= drive.size_bytes
    if request.storage_group or request.storage_class not in {
        ANY,
        drive.drive_class,
        f"{drive.drive_class}LVG",
    }:
        return False
    if drive_class_of(request.storage_class) and request.is_share:
        return request.size_bytes <= group_bytes(drive.size_bytes)
    return request.size_bytes <= drive.size_bytes


def _smaller(counts: Counts) -> Iterator[Counts]:
    """Yield counts with one less of one wish: who does not serve these serves no more."""
    for number, count in enumerate(counts):
        if count:
            yield (*counts[:number], count - 1, *counts[number + 1 :])


def _covers(one: Counts, other: Counts) -> bool:
    """Whether one pattern holds all that another holds."""
    return all(mine >= others for mine, others in zip(one, other, strict=True))
