"""The best way to serve one component on each of many nodes: fewest drives opened, then least stranded.

The hard thing is two aims in one number, exactly. What a plan strands is counted in mebibytes: whole drives
and groups are whole numbers of them, and what the volumes themselves take does not depend on the plan. One
more drive opened weighs more than all that could be stranded. Where disks are so large that this needs more
than 63 bits, the numbers are Python's own.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Final, NamedTuple

import numpy as np

from ullage.engine.storage.components import Component, Item
from ullage.engine.storage.conflict import Sets
from ullage.engine.storage.cover import (
    NEVER,
    Columns,
    Costs,
    Key,
    Needs,
    batches,
    columns_of,
    cover,
    needs_of,
)
from ullage.engine.storage.extents import MEBIBYTE
from ullage.engine.storage.lattice import Lattice, lattice
from ullage.engine.storage.rooms import NOT_WHOLE, Kind, Rooms, Row
from ullage.model.disk_plan import DiskRequest
from ullage.model.drives import EXTENT_BYTES

EXTENT_MEBIBYTES: Final = EXTENT_BYTES // MEBIBYTE
PAIRS_MIN: Final = 729
"""With so many pairs for each drive it pays to see first which drives can be left out."""


class Served(NamedTuple):
    """What each room takes on a node, and what that opens and strands; `bound` opened are the least."""

    takes: tuple[tuple[Row, tuple[DiskRequest, ...]], ...]
    opened: int
    stranded_bytes: int
    bound: int


class Undecided:
    """No way was found within the limits, and none is ruled out."""


Answer = Served | Undecided | None


def solve(
    rooms: Rooms, asked: Component, nodes: Iterable[str], *, explains: bool = False
) -> dict[str, Served | None]:
    """Return the best way for every node; None where there is none.

    Nodes with rooms that are alike are solved once. With `explains`, what cannot stand together is left with
    the rooms: it is to be read from the same tables.
    """
    tables = lattice(asked.share_counts, asked.whole_counts)
    needs = needs_of(asked, tables, rooms.kinds)
    shares = _by_extents(asked, rooms.kinds) if len(tables.rest) * tables.blocks >= PAIRS_MIN else []
    useful: dict[str, list[Row]] = {}
    alike: dict[Key, list[str]] = {}
    for node in nodes:
        here = _worth_opening(rooms.by_node[node], shares) if shares else rooms.by_node[node]
        useful[node], key = _useful(here, needs.least, len(asked.requests))
        alike.setdefault(key, []).append(node)
    reader = _Reader(asked, tables)
    served: dict[str, Served | None] = {}
    sets: Sets | None = None
    for batch in batches(alike, tables):
        columns = columns_of(batch)
        costs, never = _costs(len(asked.requests), tables, needs, columns)
        found = cover(tables, costs, columns.active, never)
        can = (found.least[-1, -1] < never).tolist()
        for key, takes, feasible in zip(batch, found.trace([tables.full] * len(batch)), can, strict=True):
            of_key = takes[len(takes) - len(key) :]
            for node in alike[key]:
                served[node] = reader.served(useful[node], of_key) if feasible else None
        if explains and not all(can):
            sets = sets or Sets(asked)
            unable = [place for place, feasible in enumerate(can) if not feasible]
            numbers = sets.first_never(found.least.reshape(-1, len(batch))[:, unable] >= never)
            for place, number in zip(unable, numbers, strict=True):
                rooms.conflicts.update(dict.fromkeys(alike[batch[place]], sets.requests(number)))
    return served


def _by_extents(asked: Component, kinds: Sequence[Kind]) -> list[int]:
    """Return what the volumes take, the largest first; nothing where it depends on the room."""
    if asked.wholes or len(kinds) != 1:
        return []
    ((_, extent_bytes),) = kinds
    takes = [(sort.extents(extent_bytes), len(sort.items)) for sort in asked.shares]
    return sorted([extents for extents, count in takes for _ in range(count)], reverse=True)


def _worth_opening(rooms: Sequence[Row], shares: Sequence[int]) -> Sequence[Row]:
    """Return rooms without fresh drives that no best way opens.

    The largest volumes are put where least is left, and if need be on the largest fresh drive. If that is a
    way, a best one opens no more drives than it; those that it opens and the rooms in use must hold all.
    """
    used = [row[3] for row in rooms if row[4] == NOT_WHOLE]
    fresh = sorted([row[3] for row in rooms if row[4] != NOT_WHOLE])
    left = list(used)
    opened: list[int] = []
    for extents in shares:
        place = min([(each, place) for place, each in enumerate(left) if each >= extents], default=None)
        if place is not None:
            left[place[1]] -= extents
        elif len(opened) < len(fresh) and fresh[-1 - len(opened)] >= extents:
            opened.append(fresh[-1 - len(opened)])
            left.append(opened[-1] - extents)
        else:
            return rooms
    missing = sum(shares) - sum([max(0, each) for each in used]) - sum(opened[:-1])
    return [row for row in rooms if row[4] == NOT_WHOLE or (opened and row[3] >= missing)]


def _useful(rooms: Sequence[Row], least: Sequence[tuple[int, int]], copies_max: int) -> tuple[list[Row], Key]:
    """Return the rooms that can take anything; of those that are alike no more than there are volumes."""
    if len(least) == 1:
        ((extents, mebibytes),) = least
        found = [row for row in rooms if row[3] >= extents or row[4] >= mebibytes]
    else:
        found = [row for row in rooms if row[3] >= least[row[2]][0] or row[4] >= least[row[2]][1]]
    keys = [row[2:5] for row in found]
    if len(found) > copies_max and len(set(keys)) < len(keys):
        kept = [place for place, key in enumerate(keys) if keys[:place].count(key) < copies_max]
        found, keys = [found[place] for place in kept], [keys[place] for place in kept]
    return found, tuple(keys)


def _costs(volumes: int, tables: Lattice, needs: Needs, columns: Columns) -> tuple[Costs, int]:
    """Return the cost if a drive takes an option, by drive, block, option and node; and what is never."""
    kinds, extents, mebibytes, _ = columns
    drives, width = extents.shape
    uses, bits = min(drives, volumes), tables.taken_bits
    stranded_max = uses * max(0, int(mebibytes.max(initial=0)))
    weight = stranded_max + 1
    most = (uses * weight + stranded_max) << bits
    never, number = (NEVER, np.int64) if most < NEVER else (1 << most.bit_length(), object)
    shares = needs.extents.shape[2]
    taken = tables.taken[:, :shares, None]
    extents, mebibytes = extents[:, None, None], mebibytes[:, None, None]

    needed = needs.extents_by_drive(kinds)
    fresh = mebibytes >= 0
    opening = np.where(fresh, (weight + EXTENT_MEBIBYTES * extents.astype(number, copy=False)) << bits, 0)
    used = (EXTENT_MEBIBYTES * needed.astype(number, copy=False)) << bits
    cost = np.where(fresh, taken - used, taken)
    cost += opening
    costs = np.where(needed <= extents, cost, never)
    costs[:, 0, 0] = 0
    if tables.whole_options:
        of_shares = costs
        costs = np.full((drives, tables.blocks, tables.taken.shape[1], width), never, number)
        costs[:, :, :shares] = of_shares
        needed = needs.mebibytes_by_drive(kinds)
        cost = (mebibytes[:, 0] - needed.astype(number)) << bits | tables.taken[0, shares:, None]
        np.copyto(costs[:, 0, shares:], cost, where=needed <= mebibytes[:, 0])
    return costs, never


class _Reader:
    """Tells which volumes are meant by what rooms take; it knows every number after the first time."""

    def __init__(self, asked: Component, tables: Lattice) -> None:
        self._tables = tables
        self._sorts = (*asked.wholes, *asked.shares)
        self._known: dict[int, _Taken] = {}

    def served(self, rooms: Sequence[Row], takes: Sequence[int]) -> Served:
        """Return which volumes are on which rooms: those of a sort in their order, as the rooms are."""
        items: dict[int, Iterator[Item]] = {}
        found = []
        opened = stranded_bytes = 0
        for row, taken in zip(rooms, takes, strict=True):
            if not taken:
                continue
            counts, here, whole, share_bytes = self._known.get(taken) or self._read(taken)
            here = here or self._next(items, counts)
            found.append((row, here))
            if whole:
                stranded_bytes += row[4] * MEBIBYTE - here[0].size_bytes
            elif row[4] != NOT_WHOLE:
                opened += 1
                stranded_bytes += row[3] * EXTENT_BYTES - share_bytes
        return Served(tuple(found), opened, stranded_bytes, opened)

    def _next(self, items: dict[int, Iterator[Item]], counts: Sequence[tuple[int, int]]) -> Item:
        """Return so many of each sort, the first that are left on a node."""
        found: list[DiskRequest] = []
        for sort, count in counts:
            left = items.setdefault(sort, iter(self._sorts[sort].items))
            found += chain.from_iterable(islice(left, count))
        return tuple(found)

    def _read(self, taken: int) -> "_Taken":
        wholes, shares = self._tables.digits(taken)
        counts = [(sort, count) for sort, count in enumerate(wholes + shares) if count]
        single, extents = True, 0
        for sort, count in counts:
            single = single and len(self._sorts[sort].items) == 1
            extents += count * (self._sorts[sort].extents(EXTENT_BYTES) if sort >= len(wholes) else 0)
        requests = self._next({}, counts) if single else ()
        found = _Taken(counts, requests, any(wholes), extents * EXTENT_BYTES)
        self._known[taken] = found
        return found


class _Taken(NamedTuple):
    """How many of which sorts are taken, whether whole drives, and what shares take of a drive.

    `requests` are those that are meant, where it does not depend on what other rooms take.
    """

    counts: list[tuple[int, int]]
    requests: Item
    whole: bool
    share_bytes: int
