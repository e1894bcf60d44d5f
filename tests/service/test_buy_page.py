"""The page of `buy`: the verdict with its price and proof, and what is worth knowing."""

import msgspec
import pytest

from builders import BUILT_IN_TYPES, node
from ullage.engine.purchase.catalog import Catalog, Item
from ullage.model.resources import Resources
from ullage.service.buy import BoughtDrives, BoughtFor, BoughtItem, BuyReport, NewNode, PlacedOn
from ullage.service.buy_page import buy_page

GOODS = "buy 3 x gpu-8 and 1 x cpu-32: 41 200 a month"
CATALOG = Catalog((Item("gpu-8", 10_000_000_000, node("gpu-8", cpu="64", pods=110).record),), "a month")
REPORT = BuyReport(
    cluster="site",
    revision=1,
    policy="test",
    catalog="ours",
    unit="a month",
    solves=True,
    reason="",
    nodes_lost=0,
    price="41200",
    bound="41200",
    proof="bound",
    mixes_tried=0,
    placement="greedy",
    items=(
        BoughtItem("gpu-8", 3, "10000", "30000", Resources({"cpu": 64000, "pods": 110})),
        BoughtItem("cpu-32", 1, "11200", "11200", Resources({"pods": 110})),
    ),
    nodes=(NewNode("gpu-8-new-1", "gpu-8", "z1", 2), NewNode("gpu-8-new-2", "gpu-8", "z1", 1)),
    workloads=(
        BoughtFor("web/a", 3, 3, (PlacedOn("gpu-8-new-1", 2, new=True), PlacedOn("old", 1, new=False))),
    ),
    losses_untried=0,
    not_simulated=(),
)


def page(asked, **changes):
    return buy_page(msgspec.structs.replace(REPORT, **changes), CATALOG, BUILT_IN_TYPES, asked)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({}, f"{GOODS}, proven cheapest"),
        (
            {"proof": "none", "bound": "40400"},
            f"{GOODS}, at most 2 % above the bound",
        ),
        (
            {"proof": "search", "mixes_tried": 7, "nodes_lost": 2},
            f"{GOODS}, no cheaper mix holds (7 tried), and any 2 nodes may fail",
        ),
        ({"items": ()}, "nothing need be bought: 3 replicas fit"),
        (
            {"items": (), "workloads": (), "nodes_lost": 1},
            "nothing need be bought: nothing waits, and any 1 node may fail",
        ),
        ({"solves": False, "reason": "too small", "proof": "bound"}, "no mix of the catalog is enough"),
        (
            {"solves": False, "reason": "too small", "proof": "none"},
            "no mix of the catalog that was tried is enough; that there is none is not proven",
        ),
    ],
)
def test_the_first_line_says_what_and_how_sure(asked, changes, text):
    assert page(asked, **changes).verdict.text == text


def test_a_no_says_why(asked):
    shown = page(asked, solves=False, reason="too small", items=())
    assert shown.verdict.tone == "no"
    assert [each.message for each in shown.blocks[0].rows] == ["too small"]
    assert shown.main_table.title == "What goes where"


def test_a_placement_that_only_a_search_finds_is_a_warning(asked):
    (finding,) = page(asked, placement="exact").blocks[0].rows
    assert finding.severity == "warning"
    assert "fits only as shown below" in finding.message


def test_losses_that_were_not_tried_are_named(asked):
    (finding,) = page(asked, losses_untried=9).blocks[0].rows
    assert finding.message == "9 kinds of loss were not tried"


def test_items_come_with_their_totals_and_domains(asked):
    table = page(asked).main_table
    assert [cell.text for cell in table.rows[0]] == ["gpu-8", "3", "10 000", "30 000", "64 cpu", "z1 x2", "3"]
    assert [cell.exact for cell in table.rows[0]][2:5] == ["10000", "30000", "cpu=64,pods=110"]
    assert [cell.text for cell in table.rows[1]][4:] == ["110 pods", "-", "0"]
    assert table.caption == (
        "no purchase costs less than 41 200 a month; where workloads leave the choice, "
        "new nodes go to the domains with the fewest nodes"
    )


def test_workloads_come_with_their_nodes(asked):
    table = page(asked).blocks[1]
    assert [cell.text for cell in table.rows[0]] == ["web/a", "3/3", "2", "gpu-8-new-1 x2, old"]
    nowhere = (BoughtFor("web/a", 3, 0, (), "too small"),)
    bad = page(asked, workloads=nowhere).blocks[1].rows[0]
    assert [cell.text for cell in bad] == ["web/a", "0/3", "0", "-"]
    assert bad[1].tone == "bad"


def test_where_nothing_waits_the_table_of_items_has_a_head_alone(asked):
    empty = page(asked, items=(), nodes=(), workloads=())
    assert empty.main_table.columns == page(asked).main_table.columns
    assert (empty.main_table.rows, empty.main_table.caption) == ((), "")


DRIVES = {
    "items": (BoughtItem("hdd", 5, "95", "475", kind="drive", drive_class="HDD", size_bytes=4 * 10**12),),
    "drives": (
        BoughtDrives("a", "hdd", 2, new=False),
        BoughtDrives("b", "hdd", 1, new=False),
        BoughtDrives("b", "ssd", 1, new=False),
        BoughtDrives("c", "hdd", 2, new=False),
    ),
}


def test_a_drive_has_a_size_and_goes_to_no_domain(asked):
    (row,) = page(asked, **DRIVES).main_table.rows
    assert [cell.text for cell in row] == ["hdd", "5", "95", "475", "4T HDD", "-", "-"]
    assert row[4].exact == "HDD:4000000000000"


@pytest.mark.parametrize(("size_bytes", "text"), [(2 << 40, "2Ti HDD"), (1920 * 10**9, "1920G HDD")])
def test_sizes_are_as_they_are_sold(asked, size_bytes, text):
    item = BoughtItem("hdd", 1, "1", "1", kind="drive", drive_class="HDD", size_bytes=size_bytes)
    assert page(asked, items=(item,)).main_table.rows[0][4].text == text


def test_nodes_that_get_the_same_drives_are_one_row(asked):
    table = page(asked, **DRIVES).blocks[1]
    assert [[cell.text for cell in row] for row in table.rows] == [
        ["2 x hdd", "a, c", "no"],
        ["1 x hdd, 1 x ssd", "b", "no"],
    ]


def test_one_drive_more_may_be_bought_where_drives_alone_are(asked):
    (finding,) = page(asked, **DRIVES, nodes=(), placement="exact").blocks[0].rows
    assert finding.remedy == "place it as shown, or buy one drive more"
