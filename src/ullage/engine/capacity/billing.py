"""Billing units: prices for what is used, exact until they are printed.

billing_cu = min(max(M/4, C/2), max(M/8, C), max(M/2, C/4))      C vCPUs, M GiB of memory
billing_su = H/1200 + S/200                                      H and S GiB of HDD and SSD
billing_nu = GiB of public traffic
"""

from fractions import Fraction
from typing import Final, NamedTuple

from ullage.model.resources import HDD_SPACE, SSD_SPACE, Resources

_GIBIBYTE: Final = 1 << 30
_MILLI: Final = 1000
_DECIMALS: Final = 6


class BillingUnits(NamedTuple):
    """Compute, storage and network units as exact fractions."""

    billing_cu: Fraction
    billing_su: Fraction
    billing_nu: Fraction


def billing_units(used: Resources, traffic_bytes: int = 0) -> BillingUnits:
    """Return the billing units of an amount of resources and public traffic."""
    cpus = Fraction(used.of("cpu"), _MILLI)
    memory = Fraction(used.of("memory"), _GIBIBYTE)
    ssd = Fraction(used.of(SSD_SPACE), _GIBIBYTE)
    hdd = Fraction(used.of(HDD_SPACE), _GIBIBYTE)
    compute = min(max(memory / 4, cpus / 2), max(memory / 8, cpus), max(memory / 2, cpus / 4))
    return BillingUnits(compute, hdd / 1200 + ssd / 200, Fraction(traffic_bytes, _GIBIBYTE))


def print_units(value: Fraction) -> str:
    """Return a unit with six decimals, halves rounded to even."""
    scaled = value * 10**_DECIMALS
    whole, rest = divmod(abs(scaled.numerator), scaled.denominator)
    if 2 * rest > scaled.denominator or (2 * rest == scaled.denominator and whole % 2):
        whole += 1
    sign = "-" if scaled < 0 and whole else ""
    return f"{sign}{whole // 10**_DECIMALS}.{whole % 10**_DECIMALS:0{_DECIMALS}d}"
