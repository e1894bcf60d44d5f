"""No byte is lost or counted twice: over restarts, gaps, wrap-around, repeats, batches, orders and merges."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from ullage.engine.capacity.metering import Reading
from ullage.engine.usage.metering_calendar import PERIODS, borders_of, end_of, start_of
from ullage.engine.usage.metering_counters import LATE_SECONDS, Account, CounterName, Meters
from ullage.engine.usage.metering_families import Families

NAME = CounterName("team-a", "network/web-1")
ACCOUNT = Account("team-a", "network")
START = 1_772_000_000
WRAP = 1 << 16


class Lived(NamedTuple):
    """What a counter showed over its life, beside what passed that a reading could still see."""

    readings: tuple[Reading, ...]
    passed: int
    restarts: int


@st.composite
def lives(draw, wraps: bool = False) -> Lived:
    """A counter that grows, restarts (and is read just before), is read often or after long gaps."""
    seconds, value, epoch, passed, restarts = START, draw(st.integers(0, 5000)), 0, 0, 0
    with_epochs = draw(st.booleans())
    readings = []

    def read() -> None:
        readings.append(Reading(seconds, value, f"boot-{epoch}" if with_epochs else ""))

    read()
    for _ in range(draw(st.integers(1, 12))):
        seconds += draw(st.one_of(st.integers(1, 900), st.integers(901, 40 * 86_400)))
        more = draw(st.integers(0, WRAP - 1 if wraps else 10**12))
        value, passed = value + more, passed + more
        value = value % WRAP if wraps else value
        read()
        if draw(st.integers(0, 3)) == 0 and (with_epochs or (value and not wraps)):
            epoch, restarts = epoch + 1, restarts + 1
            seconds += draw(st.integers(1, 100_000))
            value = draw(st.integers(0, value - 1 if not with_epochs else WRAP - 1))
            passed += value
            read()
    return Lived(tuple(readings), passed, restarts)


@st.composite
def overlapping_lives(draw) -> Lived:
    """Counters of one name: each made anew while any before it are read on, as many as they may be.

    Several may be read at one second; what they show at the very first one has passed before.
    """
    seconds, passed, began = START, 0, 0
    values: dict[str, int] = {}
    readings: list[Reading] = []
    for _ in range(draw(st.integers(1, 40))):
        epoch = f"boot-{draw(st.integers(0, len(values)))}"
        together = {each.epoch for each in readings if each.seconds == seconds}
        if epoch in together or (together and draw(st.booleans())):
            seconds += draw(st.one_of(st.integers(1, 900), st.integers(901, 40 * 86_400)))
        more = draw(st.integers(0, 10**12))
        if seconds > START:
            passed += more
            began += epoch not in values
        values[epoch] = values.get(epoch, 0) + more
        readings.append(Reading(seconds, values[epoch], epoch))
    return Lived(tuple(readings), passed, began)


@st.composite
def labelled_lives(draw) -> tuple[Lived, tuple[str, ...]]:
    """A counter that is read with its id, without it and with it again, and restarts now and then."""
    life = draw(lives())
    readings = tuple(msgspec.structs.replace(each, epoch="") for each in life.readings)
    ids = draw(st.lists(st.sampled_from(["", "/id"]), min_size=len(readings), max_size=len(readings)))
    return life._replace(readings=readings), tuple(ids)


def every_border(readings: Sequence[Reading], period) -> list[int]:
    first, last = readings[0].seconds, readings[-1].seconds
    return borders_of(period, start_of(period, first), end_of(period, last))


def metered(readings: Sequence[Reading], wraps_at: int | None = None) -> Meters:
    meters = Meters()
    meters.add(NAME, readings, wraps_at)
    meters.settle()
    return meters


def contents(meters: Meters):
    """All that meters hold, comparable."""
    spans = {account: sorted(found) for account, found in meters.spans.items() if found}
    return meters.counters, {account: found for account, found in meters.hours.items() if found}, spans


@given(st.booleans().flatmap(lambda wraps: st.tuples(st.just(wraps), lives(wraps))))
def test_what_all_periods_have_is_what_passed_whatever_the_periods_are(drawn):
    wraps, life = drawn
    meters = metered(life.readings, WRAP if wraps else None)
    assert meters.counters[NAME].meter.total == life.passed
    for period in PERIODS:
        found = meters.consumed(ACCOUNT, every_border(life.readings, period))
        assert sum(each.passed for each in found) == life.passed
        assert all(0 <= each.estimated <= each.passed for each in found)
        assert sum(each.restarts for each in found) == life.restarts


@given(overlapping_lives())
def test_what_passed_in_epochs_that_overlap_is_what_passed_in_each(life):
    meters = metered(life.readings)
    assert meters.counters[NAME].meter.total == life.passed
    for period in PERIODS:
        found = meters.consumed(ACCOUNT, every_border(life.readings, period))
        assert sum(each.passed for each in found) == life.passed
        assert sum(each.restarts for each in found) == life.restarts


@given(st.one_of(lives(), overlapping_lives()))
def test_a_long_period_has_exactly_what_the_short_ones_in_it_have(life):
    meters = metered(life.readings)
    for long, short in (("month", "day"), ("week", "day"), ("day", "hour")):
        borders = every_border(life.readings, long)[:4]
        for begin, end in pairwise(borders):
            (whole,) = meters.consumed(ACCOUNT, [begin, end])
            parts = meters.consumed(ACCOUNT, borders_of(short, begin, end))
            assert sum(each.passed for each in parts) == whole.passed
            assert sum(each.restarts for each in parts) == whole.restarts


@given(st.one_of(lives(), overlapping_lives()), st.data())
def test_any_batches_in_order_with_anything_delivered_again_count_the_same(life, data):
    meters, place = Meters(), 0
    while place < len(life.readings):
        size = data.draw(st.integers(1, 5))
        again = data.draw(st.lists(st.integers(0, place), max_size=5))
        batch = [*life.readings[place : place + size], *(life.readings[each] for each in again)]
        meters.add(NAME, data.draw(st.permutations(batch)))
        place += size
    meters.settle()
    assert contents(meters) == contents(metered(life.readings))


@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=12), st.data())
def test_readings_that_are_not_too_late_may_come_in_any_order(growth, data):
    step = LATE_SECONDS // (len(growth) + 1)
    value, readings = 0, []
    for number, more in enumerate(growth):
        value += more
        readings.append(Reading(START + number * step, value))
    meters = Meters()
    for each in data.draw(st.permutations(readings)):
        assert meters.add(NAME, [each]) == 0
    meters.settle()
    assert contents(meters) == contents(metered(readings))


@given(lives(), st.data(), st.booleans(), st.booleans())
def test_meters_of_one_time_after_another_add_up_to_one(life, data, backwards, settles):
    early, late = Meters(), Meters()
    cut = data.draw(st.integers(0, len(life.readings)))
    for meters, part in ((early, life.readings[:cut]), (late, life.readings[cut:])):
        if part:
            meters.add(NAME, part)
        if settles:
            meters.settle()
    one, other = (late, early) if backwards else (early, late)
    one.merge(other)
    one.settle()
    assert contents(one) == contents(metered(life.readings))


@given(labelled_lives(), st.data())
def test_a_counter_whose_id_comes_and_goes_counts_once_whatever_is_read_again(drawn, data):
    life, ids = drawn
    family = CounterName("team-a", "network/web-1/eth0")
    meters, done = Meters(), 0
    while done < len(life.readings):
        begin = data.draw(st.integers(0, done))
        done = data.draw(st.integers(done + 1, len(life.readings)))
        families = Families(meters)
        for number in range(begin, done):
            name = family._replace(counter=family.counter + ids[number])
            families.add(name, [life.readings[number]])
    meters.settle()
    found = meters.consumed(ACCOUNT, every_border(life.readings, "month"))
    alone = metered(life.readings).consumed(ACCOUNT, every_border(life.readings, "month"))
    assert [(each.passed, each.restarts) for each in found] == [
        (each.passed, each.restarts) for each in alone
    ]


@given(st.lists(lives(), min_size=3, max_size=3))
def test_merging_is_associative_and_other_counters_do_not_matter(found):
    def of(number):
        meters = Meters()
        meters.add(CounterName("team-a", f"network/{number}"), found[number].readings)
        meters.settle()
        return meters

    left, right, rest = of(0), of(2), of(1)
    left.merge(of(1))
    left.merge(of(2))
    rest.merge(right)
    whole = of(0)
    whole.merge(rest)
    assert contents(left) == contents(whole)
    borders = [START - START % 3600, START + 400 * 86_400]
    (together,) = left.consumed(ACCOUNT, [borders[0], borders[1] // 3600 * 3600])
    assert together.passed <= sum(each.passed for each in found)
    assert left.consumed(ACCOUNT, [0, 2 * START // 3600 * 3600])[0].passed == sum(
        each.passed for each in found
    )
