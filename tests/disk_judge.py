"""Which volumes fit on which disks of a node, by trying every way to put them: slow, and plain to read.

The rules are written down once more here, in bytes and from the words of the specification, so that the
planners are judged by something that shares no line with them.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, product
from random import Random

import msgspec

from ullage.model.disk_plan import DiskCapacity, DiskHold, DiskRequest

MIB = 1 << 20
EXTENT = 4 * MIB


def best_cost(
    capacities: Iterable[DiskCapacity], holds: Iterable[DiskHold], requests: Sequence[DiskRequest], node: str
) -> tuple[int, int] | None:
    """Return the fewest drives opened and then the least stranded; None if there is no way at all."""
    here = [each for each in capacities if each.node == node]
    held = [[hold for hold in holds if (hold.node, hold.capacity) == (node, each.name)] for each in here]
    candidates = [
        [place for place, each in enumerate(here) if serves(each, held[place], request)]
        for request in requests
    ]
    costs = (
        cost(here, held, [(request, place) for request, place in zip(requests, places, strict=True)])
        for places in product(*candidates)
    )
    return min((each for each in costs if each is not None), default=None)


def serves(capacity: DiskCapacity, holds: Sequence[DiskHold], request: DiskRequest) -> bool:
    """Whether a capacity is of the right class and group and not held otherwise, whatever its size."""
    if capacity.tainted or capacity.size_bytes <= 0 or capacity.storage_group != request.storage_group:
        return False
    if request.storage_class.endswith("LVG"):
        classes = {request.storage_class}
        if request.storage_class != "SYSLVG":
            classes.add(request.storage_class[:-3])
        return capacity.storage_class in classes and all(hold.storage_class.endswith("LVG") for hold in holds)
    classes = {"HDD", "SSD", "NVME"} if request.storage_class == "ANY" else {request.storage_class}
    return capacity.storage_class in classes and not holds


def cost(
    capacities: Sequence[DiskCapacity],
    held: Sequence[Sequence[DiskHold]],
    ways: Sequence[tuple[DiskRequest, int]],
) -> tuple[int, int] | None:
    """Return what one way opens and strands; None if something does not fit."""
    opened = stranded = 0
    for place, capacity in enumerate(capacities):
        here = [request for request, chosen in ways if chosen == place]
        shares = [each for each in here if each.storage_class.endswith("LVG")]
        if not here:
            continue
        if len(shares) < len(here):
            whole = capacity.size_bytes // MIB * MIB
            if len(here) > 1 or here[0].size_bytes > whole:
                return None
            stranded += whole - here[0].size_bytes
            continue
        is_group = capacity.storage_class.endswith("LVG")
        extent = capacity.extent_bytes if is_group else EXTENT
        left = capacity.size_bytes if is_group else fresh_group(capacity.size_bytes)
        left -= sum(up_to(each.size_bytes, extent) for each in (*shares, *held[place]))
        if left < 0:
            return None
        if not is_group and not held[place]:
            opened += 1
            stranded += left
    return opened, stranded


def up_to(size_bytes: int, extent: int) -> int:
    """Return a size in whole extents."""
    return (size_bytes + extent - 1) // extent * extent


def fresh_group(size_bytes: int) -> int:
    """Return what the group on a fresh drive has."""
    rest = size_bytes % EXTENT
    return max(0, size_bytes - rest - (EXTENT if rest < MIB else 0))


def smallest_conflict(
    capacities: Sequence[DiskCapacity], holds: Sequence[DiskHold], requests: Sequence[DiskRequest], node: str
) -> tuple[str, ...]:
    """Return the fewest requests that cannot stand together, the first of several in the stable order."""
    ordered = sorted(
        requests, key=lambda each: (not each.storage_class.endswith("LVG"), each.size_bytes, each.name)
    )
    for size in range(1, len(ordered) + 1):
        for some in combinations(ordered, size):
            if best_cost(capacities, holds, some, node) is None:
                return tuple(request.name for request in some)
    return ()


def changes(
    capacities: Sequence[DiskCapacity], requests: Sequence[DiskRequest], node: str, by_bytes: int
) -> Iterator[tuple[list[DiskCapacity], list[DiskRequest]]]:
    """Yield the worlds in which one drive of the node is so much larger, or one request so much smaller."""
    for place, capacity in enumerate(capacities):
        if capacity.node == node and capacity.size_bytes > 0:
            larger = msgspec.structs.replace(capacity, size_bytes=capacity.size_bytes + by_bytes)
            yield [*capacities[:place], larger, *capacities[place + 1 :]], list(requests)
    for place, request in enumerate(requests):
        if request.size_bytes > by_bytes:
            smaller = msgspec.structs.replace(request, size_bytes=request.size_bytes - by_bytes)
            yield list(capacities), [*requests[:place], smaller, *requests[place + 1 :]]


class World(msgspec.Struct):
    """Disks of some nodes, what is held of them, and volumes that are asked for."""

    capacities: list[DiskCapacity]
    holds: list[DiskHold]
    requests: list[DiskRequest]
    nodes: list[str]


def random_world(random: Random, nodes: int = 1, drives: int = 5, volumes: int = 5) -> World:
    """Return a world of odd sizes, where all rules matter and many volumes nearly fit."""
    classes = random.choice((("HDD",), ("HDD",), ("HDD", "SSD"), ("HDD", "SSD", "NVME")))
    groups = random.choice((("",), ("",), ("",), ("", "g")))
    shared = tuple(f"{each}LVG" for each in classes)
    unit = random.choice((MIB, EXTENT, 5 * MIB + 1))

    def size(most: int) -> int:
        return random.randint(1, most) * unit + random.choice((0, 0, 0, 1, MIB // 2, MIB, -1))

    capacities = [
        DiskCapacity(
            f"d{number}",
            f"n{node}",
            "SYSLVG" if random.random() < 0.1 else random.choice((*classes, *classes, *shared)),
            0 if random.random() < 0.05 else size(24),
            random.choice(groups),
            tainted=random.random() < 0.06,
            extent_bytes=random.choice((EXTENT, EXTENT, EXTENT, 2 * EXTENT)),
        )
        for node in range(nodes)
        for number in range(random.choice((*range(drives + 1), drives, drives)))
    ]
    holds = [
        DiskHold(
            "r",
            f"h{number}",
            each.node,
            each.name,
            each.storage_class if each.is_group or random.random() < 0.3 else f"{each.storage_class}LVG",
            size(8),
        )
        for number, each in enumerate(capacities)
        for _ in range(random.choice((0, 0, 0, 0, 1, 2)))
    ]
    wanted = (*shared * 4, *classes * 2, "ANY", *("SYSLVG",) * (random.random() < 0.2))
    requests = [
        DiskRequest(f"v{number}", random.choice(wanted), size(most), random.choice(groups))
        for most in [random.choice((4, 8, 12))]
        for number in range(random.randint(1, volumes))
    ]
    return World(capacities, holds, requests, [f"n{node}" for node in range(nodes)])
