"""What tenants consumed, by period and thing: promised, used, idle, and what it costs, in sums that add up.

Time is cut into cells at every border that matters: those of the periods, of calendar months, at which tiers
of prices begin anew, and of price lists. In a cell one price list holds, and a period is a sum of its cells.
Cells before the time that is asked about only say how much of the month was consumed already.
"""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Final, Literal, NamedTuple

import numpy as np

from ullage.engine.usage.metering_calendar import HOUR_SECONDS, Period, borders_of, end_of, start_of
from ullage.engine.usage.metering_consumption import Consumption
from ullage.engine.usage.metering_counters import Account, Meters
from ullage.engine.usage.metering_levels import UNKNOWN, Held, constant, integrals, together
from ullage.engine.usage.metering_prices import (
    BILLING_CU,
    BILLING_NU,
    BILLING_SU,
    NETWORK,
    Price,
    Tariff,
    Unit,
    What,
    charge,
    default_unit,
    rounded,
)
from ullage.engine.usage.metering_units import COMPUTE_STEPS, GIBIBYTE, STORAGE_STEPS
from ullage.model.resources import ResourceTypes

Kind = Literal["tenant", "total", "unattributed", "idle", "beyond", "capacity"]
KINDS: Final[tuple[Kind, ...]] = ("tenant", "total", "unattributed", "idle", "beyond", "capacity")
"""Rows of a thing, in this order: each tenant, all of them, nobody that we know, nobody, and the whole.

Where at times more was promised or used than there is, that is `beyond` the whole: all others less it.
"""
NONE: Final = Fraction(0)
FIRST: Final = ("cpu", "memory")
STEPS: Final = {BILLING_CU: COMPUTE_STEPS, BILLING_SU: STORAGE_STEPS, BILLING_NU: GIBIBYTE}


class Cell(NamedTuple):
    """A piece of time in one period (None: before all that is asked about), one month and one price list."""

    begin: int
    end: int
    period: int | None
    month: int
    month_seconds: int


class Amount(NamedTuple):
    """So much of a unit, how much of it is estimated, for how long nothing was known, how many restarts."""

    quantity: Fraction = Fraction(0)
    estimated: Fraction = Fraction(0)
    unknown_seconds: int = 0
    restarts: int = 0

    def plus(self, other: "Amount") -> "Amount":
        """Return the sum of two."""
        return Amount(
            self.quantity + other.quantity if self.quantity else other.quantity,
            self.estimated + other.estimated if other.estimated else self.estimated,
            self.unknown_seconds + other.unknown_seconds,
            self.restarts + other.restarts,
        )


class Row(NamedTuple):
    """A line of the report: of a period, of somebody, of a thing.

    `priced` says what of it is to be paid for, promised or used; a cost that is not known is None.
    """

    period: int
    kind: Kind
    tenant: str
    what: What
    unit: Unit
    promised: Amount | None
    used: Amount | None
    priced: str = ""
    cost: Fraction | None = None


class Asked(NamedTuple):
    """What is reported: periods between two full hours, with or without prices and billing units."""

    period: Period
    begin: int
    end: int
    types: ResourceTypes
    tariff: Tariff | None = None
    with_billing: bool = False

    @property
    def first(self) -> int:
        """From when on consumption matters: that of the month so far, where there are prices."""
        return start_of("month", self.begin) if self.tariff is not None else self.begin

    def borders(self) -> list[int]:
        """Return where periods begin, and where the last one ends."""
        return borders_of(self.period, self.begin, self.end)

    def cells(self) -> list[Cell]:
        """Return the time in pieces, in order."""
        periods = self.borders()
        begins = frozenset(periods[:-1])
        borders = {*periods, *borders_of("month", self.first, self.end)}
        if self.tariff is not None:
            borders |= {each.valid_from_seconds for each in self.tariff.lists}
        found, place = [], -1
        for begin, end in pairwise(sorted(each for each in borders if self.first <= each <= self.end)):
            place += begin in begins
            month = start_of("month", begin)
            length = end_of("month", begin) - month
            found.append(Cell(begin, end, place if begin >= self.begin else None, month, length))
        return found

    def unit(self, what: What) -> Unit:
        """Return what a thing is counted in: as its price says, else as usual."""
        price = self.price(what)
        return default_unit(what, self.types) if price is None else price.unit

    def price(self, what: What) -> Price | None:
        """Return the newest price of a thing, that of any model where its own has none."""
        if self.tariff is None:
            return None
        things = self.tariff.things()
        return things.get(what) or things.get(What(what.name))

    def billing(self) -> list[str]:
        """Return the billing units that are reported: those that are asked for, or have a price."""
        return [each for each in STEPS if self.with_billing or self.price(What(each)) is not None]


class Reporter:
    """Collects the rows of all tenants, and what they come to together."""

    def __init__(self, asked: Asked) -> None:
        self.asked = asked
        self.cells = asked.cells()
        self.rows: list[Row] = []
        self._periods = len(asked.borders()) - 1
        self._billing = asked.billing()
        self._units: dict[What, Unit] = {}
        self._sums: dict[What, dict[str, Held]] = {}
        self._borders = [asked.first, *(each.end for each in self.cells)]

    def add_levels(self, consumption: Consumption, capacity: Mapping[What, int]) -> None:
        """Report amounts over time, and what was left of a capacity that is the same all the time."""
        for tenant in consumption.tenants():
            levels = consumption.of(tenant, self._billing)
            for what in sorted({*levels.promised, *levels.used}):
                promised, used = levels.promised.get(what), levels.used.get(what)
                self._row_of_levels(tenant, what, promised, used)
                for name, level in (("promised", promised), ("used", used)):
                    if level is not None:
                        self._add_up(what, name, level)
        self._totals()
        for what in sorted(set(self._sums) & set(capacity)):
            self._rest(what, capacity[what], consumption.of_cluster(what.name))

    def add_meters(self, meters: Meters, rename: Mapping[str, str]) -> None:
        """Report what was counted as it was used; tenants may have other names here than counters know."""
        found: dict[tuple[str, What], list[Amount]] = {}
        for account in meters.accounts():
            tenant = rename.get(account.tenant, account.tenant)
            of_network = account.unit.partition("-")[0] == NETWORK and BILLING_NU in self._billing
            names = [self._priced_as(account.unit), *([BILLING_NU] if of_network else [])]
            for name in names:
                what = What(name)
                amounts = self._counted(meters, account, what)
                known = found.get((tenant, what))
                both = amounts if known is None else [a.plus(b) for a, b in zip(known, amounts, strict=True)]
                found[tenant, what] = both
        for (tenant, what), amounts in sorted(found.items()):
            self._put(tenant, what, None, amounts)
        self._totals()

    def in_order(self) -> list[Row]:
        """Return the rows by period and thing, tenants first."""
        return sorted(self.rows, key=_place)

    def _row_of_levels(self, tenant: str, what: What, promised: Held | None, used: Held | None) -> None:
        self._put(tenant, what, self._integrated(what, promised), self._integrated(what, used))

    def _put(self, tenant: str, what: What, promised: list[Amount] | None, used: list[Amount] | None) -> None:
        """Note the rows of a tenant and a thing, one for each period."""
        price = self.asked.price(what)
        billed = None if price is None else promised if price.of == "promised" else used
        costs = [None] * self._periods if billed is None else self._costs(what, billed)
        columns = zip(self._by_period(promised), self._by_period(used), costs, strict=True)
        of = "" if price is None else price.of
        for period, (had, took, cost) in enumerate(columns):
            row = Row(period, "tenant", tenant, what, self._unit(what), had, took, of, cost)
            self.rows.append(row)

    def _by_period(self, amounts: Sequence[Amount] | None) -> Sequence[Amount | None]:
        if amounts is None:
            return [None] * self._periods
        found = [Amount()] * self._periods
        for cell, amount in zip(self.cells, amounts, strict=True):
            if cell.period is not None:
                found[cell.period] = found[cell.period].plus(amount)
        return found

    def _priced_as(self, unit: str) -> str:
        """Return the thing that a unit of counters is part of: what has no price of its own is a part.

        `network-sent` is `network` where that has a price, so that both ways share what is free of it.
        """
        words = unit.split("-")
        names = ["-".join(words[:count]) for count in range(len(words), 0, -1)]
        return next((each for each in names if self.asked.price(What(each)) is not None), unit)

    def _unit(self, what: What) -> Unit:
        if what not in self._units:
            self._units[what] = self.asked.unit(what)
        return self._units[what]

    def _integrated(self, what: What, level: Held | None) -> list[Amount] | None:
        """Return what a level comes to in each cell, in the unit of its thing."""
        if level is None:
            return None
        found = []
        for cell, each in zip(self.cells, integrals(level, self.asked.first, self._borders), strict=True):
            one = self._one(what, cell)
            unknown = cell.end - cell.begin - each.known_seconds
            found.append(Amount(_share(each.amount_seconds, one), _share(each.estimated, one), unknown))
        return found

    def _counted(self, meters: Meters, account: Account, what: What) -> list[Amount]:
        """Return what passed in each cell; before the first reading and after the last, nobody knows."""
        found = []
        consumed = meters.consumed(account, self._borders)
        first, last = meters.known_hours() or (self.asked.end, self.asked.end)
        for cell, each in zip(self.cells, consumed, strict=True):
            one = self._one(what, cell)
            known = max(0, min(cell.end, last) - max(cell.begin, first))
            unknown = cell.end - cell.begin - known
            found.append(
                Amount(_share(each.passed, one), _share(each.estimated, one), unknown, each.restarts)
            )
        return found

    def _one(self, what: What, cell: Cell) -> int:
        """Return what one unit of a thing is, in internal steps times seconds."""
        unit = self._unit(what)
        seconds = {"": 1, "hour": HOUR_SECONDS, "month": cell.month_seconds}[unit.time]
        return unit.amount * STEPS.get(what.name, 1) * seconds

    def _costs(self, what: What, amounts: Sequence[Amount]) -> list[Fraction | None]:
        """Return what a thing costs in each period; None where no price list holds in a part of it."""
        tariff = self.asked.tariff
        assert tariff is not None  # noqa: S101 - there is a price
        costs: list[Fraction | None] = [Fraction(0)] * self._periods
        month, consumed = -1, Fraction(0)
        for cell, amount in zip(self.cells, amounts, strict=True):
            consumed = consumed if cell.month == month else Fraction(0)
            month = cell.month
            prices = tariff.at(cell.begin)
            price = None if prices is None else prices.prices.get(what) or prices.prices.get(What(what.name))
            if cell.period is not None:
                so_far = costs[cell.period]
                if price is None:
                    costs[cell.period] = None if amount.quantity else so_far
                elif so_far is not None:
                    costs[cell.period] = so_far + charge(price.tiers, consumed, amount.quantity)
            consumed += amount.quantity
        return [None if each is None else rounded(each, tariff.decimals) for each in costs]

    def _add_up(self, what: What, name: str, level: Held) -> None:
        sums = self._sums.setdefault(what, {})
        sums[name] = together([sums[name], level]) if name in sums else level

    def _totals(self) -> None:
        """Note what all tenants had of each thing that has no sum yet."""
        done = {row.what for row in self.rows if row.kind == "total"}
        by_thing: dict[tuple[int, What], list[Row]] = {}
        for row in self.rows:
            if row.what not in done:
                by_thing.setdefault((row.period, row.what), []).append(row)
        for (period, what), rows in sorted(by_thing.items()):
            costs = [row.cost for row in rows if row.cost is not None]
            first = rows[0]
            self.rows.append(
                Row(
                    period,
                    "total",
                    "",
                    what,
                    first.unit,
                    _sum(row.promised for row in rows),
                    _sum(row.used for row in rows),
                    first.priced,
                    sum(costs, Fraction(0)) if costs else None,
                )
            )

    def _rest(self, what: What, capacity: int, of_cluster: Held | None) -> None:
        """Note what nobody we know used, what was idle, what was beyond the capacity, and that itself."""
        whole = constant(capacity, self.asked.first, self.asked.end)
        columns: dict[Kind, dict[str, list[Amount]]] = {
            "unattributed": {},
            "idle": {},
            "beyond": {},
            "capacity": {},
        }
        for name, level in self._sums[what].items():
            taken, states = level.amounts, level.states
            if name == "used" and of_cluster is not None:
                taken, states = np.maximum(taken, of_cluster.amounts), np.maximum(states, of_cluster.states)
                other = Held(taken - level.amounts, states)
                columns["unattributed"][name] = self._integrated(what, other) or []
            known = states != UNKNOWN
            total = Held(np.where(known, whole.amounts, 0), known.astype(np.int8))
            left = total.amounts - taken
            columns["idle"][name] = self._integrated(what, Held(np.maximum(left, 0), states)) or []
            if (left < 0).any():
                columns["beyond"][name] = self._integrated(what, Held(np.maximum(-left, 0), states)) or []
            columns["capacity"][name] = self._integrated(what, total) or []
        for kind, found in columns.items():
            both = (self._by_period(found.get(name)) for name in ("promised", "used"))
            for period, (promised, used) in enumerate(zip(*both, strict=True)):
                some = [each for each in (promised, used) if each is not None]
                if any(each.quantity for each in some) if kind == "beyond" else some:
                    self.rows.append(Row(period, kind, "", what, self._unit(what), promised, used))


def _place(row: Row) -> tuple[int, int, What, int, str]:
    """Return where a row stands: processors and memory first of all things, billing units last."""
    first = FIRST.index(row.what.name) if row.what.name in FIRST else len(FIRST)
    return row.period, first + (row.what.name in STEPS), row.what, KINDS.index(row.kind), row.tenant


def _share(amount: int, one: int) -> Fraction:
    return Fraction(amount, one) if amount else NONE


def _sum(amounts: Iterable[Amount | None]) -> Amount | None:
    known = [each for each in amounts if each is not None]
    total = Amount()
    for each in known:
        total = total.plus(each)
    return total._replace(unknown_seconds=0) if known else None
