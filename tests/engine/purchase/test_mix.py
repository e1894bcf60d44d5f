"""The cheapest mix, compared with trying every purchase and every packing."""

from collections import Counter
from itertools import combinations_with_replacement

from hypothesis import given, settings
from hypothesis import strategies as st

from builders import batch, cluster, node, policy, waiting
from ullage.engine.purchase.catalog import Catalog, Item
from ullage.engine.purchase.mix import Optimiser
from ullage.engine.purchase.offers import Market
from ullage.engine.purchase.problem import Problem
from ullage.engine.purchase.purchase import purchase

SECONDS = 20
UNIT = 10**6


def item(name, price, count_max=None, **amounts):
    return Item(name, price * UNIT, node(name, **amounts).record, count_max)


def problem(snapshot, items, *wanted):
    return Problem(
        Market(snapshot, Catalog(tuple(items))), [(each.workload, each.replicas) for each in wanted], "spread"
    )


def best(snapshot, items, *wanted):
    return Optimiser(problem(snapshot, items, *wanted), SECONDS).best()


def names(mix):
    return Counter(each.offers[0].item.name for each in mix.bought)


def test_two_shapes_share_a_node_where_that_is_cheaper():
    items = [item("small", 10, cpu="4", memory="4"), item("large", 17, cpu="8", memory="8")]
    wanted = (batch(2, waiting("a", cpu="3", memory="1")), batch(2, waiting("b", cpu="1", memory="3")))
    mix = best(cluster(policy=policy()), items, *wanted)
    assert (names(mix), mix.cost_micro, mix.bound_micro) == ({"large": 1}, 17 * UNIT, 17 * UNIT)
    assert mix.bought[0].pattern == (2, 2)


def test_what_is_there_costs_nothing_and_is_used_in_the_best_way():
    old = cluster(node("old", cpu="6"), policy=policy())
    wanted = (batch(2, waiting("a", cpu="3")), batch(1, waiting("b", cpu="5")))
    mix = best(old, [item("five", 10, cpu="5")], *wanted)
    assert (names(mix), mix.cost_micro) == ({"five": 1}, 10 * UNIT)
    assert mix.kept[0] == ((1, 2),)


def test_counts_of_the_catalog_are_kept():
    items = [item("good", 10, count_max=1, cpu="4"), item("dear", 90, cpu="4")]
    mix = best(cluster(policy=policy()), items, batch(3, waiting("a", cpu="4")))
    assert names(mix) == {"good": 1, "dear": 2}
    short = best(cluster(policy=policy()), items[:1], batch(3, waiting("a", cpu="4")))
    assert short.bought is None


def test_many_equal_replicas_need_few_patterns():
    items = [item("small", 10, cpu="16", memory="64Gi"), item("large", 19, cpu="32", memory="128Gi")]
    wanted = (
        batch(4000, waiting("a", cpu="3", memory="5Gi")),
        batch(3000, waiting("b", cpu="2", memory="11Gi")),
    )
    mix = best(cluster(policy=policy()), items, *wanted)
    assert mix.bound_micro <= mix.cost_micro <= mix.bound_micro * 101 // 100


def packs(bins, demands, shapes):
    """Whether all replicas of shapes go into bins, by trying everything."""
    seen = set()

    def search(free, left):
        place = next((number for number, count in enumerate(left) if count), None)
        if place is None:
            return True
        key = (tuple(sorted(free)), tuple(left))
        if key in seen:
            return False
        seen.add(key)
        fewer = [*left[:place], left[place] - 1, *left[place + 1 :]]
        for number in range(len(free)):
            rest = tuple(have - need for have, need in zip(free[number], shapes[place], strict=True))
            if min(rest) >= 0 and search([*free[:number], rest, *free[number + 1 :]], fewer):
                return True
        return False

    return search([tuple(each) for each in bins], list(demands))


sizes = st.tuples(st.integers(1, 8), st.integers(1, 8))
types = st.lists(st.tuples(st.integers(1, 12), sizes, st.sampled_from((None, 1, 2))), min_size=1, max_size=3)
shapes = st.lists(st.tuples(sizes, st.integers(1, 3)), min_size=1, max_size=3)


def cheapest(types, old, demands, needs):
    """The least price of a purchase that packs everything, by trying all of them."""
    found = []
    for count in range(sum(demands) + 1):
        for chosen in combinations_with_replacement(range(len(types)), count):
            limits = [types[number][2] for number in range(len(types))]
            if any(most is not None and chosen.count(number) > most for number, most in enumerate(limits)):
                continue
            price = sum(types[number][0] for number in chosen)
            if (not found or price < min(found)) and packs(
                [*old, *(types[n][1] for n in chosen)], demands, needs
            ):
                found.append(price)
    return min(found, default=None)


@settings(max_examples=40, deadline=None)
@given(types, shapes, st.lists(sizes, max_size=2))
def test_a_purchase_is_the_cheapest_where_its_bound_says_so(types, shapes, old):
    snapshot = cluster(
        *(node(f"old{n}", cpu=str(cpu), memory=str(memory)) for n, (cpu, memory) in enumerate(old)),
        policy=policy(),
    )
    items = tuple(
        item(f"type{n}", price, most, cpu=str(cpu), memory=str(memory))
        for n, (price, (cpu, memory), most) in enumerate(types)
    )
    wanted = [
        batch(replicas, waiting(f"w{n}", cpu=str(cpu), memory=str(memory)))
        for n, ((cpu, memory), replicas) in enumerate(shapes)
    ]
    needs = [tuple(need * (1000, 1)[place] for place, need in enumerate(size)) for size, _ in shapes]
    bins = [(cpu * 1000, memory) for cpu, memory in old]
    grown = [(price, (cpu * 1000, memory), most) for price, (cpu, memory), most in types]
    optimum = cheapest(grown, bins, [replicas for _, replicas in shapes], needs)
    found = purchase(snapshot, wanted, Catalog(items), seconds_max=SECONDS)
    assert found.solves == (optimum is not None)
    if optimum is not None:
        assert found.bound_micro <= optimum * UNIT <= found.cost_micro
        if found.proof in {"bound", "search"}:
            assert found.cost_micro == optimum * UNIT
