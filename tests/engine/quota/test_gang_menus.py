"""What nodes offer, beside every set of members of a node."""

from itertools import combinations
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.quota.gang_cases import seeded, wide_case
from ullage.engine.quota.gang_menus import NO_OFFER, Market, menus
from ullage.engine.quota.gang_packing import gang_of, slots


def market_of(random: Random, sizes: int) -> tuple[Market, np.ndarray]:
    """Return a market for the gang's first size, and prices of three kinds."""
    case = wide_case(random, "Quota", sizes)
    columns = case.columns()
    gang = gang_of(case.claim.members, columns, None)
    free = columns.free[:, gang.resources]
    need = random.randint(1, 6)
    allowed = np.array([random.random() < 0.8 for _ in columns.nodes])
    count = need + int(slots(free, gang.sizes[0], 99).sum())
    prices = np.array([random.choice((1, 1, 50, 2500)) for _ in columns.members])
    return Market(columns, gang.resources, free, allowed, gang.sizes[0], count, need), prices


@pytest.mark.parametrize("sizes", [1, 3])
@given(seed=st.integers(0, 2**32))
def test_each_offer_is_the_cheapest_for_what_it_brings(sizes, seed):
    random = seeded(seed)
    market, prices = market_of(random, sizes)
    columns = market.columns
    usable = np.array([random.random() < 0.5 for _ in columns.members])
    offered = set()
    for menu in menus(market, usable, prices):
        assert not offered & set(menu.nodes.tolist())
        offered |= set(menu.nodes.tolist())
        for line, node in enumerate(menu.nodes.tolist()):
            assert market.allowed[node]
            rows = np.flatnonzero(usable & (columns.node == node)).tolist()
            if len(rows) > 8:
                continue
            best = cheapest(market, rows, node, prices)
            points = np.flatnonzero(menu.price[line] < NO_OFFER)
            gains = {int(menu.gain[line, point]): int(menu.price[line, point]) for point in points}
            assert gains == {gain: price for gain, price in best.items() if gain in gains}
            assert max(gains) == max(best)
            for point in points.tolist():
                goes = menu.rows[line][menu.goes(np.array([line]), np.array([point]))[0]]
                assert brought(market, goes.tolist(), node) >= menu.gain[line, point]
                assert int(prices[goes].sum()) == menu.price[line, point]


def brought(market: Market, rows: list[int], node: int) -> int:
    room = market.free[node]
    after = room + market.columns.takes[np.ix_(rows, market.resources)].sum(axis=0)
    gain = int(slots(after, market.size, market.asking) - slots(room, market.size, market.asking))
    return min(gain, market.need)


def cheapest(market: Market, rows: list[int], node: int, prices: np.ndarray) -> dict[int, int]:
    """Return the least price of every gain that some set brings, at least that much."""
    found: dict[int, int] = {0: 0}
    for count in range(1, len(rows) + 1):
        for chosen in combinations(rows, count):
            gain = brought(market, list(chosen), node)
            price = int(prices[list(chosen)].sum())
            for less in range(1, gain + 1):
                found[less] = min(found.get(less, price), price)
    return found


def test_a_node_with_many_members_offers_the_largest_first():
    case = wide_case(seeded(3), "Quota", 3)
    columns = case.columns()
    gang = gang_of(case.claim.members, columns, None)
    columns.node[:] = 0
    free = columns.free[:, gang.resources]
    here = np.arange(len(columns.nodes)) == 0
    market = Market(columns, gang.resources, free, here, gang.sizes[0], 99, 50)
    (menu,) = menus(market, np.ones(len(columns.members), np.bool_), np.ones(len(columns.members), np.int64))
    worth = (columns.takes[np.ix_(menu.rows[0], gang.resources)] * 1024 // np.maximum(1, market.size)).max(
        axis=1
    )
    assert (np.diff(worth) <= 0).all()
    assert not menu.by_bits
