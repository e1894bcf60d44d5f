"""Wishes and nodes that are alike are one, and what several pods share is counted once for all of them."""

import pytest

from builders import batch, claim, cluster, node, persistent_volume, policy, size, volume, waiting
from ullage.engine.purchase.catalog import Catalog, DriveItem, Item
from ullage.engine.purchase.check import Check
from ullage.engine.purchase.disk_places import DRIVES_MAX, places_of, wishes_of
from ullage.engine.purchase.offers import Market
from ullage.engine.purchase.problem import Problem
from ullage.model.constraints import Constraints, LabelSelector, TopologySpread

ZONE = "topology.kubernetes.io/zone"
HDD = DriveItem("hdd", 1, "HDD", size("4Gi"))


def server(name, drive="10Gi", **amounts):
    return node(name, **{"cpu": "8", **amounts}).with_drive(f"{name}-d", "HDD", drive)


def asks(name, amount="4Gi", cpu="1", **fields):
    own = volume("data", amount, storage_class="HDDLVG", **({"inline": True} | fields.pop("of", {})))
    return waiting(name, cpu=cpu, volumes=(own,), **fields)


def problem(parts, *batches, drives=(HDD,), items=()):
    market = Market(cluster(*parts, policy=policy()), Catalog(tuple(items), drives=tuple(drives)))
    check = Check(market, batches, 0, 1)
    return Problem(market, check.demand, check.placement), market


def wishes(parts, *batches):
    return wishes_of(problem(parts, *batches)[0])


def places(parts, *batches, **options):
    asked, market = problem(parts, *batches, **options)
    return places_of(asked, market, wishes_of(asked))


def test_pods_that_ask_for_the_same_are_one_wish():
    pods = [batch(1, asks(f"web/db-{number}", of={"claim": f"data-{number}"})) for number in range(3)]
    (wish,) = wishes([server("n")], *pods)
    assert (wish.demand, len(wish.shapes), len(wish.requests)) == (3, 3, 1)


def test_wishes_that_want_disks_come_first():
    found = wishes(
        [server("n")], batch(1, waiting("a", cpu="1")), batch(2, asks("b")), batch(1, asks("c", "5Gi"))
    )
    assert [(each.demand, bool(each.requests)) for each in found] == [(2, True), (1, True), (1, False)]


ONE = {"claim": "one", "inline": False}
TWO = {"claim": "two", "inline": False}
TEMPLATE = {"claim": "data-db", "inline": False}


@pytest.mark.parametrize(
    ("batches", "demand", "volumes"),
    [
        ([batch(3, asks("web/a", of=ONE))], 1, 1),
        ([batch(1, asks("web/a", of=ONE))], 1, 1),
        ([batch(3, asks("web/a", of=TEMPLATE, kind="StatefulSet", owner="x/db"))], 3, 1),
        ([batch(1, asks("web/a", of=ONE)), batch(1, asks("web/b", of=ONE, cpu="2"))], 1, 1),
        ([batch(1, asks("web/a", of=ONE)), batch(1, asks("web/b", of=TWO))], 2, 1),
        ([batch(3, asks("web/a"))], 3, 1),
    ],
    ids=["replicas share it", "one pod has it", "a template", "two pods share it", "one each", "inline"],
)
def test_a_claim_that_is_shared_is_counted_once(batches, demand, volumes):
    claims = [claim(name, "4Gi", storage_class="HDDLVG") for name in ("web/one", "web/two")]
    (wish,) = wishes([server("n"), *claims], *batches)
    assert (wish.demand, len(wish.requests)) == (demand, volumes)


def test_those_who_share_claims_also_by_way_of_others_are_one_wish_with_all_that_they_ask_for():
    both = tuple(volume(each, "4Gi", storage_class="HDDLVG", claim=each) for each in ("one", "two"))
    own = volume("own", "2Gi", storage_class="HDDLVG", inline=True)
    batches = [
        batch(1, asks("web/a", of=ONE)),
        batch(2, waiting("web/b", cpu="2", volumes=(*both, own))),
        batch(1, asks("web/c", of=TWO)),
        batch(1, asks("web/d", "1Gi")),
    ]
    claims = [claim(name, "4Gi", storage_class="HDDLVG") for name in ("web/one", "web/two")]
    asked, market = problem([server("n"), server("small", cpu="5"), *claims], *batches)
    found = wishes_of(asked)
    (cpu,) = (place for place, row in enumerate(asked.amounts) if max(row) > 1)
    assert [
        (each.shapes, each.demand, each.together, each.amounts[cpu] // 1000, len(each.requests))
        for each in found
    ] == [((0, 1, 2), 1, True, 6, 4), ((3,), 1, False, 1, 1)]
    assert [(each.names, each.slots) for each in places_of(asked, market, found)] == [
        (("n",), (1, 1)),
        (("small",), (1, 1)),
    ]


def test_a_node_that_does_not_take_all_who_share_a_claim_takes_none_of_them():
    parts = [server("n"), server("small", cpu="2"), claim("web/one", "4Gi", storage_class="HDDLVG")]
    found = places(parts, batch(3, asks("web/a", of=ONE)))
    assert [(each.names, each.slots) for each in found] == [(("n",), (1,)), (("small",), (0,))]


def test_a_claim_that_a_volume_which_is_there_may_serve_is_not_counted():
    parts = [
        server("n"),
        claim("web/one", "4Gi", storage_class="HDDLVG"),
        persistent_volume("free", "9Gi", storage_class="HDDLVG"),
    ]
    (wish,) = wishes(parts, batch(3, asks("web/a", of=ONE)))
    assert (wish.demand, wish.requests, wish.counted) == (3, (), False)


def test_nodes_that_are_alike_are_one_place():
    parts = [server("a"), server("b"), server("large", "20Gi"), server("small", cpu="2")]
    found = places(parts, batch(3, asks("x")))
    assert [each.names for each in found] == [("a", "b"), ("large",), ("small",)]


def test_nodes_in_other_zones_are_other_places_where_zones_count():
    spread = Constraints(
        topology_spread=(TopologySpread(1, ZONE, label_selector=LabelSelector({"app": "a"})),)
    )
    parts = [
        server("a").labelled({ZONE: "z1"}),
        server("b").labelled({ZONE: "z2"}),
        server("c").labelled({ZONE: "z2"}),
    ]
    together = places(parts, batch(3, asks("x")))
    apart = places(parts, batch(3, asks("x", labels={"app": "a"}, constraints=spread)))
    assert ([each.names for each in together], [each.names for each in apart]) == (
        [("a", "b", "c")],
        [("a",), ("b", "c")],
    )


def test_drives_go_where_they_may():
    drives = [
        HDD._replace(name="named", nodes=("a",), per_node_max=3),
        HDD._replace(name="group", group="gpu"),
        HDD._replace(name="any", count_max=2),
    ]
    new = Item("new", 5, server("new").in_group("gpu").record)
    found = places(
        [server("a"), server("b").in_group("gpu")], batch(9, asks("x")), drives=drives, items=[new]
    )
    assert [
        (each.names, each.item.name if each.item else "", {drive.name: most for drive, most in each.drives})
        for each in found
    ] == [
        (("a",), "", {"named": 3, "any": 2}),
        (("b",), "", {"group": DRIVES_MAX, "any": 2}),
        ((), "new", {"group": DRIVES_MAX, "any": 2}),
    ]


def test_nodes_without_room_are_no_place():
    assert [
        each.names for each in places([server("a"), server("b", cpu="1")], batch(1, asks("x", cpu="2")))
    ] == [("a",)]
