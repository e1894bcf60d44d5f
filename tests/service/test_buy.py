"""The numbers of `buy`."""

import json

import msgspec
import pytest

from builders import BUILT_IN_TYPES, batch, cluster, node, policy, size, volume, waiting
from ullage.engine.purchase.catalog import Catalog, DriveItem, Item
from ullage.model.errors import InputError
from ullage.service.asked import Asked
from ullage.service.buy import BuyQuestion, buy, buy_of
from ullage.service.wanted import Wanted

CATALOG = Catalog(
    (
        Item("small", 5_250_000, node("small", cpu="4").record),
        Item("large", 9_000_000, node("large", cpu="8").record),
    ),
    "EUR",
    "ours",
)


def ask(asked, *batches, snapshot=None, **options):
    found = snapshot or cluster(node("x", cpu="2"), name="site", policy=policy(), unknowns=("tea",))
    wanted = Wanted(batches, atomic=False, types=BUILT_IN_TYPES, notes=("a note",))
    return buy_of(found, wanted, CATALOG, asked, BuyQuestion("catalog.yaml", **options))


def test_what_is_bought_is_a_yes_with_its_price_and_bound(asked):
    answer = ask(asked, batch(3, waiting("a", cpu="4")))
    report = answer.data()
    assert answer.yes
    assert (report["kind"], report["solves"], report["proof"]) == ("BuyReport", True, "bound")
    assert (report["price"], report["bound"], report["unit"], report["catalog"]) == (
        "14.25",
        "14.25",
        "EUR",
        "ours",
    )
    assert list(report["items"]) == [
        {"item": "small", "count": 1, "price": "5.25", "total": "5.25", "capacity": {"cpu": "4"}},
        {"item": "large", "count": 1, "price": "9", "total": "9", "capacity": {"cpu": "8"}},
    ]
    assert sorted((each["node"], each["replicas"]) for each in report["nodes"]) == [
        ("large-new-1", 2),
        ("small-new-1", 1),
    ]
    assert all(each["new"] for each in report["workloads"][0]["nodes"])
    assert list(report["notSimulated"][-2:]) == ["a note", "tea"]


def test_what_fits_already_costs_nothing(asked):
    report = ask(asked, batch(1, waiting("a", cpu="2"))).data()
    assert (report["solves"], report["price"], report["items"], report["nodes"]) == (True, "0", (), ())
    assert list(report["workloads"][0]["nodes"]) == [{"node": "x", "replicas": 1, "new": False}]


def test_what_no_mix_solves_is_a_no_with_its_reason(asked):
    answer = ask(asked, batch(1, waiting("a", cpu="99")))
    report = answer.data()
    assert not answer.yes
    assert report["reason"].startswith("no item of the catalog takes a (")
    assert report["workloads"][0]["placed"] == 0
    assert report["workloads"][0]["reason"]


def test_losses_are_part_of_the_question(asked):
    report = ask(asked, batch(1, waiting("a", cpu="4")), nodes_lost=1).data()
    assert (report["nodesLost"], report["price"], report["lossesUntried"]) == (1, "10.50", 0)


def test_more_losses_than_can_be_looked_at_are_refused(asked):
    with pytest.raises(InputError, match="--nodes-lost: 4 nodes; use 0 to 3"):
        ask(asked, nodes_lost=4)


@pytest.mark.parametrize(
    ("question", "message"),
    [
        (BuyQuestion("-", paths=("-",)), "standard input cannot be"),
        (BuyQuestion("c.yaml", paths=("a",), shape="cpu=1"), "-f and --shape are both given"),
    ],
)
def test_what_cannot_be_asked_is_refused(asked, question, message):
    with pytest.raises(InputError, match=message):
        buy(msgspec.structs.replace(asked, cluster="demo"), question)


DRIVE = DriveItem("hdd", 3_000_000, "HDD", size("5Gi"), per_node_max=2)
BOX = Item("box", 9_000_000, node("box", cpu="2").with_drive("own", "HDD", "5Gi").record)
SITE = cluster(node("x", cpu="8").with_drive("old", "HDD", "1Gi"), policy=policy())
DISK = waiting("a", cpu="1", volumes=(volume("d", "4Gi", storage_class="HDDLVG", inline=True),))


def ask_drives(asked, replicas, *, drive=DRIVE, workload=DISK, **options):
    catalog = Catalog((BOX,), "EUR", "ours", (drive,))
    wanted = Wanted((batch(replicas, workload),), atomic=False, types=BUILT_IN_TYPES)
    return buy_of(SITE, wanted, catalog, asked, BuyQuestion("catalog.yaml", **options))


def test_drives_are_items_of_their_own_kind_with_the_nodes_that_get_them(asked):
    report = ask_drives(asked, 4).data()
    assert (report["price"], report["proof"]) == ("18", "bound")
    assert list(report["items"]) == [
        {"item": "box", "count": 1, "price": "9", "total": "9", "capacity": {"cpu": "2"}},
        {
            "item": "hdd",
            "count": 3,
            "price": "3",
            "total": "9",
            "kind": "drive",
            "driveClass": "HDD",
            "sizeBytes": size("5Gi"),
        },
    ]
    assert list(report["drives"]) == [
        {"node": "x", "item": "hdd", "count": 2, "new": False},
        {"node": "box-new-1", "item": "hdd", "count": 1, "new": True},
    ]


def test_where_no_drive_is_bought_there_is_no_word_of_them(asked):
    assert "drives" not in ask(asked, batch(3, waiting("a", cpu="4"))).data()


@pytest.mark.parametrize(
    ("drive", "message"),
    [
        (
            DRIVE._replace(nodes=("x", "y")),
            "catalog ours: item hdd: node y is unknown; name nodes of the cluster",
        ),
        (DRIVE._replace(group="gpu"), "catalog ours: item hdd: group gpu has no nodes; name a group"),
    ],
)
def test_drives_for_whom_nobody_knows_are_refused(asked, drive, message):
    with pytest.raises(InputError, match=message):
        ask_drives(asked, 1, drive=drive)


def test_losses_are_refused_where_drives_are_bought_for_volumes(asked):
    with pytest.raises(
        InputError, match="--nodes-lost: what the loss of a node means for volumes on local disks"
    ):
        ask_drives(asked, 1, nodes_lost=1)
    report = ask_drives(asked, 1, workload=waiting("a", cpu="2"), nodes_lost=1).data()
    assert (report["solves"], report["price"]) == (True, "9")


@pytest.mark.parametrize(("maximum", "solves"), [("4", False), ("8", True), ("", True)])
def test_a_quota_counts_what_runs_on_nodes_that_are_not_meant(tmp_path, maximum, solves):
    nodes = [{"name": name, "labels": {"zone": name}, "capacity": {"cpu": "4"}} for name in ("a", "b")]
    shop = {"name": "shop", "namespaces": ["shop"], "min": {"cpu": maximum}, "max": {"cpu": maximum}}
    runs = {"name": "w", "namespace": "shop", "node": "a", "state": "ok", "requests": {"cpu": "3"}}
    room = {"kind": "Snapshot", "nodes": nodes, "quotas": [shop] if maximum else [], "workloads": [runs]}
    item = {"name": "small", "price": "5", "capacity": {"cpu": "4"}}
    wanted = {**runs, "name": "x", "node": "", "state": "init", "requests": {"cpu": "4"}}
    files = {
        "room": room,
        "catalog": {"kind": "Catalog", "items": [item]},
        "wanted": {"kind": "WorkloadSet", "workloads": [wanted]},
    }
    for name, document in files.items():
        text = json.dumps({"apiVersion": "ullage.dev/v1", **document})
        (tmp_path / f"{name}.json").write_text(text)
    room, catalog, path = (str(tmp_path / f"{name}.json") for name in files)
    for lost in (0, 1):
        meant = Asked(room, selector="zone=b")
        report = buy(meant, BuyQuestion(catalog, (path,), nodes_lost=lost)).data()
        assert report["solves"] == solves
        assert [each["node"] for each in report["nodes"]] == (["small-new-1"] if solves and lost else [])
