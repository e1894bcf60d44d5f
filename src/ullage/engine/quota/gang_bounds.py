"""How many victims a gang needs at least: bounds that hold for every legal set.

Members count as the largest first, for each resource by itself, and a member of the gang takes at least as
many places of a smaller size as fit into it: so the bound may be too low, and is never too high.
"""

from typing import NamedTuple

import numpy as np

from ullage.engine.quota.gang_columns import Flags, Ints
from ullage.engine.quota.gang_judge import Judge, Need
from ullage.engine.quota.gang_menus import NO_OFFER, Market, Menu, rows_by_node
from ullage.engine.quota.gang_packing import Gang, slots
from ullage.engine.quota.gang_plan import fewest


def victims_min(judge: Judge, gang: Gang, usable: Flags, free: Ints) -> int | None:
    """Return how many of those usable go at least; None if all of them together are not enough."""
    found = 0
    for need in judge.needs:
        least = _fewest_for(need, usable)
        if least is None:
            return None
        found = max(found, least)
    freed: dict[bytes, _Freed | None] = {}
    for size in _sizes(gang):
        market = _market(judge, gang, free, size)
        if market is None:
            return None
        if market.need > 0:
            key = market.allowed.tobytes()
            if key not in freed:
                freed[key] = _freed(market, usable)
            offers = freed[key]
            least = None if offers is None else fewest([_hopeful(market, offers)], market.need)
            if least is None:
                return None
            found = max(found, least)
    return found


def _sizes(gang: Gang) -> list[Ints]:
    """Return sizes to count in: each of the gang's, and for each resource what divides all that is taken."""
    found = {tuple(size) for size in gang.sizes.tolist()}
    if len(found) > 1:
        for place, unit in enumerate(np.gcd.reduce(gang.sizes, axis=0).tolist()):
            found.add(tuple(unit if each == place else 0 for each in range(gang.sizes.shape[1])))
    return [np.array(size, np.int64) for size in sorted(found, reverse=True)]


def _fewest_for(need: Need, usable: Flags) -> int | None:
    given = np.cumsum(np.sort(need.given[usable])[::-1])
    count = int(np.searchsorted(given, need.short)) + 1
    return None if count > len(given) else count


def _market(judge: Judge, gang: Gang, free: Ints, size: Ints) -> Market | None:
    """Return the places of a size that all members that hold some need; None if no node may have one."""
    if not size.any():
        anywhere: Flags = np.logical_or.reduce(gang.allowed, axis=0)
        is_open = bool(gang.allowed.any(axis=1).all())
        return Market(judge.columns, gang.resources, free, anywhere, size, 0, 0) if is_open else None
    inside = slots(gang.sizes, size, int(np.iinfo(np.int64).max))
    allowed: Flags = np.logical_or.reduce(gang.allowed[inside > 0], axis=0)
    count = sum(each * len(places) for each, places in zip(inside.tolist(), gang.members_of, strict=True))
    now = np.where(allowed, slots(free, size, count), 0)
    return Market(judge.columns, gang.resources, free, allowed, size, count, count - int(now.sum()))


class _Freed(NamedTuple):
    """Nodes, their rows, and what the largest one, two and so on give back, each resource by itself."""

    nodes: Ints
    rows: Ints
    amounts: Ints


def _freed(market: Market, usable: Flags) -> _Freed | None:
    found = rows_by_node(market, usable, np.ones(len(usable), np.int64))
    if found is None:
        return None
    nodes, rows = found
    takes = market.columns.takes[np.ix_(rows.ravel(), market.resources)].reshape(*rows.shape, -1)
    takes[rows < 0] = 0
    return _Freed(nodes, rows, np.cumsum(-np.sort(-takes, axis=1), axis=1))


def _hopeful(market: Market, freed: _Freed) -> Menu:
    """Return offers at a price of 1 for a member, as if the largest of each resource were in one member."""
    room = market.free[freed.nodes]
    now = slots(room, market.size, market.asking)
    gain = np.zeros((len(room), freed.rows.shape[1] + 1), np.int64)
    gain[:, 1:] = slots(room[:, None, :] + freed.amounts, market.size, market.asking) - now[:, None]
    np.minimum(gain, market.need, out=gain)
    price = np.broadcast_to(np.arange(gain.shape[1]), gain.shape).copy()
    price[:, 1:][gain[:, 1:] <= gain[:, :-1]] = NO_OFFER
    return Menu(freed.nodes, freed.rows, gain, price, price, by_bits=False)
