"""The cheapest mix by room and disks, and the next ones in order of price."""

from builders import node, size
from ullage.engine.placement.local_disks import Disks
from ullage.engine.purchase.catalog import Catalog, DriveItem, Item
from ullage.engine.purchase.disk_mix import DiskOptimiser
from ullage.engine.purchase.disk_patterns import Patterns
from ullage.engine.purchase.disk_places import DiskPlace, Wish
from ullage.engine.purchase.offers import Offer
from ullage.model.disk_plan import DiskRequest

SECONDS = 10
SMALL = DriveItem("small", 3, "HDD", size("5Gi"))
LARGE = DriveItem("large", 5, "HDD", size("9Gi"))
SERVER = Item("server", 20, node("server", cpu="4").record)


def optimiser(demand, *, small=SMALL, large=LARGE, nodes=2, sold=0, cpu=8):
    drives = ((small, 2), (large, 2))
    disks = Disks("exact", (), ())
    places = [DiskPlace(tuple("ab"[:nodes]), (), (demand,), (cpu,), disks, drives)] if nodes else []
    if sold:
        offers = (Offer(SERVER, ""),)
        places.append(DiskPlace((), offers, (demand,), (cpu,), disks, drives))
    wish = Wish((0,), demand, (DiskRequest("data", "HDDLVG", size("4Gi")),), (1,))
    patterns = Patterns([wish], places)
    items = (SERVER._replace(count_max=sold),) if sold else ()
    return patterns, DiskOptimiser(patterns, Catalog(items, drives=(small, large)))


def goods(patterns, mix):
    return sorted(
        "+".join((*(["server"] if patterns.places[place].offers else []), *(each.name for each in bundle)))
        for place, bundle in mix.parts(patterns)
    )


def price(patterns, mix):
    return sum(
        sum(each.price_micro for each in bundle) + (20 if patterns.places[place].offers else 0)
        for place, bundle in mix.parts(patterns)
    )


def test_the_cheapest_mix_is_the_bound():
    patterns, found = optimiser(3)
    mix, _ = found.best(SECONDS)
    assert (price(patterns, mix), mix.bound_micro, mix.is_cheapest) == (8, 8, True)
    assert sum(mix.held[0]) >= 3


def test_mixes_that_are_forbidden_are_followed_by_the_next_in_price():
    patterns, found = optimiser(3, nodes=1)
    prices = []
    while (mix := found.best(SECONDS)[0]) is not None:
        prices.append(price(patterns, mix))
        found.forbid(mix.parts(patterns))
    assert prices == sorted(prices)
    # Of one node: small+large, large+large, and sets that hold more than was asked for are no patterns.
    assert prices == [8, 10]
    assert found.best(SECONDS) == (None, True)


def test_no_more_is_bought_than_there_is():
    patterns, found = optimiser(3, small=SMALL._replace(count_max=0))
    assert goods(patterns, found.best(SECONDS)[0]) in (["large", "large"], ["large+large"])
    _, none = optimiser(3, small=SMALL._replace(count_max=1), large=LARGE._replace(count_max=0))
    assert none.best(SECONDS) == (None, True)


def test_a_node_takes_no_more_than_its_room():
    patterns, found = optimiser(4, cpu=2)
    assert goods(patterns, found.best(SECONDS)[0]) == ["large", "large"]
    assert optimiser(5, cpu=2)[1].best(SECONDS) == (None, True)


def test_nodes_are_bought_with_their_drives():
    patterns, found = optimiser(3, nodes=0, sold=2, cpu=2)
    mix, _ = found.best(SECONDS)
    assert (goods(patterns, mix), mix.bound_micro) == (["server+large", "server+small"], 48)
    assert optimiser(5, nodes=0, sold=2, cpu=2)[1].best(SECONDS) == (None, True)


def test_drives_for_a_node_that_is_there_are_cheaper_than_a_new_one():
    patterns, found = optimiser(2, nodes=1, sold=1, cpu=2)
    assert goods(patterns, found.best(SECONDS)[0]) == ["large"]
    patterns, found = optimiser(3, nodes=1, sold=1, cpu=2)
    assert price(patterns, found.best(SECONDS)[0]) == 28
