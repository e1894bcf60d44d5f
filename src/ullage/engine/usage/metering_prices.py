"""What consumption costs: prices by unit, in steps that begin anew with each calendar month, exactly.

A price list holds from its day until the next one begins. How much a tenant has consumed of a thing in the
month says which step the next unit is in, whichever list holds by then. So what a month costs is the sum of
what its days cost, to the last decimal of a fraction; only a line of a report is rounded, once.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import Final, Literal, NamedTuple

from ullage.model.errors import InputError
from ullage.model.resources import ResourceType, ResourceTypes, canonical_name

Of = Literal["promised", "used"]
Time = Literal["", "hour", "month"]
BILLING_CU: Final = "billing_cu"
BILLING_SU: Final = "billing_su"
BILLING_NU: Final = "billing_nu"
BILLING: Final = (BILLING_CU, BILLING_SU, BILLING_NU)
NETWORK: Final = "network"
"""The unit of counters that billing_nu counts."""
BYTES: Final = MappingProxyType(
    {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40, "GB": 10**9, "TB": 10**12}
)


class What(NamedTuple):
    """What is consumed: a resource over time, perhaps of one model of device; a counted or a billing unit."""

    name: str
    model: str = ""


class Unit(NamedTuple):
    """What a quantity is counted in: so much (in internal steps), for so long; with the name that it has."""

    name: str
    amount: int = 1
    time: Time = ""


class Tier(NamedTuple):
    """The price of a unit, until so many were consumed in the month; the last tier has no end."""

    up_to: Fraction | None
    price: Fraction


class Price(NamedTuple):
    """What a thing costs by its unit, of what was promised or of what was used."""

    what: What
    unit: Unit
    of: Of
    tiers: tuple[Tier, ...]


class PriceList(NamedTuple):
    """The prices that hold from a moment on."""

    valid_from_seconds: int
    prices: Mapping[What, Price]
    name: str = ""


class Tariff(NamedTuple):
    """Price lists in the order of their days; amounts of money are rounded to so many decimals."""

    currency: str
    decimals: int
    lists: tuple[PriceList, ...]

    def at(self, seconds: int) -> PriceList | None:
        """Return the list that holds at a moment; None before the first."""
        holding = [each for each in self.lists if each.valid_from_seconds <= seconds]
        return holding[-1] if holding else None

    def things(self) -> dict[What, Price]:
        """Return everything that has a price at some time, with the newest."""
        found: dict[What, Price] = {}
        for each in self.lists:
            found.update(each.prices)
        return found


def resource_of(name: str, types: ResourceTypes) -> ResourceType | None:
    """Return the resource of a name; None where it is the name of something that is counted."""
    if name in BILLING:
        return None
    try:
        return types[canonical_name(name)]
    except InputError:
        return None


def default_unit(what: What, types: ResourceTypes) -> Unit:
    """Return what a thing is counted in where nobody says otherwise."""
    resource = resource_of(what.name, types)
    if what.name == BILLING_NU:
        return Unit("unit")
    if what.name in BILLING:
        return Unit("unit-hour", 1, "hour")
    if resource is None:
        return Unit("GiB", BYTES["GiB"]) if what.name.startswith(NETWORK) else Unit("unit")
    if resource.is_bytes:
        return Unit("GiB-hour", BYTES["GiB"], "hour")
    return Unit(f"{word_of(what.name)}-hour", 10**resource.internal_scale_exponent, "hour")


def word_of(resource: str) -> str:
    """Return what one of a resource is called that is no size."""
    return "cpu" if resource == "cpu" else "gpu" if resource.endswith("/gpu") else "unit"


def charge(tiers: Sequence[Tier], before: Fraction, quantity: Fraction) -> Fraction:
    """Return what a quantity costs when so much was consumed before it in the month."""
    cost, low, end = Fraction(0), Fraction(0), before + quantity
    for tier in tiers:
        high = end if tier.up_to is None else min(tier.up_to, end)
        cost += max(Fraction(0), high - max(low, before)) * tier.price
        if tier.up_to is None or tier.up_to >= end:
            break
        low = tier.up_to
    return cost


def rounded(cost: Fraction, decimals: int) -> Fraction:
    """Return an amount of money with so many decimals, halves to even."""
    return Fraction(round(cost * 10**decimals), 10**decimals)
