"""Rows of a report: sums that add up, prices by month and list, and what is left of the capacity."""

from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.engine.capacity.metering import Reading
from ullage.engine.usage.metering_calendar import PERIODS, parse_day
from ullage.engine.usage.metering_consumption import Consumption
from ullage.engine.usage.metering_counters import CounterName, Meters
from ullage.engine.usage.metering_levels import Span
from ullage.engine.usage.metering_prices import Price, PriceList, Tariff, Tier, Unit, What, default_unit
from ullage.engine.usage.metering_report import Asked, Reporter
from ullage.engine.usage.metering_tenants import Tenancy
from ullage.model.resources import ResourceTypes
from usage_builders import book, every

HOUR, DAY, GIB = 3600, 86_400, 1 << 30
TYPES = ResourceTypes()
BEGIN, END = parse_day("2026-01-30"), parse_day("2026-02-03")
CPU, NETWORK = What("cpu"), What("network")


def price(what, number, *, of="used", unit=None, tiers=None):
    steps = tiers or (Tier(None, Fraction(number)),)
    return Price(what, unit or default_unit(what, TYPES), of, steps)


def tariff(*prices, valid_from=0, decimals=2):
    return Tariff("EUR", decimals, (PriceList(valid_from, {each.what: each for each in prices}),))


def levels(seen, asked, capacity=None, gap_seconds=HOUR):
    consumption = Consumption(book(seen), Tenancy(), Span(asked.first, asked.end, gap_seconds))
    reporter = Reporter(asked)
    reporter.add_levels(consumption, capacity or {})
    return reporter.in_order()


def metered(readings, asked):
    meters = Meters()
    for (tenant, counter), found in readings.items():
        meters.add(CounterName(tenant, counter), [Reading(*each) for each in found])
    meters.settle()
    reporter = Reporter(asked)
    reporter.add_meters(meters, {})
    return reporter.in_order()


def only(rows, **fields):
    found = [row for row in rows if all(getattr(row, name) == value for name, value in fields.items())]
    assert len(found) == 1, found
    return found[0]


def asked(period="month", begin=BEGIN, end=END, **fields):
    return Asked(period, begin, end, TYPES, **fields)


STEADY = every(HOUR, [2000] * (4 * 24 + 1), BEGIN)
"""Two processors for four days: two in January, two in February."""


def test_amounts_over_time_are_told_by_period_in_hours():
    rows = levels({("namespace/a", "cpu"): STEADY}, asked())
    quantities = [row.used.quantity for row in rows if row.kind == "tenant"]
    assert quantities == [2 * 48, 2 * 48]
    assert {row.unit.name for row in rows} == {"cpu-hour"}


def test_tenants_not_attributed_and_idle_add_up_to_the_capacity():
    seen = {
        ("namespace/a", "cpu"): STEADY,
        ("namespace/b", "cpu"): every(HOUR, [500] * 25, BEGIN),
        ("cluster", "cpu"): every(HOUR, [4000] * 97, BEGIN),
        ("namespace/a", "cpu", "committed"): every(HOUR, [3000] * 97, BEGIN),
    }
    rows = levels(seen, asked("day"), {CPU: 10_000})
    for period in range(4):
        used = {row.kind: row.used.quantity for row in rows if row.period == period and row.kind != "tenant"}
        tenants = [row for row in rows if row.period == period and row.kind == "tenant"]
        assert used["total"] == sum(row.used.quantity for row in tenants if row.used)
        assert used["total"] + used["unattributed"] + used["idle"] == used["capacity"] == 240
        assert used["total"] + used["unattributed"] == 96
        idle = only(rows, period=period, kind="idle")
        assert idle.promised.quantity == 240 - 72


def test_tenants_whose_peaks_come_to_more_than_the_cluster_used_leave_nothing_unattributed():
    seen = {("namespace/a", "cpu"): STEADY, ("cluster", "cpu"): every(HOUR, [1500] * 97, BEGIN)}
    rows = levels(seen, asked(), {CPU: 10_000})
    assert only(rows, kind="unattributed", period=0).used.quantity == 0
    assert only(rows, kind="idle", period=0).used.quantity == 8 * 48


def test_use_beyond_the_capacity_is_told_and_nothing_is_idle_less_than_0():
    rows = levels({("namespace/a", "cpu"): STEADY}, asked(), {CPU: 1000})
    assert only(rows, kind="idle", period=0).used.quantity == 0
    assert only(rows, kind="beyond", period=0).used.quantity == 48
    assert only(rows, kind="capacity", period=0).used.quantity == 48


def test_hours_beyond_the_capacity_make_up_for_no_hours_that_were_idle():
    bursts = every(HOUR, [2000, 0] * 48 + [0], BEGIN)
    rows = levels({("namespace/a", "cpu"): bursts}, asked("day"), {CPU: 1500})
    for period in range(4):
        assert only(rows, kind="idle", period=period).used.quantity == 12 * Fraction(3, 2)
        assert only(rows, kind="beyond", period=period).used.quantity == 12 * Fraction(1, 2)
        assert only(rows, kind="capacity", period=period).used.quantity == 36
    rows = levels({("namespace/a", "cpu"): bursts}, asked("hour"), {CPU: 1500})
    assert {row.period % 2 for row in rows if row.kind == "beyond"} == {0}, "only where there is any"


def test_nothing_is_said_of_a_capacity_that_nobody_knows():
    assert {row.kind for row in levels({("namespace/a", "cpu"): STEADY}, asked())} == {"tenant", "total"}


def test_what_was_not_observed_is_unknown_and_what_spans_a_gap_is_estimated():
    seen = {("namespace/a", "cpu"): [*every(300, [1000] * 13, BEGIN), (BEGIN + 5 * HOUR, 1000)]}
    row = only(levels(seen, asked("day", BEGIN, BEGIN + DAY)), kind="tenant")
    assert row.used.quantity == 5 + Fraction(1, 12)
    assert row.used.estimated == 4
    assert row.used.unknown_seconds == 19 * HOUR - 300


def test_a_cost_is_of_what_was_promised_or_of_what_was_used():
    seen = {
        ("namespace/a", "cpu"): STEADY,
        ("namespace/a", "cpu", "committed"): every(HOUR, [3000] * 97, BEGIN),
    }
    used = levels(seen, asked(tariff=tariff(price(CPU, "0.1"))))
    promised = levels(seen, asked(tariff=tariff(price(CPU, "0.1", of="promised"))))
    assert [row.cost for row in used if row.kind == "tenant"] == [Fraction("9.6")] * 2
    assert [row.cost for row in promised if row.kind == "tenant"] == [Fraction("14.4")] * 2


def test_a_month_of_storage_is_as_long_as_its_month():
    gib_month = Unit("GiB-month", GIB, "month")
    memory = price(What("memory"), 1, unit=gib_month)
    seen = {("namespace/a", "memory"): every(HOUR, [GIB] * 97, BEGIN)}
    found = levels(seen, asked(tariff=tariff(memory)))
    quantities = [row.used.quantity for row in found if row.kind == "tenant"]
    assert quantities == [Fraction(2, 31), Fraction(2, 28)]
    (week, *_) = [row for row in levels(seen, asked("week", tariff=tariff(memory))) if row.kind == "tenant"]
    assert week.used.quantity == Fraction(2, 31) + Fraction(1, 28), "a week may be of two months"


def test_tiers_begin_anew_with_each_month_and_go_on_from_day_to_day():
    tiers = (Tier(Fraction(60), Fraction(0)), Tier(None, Fraction(1)))
    found = levels({("namespace/a", "cpu"): STEADY}, asked("day", tariff=tariff(price(CPU, 0, tiers=tiers))))
    assert [row.cost for row in found if row.kind == "tenant"] == [0, 36, 0, 36]


def test_what_was_consumed_in_the_month_before_the_time_in_question_uses_up_tiers():
    tiers = (Tier(Fraction(60), Fraction(0)), Tier(None, Fraction(1)))
    late = asked("day", BEGIN + DAY, BEGIN + 2 * DAY, tariff=tariff(price(CPU, 0, tiers=tiers)))
    row = only(levels({("namespace/a", "cpu"): STEADY}, late), kind="tenant")
    assert (row.used.quantity, row.cost) == (48, 36)


def test_each_price_list_holds_from_its_day_on_and_before_the_first_nothing_has_a_price():
    lists = tuple(
        PriceList(parse_day(day), {CPU: price(CPU, number)})
        for day, number in (("2026-01-31", 1), ("2026-02-02", 2))
    )
    both = Tariff("EUR", 2, lists)
    found = levels({("namespace/a", "cpu"): STEADY}, asked("day", tariff=both))
    assert [row.cost for row in found if row.kind == "tenant"] == [None, 48, 48, 96]
    month = levels({("namespace/a", "cpu"): STEADY}, asked("month", tariff=both))
    assert [row.cost for row in month if row.kind == "tenant"] == [None, 48 + 96]


def test_a_line_is_rounded_once_and_sums_are_sums_of_lines():
    seen = {(f"namespace/{each}", "cpu"): STEADY for each in "abc"}
    rows = levels(seen, asked(tariff=tariff(price(CPU, "0.0001"), decimals=2)))
    assert [row.cost for row in rows if row.kind == "tenant" and row.period == 0] == [Fraction("0.01")] * 3
    assert only(rows, kind="total", period=0).cost == Fraction("0.03")


def test_a_price_of_any_model_is_that_of_models_without_one():
    gpu = What("nvidia.com/gpu")
    both = tariff(price(gpu, 1, of="promised"), price(What(gpu.name, "A100"), 3, of="promised"))
    prices = asked(tariff=both)
    assert prices.price(What(gpu.name, "L4")) == prices.price(gpu)
    assert prices.price(What(gpu.name, "A100")).tiers == (Tier(None, Fraction(3)),)


NETWORK_READINGS = {
    ("a", "network-sent/p"): [(BEGIN, 0), (BEGIN + HOUR, 6 * GIB)],
    ("a", "network-received/p"): [(BEGIN, 0), (BEGIN + HOUR, 4 * GIB)],
    ("b", "network-sent/q"): [(BEGIN, 0), (BEGIN + HOUR, 3 * GIB)],
}


def test_counters_are_told_by_their_unit():
    rows = metered(NETWORK_READINGS, asked())
    assert only(rows, kind="tenant", tenant="a", what=What("network-sent"), period=0).used.quantity == 6
    assert only(rows, kind="total", what=What("network-sent"), period=0).used.quantity == 9


def test_both_ways_of_the_network_share_the_price_of_network():
    tiers = (Tier(Fraction(5), Fraction(0)), Tier(None, Fraction(1)))
    rows = metered(NETWORK_READINGS, asked(tariff=tariff(price(NETWORK, 0, tiers=tiers))))
    assert only(rows, kind="tenant", tenant="a", period=0).cost == 5
    assert only(rows, kind="total", period=0).cost == 5
    assert {row.what for row in rows} == {NETWORK}


def test_billing_units_of_the_network_are_gibibytes_both_ways():
    rows = metered(NETWORK_READINGS, asked(with_billing=True))
    assert only(rows, kind="tenant", tenant="a", what=What("billing_nu"), period=0).used.quantity == 10


def test_tenants_of_counters_may_be_renamed():
    meters = Meters()
    for tenant in "ab":
        meters.add(CounterName(tenant, "network"), [Reading(BEGIN, 0), Reading(BEGIN + 60, GIB)])
    meters.settle()
    reporter = Reporter(asked())
    reporter.add_meters(meters, {"a": "shared", "b": "shared"})
    assert only(reporter.in_order(), kind="tenant", period=0).used.quantity == 2


@given(
    st.lists(st.integers(0, 10**6), min_size=97, max_size=97),
    st.lists(st.fractions(0, 500, max_denominator=8), min_size=1, max_size=3, unique=True),
    st.sampled_from(["2026-01-31", "2026-02-01", "2026-02-02"]),
)
def test_whatever_the_periods_all_of_them_cost_the_same(amounts, steps, second):
    ends = [*sorted(steps), None]
    one, other = (
        tuple(Tier(end, Fraction(rate, place + 1)) for place, end in enumerate(ends)) for rate in (7, 5)
    )
    lists = (
        PriceList(0, {CPU: price(CPU, 0, tiers=one)}),
        PriceList(parse_day(second), {CPU: price(CPU, 0, tiers=other)}),
    )
    seen = {("namespace/a", "cpu"): every(HOUR, amounts, BEGIN)}
    exact = Tariff("EUR", 60, lists)
    costs = set()
    for period in PERIODS:
        rows = [each for each in levels(seen, asked(period, tariff=exact)) if each.kind == "tenant"]
        costs.add(round(sum(each.cost for each in rows), 40))
        assert sum(each.used.quantity for each in rows) == Fraction(sum(amounts[:96]), 1000)
    assert len(costs) == 1


@pytest.mark.parametrize("period", PERIODS)
def test_cells_are_cut_at_periods_months_and_price_lists(period):
    day = parse_day("2026-02-02")
    cells = asked(period, tariff=tariff(price(CPU, 1), valid_from=day)).cells()
    assert cells[0].begin == parse_day("2026-01-01")
    assert cells[-1].end == END
    assert all(one.end == other.begin for one, other in pairwise(cells))
    assert {parse_day("2026-02-01"), day, BEGIN} <= {each.begin for each in cells}
    assert all((each.period is None) == (each.begin < BEGIN) for each in cells)
