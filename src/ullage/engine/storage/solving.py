"""The best way to serve one component on each of many nodes: fewest drives opened, then least stranded.

The hard thing is two aims in one number, exactly. What a plan strands is counted in mebibytes: whole drives
and groups are whole numbers of them, and what the volumes themselves take does not depend on the plan. One
more drive opened weighs more than all that could be stranded. Where disks are so large that this needs more
than 63 bits, the numbers are Python's own.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple

import numpy as np

from ullage.engine.storage.components import Component
from ullage.engine.storage.cover import (
    NEVER,
    TOO_MUCH,
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


class Served(NamedTuple):
    """What each room takes on a node, and what that opens and strands; `bound` opened are the least."""

    takes: tuple[tuple[Row, tuple[DiskRequest, ...]], ...]
    opened: int
    stranded_bytes: int
    bound: int


class Undecided:
    """No way was found within the limits, and none is ruled out."""


Answer = Served | Undecided | None


def solve(rooms: Rooms, asked: Component, nodes: Iterable[str]) -> dict[str, Served | None]:
    """Return the best way for every node; None where there is none.

    Nodes with rooms that are alike are solved once.
    """
    tables = lattice(asked.share_counts, asked.whole_counts)
    needs = needs_of(asked, tables, rooms.kinds)
    least = _least(asked, rooms.kinds)
    useful: dict[str, list[Row]] = {}
    alike: dict[Key, list[str]] = {}
    for node in nodes:
        useful[node], key = _useful(rooms.by_node[node], least, len(asked.requests))
        alike.setdefault(key, []).append(node)
    reader = _Reader(asked, tables)
    served: dict[str, Served | None] = {}
    for batch in batches(alike, tables):
        for key, takes in zip(batch, _takes(asked, tables, needs, batch), strict=True):
            for node in alike[key]:
                served[node] = None if takes is None else reader.served(useful[node], takes)
    return served


def _least(asked: Component, kinds: Sequence[Kind]) -> list[tuple[int, int]]:
    """Return for every kind of room the extents and the mebibytes below which it is of no use."""
    found = []
    for drive_class, extent_bytes in kinds:
        extents = [sort.extents(extent_bytes) for sort in asked.shares if sort.suits(drive_class)]
        mebibytes = [sort.mebibytes(0) for sort in asked.wholes if sort.suits(drive_class)]
        found.append((min(extents, default=TOO_MUCH), min(mebibytes, default=TOO_MUCH)))
    return found


def _useful(rooms: Sequence[Row], least: Sequence[tuple[int, int]], copies_max: int) -> tuple[list[Row], Key]:
    """Return the rooms that can take anything; of those that are alike no more than there are volumes."""
    found = [row for row in rooms if row[3] >= least[row[2]][0] or row[4] >= least[row[2]][1]]
    keys = [row[2:5] for row in found]
    if len(found) > copies_max and len(set(keys)) < len(keys):
        kept = [place for place, key in enumerate(keys) if keys[:place].count(key) < copies_max]
        found, keys = [found[place] for place in kept], [keys[place] for place in kept]
    return found, tuple(keys)


def _takes(
    asked: Component, tables: Lattice, needs: Needs, keys: Sequence[Key]
) -> Iterator[list[int] | None]:
    """Yield for each node what its rooms take to serve everything; None where they cannot."""
    columns = columns_of(keys)
    costs, never = _costs(len(asked.requests), tables, needs, columns)
    found = cover(tables, costs, columns.active, never)
    can = (found.least[-1, -1] < never).tolist()
    taken = found.trace(np.full(len(keys), tables.full)).T.tolist()
    for key, takes, feasible in zip(keys, taken, can, strict=True):
        yield takes[len(takes) - len(key) :] if feasible else None


def _costs(volumes: int, tables: Lattice, needs: Needs, columns: Columns) -> tuple[Costs, int]:
    """Return the cost if a drive takes an option, by drive, block, option and node; and what is never."""
    kinds, extents, mebibytes, _ = columns
    drives, width = extents.shape
    uses, bits = min(drives, volumes), tables.taken_bits
    stranded_max = uses * max(0, int(mebibytes.max(initial=0)))
    weight = stranded_max + 1
    most = (uses * weight + stranded_max) << bits
    never, number = (NEVER, np.int64) if most < NEVER else (1 << most.bit_length(), object)
    costs = np.full((drives, tables.blocks, tables.taken.shape[1], width), never, number)
    shares = needs.extents.shape[2]
    taken = tables.taken[:, :shares, None]
    extents, mebibytes = extents[:, None, None], mebibytes[:, None, None]

    needed = needs.extents_by_drive(kinds)
    opening = (weight + EXTENT_MEBIBYTES * extents.astype(number)) << bits
    used = ((EXTENT_MEBIBYTES * needed.astype(number)) << bits) - taken
    cost = np.where(mebibytes >= 0, opening - used, taken)
    np.copyto(costs[:, :, :shares], cost, where=needed <= extents)
    costs[:, 0, 0] = 0
    if tables.whole_options:
        needed = needs.mebibytes_by_drive(kinds)
        cost = (mebibytes[:, 0] - needed.astype(number)) << bits | tables.taken[0, shares:, None]
        np.copyto(costs[:, 0, shares:], cost, where=needed <= mebibytes[:, 0])
    return costs, never


class _Reader:
    """Tells which volumes are meant by what rooms take; it knows every number after the first time."""

    def __init__(self, asked: Component, tables: Lattice) -> None:
        self._asked = asked
        self._tables = tables
        self._known: dict[int, tuple[list[tuple[int, int]], bool, int]] = {}

    def served(self, rooms: Sequence[Row], takes: Sequence[int]) -> Served:
        """Return which volumes are on which rooms: those of a sort in their order, as the rooms are."""
        items = [iter(sort.items) for sort in (*self._asked.wholes, *self._asked.shares)]
        found = []
        opened = stranded_bytes = 0
        for row, taken in zip(rooms, takes, strict=True):
            if not taken:
                continue
            counts, whole, share_bytes = self._known.get(taken) or self._read(taken)
            here = [each for sort, count in counts for item in islice(items[sort], count) for each in item]
            found.append((row, tuple(here)))
            _, _, _, extents, mebibytes, _, _ = row
            if whole:
                stranded_bytes += mebibytes * MEBIBYTE - here[0].size_bytes
            elif mebibytes != NOT_WHOLE:
                opened += 1
                stranded_bytes += extents * EXTENT_BYTES - share_bytes
        return Served(tuple(found), opened, stranded_bytes, opened)

    def _read(self, taken: int) -> tuple[list[tuple[int, int]], bool, int]:
        """Return how many of which sorts are taken, whether whole drives, and what shares take of a drive."""
        wholes, shares = self._tables.digits(taken)
        counts = [(sort, count) for sort, count in enumerate(wholes + shares) if count]
        sorts = zip(self._asked.shares, shares, strict=True)
        extents = sum(sort.extents(EXTENT_BYTES) * count for sort, count in sorts if count)
        self._known[taken] = counts, any(wholes), extents * EXTENT_BYTES
        return self._known[taken]
