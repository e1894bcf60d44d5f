"""Prices by tiers: exact, and the same whether a month is charged at once or piece by piece."""

from fractions import Fraction
from itertools import accumulate, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.engine.usage.metering_prices import (
    PriceList,
    Tariff,
    Tier,
    Unit,
    What,
    charge,
    default_unit,
    rounded,
)
from ullage.model.resources import SSD_SPACE, ResourceTypes

FLAT = (Tier(None, Fraction("0.05")),)
FREE = (Tier(Fraction(100), Fraction(0)), Tier(None, Fraction("0.05")))
STEPS = (Tier(Fraction(100), Fraction(2)), Tier(Fraction(200), Fraction(1)), Tier(None, Fraction(1, 3)))


@pytest.mark.parametrize(
    ("tiers", "before", "quantity", "cost"),
    [
        pytest.param(FLAT, 0, 10, "0.5", id="one price for all"),
        pytest.param(FLAT, 1000, 10, "0.5", id="whatever came before"),
        pytest.param(FREE, 0, 100, "0", id="what is free costs nothing"),
        pytest.param(FREE, 0, 110, "0.5", id="only what is beyond it costs"),
        pytest.param(FREE, 90, 20, "0.5", id="what is free is used up in the month"),
        pytest.param(STEPS, 0, 350, "350", id="each part at the price of its tier"),
        pytest.param(STEPS, 100, 1, "1", id="a tier begins behind its border"),
        pytest.param(STEPS, 250, 3, "1", id="the last tier has no end"),
        pytest.param(STEPS, 0, 0, "0", id="nothing costs nothing"),
    ],
)
def test_a_quantity_costs_by_the_tiers_that_it_lies_in(tiers, before, quantity, cost):
    assert charge(tiers, Fraction(before), Fraction(quantity)) == Fraction(cost)


@given(st.lists(st.fractions(0, 200, max_denominator=1000), min_size=1, max_size=8))
def test_a_month_costs_the_same_in_pieces_as_at_once(parts):
    until = [Fraction(0), *accumulate(parts)]
    pieces = sum(charge(STEPS, low, high - low) for low, high in pairwise(until))
    assert pieces == charge(STEPS, Fraction(0), until[-1])


@pytest.mark.parametrize(
    ("cost", "decimals", "shown"),
    [("0.125", 2, "0.12"), ("0.135", 2, "0.14"), ("1/3", 4, "0.3333"), ("2.5", 0, "2"), ("7", 2, "7")],
)
def test_money_is_rounded_half_to_even(cost, decimals, shown):
    assert rounded(Fraction(cost), decimals) == Fraction(shown)


def test_the_list_that_holds_is_the_last_that_began():
    lists = tuple(PriceList(each, {}, str(each)) for each in (10, 20))
    tariff = Tariff("EUR", 2, lists)
    assert [None if (found := tariff.at(each)) is None else found.name for each in (9, 10, 19, 20, 99)] == [
        None, "10", "10", "20", "20",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("cpu", Unit("cpu-hour", 1000, "hour")),
        ("memory", Unit("GiB-hour", 1 << 30, "hour")),
        (SSD_SPACE, Unit("GiB-hour", 1 << 30, "hour")),
        ("nvidia.com/gpu", Unit("gpu-hour", 1, "hour")),
        ("example.com/seats", Unit("unit-hour", 1, "hour")),
        ("network", Unit("GiB", 1 << 30)),
        ("network-sent", Unit("GiB", 1 << 30)),
        ("requests", Unit("unit")),
        ("billing_cu", Unit("unit-hour", 1, "hour")),
        ("billing_nu", Unit("unit")),
    ],
)
def test_things_have_units_of_their_own(name, unit):
    assert default_unit(What(name), ResourceTypes()) == unit
