"""Which offers of nodes to take: the steps of their convex hulls, the cheapest first, and the rest exactly.

Where prices rise from place to place the cheapest steps are the optimum. Where they do not, the last steps
would bring more than is needed: what is then still lacking, if it is little, is bought by a min-plus table
over the nodes that could be part of it. The same steps with prices of 1 bound the number of victims.
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from ullage.engine.quota.gang_columns import Ints
from ullage.engine.quota.gang_menus import NO_OFFER, Menu

REST_MAX: Final = 8
"""Up to how many places the rest is bought exactly; beyond, by the one cheapest offer."""
UNDONE_MAX: Final = 3
"""How many of the last steps may be left out for a cheaper rest."""


class Taste(NamedTuple):
    """How much is lost with each row, and whose loss is regretted more, where prices are the same."""

    bulk: npt.NDArray[np.float64]
    rank: Ints


class Steps(NamedTuple):
    """Steps from point to point of nodes, in the order they are taken; `line` counts through all menus."""

    line: Ints
    point: Ints
    gain: Ints
    price: Ints


class Plan:
    """The offers taken, one after the other; a later one of the same node replaces the earlier."""

    def __init__(self, offers: Sequence[Menu], need: int, taste: Taste) -> None:
        self._menus = offers
        self._starts = np.cumsum([0, *(len(menu.nodes) for menu in offers)])
        steps = _hull_steps(offers, need, taste)
        reached = np.cumsum(steps.gain)
        whole = int(np.searchsorted(reached, need, side="right"))
        self.line: Ints = steps.line[:whole]
        self.point: Ints = steps.point[:whole]
        if whole < len(steps.line) and need > (int(reached[whole - 1]) if whole else 0):
            self._buy_rest(steps, whole, need)

    def __len__(self) -> int:
        return len(self.line)

    def victims(self, count: int) -> Ints:
        """Return who goes with the first steps."""
        points = self._points(count)
        found = [np.zeros(0, np.int64)]
        for menu, start in zip(self._menus, self._starts, strict=False):
            here = points[start : start + len(menu.nodes)]
            lines = np.flatnonzero(here)
            found.append(menu.rows[lines][menu.goes(lines, here[lines])])
        return np.concatenate(found)

    def _points(self, count: int) -> Ints:
        points = np.zeros(int(self._starts[-1]), np.int64)
        points[self.line[:count]] = self.point[:count]
        return points

    def _buy_rest(self, steps: Steps, whole: int, need: int) -> None:
        """Add the cheapest offers, on top of those taken or without the last of them, that bring the rest."""
        gained, spent = (
            np.concatenate(([0], np.cumsum(each))).tolist() for each in (steps.gain, steps.price)
        )
        hoped = spent[whole] + _ceil_divide(
            (need - gained[whole]) * int(steps.price[whole]), int(steps.gain[whole])
        )
        best = NO_OFFER
        line, point = self.line, self.point
        for kept in range(whole, max(-1, whole - UNDONE_MAX - 1), -1):
            rest = need - gained[kept]
            if rest > REST_MAX and kept < whole:
                break
            lines, points, price = self._rest(self._points(kept), rest)
            if spent[kept] + price < best:
                best = spent[kept] + price
                line = np.concatenate((steps.line[:kept], lines))
                point = np.concatenate((steps.point[:kept], points))
            if best <= hoped:
                break
        self.line, self.point = line, point

    def _rest(self, at: Ints, rest: int) -> tuple[Ints, Ints, int]:
        """Return what brings a rest at the least price from where the nodes stand: lines, points, price."""
        most = min(rest, REST_MAX)
        offered = [
            _prices_from(menu, at[start : start + len(menu.nodes)], most, rest)
            for menu, start in zip(self._menus, self._starts, strict=False)
        ]
        price, point = (np.concatenate(each) for each in zip(*offered, strict=True))
        bought = _cheapest_mix(price, rest) if rest <= REST_MAX else [(int(price[:, -1].argmin()), most)]
        lines = np.array([line for line, _ in bought], np.int64)
        gains = np.array([gain for _, gain in bought], np.int64)
        return lines, point[lines, gains], int(price[lines, gains].sum()) if bought else NO_OFFER


def _hull_steps(offers: Sequence[Menu], need: int, taste: Taste | None) -> Steps:
    """Return steps of the lower convex hulls of all nodes: the cheapest by place first, ties by taste.

    Steps that are too dear to be among those that bring what is needed are left out.
    """
    found: list[_Stairs] = []
    first = 0
    for menu in offers:
        straight = None if menu.by_bits else _convex_stairs(menu, taste)
        stairs = _stairs(menu, need, taste) if straight is None else (straight,)
        found += [each._replace(line=each.line + first) for each in stairs]
        first += len(menu.nodes)
    if not found:
        none = np.zeros(0, np.int64)
        return Steps(none, none, none, none)
    columns = [np.concatenate(each) for each in zip(*found, strict=True)]
    order = np.lexsort(columns[:3])
    line, point, gain, price = (each[order] for each in columns[3:])
    return Steps(line, point, gain, price)


class _Stairs(NamedTuple):
    """Steps as they are found; what is lost up to a step never falls on a node: they keep their order."""

    rank: Ints
    bulk: npt.NDArray[np.float64]
    slope: npt.NDArray[np.float64]
    line: Ints
    point: Ints
    gain: Ints
    price: Ints


def _convex_stairs(menu: Menu, taste: Taste | None) -> _Stairs | None:
    """Return all steps of a menu if on every node prices by place rise from point to point without a gap."""
    is_open = menu.price[:, 1:] < NO_OFFER
    if (is_open[:, 1:] & ~is_open[:, :-1]).any():
        return None
    gain = np.diff(menu.gain, axis=1)
    price = np.diff(menu.price, axis=1)
    slope = price / np.maximum(gain, 1)
    if ((slope[:, 1:] < slope[:, :-1]) & is_open[:, 1:]).any():
        return None
    point, line = np.nonzero(is_open.T)
    rank, bulk = np.zeros(len(line), np.int64), np.zeros(len(line))
    if taste is not None:
        rank = np.maximum.accumulate(taste.rank[menu.rows], axis=1)[line, point]
        bulk = np.maximum.accumulate(taste.bulk[menu.rows], axis=1)[line, point]
    return _Stairs(rank, bulk, slope[line, point], line, point + 1, gain[line, point], price[line, point])


def _stairs(menu: Menu, need: int, taste: Taste | None) -> Iterator[_Stairs]:
    """Yield the first steps of nodes, the second, and so on, each of fewer nodes."""
    lines = np.arange(len(menu.nodes))
    at = np.zeros(len(lines), np.int64)
    rank, bulk = np.zeros(len(lines), np.int64), np.zeros(len(lines))
    too_dear = np.inf
    for _ in range(menu.gain.shape[1] - 1):
        gain = menu.gain[lines] - menu.gain[lines, at][:, None]
        price = menu.price[lines] - menu.price[lines, at][:, None]
        is_open = (menu.price[lines] < NO_OFFER) & (gain > 0)
        slope = np.where(is_open, price, NO_OFFER) / np.maximum(gain, 1)
        to = slope.argmin(axis=1)
        here = np.arange(len(lines))
        goes = is_open[here, to] & (slope[here, to] < too_dear)
        if not goes.any():
            return
        here, to, lines = here[goes], to[goes], lines[goes]
        if taste is not None:
            gone = menu.goes(lines, to)
            rank = np.maximum(rank[goes], np.where(gone, taste.rank[menu.rows[lines]], 0).max(axis=1))
            bulk = np.maximum(bulk[goes], np.where(gone, taste.bulk[menu.rows[lines]], 0).max(axis=1))
        else:
            rank, bulk = rank[goes], bulk[goes]
        steps = _Stairs(rank, bulk, slope[here, to], lines, to, gain[here, to], price[here, to])
        yield steps
        too_dear = min(too_dear, _slope_of_enough(steps, need))
        at = to


def _slope_of_enough(steps: _Stairs, need: int) -> float:
    """Return up to which price by place these steps alone bring enough."""
    order = np.argsort(steps.slope)
    reached = np.cumsum(steps.gain[order])
    place = int(np.searchsorted(reached, need))
    return float(steps.slope[order[place]]) if place < len(order) else np.inf


def _prices_from(menu: Menu, at: Ints, most: int, rest: int) -> tuple[Ints, Ints]:
    """Return for each node what 1 to `most` more places cost from where it stands, and at which point."""
    lines = np.arange(len(menu.nodes))
    gain = menu.gain - menu.gain[lines, at][:, None]
    price = np.where(menu.price < NO_OFFER, menu.price - menu.price[lines, at][:, None], NO_OFFER)
    prices = np.zeros((len(lines), most + 1), np.int64)
    points = np.zeros((len(lines), most + 1), np.int64)
    for number in range(1, most + 1):
        wanted = rest if number == most else number
        offered = np.where(gain >= wanted, price, NO_OFFER)
        points[:, number] = offered.argmin(axis=1)
        prices[:, number] = offered[lines, points[:, number]]
    return prices, points


def _cheapest_mix(price: Ints, rest: int) -> list[tuple[int, int]]:
    """Return which nodes bring how many places so that the price of `rest` of them is least, or none.

    Of the nodes only the `rest` cheapest for each number of places can be part of it.
    """
    kept: set[int] = set()
    for number in range(1, rest + 1):
        kept.update(np.argsort(price[:, number], kind="stable")[:rest].tolist())
    best: list[tuple[int, list[tuple[int, int]]]] = [(0, []), *[(NO_OFFER, [])] * rest]
    for line in sorted(kept):
        prices = price[line].tolist()
        for total in range(rest, 0, -1):
            for number in range(1, total + 1):
                cost = best[total - number][0] + prices[number]
                if cost < best[total][0]:
                    best[total] = (cost, [*best[total - number][1], (line, number)])
    return best[rest][1]


def fewest(offers: Sequence[Menu], need: int) -> int | None:
    """Return a bound: no offers that bring enough have a lower price; None if none bring enough."""
    steps = _hull_steps(offers, need, None)
    reached = np.cumsum(steps.gain)
    whole = int(np.searchsorted(reached, need, side="right"))
    spent = int(steps.price[:whole].sum())
    rest = need - (int(reached[whole - 1]) if whole else 0)
    if rest <= 0:
        return spent
    if whole == len(steps.line):
        return None
    return spent + _ceil_divide(rest * int(steps.price[whole]), int(steps.gain[whole]))


def _ceil_divide(amount: int, by: int) -> int:
    return -(-amount // by)
