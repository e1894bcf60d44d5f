"""What to buy where local disks are short: the cheapest by brute force, applied, and one less is too few."""

from functools import cache
from itertools import combinations_with_replacement, product

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import batch, claim, cluster, node, policy, size, volume, waiting
from ullage.engine.columns import Columns
from ullage.engine.placement.fit import fit
from ullage.engine.purchase import disk_patterns, disk_search
from ullage.engine.purchase.catalog import Catalog, DriveItem, Item
from ullage.engine.purchase.offers import Market, Upgrade, counts_of, with_bought
from ullage.engine.purchase.purchase import purchase
from ullage.engine.storage.planning import plan
from ullage.model.constraints import (
    Affinity,
    Constraints,
    LabelSelector,
    PodAffinity,
    PodAffinityTerm,
    TopologySpread,
)
from ullage.model.disk_plan import DiskCapacity, DiskRequest

UNIT = 10**6
SECONDS = 10
ZONE = "topology.kubernetes.io/zone"
APP = LabelSelector({"app": "a"})


def drive(name, price, amount, drive_class="HDD", **fields):
    return DriveItem(name, price * UNIT, drive_class, size(amount), **fields)


def server(name, *drives, cpu="8"):
    built = node(name, cpu=cpu)
    for number, each in enumerate(drives):
        built = built.with_drive(f"{name}-{number}", "HDD", each)
    return built


def asks(amount, storage_class="HDDLVG", name="a", cpu="1", **fields):
    own = volume("data", amount, storage_class=storage_class, inline=True)
    return waiting(name, cpu=cpu, volumes=(own,), labels={"app": "a"}, **fields)


SMALL, LARGE = drive("small", 3, "5Gi", per_node_max=2), drive("large", 5, "9Gi", per_node_max=2)


def ask(parts, drives, *batches, items=(), seconds=SECONDS):
    catalog = Catalog(tuple(items), drives=tuple(drives))
    snapshot = cluster(*parts, policy=policy())
    return purchase(snapshot, batches, catalog, seconds_max=seconds)


def bought(found):
    return counts_of(found.offers, found.upgrades)


def fits(parts, found, *batches, items=()):
    """Whether everything fits in the cluster with what was bought, by the engine that answers `fit`."""
    market = Market(cluster(*parts, policy=policy()), Catalog(tuple(items)))
    nodes = market.nodes(found.offers)
    after = market.with_nodes(nodes, upgrades=found.upgrades)
    return fit(Columns(after), batches, exact_seconds=SECONDS).fits


def less(found):
    """Every purchase with one drive or one node less."""
    for number, each in enumerate(found.upgrades):
        for drop in range(len(each.drives)):
            kept = Upgrade(each.node, each.drives[:drop] + each.drives[drop + 1 :])
            yield found._replace(upgrades=(*found.upgrades[:number], kept, *found.upgrades[number + 1 :]))
    for number in range(len(found.offers)):
        yield found._replace(offers=found.offers[:number] + found.offers[number + 1 :])


@pytest.mark.parametrize(
    ("parts", "batches", "counts", "price"),
    [
        ([server("x", "5Gi")], [batch(1, asks("4Gi"))], {}, 0),
        ([server("x", "1Gi")], [batch(1, asks("4Gi"))], {"small": 1}, 3),
        ([server("x", "1Gi")], [batch(2, asks("4Gi"))], {"large": 1}, 5),
        ([server("x", "1Gi")], [batch(3, asks("4Gi"))], {"small": 1, "large": 1}, 8),
        ([server("x", "1Gi")], [batch(2, asks("4Gi", "HDD"))], {"small": 2}, 6),
        ([server("x", "5Gi"), server("y", "5Gi")], [batch(5, asks("4Gi"))], {"small": 1, "large": 1}, 8),
        (
            [server("x", "1Gi"), server("y", "1Gi", cpu="1")],
            [batch(3, asks("6Gi", cpu="1"))],
            {"large": 3},
            15,
        ),
    ],
    ids=[
        "nothing",
        "one share",
        "two shares on one drive",
        "both",
        "whole drives",
        "what is there",
        "two nodes",
    ],
)
def test_the_cheapest_drives_are_bought_and_proven(parts, batches, counts, price):
    found = ask(parts, [SMALL, LARGE], *batches)
    assert (bought(found), found.cost_micro, found.proof) == (counts, price * UNIT, "bound")
    assert fits(parts, found, *batches)
    assert not any(fits(parts, fewer, *batches) for fewer in less(found))


def shares(*claims, name="a", cpu="1"):
    """A pod that names claims which others may name too."""
    volumes = tuple(volume(each, "4Gi", storage_class="HDDLVG", claim=each) for each in claims)
    return waiting(name, cpu=cpu, volumes=volumes)


CLAIMS = [claim(name, "4Gi", storage_class="HDDLVG") for name in ("one", "two")]


@pytest.mark.parametrize(
    ("cpu", "batches", "counts"),
    [
        ("8", [batch(3, shares("one"))], {"small": 1}),
        ("8", [batch(1, shares("one")), batch(2, shares("one", name="b", cpu="2"))], {"small": 1}),
        ("8", [batch(1, shares("one")), batch(1, shares("one", "two", name="b"))], {"large": 1}),
        ("8", [batch(2, shares("one")), batch(1, asks("4Gi", name="own"))], {"large": 1}),
        ("2", [batch(3, shares("one"))], {"box": 1, "small": 1}),
        ("2", [batch(2, shares("one")), batch(1, waiting("plain", cpu="1"))], {"small": 1, "box": 1}),
    ],
    ids=[
        "replicas",
        "two shapes",
        "by way of another",
        "beside an own one",
        "no room for all",
        "room for two",
    ],
)
def test_a_claim_that_several_share_is_bought_for_once(cpu, batches, counts):
    box = Item("box", 90 * UNIT, server("box").record)
    parts = [server("x", "1Gi", cpu=cpu), *CLAIMS]
    found = ask(parts, [SMALL, LARGE], *batches, items=[box])
    assert (bought(found), found.proof) == (counts, "bound")
    assert fits(parts, found, *batches, items=[box])


def test_those_who_share_a_claim_are_planned_together():
    parts = [server("x", "1Gi", cpu="4"), server("y", "1Gi", cpu="2"), *CLAIMS]
    batches = [batch(2, waiting("plain", cpu="1")), batch(2, shares("one", cpu="2"))]
    found = ask(parts, [SMALL], *batches)
    assert (bought(found), found.checked.certificate) == ({"small": 1}, "exact")
    assert [each.nodes for each in found.checked.outcomes] == [(("y", 2),), (("x", 2),)]


def test_a_node_with_drives_is_bought_where_that_is_cheaper():
    box = Item("box", 7 * UNIT, server("box", "9Gi", "9Gi").record)
    parts, batches = [server("x", "1Gi")], [batch(4, asks("4Gi"))]
    found = ask(parts, [SMALL, LARGE], *batches, items=[box])
    assert (bought(found), found.proof) == ({"box": 1}, "bound")
    assert fits(parts, found, *batches, items=[box])


def test_drives_go_into_new_nodes_too():
    box = Item("box", 7 * UNIT, server("box", cpu="2").record)
    parts, batches = [server("x", "1Gi", cpu="500m")], [batch(2, asks("4Gi"))]
    found = ask(parts, [SMALL, LARGE], *batches, items=[box])
    assert (bought(found), found.cost_micro, found.proof) == ({"box": 1, "large": 1}, 12 * UNIT, "bound")
    assert [each.drives for each in found.offers] == [(LARGE,)]
    assert fits(parts, found, *batches, items=[box])


def test_what_wants_no_disk_counts_beside_what_does():
    box = Item("box", 7 * UNIT, server("box", cpu="8").record)
    batches = [batch(2, asks("4Gi", cpu="3")), batch(3, waiting("plain", cpu="5"))]
    parts = [server("x", "1Gi")]
    found = ask(parts, [SMALL, LARGE], *batches, items=[box])
    assert (bought(found), found.cost_micro, found.proof) == ({"box": 2, "small": 2}, 20 * UNIT, "bound")
    assert fits(parts, found, *batches, items=[box])


def test_drives_are_not_tried_where_they_cannot_help(monkeypatch):
    monkeypatch.setattr(disk_search, "Patterns", None)
    found = ask([server("x", "1Gi")], [SMALL, LARGE], batch(1, asks("4Gi", cpu="9")))
    assert (found.solves, found.proof, found.reason) == (False, "bound", "no item of the catalog takes a")
    plain = ask([server("x", "1Gi")], [SMALL], batch(2, waiting("b", cpu="5")))
    assert (plain.solves, plain.proof) == (False, "bound")


@pytest.mark.parametrize(
    ("drives", "batches", "reason"),
    [
        (
            [SMALL],
            [batch(1, asks("6Gi"))],
            "no item of the catalog gives a its local disks (a-data of 6Gi HDDLVG)",
        ),
        (
            [SMALL],
            [batch(3, asks("4Gi"))],
            "the counts that the catalog has, and what each node takes, do not suffice",
        ),
        (
            [SMALL._replace(per_node_max=None, count_max=1)],
            [batch(2, asks("4Gi"))],
            "the counts that the catalog has, and what each node takes, do not suffice",
        ),
    ],
    ids=["size", "free bays", "counts"],
)
def test_where_no_drive_helps_it_is_said_why(drives, batches, reason):
    found = ask([server("x", "1Gi")], drives, *batches)
    assert (found.solves, found.proof, found.reason) == (False, "bound", reason)


AWAY = Constraints(affinity=Affinity(pod_anti_affinity=PodAffinity((PodAffinityTerm(ZONE, APP),))))
ZONES = [
    server(name, "1Gi").labelled({ZONE: zone}) for name, zone in [("x1", "z1"), ("x2", "z1"), ("y", "z2")]
]
IN_ONE_ZONE = SMALL._replace(nodes=("x1", "x2"))
"""By disks alone both pods could be in one zone, which their rule forbids."""


def test_rules_between_workloads_are_kept_by_trying_the_next_mix():
    batches = [batch(2, asks("4Gi", constraints=AWAY))]
    found = ask(ZONES, [IN_ONE_ZONE, LARGE], *batches)
    assert (bought(found), found.cost_micro, found.proof) == ({"small": 1, "large": 1}, 8 * UNIT, "search")
    assert (found.bound_micro, found.tried) == (5 * UNIT, 4)
    assert fits(ZONES, found, *batches)


def test_where_only_buying_nothing_is_ruled_out_the_next_mix_is_proven():
    full = [server(name, "5Gi").labelled({ZONE: "z1"}) for name in ("x1", "x2")]
    parts = [*full, server("y", "1Gi").labelled({ZONE: "z2"})]
    drives = [SMALL._replace(nodes=("y",)), drive("other", 1, "9Gi", "SSD")]
    found = ask(parts, drives, batch(2, asks("4Gi", constraints=AWAY)))
    assert (bought(found), found.proof, found.tried) == ({"small": 1}, "bound", 0)
    assert found.bound_micro == found.cost_micro == 3 * UNIT


def test_rules_that_no_purchase_keeps_are_told():
    spread = TopologySpread(1, ZONE, label_selector=APP, min_domains=3)
    parts = [server(name, "1Gi").labelled({ZONE: name}) for name in "xy"]
    found = ask(parts, [SMALL], batch(4, asks("4Gi", constraints=Constraints(topology_spread=(spread,)))))
    assert not found.solves
    assert found.reason.startswith("a: 2 without a place in the best mix found: ")


@pytest.mark.parametrize("limit", [0, 1])
def test_without_tries_parts_are_added_until_it_holds(monkeypatch, limit):
    monkeypatch.setattr(disk_search, "TRIES_MAX", limit)
    parts, batches = ZONES, [batch(2, asks("4Gi", constraints=AWAY))]
    found = ask(parts, [IN_ONE_ZONE, LARGE], *batches)
    assert (found.solves, found.proof) == (True, "none")
    assert fits(parts, found, *batches)
    assert not any(fits(parts, fewer, *batches) for fewer in less(found))


def test_where_not_all_could_be_looked_at_nothing_is_proven(monkeypatch):
    monkeypatch.setattr(disk_patterns, "BUNDLES_MAX", 3)
    parts, batches = [server("x", "1Gi")], [batch(2, asks("4Gi"))]
    found = ask(parts, [SMALL, LARGE], *batches)
    assert (bought(found), found.bound_micro, found.proof) == ({"large": 1}, 3 * UNIT, "none")
    none = ask(parts, [SMALL], batch(3, asks("4Gi")))
    assert (none.solves, none.proof) == (False, "bound")


def test_equal_questions_have_equal_answers():
    parts = [server(f"n{number}", "5Gi") for number in range(4)]
    one, other = (
        ask(parts, [SMALL, LARGE], batch(9, asks("4Gi")), batch(2, asks("6Gi", name="b"))) for _ in range(2)
    )
    assert one == other
    assert one.proof == "bound"


# Brute force: every mix of drives on every node, and every way to place the pods


def cheapest(nodes, drives, pods):
    """The least price at which all pods have a place, by trying everything; None where there is none.

    `nodes` are (cpu, sizes of drives), `pods` are (cpu, size, class, claim): those who share a claim are on
    one node, and have one volume there.
    """

    @cache
    def serves(disks, volumes):
        capacities = [DiskCapacity(f"d{place}", "n", "HDD", each) for place, each in enumerate(disks)]
        requests = [DiskRequest(f"v{place}", kind, amount) for place, (amount, kind) in enumerate(volumes)]
        return bool(plan("exact", capacities, [], requests, ["n"]).nodes)

    def holds(node_, bundle, mine):
        disks = tuple(sorted((*node_[1], *(each.size_bytes for each in bundle))))
        volumes = {each[3] or place: each[1:3] for place, each in enumerate(mine)}
        return sum(each[0] for each in mine) <= node_[0] and serves(disks, tuple(sorted(volumes.values())))

    bundles = [
        bundle
        for count in range(2 * len(drives) + 1)
        for bundle in combinations_with_replacement(drives, count)
        if all(bundle.count(each) <= each.per_node_max for each in drives)
    ]
    best = None
    for where in product(range(len(nodes)), repeat=len(pods)):
        price = 0
        homes = {(pod[3], place) for pod, place in zip(pods, where, strict=True) if pod[3]}
        if len(homes) > len({shared for shared, _ in homes}):
            continue
        for number, each in enumerate(nodes):
            mine = [pod for pod, place in zip(pods, where, strict=True) if place == number]
            prices = [
                sum(item.price_micro for item in bundle) for bundle in bundles if holds(each, bundle, mine)
            ]
            if not prices:
                break
            price += min(prices)
        else:
            best = price if best is None else min(best, price)
    return best


sizes = st.sampled_from([size("3Gi"), size("5Gi"), size("9Gi")])
pods = st.tuples(
    st.integers(1, 2), st.sampled_from([size("2Gi"), size("4Gi")]), st.sampled_from(["HDD", "HDDLVG"])
)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 4), st.lists(sizes, min_size=1, max_size=2)), min_size=1, max_size=2),
    st.tuples(st.integers(1, 6), st.integers(1, 6)),
    st.lists(pods, min_size=1, max_size=4),
)
def test_no_mix_is_cheaper_than_the_one_that_is_proven(nodes, prices, asked):
    drives = [SMALL._replace(price_micro=prices[0] * UNIT), LARGE._replace(price_micro=prices[1] * UNIT)]
    parts = [server(f"n{place}", *each[1], cpu=str(each[0])) for place, each in enumerate(nodes)]
    batches = [
        batch(1, asks(amount, kind, name=f"p{place}", cpu=str(cpu)))
        for place, (cpu, amount, kind) in enumerate(asked)
    ]
    best = cheapest([(each[0], tuple(each[1])) for each in nodes], drives, [(*each, "") for each in asked])
    found = ask(parts, drives, *batches)
    assert found.solves is (best is not None)
    if best is not None:
        assert found.bound_micro <= best <= found.cost_micro
        assert found.proof == "none" or found.cost_micro == best
        snapshot = cluster(*parts, policy=policy())
        edited = [with_bought(snapshot.nodes[each.node], each.drives) for each in found.upgrades]
        after = msgspec.structs.replace(snapshot, nodes=snapshot.nodes.changed(edited))
        placed = fit(Columns(after), batches, exact_seconds=SECONDS)
        assert placed.fits or found.checked.certificate == "exact"


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 4), st.lists(sizes, min_size=1, max_size=2)), min_size=1, max_size=2),
    st.tuples(st.integers(1, 6), st.integers(1, 6)),
    st.lists(st.tuples(st.integers(1, 2), st.sampled_from(["one", "two", ""])), min_size=2, max_size=4),
)
def test_no_mix_is_cheaper_where_claims_are_shared(nodes, prices, asked):
    drives = [SMALL._replace(price_micro=prices[0] * UNIT), LARGE._replace(price_micro=prices[1] * UNIT)]
    parts = [server(f"n{place}", *each[1], cpu=str(each[0])) for place, each in enumerate(nodes)]
    batches = [
        batch(1, shares(shared, name=f"p{place}", cpu=str(cpu)))
        if shared
        else batch(1, asks("4Gi", name=f"p{place}", cpu=str(cpu)))
        for place, (cpu, shared) in enumerate(asked)
    ]
    pods_asked = [(cpu, size("4Gi"), "HDDLVG", shared) for cpu, shared in asked]
    best = cheapest([(each[0], tuple(each[1])) for each in nodes], drives, pods_asked)
    found = ask([*parts, *CLAIMS], drives, *batches)
    if best is None:
        assert not found.solves
    elif found.solves:
        assert found.bound_micro <= best <= found.cost_micro
        assert found.proof == "none" or found.cost_micro == best
    else:
        assert found.proof == "none"
