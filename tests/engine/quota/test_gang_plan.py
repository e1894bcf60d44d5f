"""Which offers are taken, beside a table over all nodes; and a bound that is never above it."""

from random import Random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from engine.quota.gang_cases import seeded
from ullage.engine.quota.gang_menus import NO_OFFER, Menu
from ullage.engine.quota.gang_plan import Plan, Taste, fewest

MEMBERS = 4


def random_menu(random: Random, first: int, *, convex: bool) -> Menu:
    """Return offers of a few nodes of four members each: prefixes, with prices that rise."""
    nodes = random.randint(1, 4)
    rows = first + np.arange(nodes * MEMBERS).reshape(nodes, MEMBERS)
    gain = np.zeros((nodes, MEMBERS + 1), np.int64)
    price = np.zeros((nodes, MEMBERS + 1), np.int64)
    for line in range(nodes):
        steps = [random.randint(1, 3) for _ in range(MEMBERS)]
        gain[line, 1:] = np.cumsum([1] * MEMBERS if convex else steps)
        prices = [random.randint(1, 5) for _ in range(MEMBERS)]
        price[line, 1:] = np.cumsum(sorted(prices) if convex else prices)
        if not convex and random.random() < 0.5:
            price[line, random.randint(1, MEMBERS)] = NO_OFFER
    picked = np.broadcast_to(np.arange(MEMBERS + 1), gain.shape)
    return Menu(np.arange(first, first + nodes), rows, gain, price, picked, by_bits=False)


def cheapest(offers: list[Menu], need: int) -> int:
    """Return the least price of points of all nodes that bring enough, by a table over all of them."""
    best = [0] + [NO_OFFER] * need
    for menu in offers:
        for gains, prices in zip(menu.gain.tolist(), menu.price.tolist(), strict=True):
            best = [
                min(
                    best[max(0, total - gain)] + price
                    for gain, price in zip(gains, prices, strict=True)
                    if price < NO_OFFER
                )
                for total in range(need + 1)
            ]
    return min(best[need], NO_OFFER)


def price_of(offers: list[Menu], victims: np.ndarray) -> tuple[int, int]:
    """Return what nodes bring and cost when these go."""
    gain = price = 0
    for menu in offers:
        counts = np.isin(menu.rows, victims).sum(axis=1)
        lines = np.arange(len(menu.nodes))
        gain += int(menu.gain[lines, counts].sum())
        price += int(menu.price[lines, counts].sum())
    return gain, price


def drawn(seed: int, *, convex: bool) -> tuple[list[Menu], int, Taste]:
    random = seeded(seed)
    offers = [random_menu(random, 0, convex=convex), random_menu(random, 100, convex=convex)]
    taste = Taste(np.zeros(200), np.array(random.sample(range(200), 200)))
    return offers, random.randint(1, 12), taste


@given(st.integers(0, 2**32))
def test_where_prices_rise_the_plan_is_the_cheapest_and_the_bound_is_its_price(seed):
    offers, need, taste = drawn(seed, convex=True)
    best = cheapest(offers, need)
    bound = fewest(offers, need)
    if best == NO_OFFER:
        assert bound is None
        return
    plan = Plan(offers, need, taste)
    gain, price = price_of(offers, plan.victims(len(plan)))
    assert gain == need
    assert price == best == bound


@given(st.integers(0, 2**32))
def test_elsewhere_the_plan_is_enough_and_the_bound_holds(seed):
    offers, need, taste = drawn(seed, convex=False)
    best = cheapest(offers, need)
    bound = fewest(offers, need)
    if best == NO_OFFER:
        return
    plan = Plan(offers, need, taste)
    gain, price = price_of(offers, plan.victims(len(plan)))
    assert gain >= need
    assert bound is not None
    assert bound <= best <= price


def test_a_rest_is_bought_exactly():
    gain = np.array([[0, 4, 0], [0, 1, 2], [0, 3, 0]])
    price = np.array([[0, 2, NO_OFFER], [0, 1, 2], [0, 9, NO_OFFER]])
    rows = np.arange(6).reshape(3, 2)
    menu = Menu(np.arange(3), rows, gain, price, np.broadcast_to(np.arange(3), gain.shape), by_bits=False)
    taste = Taste(np.zeros(6), np.arange(6))
    for need, victims in ((4, [0]), (5, [0, 2]), (6, [0, 2, 3]), (7, [0, 4]), (8, [0, 2, 4])):
        plan = Plan([menu], need, taste)
        assert sorted(plan.victims(len(plan)).tolist()) == victims
