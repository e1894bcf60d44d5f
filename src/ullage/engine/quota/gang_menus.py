"""What a node can offer to a gang: how many more places of one size for the price of which of its members.

A node's offers are points (places gained, price), each with the members that go. Where all who may go are of
one size they go in order of price, and the prefixes are all that matters; else all subsets of up to ten
members are weighed as one table over all nodes, made by doubling; a node with more offers its largest first.
"""

from typing import Final, NamedTuple

import numpy as np

from ullage.engine.quota.gang_columns import Columns, Flags, Ints
from ullage.engine.quota.gang_packing import slots

SUBSET_MEMBERS_MAX: Final = 10
LEVELS_MAX: Final = 8
"""How many different gains a node offers where subsets are weighed; more are thinned out."""
TABLE_MAX: Final = 1 << 16
"""How many cells a table of subsets may have at a time."""
PRICE_MAX: Final = 1 << 46
"""How much a member may cost, so that ten of them and the number of their subset are one integer."""
NO_OFFER: Final = np.iinfo(np.int64).max // 4


class Menu(NamedTuple):
    """The offers of some nodes; point 0 is nobody for nothing, and gains rise from point to point.

    A price of NO_OFFER is no offer. `picked` holds for every point the members that go, as bits over `rows`
    where `by_bits`, else as how many of `rows` go, from the first.
    """

    nodes: Ints
    rows: Ints
    gain: Ints
    price: Ints
    picked: Ints
    by_bits: bool

    def goes(self, lines: Ints, points: Ints) -> Flags:
        """Return who of these lines' rows goes when their nodes stand at these points."""
        picked = self.picked[lines, points]
        places = np.arange(self.rows.shape[1])
        goes = (picked[:, None] >> places) & 1 > 0 if self.by_bits else places < picked[:, None]
        return goes & (self.rows[lines] >= 0)


class Market(NamedTuple):
    """The room there is for those `asking`, all of one size, and how many more places they `need`."""

    columns: Columns
    resources: Ints
    free: Ints
    allowed: Flags
    size: Ints
    asking: int
    need: int


def menus(market: Market, usable: Flags, price: Ints) -> list[Menu]:
    """Return the offers of all nodes that may have members of a class and have members who may go."""
    rows = rows_by_node(market, usable, price)
    if rows is None:
        return []
    nodes, table = rows
    takes = market.columns.takes[np.ix_(table.ravel(), market.resources)].reshape(*table.shape, -1)
    takes[table < 0] = 0
    one_size = ((takes == takes[:, :1]) | (table < 0)[:, :, None]).all(axis=(1, 2))
    counts = (table >= 0).sum(axis=1)
    by_subset = ~one_size & (counts <= SUBSET_MEMBERS_MAX)
    many = ~one_size & ~by_subset
    found: list[Menu] = []
    if one_size.any():
        found.append(_prefixes(market, nodes[one_size], table[one_size], takes[one_size], price))
    parts: list[Menu] = []
    for count in np.unique(counts[by_subset]).tolist():
        some = np.flatnonzero(by_subset & (counts == count))
        share = max(1, TABLE_MAX >> count)
        for start in range(0, len(some), share):
            part = some[start : start + share]
            parts.append(_subsets(market, nodes[part], table[part, :count], takes[part, :count], price))
    if parts:
        found.append(_joined(parts))
    if many.any():
        ordered = _largest_first(market, table[many], takes[many], price)
        takes = market.columns.takes[np.ix_(ordered.ravel(), market.resources)].reshape(*ordered.shape, -1)
        takes[ordered < 0] = 0
        found.append(_prefixes(market, nodes[many], ordered, takes, price))
    return found


def rows_by_node(market: Market, usable: Flags, price: Ints) -> tuple[Ints, Ints] | None:
    """Return nodes, and for each of them a line of rows that may go, cheapest first, filled up with -1."""
    columns = market.columns
    order = columns.by_node
    node = columns.node[order]
    kept = usable[order] & (node >= 0) & market.allowed[node]
    order, node = order[kept], node[kept]
    if not len(order):
        return None
    prices = price[order]
    if prices.min() != prices.max():
        sorted_by = np.lexsort((prices, node))
        order = order[sorted_by]
    starts = np.flatnonzero(np.diff(node, prepend=-1))
    counts = np.diff(starts, append=len(node))
    line = np.repeat(np.arange(len(starts)), counts)
    table = np.full((len(starts), int(counts.max())), -1, np.int64)
    table[line, np.arange(len(node)) - starts[line]] = order
    return node[starts], table


def _largest_first(market: Market, table: Ints, takes: Ints, price: Ints) -> Ints:
    """Return lines of rows by price, and those of the same price by how many places they give at most."""
    size = np.maximum(market.size, 1)
    worth = (takes * 1024 // size).max(axis=2)
    prices = np.where(table < 0, NO_OFFER, price[table])
    order = np.lexsort((-worth, prices), axis=1)
    return np.take_along_axis(table, order, axis=1)


def _prefixes(market: Market, nodes: Ints, table: Ints, takes: Ints, price: Ints) -> Menu:
    room = market.free[nodes][:, None, :]
    freed = np.concatenate((np.zeros_like(takes[:, :1]), np.cumsum(takes, axis=1)), axis=1)
    places = slots(room + freed, market.size, market.asking)
    now = slots(market.free[nodes], market.size, market.asking)
    prices = np.cumsum(np.where(table < 0, 0, price[table]), axis=1)
    prices = np.concatenate((np.zeros_like(prices[:, :1]), prices), axis=1)
    gain = np.minimum(places - now[:, None], market.need)
    rises = np.ones_like(gain, np.bool_)
    rises[:, 1:] = gain[:, 1:] > gain[:, :-1]
    picked = np.broadcast_to(np.arange(gain.shape[1]), gain.shape)
    return Menu(nodes, table, gain, np.where(rises, prices, NO_OFFER), picked, by_bits=False)


def _subsets(market: Market, nodes: Ints, table: Ints, takes: Ints, price: Ints) -> Menu:
    """Return the cheapest subset of each node for every gain; tables have a line for each subset."""
    count = table.shape[1]
    room = market.free[nodes]
    gain = np.full((1 << count, len(nodes)), market.asking, np.int64)
    for place, amount in enumerate(market.size.tolist()):
        if amount > 0:
            sums = _sums(room[:, place], takes[:, :, place])
            np.minimum(gain, np.floor_divide(sums, amount, out=sums), out=gain)
    gain -= slots(room, market.size, market.asking)
    np.maximum(gain, 0, out=gain)
    np.minimum(gain, market.need, out=gain)
    levels = np.arange(int(gain.max()) + 1)
    if len(levels) > LEVELS_MAX + 1:
        thinned = np.unique(np.linspace(0, len(levels) - 1, LEVELS_MAX + 1).astype(np.int64))
        gain = (np.searchsorted(thinned, levels, side="right") - 1)[gain]
        levels = thinned
    gain *= len(nodes)
    gain += np.arange(len(nodes))
    bits = np.left_shift(1, np.arange(count))
    prices = _sums(np.zeros(len(nodes), np.int64), (price[table] << count) + bits)
    best = np.full(len(levels) * len(nodes), NO_OFFER, np.int64)
    np.minimum.at(best, gain.ravel(), prices.ravel())
    best = np.minimum.accumulate(best.reshape(len(levels), -1)[::-1], axis=0)[::-1].T
    cheapest = np.where(best == NO_OFFER, NO_OFFER, best >> count)
    gained = np.broadcast_to(levels, cheapest.shape)
    return Menu(nodes, table, gained, cheapest, best & ((1 << count) - 1), by_bits=True)


def _joined(parts: list[Menu]) -> Menu:
    """Return several menus as one; lines are filled up with nobody and with no offers."""
    width = max(part.rows.shape[1] for part in parts)
    points = max(part.gain.shape[1] for part in parts)
    return Menu(
        np.concatenate([part.nodes for part in parts]),
        np.concatenate([_filled(part.rows, width, -1) for part in parts]),
        np.concatenate([_filled(part.gain, points, 0) for part in parts]),
        np.concatenate([_filled(part.price, points, NO_OFFER) for part in parts]),
        np.concatenate([_filled(part.picked, points, 0) for part in parts]),
        by_bits=True,
    )


def _filled(table: Ints, width: int, value: int) -> Ints:
    found = np.full((len(table), width), value, np.int64)
    found[:, : table.shape[1]] = table
    return found


def _sums(start: Ints, values: Ints) -> Ints:
    """Return for every line of values the sums of all its subsets, one below the other by their bits."""
    count = values.shape[1]
    found = np.empty((1 << count, len(values)), np.int64)
    found[0] = start
    for place in range(count):
        half = 1 << place
        np.add(found[:half], values[:, place], out=found[half : 2 * half])
    return found
