"""Why nodes cannot serve: the volumes that cannot stand together there, and the least that would help.

What is looked for first is what is cheap and most often the case: one volume that fits nowhere.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from ullage.engine.storage.alone import Alone
from ullage.engine.storage.components import Component, component, stable_order
from ullage.engine.storage.conflict import smallest_conflicts
from ullage.engine.storage.large import core_of
from ullage.engine.storage.lattice import pairs_of
from ullage.engine.storage.rooms import Rooms
from ullage.engine.storage.shortfall import Shortfall, shortfalls
from ullage.engine.storage.solving import Answer, Undecided, solve
from ullage.engine.storage.witness_words import WitnessWords, undecided_witness
from ullage.model.disk_plan import DiskCapacity, DiskRequest, DiskWitness

SPARE_PAIRS: Final = 3
"""Pairs are so many times as many where one drive may be overfull."""
SMALL_PAIRS_MAX: Final = 2048
"""Up to so many it is not worth while to look for the smallest sets first."""
REDUCED_MAX: Final = 64
"""Nodes for which a large set is made smaller volume by volume."""


def witnesses_of(
    rooms: Sequence[Rooms],
    answers: Sequence[Mapping[str, Answer]],
    pairs_max: Sequence[int],
    nodes: Sequence[str],
    capacities: Iterable[DiskCapacity] = (),
) -> Iterator[DiskWitness]:
    """Yield for every node, none of which can serve, the fewest requests that it cannot; then the first.

    Where there are too many to look at all sets of them, they are some that could stand if any one were left
    out. Where it is not known whether they could, the witness says so.
    """
    found: dict[str, list[tuple[WitnessWords, Shortfall]]] = {node: [] for node in nodes}
    _count_other_groups(rooms, capacities)
    for each, answer, limit in zip(rooms, answers, pairs_max, strict=True):
        words = WitnessWords(each)
        unable = [node for node in nodes if answer[node] is None]
        for node, short in _conflicts(each, unable, limit) if unable else ():
            found[node].append((words, short))
    for node, shorts in found.items():
        if shorts:
            words, short = min(shorts, key=lambda pair: size_and_order(pair[1].requests))
            yield words.witness(node, short)
        else:
            parts = zip(rooms, answers, strict=True)
            open_question = next(each for each, answer in parts if isinstance(answer[node], Undecided))
            yield undecided_witness(node, open_question.component)


def _count_other_groups(rooms: Sequence[Rooms], capacities: Iterable[DiskCapacity]) -> None:
    """Count what is of the right class and of another storage group than the one that is asked for."""
    classes = [{name for (_, name), _ in each.takers()} for each in rooms]
    first = rooms[0].component.storage_group
    same = all(each.component.storage_group == first for each in rooms)
    others = [each for each in capacities if each.storage_group != first] if same else capacities
    for capacity in others:
        group = capacity.storage_group
        for each, wanted in zip(rooms, classes, strict=True):
            if capacity.storage_class in wanted and group != each.component.storage_group:
                reason = f"of storage group {group}" if group else "of no storage group"
                barred = each.barred.setdefault(capacity.node, {})
                barred[reason] = barred.get(reason, 0) + 1


def size_and_order(requests: Sequence[DiskRequest]) -> tuple[int, list[tuple[bool, int, str]]]:
    """Return what tells the smaller set of requests, and of equal ones the first in the stable order."""
    return len(requests), [stable_order(request) for request in requests]


def _conflicts(rooms: Rooms, nodes: Sequence[str], pairs_max: int) -> Iterator[tuple[str, Shortfall]]:
    """Yield what cannot stand together of one component."""
    asked = core_of(rooms.component, pairs_max)
    alone = Alone(rooms, asked)
    rest = []
    for node in nodes:
        short = alone.find(node)
        if short is None:
            rest.append(node)
        else:
            yield node, short
    if rest:
        yield from _shortfalls(rooms, asked, rest, pairs_max)


def _shortfalls(
    rooms: Rooms, asked: Component, nodes: Sequence[str], pairs_max: int
) -> Iterator[tuple[str, Shortfall]]:
    """Yield what several volumes lack of which each would fit alone."""
    apart = component(asked.storage_group, asked.classes, asked.requests, apart=True)
    if _pairs_with_spare(apart) <= SMALL_PAIRS_MAX:
        yield from shortfalls(rooms, apart, nodes)
        return
    conflicts: dict[tuple[DiskRequest, ...], list[str]] = {}
    if apart == asked and all(node in rooms.conflicts for node in nodes):
        for node in nodes:
            conflicts.setdefault(rooms.conflicts[node], []).append(node)
    elif pairs_of(apart.share_counts, apart.whole_counts) <= pairs_max:
        conflicts = smallest_conflicts(rooms, apart, nodes)
    else:
        for place, node in enumerate(nodes):
            kept = _reduced(rooms, asked, node) if place < REDUCED_MAX else asked.requests
            conflicts.setdefault(tuple(kept), []).append(node)
    for requests, alike in conflicts.items():
        part = component(asked.storage_group, asked.classes, requests, apart=True)
        if _pairs_with_spare(part) <= SPARE_PAIRS * pairs_max:
            yield from shortfalls(rooms, part, alike)
        else:
            yield from ((node, Shortfall(requests)) for node in alike)


def has_many_sets(asked: Component) -> bool:
    """Whether it is worth while to look for the smallest sets of a component first."""
    return _pairs_with_spare(asked) > SMALL_PAIRS_MAX


def _pairs_with_spare(asked: Component) -> int:
    return pairs_of(asked.share_counts, asked.whole_counts, spare=True)


def _reduced(rooms: Rooms, asked: Component, node: str) -> Sequence[DiskRequest]:
    """Return requests without those that do not matter for their not standing together."""
    kept = list(asked.requests)
    for request in asked.requests:
        fewer = [each for each in kept if each is not request]
        if solve(rooms, component(asked.storage_group, asked.classes, fewer), [node])[node] is None:
            kept = fewer
    return kept
