"""Mode exact: whatever can be placed is placed, with the fewest drives opened, then the least stranded.

Volumes that cannot meet on a drive are planned apart, all nodes side by side. Where there are too many of
them to look at all of their sets, they are planned within bounds, and the answer says so.
"""

from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Final

from ullage.engine.storage.components import components_in_order, in_order
from ullage.engine.storage.large import solve_large
from ullage.engine.storage.lattice import pairs_of
from ullage.engine.storage.rooms import NOT_WHOLE, Rooms, rooms_of
from ullage.engine.storage.solving import Answer, Served, solve
from ullage.engine.storage.witness import has_many_sets, witnesses_of
from ullage.model.disk_plan import DiskCapacity, DiskHold, DiskPlan, DiskRequest, DiskWitness, NodeDisks

PAIRS_MAX: Final = 600_000
"""Pairs of a set and a part of it that a drive may cost: twelve shares of different sizes have 3^12."""
PAIRS_MIN: Final = 3**8
WORK_MAX: Final = 1 << 31
"""Pairs that all drives of all nodes may cost together, unless PAIRS_MIN for each are more."""


def plan_nodes(
    capacities: Iterable[DiskCapacity],
    holds: Iterable[DiskHold],
    requests: Iterable[DiskRequest],
    nodes: Iterable[str],
    *,
    explains: bool = True,
) -> DiskPlan:
    """Return the nodes that can serve every request, the cheapest first, and why each other one cannot.

    Where nobody asks why, `explains` is false: the reasons take as long as the plan.
    """
    ordered = in_order(requests)
    names = sorted(set(nodes))
    capacities = tuple(capacities)
    empty = next((request for request in ordered if request.size_bytes <= 0), None)
    if empty is not None:
        return DiskPlan(witnesses=tuple(_without_size(node, empty) for node in names))
    rooms = rooms_of(components_in_order(ordered), capacities, holds, names)
    limits = [_pairs_max(each) for each in rooms]
    answers = [
        _answers(each, names, limit, explains=explains) for each, limit in zip(rooms, limits, strict=True)
    ]
    served: list[tuple[int, int, NodeDisks]] = []
    refused: list[str] = []
    unplaced = dict.fromkeys([request.name for request in ordered], "")
    for node, *parts in zip(names, *[map(answer.__getitem__, names) for answer in answers], strict=True):
        good = [part for part in parts if isinstance(part, Served)]
        if len(good) == len(parts):
            served.append(_node_disks(node, unplaced, good))
        else:
            refused.append(node)
    served.sort(key=itemgetter(0, 1))
    explained = refused if explains else ()
    witnesses = tuple(witnesses_of(rooms, answers, limits, explained, capacities)) if explained else ()
    return DiskPlan(tuple(disks for _, _, disks in served), witnesses)


def _pairs_max(rooms: Rooms) -> int:
    """Return the pairs that each drive may cost, so that all of them together take bounded time."""
    drives = sum(map(len, rooms.by_node.values()))
    return min(PAIRS_MAX, max(PAIRS_MIN, WORK_MAX // max(1, drives)))


def _answers(rooms: Rooms, nodes: Sequence[str], pairs_max: int, *, explains: bool) -> dict[str, Answer]:
    asked = rooms.component
    if pairs_of(asked.share_counts, asked.whole_counts) > pairs_max:
        return solve_large(rooms, nodes, pairs_max)
    return dict(solve(rooms, asked, nodes, explains=explains and has_many_sets(asked)))


def _node_disks(
    node: str, unplaced: Mapping[str, str], parts: Sequence[Served]
) -> tuple[int, int, NodeDisks]:
    """Return how a node serves, after what that opens and strands; `unplaced` has the names in order."""
    chosen = {**unplaced}
    opened_names, spun_up = [], []
    opened = bound = stranded_bytes = 0
    for part in parts:
        opened += part.opened
        bound += part.bound
        stranded_bytes += part.stranded_bytes
        for (_, name, _, _, mebibytes, _, cold), here in part.takes:
            for request in here:
                chosen[request.name] = name
            if mebibytes != NOT_WHOLE and here[0].is_share:
                opened_names.append(name)
            if cold:
                spun_up.append(name)
    disks = NodeDisks(
        node, chosen, tuple(opened_names), stranded_bytes, tuple(spun_up), opened == bound, bound
    )
    return opened, stranded_bytes, disks


def _without_size(node: str, request: DiskRequest) -> DiskWitness:
    reason = f"{request.name} asks for {request.size_bytes} bytes: a volume has at least one"
    return DiskWitness(node, (request.name,), reason, None, f"give {request.name} a size")
