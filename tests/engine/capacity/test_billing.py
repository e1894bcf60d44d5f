"""Billing units: exact fractions, six decimals half-even when printed."""

from fractions import Fraction

import pytest

from builders import resources
from ullage.engine.capacity.billing import BillingUnits, billing_units, print_units
from ullage.model.resources import HDD_SPACE, NOTHING, SSD_SPACE

GIB = 1 << 30


@pytest.mark.parametrize(
    ("used", "compute", "storage"),
    [
        ((1, 2, 0, 25), "1/2", "1/8"),
        ((2, 4, 0, 50), "1", "1/4"),
        ((4, 16, 0, 100), "4", "1/2"),
        ((8, 16, 0, 100), "4", "1/2"),
        ((1, 8, 1200, 0), "1", "1"),
        ((16, 4, 0, 200), "4", "1"),
        ((2, 64, 600, 100), "8", "1"),
        ((0, 0, 0, 0), "0", "0"),
        ((3, 1, 1, 1), "3/4", "7/1200"),
        ((8, 4, 0, 0), "2", "0"),
        ((1, 32, 0, 0), "4", "0"),
        ((6, 8, 0, 0), "3", "0"),
    ],
)
def test_the_prices_of_cpus_memory_hdd_and_ssd(used, compute, storage):
    cpus, memory, hdd, ssd = used
    amounts = resources({SSD_SPACE: f"{ssd}Gi", HDD_SPACE: f"{hdd}Gi"}, cpu=cpus, memory=f"{memory}Gi")
    assert billing_units(amounts) == BillingUnits(Fraction(compute), Fraction(storage), Fraction(0))


def test_parts_of_a_cpu_and_of_a_gibibyte_are_exact():
    used = resources({SSD_SPACE: "1"}, cpu="500m", memory="1Mi")
    assert billing_units(used) == BillingUnits(
        max(Fraction(1, 1024) / 2, Fraction(1, 8)), Fraction(1, 200 * GIB), Fraction(0)
    )


def test_public_traffic_is_counted_in_gibibytes():
    assert billing_units(NOTHING, 3 * GIB + GIB // 2).billing_nu == Fraction(7, 2)
    assert billing_units(NOTHING, 1).billing_nu == Fraction(1, GIB)


@pytest.mark.parametrize(
    ("value", "printed"),
    [
        ("0", "0.000000"),
        ("1/2", "0.500000"),
        ("12", "12.000000"),
        ("1/3", "0.333333"),
        ("2/3", "0.666667"),
        ("0.0000005", "0.000000"),
        ("0.0000015", "0.000002"),
        ("0.0000025", "0.000002"),
        ("0.00000049", "0.000000"),
        ("0.00000051", "0.000001"),
        ("0.9999995", "1.000000"),
        ("0.9999985", "0.999998"),
        ("7.000001", "7.000001"),
        ("-1/2", "-0.500000"),
        ("-0.0000015", "-0.000002"),
        ("-0.0000001", "0.000000"),
        ("-1/3", "-0.333333"),
    ],
)
def test_units_print_with_six_decimals_and_halves_to_even(value, printed):
    assert print_units(Fraction(value)) == printed
