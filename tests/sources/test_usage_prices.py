"""Price lists: what may be written, and where it is wrong."""

from fractions import Fraction
from pathlib import Path

import pytest

from ullage.engine.usage.metering_calendar import parse_day
from ullage.engine.usage.metering_prices import Price, Tier, Unit, What
from ullage.model.errors import InputError
from ullage.model.resources import ResourceType, ResourceTypes
from ullage.sources.usage_prices import read_prices

ROOT = Path(__file__).resolve().parents[2]
HEAD = "apiVersion: ullage.dev/v1\nkind: PriceList\ncurrency: EUR\n"
GIB = 1 << 30


def read(tmp_path, text, types=None):
    path = tmp_path / "prices.yaml"
    path.write_text(text)
    return read_prices(str(path), types or ResourceTypes())


def one(tmp_path, entry, types=None):
    (only,) = read(tmp_path, f"{HEAD}prices:\n- {entry}\n", types).lists[0].prices.values()
    return only


FLAT = (Tier(None, Fraction("0.5")),)


@pytest.mark.parametrize(
    ("entry", "price"),
    [
        (
            '{for: cpu, price: "0.5"}',
            Price(What("cpu"), Unit("cpu-hour", 1000, "hour"), "promised", FLAT),
        ),
        (
            "{for: kubernetes.io/memory, unit: GB-month, of: used, price: 1/2}",
            Price(What("memory"), Unit("GB-month", 10**9, "month"), "used", FLAT),
        ),
        (
            "{for: nvidia.com/gpu, model: A100, unit: gpu-hour, price: 0.5}",
            Price(What("nvidia.com/gpu", "A100"), Unit("gpu-hour", 1, "hour"), "promised", FLAT),
        ),
        (
            "{for: network, unit: TiB, free: 2, price: 0.5}",
            Price(
                What("network"),
                Unit("TiB", 1 << 40),
                "used",
                (Tier(Fraction(2), Fraction(0)), *FLAT),
            ),
        ),
        (
            "{for: requests, unit: million, tiers: [{upTo: 10, price: 1}, {price: 0.5}]}",
            Price(What("requests"), Unit("million", 10**6), "used", (Tier(Fraction(10), Fraction(1)), *FLAT)),
        ),
        (
            "{for: billing_cu, price: 0.5}",
            Price(What("billing_cu"), Unit("unit-hour", 1, "hour"), "promised", FLAT),
        ),
        (
            "{for: billing_su, unit: unit-month, price: 0.5}",
            Price(What("billing_su"), Unit("unit-month", 1, "month"), "promised", FLAT),
        ),
        ("{for: billing_nu, price: 0.5}", Price(What("billing_nu"), Unit("unit"), "used", FLAT)),
        (
            "{for: example.com/seats, unit: unit-month, price: 0.5}",
            Price(What("example.com/seats"), Unit("unit-month", 1, "month"), "promised", FLAT),
        ),
    ],
)
def test_a_price_is_by_a_unit_of_its_thing(tmp_path, entry, price):
    assert one(tmp_path, entry) == price


def test_a_type_of_the_users_own_is_counted_in_its_steps(tmp_path):
    types = ResourceTypes([ResourceType("example.com/shares", internal_scale_exponent=3)])
    assert one(tmp_path, "{for: example.com/shares, price: 1}", types).unit == Unit("unit-hour", 1000, "hour")


def test_lists_are_in_the_order_of_their_days(tmp_path):
    later = HEAD + "name: b\nvalidFrom: 2026-02-01\nprices: [{for: cpu, price: 2}]\n"
    first = HEAD + "name: a\nprices: [{for: cpu, price: 1}]\n"
    found = read(tmp_path, f"{later}---\n{first}")
    assert [each.name for each in found.lists] == ["a", "b"]
    assert [each.valid_from_seconds for each in found.lists] == [0, parse_day("2026-02-01")]
    assert (found.currency, found.decimals) == ("EUR", 2)


def test_the_example_can_be_read():
    found = read_prices(str(ROOT / "examples" / "prices.yaml"), ResourceTypes())
    assert len(found.lists) == 2
    assert found.things()[What("network")].unit == Unit("GiB", GIB)


@pytest.mark.parametrize(
    ("entry", "what"),
    [
        ("{for: cpu}", "prices[0]: there is no price"),
        ("{for: cpu, price: -1}", "prices[0]: price: '-1' is no number"),
        ("{for: cpu, price: cheap}", "prices[0]: price: 'cheap' is no number"),
        ("{for: cpu, price: 9999999999999/1}", "is out of bounds"),
        ("{for: cpu, price: 1, prise: 2}", 'unknown field "prise"'),
        ("{for: cpu, price: [1]}", "prices[0].price"),
        ("{for: cpu, unit: GiB-hour, price: 1}", "'GiB-hour' is no unit of cpu; use cpu-hour or cpu-month"),
        ("{for: memory, unit: GiB, price: 1}", "'GiB' is no unit of memory"),
        ("{for: memory, unit: GiB-year, price: 1}", "'GiB-year' is no unit of memory"),
        ("{for: network, unit: GiB-hour, price: 1}", "'GiB-hour' is no unit of network"),
        ("{for: network, of: promised, price: 1}", "network is counted as it is used, not promised"),
        ("{for: cpu, of: asked, price: 1}", "prices[0].of"),
        ("{for: Big Thing, price: 1}", "'Big Thing' is no resource, billing unit or counted unit"),
        ("{for: cpu, model: X, price: 1}", "cpu has no models"),
        ("{for: network, model: X, price: 1}", "network has no models"),
        ("{for: cpu, price: 1, tiers: [{price: 1}]}", "price or free beside tiers"),
        ("{for: cpu, tiers: [{price: 1}, {price: 2}]}", "tiers[0] has no upTo"),
        ("{for: cpu, tiers: [{upTo: 1, price: 1}]}", "tiers[0] has an upTo, and is the last"),
        (
            "{for: cpu, tiers: [{upTo: 5, price: 1}, {upTo: 5, price: 1}, {price: 2}]}",
            "tiers[1].upTo is not above the one before",
        ),
    ],
)
def test_a_price_that_cannot_be_used_is_told_with_its_place(tmp_path, entry, what):
    with pytest.raises(InputError) as error:
        one(tmp_path, entry)
    assert what in str(error.value)
    assert "prices.yaml" in str(error.value)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (HEAD + "prices: []\n", "0 prices"),
        (
            HEAD + "prices: [{for: cpu, price: 1}, {for: kubernetes.io/cpu, price: 1}]\n",
            "cpu has a price already",
        ),
        (HEAD.replace("EUR", "euro") + "prices: [{for: cpu, price: 1}]\n", "currency 'euro'"),
        (HEAD + "decimals: 10\nprices: [{for: cpu, price: 1}]\n", "10 decimals"),
        (HEAD + "validFrom: 2026-02-30\nprices: [{for: cpu, price: 1}]\n", "no day of the calendar"),
        (HEAD + "validFrom: soon\nprices: [{for: cpu, price: 1}]\n", "'soon' is no day"),
        (HEAD.replace("PriceList", "Catalog") + "prices: []\n", "kind 'Catalog'"),
        (HEAD + "color: red\nprices: [{for: cpu, price: 1}]\n", 'unknown field "color"'),
        ("", "empty: no document"),
        (
            HEAD + "prices: [{for: cpu, price: 1}]\n---\n" + HEAD + "prices: [{for: cpu, price: 1}]\n",
            "a list from 1970-01-01 on is there already",
        ),
        (
            HEAD
            + "prices: [{for: cpu, price: 1}]\n---\n"
            + HEAD.replace("EUR", "CHF")
            + "validFrom: 2026-01-01\nprices: [{for: cpu, price: 1}]\n",
            "CHF with 2 decimals and EUR with 2 decimals",
        ),
        (
            HEAD
            + "prices: [{for: cpu, price: 1}]\n---\n"
            + HEAD
            + "validFrom: 2026-01-01\nprices: [{for: cpu, of: used, price: 1}]\n",
            "cpu is counted in cpu-hour promised first, later in cpu-hour used",
        ),
    ],
)
def test_lists_that_cannot_be_used_are_told(tmp_path, text, what):
    with pytest.raises(InputError) as error:
        read(tmp_path, text)
    assert what in str(error.value)
