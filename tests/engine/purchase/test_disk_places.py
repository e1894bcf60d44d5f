"""Wishes and nodes that are alike are one, and what several pods share is counted for none of them."""

import pytest

from builders import batch, claim, cluster, node, policy, size, volume, waiting
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


@pytest.mark.parametrize(
    ("batches", "counted"),
    [
        ([batch(3, asks("web/a", of={"claim": "one", "inline": False}))], False),
        ([batch(1, asks("web/a", of={"claim": "one", "inline": False}))], True),
        (
            [
                batch(
                    3,
                    asks("web/a", of={"claim": "data-db", "inline": False}, kind="StatefulSet", owner="x/db"),
                )
            ],
            True,
        ),
        (
            [
                batch(1, asks("web/a", of={"claim": "one", "inline": False})),
                batch(1, asks("web/b", of={"claim": "one", "inline": False})),
            ],
            False,
        ),
        ([batch(3, asks("web/a"))], True),
    ],
    ids=["replicas share it", "one pod has it", "a template", "two pods share it", "inline"],
)
def test_a_claim_that_is_shared_is_left_out(batches, counted):
    parts = [server("n"), claim("web/one", "4Gi", storage_class="HDDLVG")]
    assert all(bool(each.requests) is counted for each in wishes(parts, *batches))


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
