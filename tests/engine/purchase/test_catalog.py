"""Prices are exact, and as people and machines read them; drives go where they may."""

import pytest

from builders import node
from ullage.engine.purchase.catalog import Catalog, DriveItem, Item, exact_price, show_price


@pytest.mark.parametrize(
    ("price_micro", "shown", "exact"),
    [
        (41_200_000_000, "41 200", "41200"),
        (565_500_000, "565.50", "565.50"),
        (1_000_001, "1.000001", "1.000001"),
        (0, "0", "0"),
        (1_234_567_890_000, "1 234 567.89", "1234567.89"),
    ],
)
def test_a_price_shows_as_few_decimals_as_are_exact(price_micro, shown, exact):
    assert (show_price(price_micro), exact_price(price_micro)) == (shown, exact)


def test_a_sum_is_in_the_unit_of_the_catalog():
    record = node("n", cpu="1").record
    catalog = Catalog((Item("a", 1_500_000, record), Item("b", 2_000_000, record)), "EUR a month")
    assert catalog.show(catalog.price_of({"a": 2, "b": 1})) == "5 EUR a month"
    assert Catalog(catalog.items).show(1_500_000) == "1.50"


@pytest.mark.parametrize(
    ("fields", "suiting"),
    [({}, "abc"), ({"nodes": ("a", "c")}, "ac"), ({"group": "gpu"}, "bc")],
    ids=["any", "named", "group"],
)
def test_a_drive_goes_where_it_may(fields, suiting):
    drive = DriveItem("hdd", 1, "HDD", 10**12, **fields)
    nodes = [node("a"), node("b").in_group("gpu"), node("c").in_group("gpu")]
    assert [each.record.name for each in nodes if drive.suits(each.record)] == list(suiting)


def test_drives_are_sold_alone_or_in_nodes():
    plain, full = node("n", cpu="1"), node("n", cpu="1").with_drive("d", "HDD", "1Gi")
    drive = DriveItem("hdd", 2_000_000, "HDD", 10**12)
    assert not Catalog((Item("a", 1, plain.record),)).sells_drives
    assert Catalog((Item("a", 1, full.record),)).sells_drives
    catalog = Catalog((), drives=(drive,))
    assert (catalog.sells_drives, catalog.everything, catalog.price_of({"hdd": 3})) == (
        True,
        (drive,),
        6_000_000,
    )
