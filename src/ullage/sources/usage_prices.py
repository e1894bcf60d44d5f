"""Price lists: what units of resources, billing units and counters cost, from a day on.

A file may have several, each for the time until the next one begins. Prices are exact: text such as "0.0125"
or "1/3"; what YAML reads as a number is taken for the shortest decimal that is this number.
"""

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Final, Literal

import msgspec

from ullage.engine.usage.metering_calendar import parse_day
from ullage.engine.usage.metering_prices import (
    BILLING,
    BYTES,
    Of,
    Price,
    PriceList,
    Tariff,
    Tier,
    Time,
    Unit,
    What,
    default_unit,
    resource_of,
    word_of,
)
from ullage.model.constraints import Record
from ullage.model.errors import InputError
from ullage.model.resources import ResourceType, ResourceTypes
from ullage.model.settings import parse_fraction
from ullage.model.wire import API_VERSION
from ullage.sources.documents import Document, read_documents
from ullage.sources.own_format import read_header
from ullage.sources.own_hooks import reading_hook

KIND: Final = "PriceList"
PRICES_MAX: Final = 1000
TIERS_MAX: Final = 100
DECIMALS_MAX: Final = 9
PRICE_MAX: Final = 10**12
_CURRENCY: Final = re.compile(r"[A-Z]{3}")
_COUNTED: Final = re.compile(r"[a-z][a-z0-9-]{0,62}")
_COUNTS: Final = {"unit": 1, "thousand": 10**3, "million": 10**6}
_TIMES: Final[tuple[Time, ...]] = ("hour", "month")


class TierEntry(Record, frozen=True, forbid_unknown_fields=True):
    """The price of a unit, until so many were consumed in a calendar month; the last one says no end."""

    price: str | int | float
    up_to: str | int | float | None = None


class PriceEntry(
    Record, frozen=True, kw_only=True, forbid_unknown_fields=True, rename={"thing": "for", "counted": "of"}
):
    """What one thing costs: a price for all of it, or prices by how much; `free` units a month cost nothing.

    `for` is a resource (with the `model` of a device), billing_cu, billing_su, billing_nu, or what counters
    count, as network. `of` says whether what was promised is paid for, or what was used.
    """

    thing: str
    unit: str = ""
    model: str = ""
    counted: Literal["promised", "used"] | None = None
    price: str | int | float | None = None
    free: str | int | float = 0
    tiers: tuple[TierEntry, ...] = ()


class PriceListDocument(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What consumption costs from a day on; lines of a bill are rounded to so many decimals."""

    api_version: Literal["ullage.dev/v1"]
    kind: Literal["PriceList"]
    name: str = ""
    currency: str
    decimals: int = 2
    valid_from: str = "1970-01-01"
    prices: tuple[PriceEntry, ...]


def read_prices(path: str, types: ResourceTypes) -> Tariff:
    """Return the price lists of a file, in the order of their days."""
    found: dict[int, PriceList] = {}
    money: set[tuple[str, int]] = set()
    for document in read_documents(path):
        _check_header(document)
        read = document.decode(msgspec.json.Decoder(PriceListDocument, dec_hook=reading_hook(types)))
        money.add((_currency(read, document), read.decimals))
        valid_from = _valid_from(read, document)
        if valid_from in found:
            raise document.error(
                f"a list from {read.valid_from} on is there already", path=("validFrom",), remedy="keep one"
            )
        found[valid_from] = PriceList(valid_from, _prices(read.prices, document, types), read.name)
    if len(money) > 1:
        named = " and ".join(f"{currency} with {decimals} decimals" for currency, decimals in sorted(money))
        raise InputError(named, where=path, remedy="keep to one currency; lists of others are other files")
    lists = tuple(found[each] for each in sorted(found))
    _check_units(lists, path)
    (only,) = money
    return Tariff(*only, lists)


def _check_header(document: Document) -> None:
    header = read_header(document)
    if header.api_version != API_VERSION or header.kind != KIND:
        found = f"apiVersion {header.api_version!r}, kind {header.kind!r}"
        raise document.error(found, remedy=f"write apiVersion: {API_VERSION} and kind: {KIND}")
    document.reject_duplicate_keys()


def _currency(read: PriceListDocument, document: Document) -> str:
    if not _CURRENCY.fullmatch(read.currency):
        raise document.error(
            f"currency {read.currency[:20]!r}", path=("currency",), remedy="use three capitals, as EUR"
        )
    if not 0 <= read.decimals <= DECIMALS_MAX:
        raise document.error(
            f"{read.decimals} decimals", path=("decimals",), remedy=f"use 0 to {DECIMALS_MAX}"
        )
    return read.currency


def _valid_from(read: PriceListDocument, document: Document) -> int:
    try:
        seconds = parse_day(read.valid_from)
    except InputError as error:
        raise error.at(document.where(("validFrom",))) from None
    if seconds is None:
        raise document.error(
            f"{read.valid_from[:30]!r} is no day", path=("validFrom",), remedy="write it as 2026-03-01"
        )
    return seconds


def _prices(entries: Sequence[PriceEntry], document: Document, types: ResourceTypes) -> dict[What, Price]:
    if not 1 <= len(entries) <= PRICES_MAX:
        raise document.error(f"{len(entries)} prices", path=("prices",), remedy=f"list 1 to {PRICES_MAX}")
    found: dict[What, Price] = {}
    for position, entry in enumerate(entries):
        try:
            price = _price(entry, types)
        except InputError as error:
            raise error.at(document.where(("prices", position))) from None
        if price.what in found:
            named = f"{price.what.name} {price.what.model}".strip()
            what = f"{named} has a price already"
            raise document.error(what, path=("prices", position), remedy="keep one of the two")
        found[price.what] = price
    return found


def _price(entry: PriceEntry, types: ResourceTypes) -> Price:
    resource = resource_of(entry.thing, types)
    name = entry.thing if resource is None else resource.name
    if resource is None and name not in BILLING and not _COUNTED.fullmatch(name):
        raise InputError(
            f"for: {name[:40]!r} is no resource, billing unit or counted unit",
            remedy="use cpu, memory, DOMAIN/NAME, billing_cu, network or the like",
        )
    what = What(name, entry.model)
    if entry.model and (resource is None or "/" not in name):
        raise InputError(f"model: {name} has no models", remedy="leave it out")
    unit = _unit(entry.unit, resource, what, types)
    counted: Of = entry.counted or ("promised" if unit.time else "used")
    if counted == "promised" and not unit.time:
        raise InputError(f"of: {name} is counted as it is used, not promised", remedy="leave it out")
    return Price(what, unit, counted, _tiers(entry))


def _unit(text: str, resource: ResourceType | None, what: What, types: ResourceTypes) -> Unit:
    """Return the unit of a price, as GiB-hour: so much, and for things that take time, for how long."""
    usual = default_unit(what, types)
    if not text or text == usual.name:
        return usual
    amount, dash, told = text.partition("-")
    time = next((each for each in _TIMES if each == told), None) if dash else ""
    known = _amounts_of(resource, what)
    if time is None or bool(time) != bool(usual.time) or amount not in known:
        times = [f"{each}-{one}" for each in known for one in _TIMES] if usual.time else list(known)
        raise InputError(f"unit: {text[:30]!r} is no unit of {what.name}", remedy=f"use {' or '.join(times)}")
    return Unit(text, known[amount], time)


def _amounts_of(resource: ResourceType | None, what: What) -> dict[str, int]:
    if what.name in BILLING:
        return {"unit": 1}
    if resource is None:
        return {**_COUNTS, **BYTES}
    if resource.is_bytes:
        return dict(BYTES)
    return {word_of(what.name): 10**resource.internal_scale_exponent}


def _tiers(entry: PriceEntry) -> tuple[Tier, ...]:
    """Return the prices of a thing by how much was consumed in the month."""
    free = _number(entry.free, "free")
    if entry.tiers:
        if entry.price is not None or free:
            raise InputError("price or free beside tiers", remedy="write all of it as tiers")
        return _checked_tiers(entry.tiers)
    if entry.price is None:
        raise InputError("there is no price", remedy="write price, or tiers")
    price = Tier(None, _number(entry.price, "price"))
    return (Tier(free, Fraction(0)), price) if free else (price,)


def _checked_tiers(entries: Sequence[TierEntry]) -> tuple[Tier, ...]:
    if len(entries) > TIERS_MAX:
        raise InputError(f"{len(entries)} tiers", remedy=f"use at most {TIERS_MAX}")
    tiers: list[Tier] = []
    for position, entry in enumerate(entries):
        where = f"tiers[{position}]"
        is_last = position == len(entries) - 1
        if (entry.up_to is None) != is_last:
            what = "has no upTo" if entry.up_to is None else "has an upTo, and is the last"
            raise InputError(f"{where} {what}", remedy="every tier but the last says where it ends")
        end = None if entry.up_to is None else _number(entry.up_to, f"{where}.upTo")
        low = tiers[-1].up_to if tiers else Fraction(0)
        if end is not None and low is not None and end <= low:
            raise InputError(f"{where}.upTo is not above the one before", remedy="sort tiers by upTo")
        tiers.append(Tier(end, _number(entry.price, f"{where}.price")))
    return tuple(tiers)


def _number(given: str | float, field: str) -> Fraction:
    try:
        number = parse_fraction(given if isinstance(given, str) else repr(given))
    except InputError as error:
        raise InputError(f"{field}: {error.what}", remedy='write it as text, as "0.0125" or "1/3"') from None
    if number > PRICE_MAX:
        raise InputError(f"{field}: {given} is out of bounds", remedy=f"use at most {PRICE_MAX}")
    return number


def _check_units(lists: Sequence[PriceList], path: str) -> None:
    """Refuse lists that count a thing in other units: what was consumed in a month would have no number."""
    known: dict[What, Price] = {}
    for each in lists:
        for what, price in each.prices.items():
            before = known.setdefault(what, price)
            if (before.unit, before.of) != (price.unit, price.of):
                raise InputError(
                    f"{what.name} is counted in {before.unit.name} {before.of} first, later in "
                    f"{price.unit.name} {price.of}",
                    where=path,
                    remedy="keep to one unit",
                )
