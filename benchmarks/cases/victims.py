"""Victims for a gang of 800: CPU time of one search over prepared columns, node fit included.

The columns of nodes and members are made once for a snapshot and are not part of a search; what they cost is
given beside it, as is what it costs to keep them up when the victims go and the gang comes.
"""

import time
from collections.abc import Iterator, Mapping
from random import Random

from measure import best_seconds
from ullage.engine.quota.book import Book, Member
from ullage.engine.quota.gang_columns import Columns
from ullage.engine.quota.gang_victims import GangFound, gang_victims
from ullage.engine.quota.rights import Claim, Rules
from ullage.engine.quota.standing import Standing
from ullage.engine.quota.victims import Nodes
from ullage.model.cluster import Quota
from ullage.model.resources import Resources

GPU = "example.com/gpu"
GIB = 1 << 30
GANG = 800
QUOTAS = 10
PODS = 8
ONE_SIZE_NODE = {GPU: PODS}
MIXED_NODE = {GPU: 16, "cpu": 96_000, "memory": 768 * GIB}
SIZES = ((1, 4_000, 32), (1, 8_000, 64), (2, 16_000, 96), (4, 24_000, 160))
GANG_SIZES = ((1, 6_000, 48), (2, 12_000, 64), (2, 8_000, 128), (4, 32_000, 256))


def quotas(capacity: Mapping[str, int], kind: str) -> list[Quota]:
    """Return a claimant that is guaranteed half of the cluster, and others that have borrowed it."""
    other = Resources({name: amount // 2 // (QUOTAS - 1) for name, amount in capacity.items()})
    claimant = Resources({name: amount - (QUOTAS - 1) * other[name] for name, amount in capacity.items()})
    return [
        Quota(f"q{place}", kind=kind, namespaces=(f"q{place}",), min=other if place else claimant)
        for place in range(QUOTAS)
    ]


def resources(size: tuple[int, int, int], *, only_gpus: bool) -> Resources:
    """Return what a member of a size takes."""
    gpus, cpu_milli, memory_gib = size
    if only_gpus:
        return Resources({GPU: gpus})
    return Resources({GPU: gpus, "cpu": cpu_milli, "memory": memory_gib * GIB})


def fill(random: Random, room: dict[str, int], *, mixed: bool) -> Iterator[Resources]:
    """Yield what each member of a node takes; of what is then left, three quarters are the node's own."""
    for left in range(PODS - 1, -1, -1):
        sizes = [resources(each, only_gpus=not mixed) for each in (SIZES if mixed else SIZES[:1])]
        small = sizes[0]
        fitting = [
            takes for takes in sizes if all(room[name] - takes[name] >= left * small[name] for name in takes)
        ]
        takes = random.choice(fitting)
        for name, amount in takes.items():
            room[name] -= amount
        yield takes
    for name in room:
        room[name] //= 4


class Shape:
    """A cluster that is nearly full, its quotas, and a gang that asks for room."""

    def __init__(self, nodes: int, kind: str, *, mixed: bool) -> None:
        random = Random(nodes)  # noqa: S311 - the same cluster in every run
        node = MIXED_NODE if mixed else ONE_SIZE_NODE
        free = {f"n{number:05d}": dict(node) for number in range(nodes)}
        held = [(name, takes) for name, room in free.items() for takes in fill(random, room, mixed=mixed)]
        capacity = {
            name: sum(room[name] for room in free.values()) + sum(takes[name] for _, takes in held)
            for name in node
        }
        self.book = Book(quotas(capacity, kind))
        self.running: list[Member] = []
        for number, (name, takes) in enumerate(held):
            quota, priority = random.randrange(1, QUOTAS), random.choice((0, 0, 10))
            member = Member(f"r{number:05d}", quota, self.book.amounts(takes), takes, name, priority)
            self.running.append(member._replace(created_seconds=random.randrange(10**6)))
        self.nodes = Nodes(free, capacity)
        self.standing = Standing(self.book, self.running)
        self.gang = []
        for number in range(GANG):
            takes = resources(GANG_SIZES[number % 4] if mixed else SIZES[0], only_gpus=not mixed)
            self.gang.append(Member(f"g{number:03d}", 0, self.book.amounts(takes), takes))
        waiting = [*self.gang, *(each._replace(key=f"later-{each.key}") for each in self.gang)]
        self.rules = Rules(self.standing, self.standing.entitlements(waiting, capacity))
        start = time.process_time()
        self.columns = Columns(self.standing, self.running, self.nodes)
        self.columns_seconds = time.process_time() - start

    def claim(self) -> Claim:
        """Return the claim of the gang as things stand."""
        return self.rules.claim(self.gang)

    def found(self) -> GangFound:
        """Return the victims; there are some."""
        found = gang_victims(self.rules, self.claim(), self.columns).found
        assert found is not None
        return found

    def follow(self, found: GangFound) -> float:
        """Let the victims go and the gang come; return the CPU seconds."""
        start = time.process_time()
        self.columns.evict(found.victims)
        placed = [each._replace(node=node) for each, node in zip(self.gang, found.nodes, strict=True)]
        self.columns.place(placed)
        return time.process_time() - start


def run() -> dict[str, object]:
    """Measure 1000 and 4000 nodes, one size and mixed sizes, in both modes."""
    figures: dict[str, object] = {}
    bars: dict[str, object] = {}
    for nodes, one_bar, mixed_bar in ((1000, 10, 60), (4000, 30, 300)):
        for mixed, bar in ((False, one_bar), (True, mixed_bar)):
            for kind, mode in (("ElasticQuota", "nos"), ("Quota", "fair")):
                shape = Shape(nodes, kind, mixed=mixed)
                what = f"{nodes} nodes, {'mixed sizes' if mixed else 'one size'}, {mode}"
                found = shape.found()
                figures[f"{what}, running"] = len(shape.running)
                figures[f"{what}, victims"] = len(found.victims)
                figures[f"{what}, gap"] = found.gap
                figures[f"{what}, columns made, ms"] = 1000 * shape.columns_seconds
                search = 1000 * best_seconds(shape.found)
                figures[f"{what}, columns kept up, ms"] = 1000 * shape.follow(found)
                bars[f"{what}, search, ms"] = [search, "<=", bar]
    return {**figures, "bars": bars}
