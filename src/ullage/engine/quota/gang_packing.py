"""The members of a gang by size, and whether they fit on nodes together.

Members of one size that may go to the same nodes are one class. A packing is exact: it gives the first node
by name to each member in turn, and goes back where that leaves no place for the others.
"""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import numpy as np

from ullage.engine.quota.book import Member
from ullage.engine.quota.gang_columns import Columns, Flags, Ints

PACKING_STEPS_MAX: Final = 1_000
"""How many placements a packing tries before it gives up without an answer."""


class Gang(NamedTuple):
    """Members by key, and their classes: how much a member takes, which nodes may have it, which they are.

    `resources` are the columns that some member takes of; `fits_none` if one takes of what no node has.
    """

    members: tuple[Member, ...]
    resources: Ints
    sizes: Ints
    allowed: Flags
    members_of: tuple[tuple[int, ...], ...]
    class_of: tuple[int, ...]
    fits_none: bool


class Packed(NamedTuple):
    """A node row for every member, or none; without `certain` the search was cut short."""

    nodes: tuple[int, ...] | None
    certain: bool
    steps: int


def gang_of(
    members: Sequence[Member], columns: Columns, allowed: Flags | None, kinds: Sequence[int] | None = None
) -> Gang:
    """Return a gang by classes; `allowed` has a row for each member as given and a column for each node.

    Members of different `kinds` are of different classes, whatever their size.
    """
    order = sorted(range(len(members)), key=lambda place: members[place].key)
    everywhere = np.ones(len(columns.nodes), np.bool_)
    classes: dict[tuple[object, ...], list[int]] = {}
    masks: list[Flags] = []
    for number, place in enumerate(order):
        mask = everywhere if allowed is None else allowed[place]
        kind = (
            members[place].takes,
            b"" if allowed is None else mask.tobytes(),
            0 if kinds is None else kinds[place],
        )
        found = classes.get(kind)
        if found is None:
            found = classes[kind] = []
            masks.append(mask)
        found.append(number)
    by_key = tuple(members[place] for place in order)
    firsts = [by_key[places[0]] for places in classes.values()]
    named = {name for each in firsts for name, amount in each.takes.items() if amount > 0}
    known = [place for place, name in enumerate(columns.resources) if name in named]
    sizes = [[each.takes.of(columns.resources[place]) for place in known] for each in firsts]
    class_of = [0] * len(by_key)
    for number, places in enumerate(classes.values()):
        for place in places:
            class_of[place] = number
    return Gang(
        by_key,
        np.array(known, np.int64),
        np.array(sizes, np.int64).reshape(len(firsts), len(known)),
        np.array(masks, np.bool_).reshape(len(firsts), len(columns.nodes)),
        tuple(tuple(places) for places in classes.values()),
        tuple(class_of),
        len(known) < len(named),
    )


def slots(free: Ints, size: Ints, most: int) -> Ints:
    """Return how many members of a size fit into each room, at most `most`."""
    found = np.full(free.shape[:-1], most, np.int64)
    for place, amount in enumerate(size.tolist()):
        if amount > 0:
            np.minimum(found, free[..., place] // amount, out=found)
    return np.maximum(found, 0, out=found)


def packing(
    gang: Gang,
    free: Ints,
    steps_max: int = PACKING_STEPS_MAX,
    *,
    largest_first: bool = False,
    accepts: Callable[[tuple[int, ...]], bool] | None = None,
) -> Packed:
    """Return nodes that have all members together: the first by name for each in turn, in order of keys.

    `largest_first` answers sooner whether there are any, but not with the first. What `accepts` says no to is
    passed over.
    """
    if gang.fits_none:
        return Packed(None, certain=True, steps=0)
    order = list(range(len(gang.members)))
    if largest_first:
        weight = (gang.sizes / np.maximum(1, gang.sizes.sum(axis=0))).max(axis=1, initial=0)
        order.sort(key=lambda number: (-weight[gang.class_of[number]], gang.class_of[number]))
    left = free.copy()
    chosen: list[int] = []
    failed: set[tuple[int, int, bytes]] = set()
    steps = steps_max
    latest = [0] * len(gang.sizes)

    def go_on() -> bool:
        nonlocal steps
        if len(chosen) == len(order):
            return accepts is None or accepts(_in_order(order, chosen))
        kind = gang.class_of[order[len(chosen)]]
        state = (len(chosen), latest[kind], left.tobytes())
        if state in failed or not _could_fit(gang, order[len(chosen) :], left):
            return False
        size = gang.sizes[kind]
        fits = gang.allowed[kind] & ((left >= size) | (size == 0)).all(axis=1)
        before = latest[kind]
        for node in np.flatnonzero(fits).tolist():
            if node < before:
                continue
            steps -= 1
            if steps <= 0:
                return False
            left[node] -= size
            chosen.append(node)
            latest[kind] = node
            if go_on():
                return True
            latest[kind] = before
            chosen.pop()
            left[node] += size
        if accepts is None:
            failed.add(state)
        return False

    if not go_on():
        return Packed(None, steps > 0, steps_max - steps)
    return Packed(_in_order(order, chosen), certain=True, steps=steps_max - steps)


def _in_order(order: Sequence[int], chosen: Sequence[int]) -> tuple[int, ...]:
    """Return what was chosen for members in some order in the order of the members."""
    nodes = dict(zip(order, chosen, strict=True))
    return tuple(nodes[number] for number in range(len(order)))


def _could_fit(gang: Gang, waiting: Sequence[int], left: Ints) -> bool:
    """Whether each class by itself has room for those of it that are still to be placed."""
    counts = [0] * len(gang.sizes)
    for number in waiting:
        counts[gang.class_of[number]] += 1
    for kind, count in enumerate(counts):
        if count:
            room = slots(left[gang.allowed[kind]], gang.sizes[kind], count)
            if int(room.sum()) < count:
                return False
    return True
