"""What an overfull drive has too much, in bytes, for every part of the volumes that it could take.

Either the drive is too small or a volume too large, and the two differ by what rounding leaves: a drive has
more bytes than its extents, and a volume fewer than its own. The lesser change counts.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from ullage.engine.storage.components import BYTES_MAX, Component, Sort
from ullage.engine.storage.cover import NEVER, TOO_MUCH, Columns, Costs, Needs, needs_of
from ullage.engine.storage.extents import MEBIBYTE, METADATA_BYTES
from ullage.engine.storage.lattice import IntArray, Lattice
from ullage.engine.storage.rooms import Kind

IMPOSSIBLE: Final = -1

Facts = tuple[int, int, int, int, bool]
"""All that matters of a room here: kind, extents, mebibytes, bytes, and whether it is a group."""


class Side(NamedTuple):
    """A component beside the rooms of nodes; `unused` are bytes of a room beyond its last extent."""

    asked: Component
    kinds: Sequence[Kind]
    tables: Lattice
    needs: Needs
    columns: Columns
    sizes: IntArray
    extent_bytes: IntArray
    unused: IntArray

    @classmethod
    def of(
        cls,
        asked: Component,
        kinds: Sequence[Kind],
        tables: Lattice,
        columns: Columns,
        keys: Sequence[Sequence[Facts]],
    ) -> "Side":
        """Return it for nodes whose rooms are given by their facts."""
        height = len(columns.active)
        empty = ((0, False),)
        rows = [empty * (height - len(key)) + tuple([facts[3:] for facts in key]) for key in keys]
        sizes, groups = np.array(rows, np.int64).reshape(len(keys), height, 2).T
        extent_bytes = np.array([extent for _, extent in kinds], np.int64)[columns.kinds]
        unused = (sizes - np.where(groups, 0, METADATA_BYTES)) % extent_bytes
        return cls(asked, kinds, tables, needs_of(asked, tables, kinds), columns, sizes, extent_bytes, unused)


def excess_costs(side: Side) -> Costs:
    """Return nothing for what fits; with the spare digit the place of what is too much among all sizes."""
    tables = side.tables
    options = tables.taken.shape[1] // 2
    shares, wholes = _share_excess(side), _whole_excess(side)
    excess = np.full((len(wholes), tables.blocks, options, wholes.shape[2]), IMPOSSIBLE, np.int64)
    excess[:, :, : shares.shape[2]] = shares
    excess[:, 0, shares.shape[2] :] = wholes
    _, places = np.unique(excess, return_inverse=True)
    costs = places.reshape(excess.shape) << tables.taken_bits
    fits = np.where(excess == 0, tables.taken[:, :options, None], NEVER)
    over = np.where(excess > 0, costs | tables.taken[:, options:, None], NEVER)
    return np.concatenate([fits, over], axis=2)


def _share_excess(side: Side) -> IntArray:
    """Return what is too much of every part of the shares, by drive, block, option and node."""
    needed = side.needs.extents_by_drive(side.columns.kinds)
    over = needed - side.columns.extents[:, None, None]
    extent_bytes = side.extent_bytes[:, None, None]
    spared = np.broadcast_to(side.unused[:, None, None], over.shape).copy()
    for number, sort in enumerate(side.asked.shares):
        takes, rest = (each[side.columns.kinds][:, None, None] for each in _rounding(sort, side.kinds))
        large_enough = _having(side.tables, number)[None, :, :, None] & (takes > over)
        np.maximum(spared, rest, out=spared, where=large_enough)
    lacks = (over > 0) & (over <= BYTES_MAX // extent_bytes)
    excess = np.where(lacks, over * extent_bytes - spared, np.where(over > 0, IMPOSSIBLE, 0))
    excess[:, 0, 0] = 0
    return excess


def _rounding(sort: Sort, kinds: Sequence[Kind]) -> tuple[IntArray, IntArray]:
    """Return the extents that a volume takes on each kind of room, and the bytes that it does not need."""
    extents = [sort.extents(extent_bytes) for _, extent_bytes in kinds]
    size_bytes = sort.items[0][0].size_bytes
    rest = [count * kind[1] - size_bytes for count, kind in zip(extents, kinds, strict=True)]
    return np.array(extents, np.int64), np.array(rest, np.int64)


def _having(tables: Lattice, number: int) -> np.ndarray[tuple[int, int], np.dtype[np.bool_]]:
    """Return by block and option whether a sort of shares is in it."""
    low_count = tables.low_shares.shape[1]
    found = np.zeros((tables.blocks, len(tables.low_shares)), bool)
    if number < low_count:
        found |= tables.low_shares[:, number] > 0
    else:
        found |= tables.high_shares[:, number - low_count, None] > 0
    return found


def _whole_excess(side: Side) -> IntArray:
    """Return what is too much of every volume that wants a drive to itself, by drive, option and node."""
    needed = side.needs.mebibytes_by_drive(side.columns.kinds)
    mebibytes, wholes = side.columns.mebibytes[:, None], side.asked.wholes
    asked_bytes = [wholes[sort].items[which - 1][0].size_bytes for sort, which in side.tables.whole_options]
    larger = needed * MEBIBYTE - side.sizes[:, None]
    smaller = np.array(asked_bytes, np.int64)[:, None] - mebibytes * MEBIBYTE
    change = np.where(mebibytes > 0, np.minimum(larger, smaller), larger)
    lacks = (mebibytes >= 0) & (needed < TOO_MUCH)
    return np.where(needed <= mebibytes, 0, np.where(lacks, change, IMPOSSIBLE))
