"""What tenants consumed: the rules one by one; that nothing is lost is a law in properties/."""

import pytest

from ullage.engine.capacity.metering import LEFT_MAX, Reading
from ullage.engine.usage.metering_calendar import HOUR_SECONDS
from ullage.engine.usage.metering_check import problems_of
from ullage.engine.usage.metering_counters import KEPT_SECONDS, Account, Consumed, CounterName, Meters
from ullage.engine.usage.metering_rows import SETTINGS, meters_of, rows_of
from ullage.model.errors import InputError

HOUR = HOUR_SECONDS
DAY = 24 * HOUR
NAME = CounterName("a", "network/p1/eth0")
ACCOUNT = Account("a", "network")


def metered(*readings, gap_seconds=HOUR, wraps_at=None):
    meters = Meters(gap_seconds=gap_seconds)
    meters.add(NAME, [Reading(*each) for each in readings], wraps_at)
    meters.settle()
    return meters


def hours(meters, count=4):
    return meters.consumed(ACCOUNT, [each * HOUR for each in range(count + 1)])


@pytest.mark.parametrize(
    ("readings", "passed"),
    [
        pytest.param([(0, 7)], [0, 0, 0, 0], id="one reading counts nothing"),
        pytest.param([(0, 7), (600, 17)], [10, 0, 0, 0], id="what it is more is what passed"),
        pytest.param([(1800, 0), (5400, 10)], [5, 5, 0, 0], id="divided at the border of an hour"),
        pytest.param([(0, 9), (600, 4)], [4, 0, 0, 0], id="less than before: it started again"),
        pytest.param([(0, 9, "x"), (600, 12, "y")], [12, 0, 0, 0], id="another epoch: it started again"),
        pytest.param([(0, 9), (600, 9), (600, 12)], [3, 0, 0, 0], id="of one second the larger counts"),
        pytest.param([(3600, 0), (7200, 8)], [0, 8, 0, 0], id="an hour has its begin and not its end"),
    ],
)
def test_readings_count_by_hour(readings, passed):
    assert [each.passed for each in hours(metered(*readings))] == passed


@pytest.mark.parametrize("epochs", [17, LEFT_MAX])
def test_an_epoch_goes_on_after_however_many_others_that_are_known(epochs):
    readings = [(60 * each, 1000, f"e{each}") for each in range(epochs)]
    meters = metered(*readings, (60 * epochs, 1100, "e0"), gap_seconds=DAY)
    assert meters.counters[NAME].meter.total == 1000 * (epochs - 1) + 100
    assert not meters.forgotten


def test_of_epochs_that_are_too_many_it_is_told_how_many_were_forgotten():
    meters = metered(*((each, 5, f"e{each}") for each in range(LEFT_MAX + 4)))
    assert meters.forgotten == {ACCOUNT: 3}
    assert list(problems_of(rows_of(meters))) == []


def test_first_readings_of_several_epochs_are_kept_and_what_passed_until_them_counts_when_meters_are_added():
    late = metered((600, 20, "x"), (600, 30, "y"), (660, 21, "x"))
    assert late.counters[NAME].meter.total == 1
    assert list(problems_of(rows_of(late))) == []
    again = meters_of(rows_of(late))
    assert rows_of(again) == rows_of(late)
    early = metered((0, 1, "x"), (60, 2, "x"))
    early.merge(again)
    assert early.counters[NAME].meter.total == 1 + 18 + 30 + 1


def test_a_counter_did_not_begin_with_the_first_of_several_epochs():
    meters = metered((600, 20), (600, 30, "y"))
    meters.began(NAME, 0, Reading(600, 20))
    assert meters.counters[NAME].meter.total == 0


def test_a_counter_that_wraps_around_where_it_is_stated_did_not_restart():
    meters = metered((0, 250), (600, 10), wraps_at=256)
    assert hours(meters)[0] == Consumed(16, 0, 0)
    assert hours(metered((0, 250), (600, 10)))[0] == Consumed(10, 0, 1)


def test_a_counter_shows_no_more_than_where_it_wraps_around():
    with pytest.raises(InputError, match="256 of a counter that wraps around at 256"):
        metered((0, 256), wraps_at=256)


def test_where_a_counter_wraps_around_is_stated_once():
    meters = metered((0, 1), wraps_at=256)
    meters.add(NAME, [Reading(5, 6)])
    with pytest.raises(InputError, match="wrapped around at 256 so far, now at 512"):
        meters.add(NAME, [Reading(9, 9)], 512)


def test_what_spans_a_gap_is_estimated_where_it_crosses_a_border_and_only_there():
    meters = metered((1800, 0), (3 * HOUR + 1800, 90))
    assert hours(meters) == [
        Consumed(15, 15, 0),
        Consumed(30, 30, 0),
        Consumed(30, 30, 0),
        Consumed(15, 15, 0),
    ]
    assert meters.consumed(ACCOUNT, [0, 4 * HOUR]) == [Consumed(90, 0, 0)]
    assert meters.consumed(ACCOUNT, [HOUR, 2 * HOUR]) == [Consumed(30, 30, 0)]


def test_readings_that_are_no_further_apart_than_the_gap_are_divided_and_not_estimated():
    meters = metered((1800, 0), (3 * HOUR + 1800, 90), gap_seconds=3 * HOUR)
    assert hours(meters)[1] == Consumed(30, 0, 0)


def test_a_restart_is_told_in_the_hour_in_which_it_was_seen():
    meters = metered((0, 9), (600, 4), (2 * HOUR, 2))
    assert [each.restarts for each in hours(meters)] == [1, 1, 0, 0]


def test_counters_of_one_unit_add_up_and_other_units_are_apart():
    meters = Meters()
    for counter, value in (("network/p1", 5), ("network/p2", 7), ("requests", 3)):
        meters.add(CounterName("a", counter), [Reading(0, 0), Reading(60, value)])
    meters.settle()
    assert meters.accounts() == [("a", "network"), ("a", "requests")]
    assert hours(meters)[0].passed == 12


def test_a_reading_that_comes_too_late_counts_nothing_and_is_told():
    meters = Meters(late_seconds=100)
    assert meters.add(NAME, [Reading(0, 0), Reading(1000, 50)]) == 0
    assert meters.add(NAME, [Reading(500, 40)]) == 0, "it is newer than what is counted"
    assert meters.add(NAME, [Reading(400, 30), Reading(2000, 70)]) == 1
    meters.settle()
    assert hours(meters)[0].passed == 70


@pytest.mark.parametrize("backwards", [False, True])
def test_what_passed_between_two_meters_of_a_counter_counts_when_they_are_added(backwards):
    early, late = metered((0, 1), (600, 5)), metered((1200, 20), (1800, 22))
    one, other = (late, early) if backwards else (early, late)
    one.merge(other)
    assert one.counters[NAME].meter.total == 21
    assert hours(one)[0].passed == 21


def test_two_that_read_a_counter_at_the_same_time_cannot_be_added():
    one, other = metered((0, 1), (100, 5)), metered((50, 2), (200, 7))
    with pytest.raises(InputError, match="was read by both at the same time"):
        one.merge(other)


def test_meters_of_other_gaps_cannot_be_added():
    with pytest.raises(InputError, match="other gaps"):
        Meters().merge(Meters(gap_seconds=1))


def test_meters_that_both_saw_the_same_epochs_begin_cannot_be_added():
    one = metered((0, 1, "x"), (60, 5, "y"), (120, 2, "x"))
    other = metered((180, 3, "x"), (240, 7, "y"))
    with pytest.raises(InputError, match="was read by both at the same time"):
        one.merge(other)
    one.merge(metered((180, 3, "x"), (240, 7, "z")))
    assert one.counters[NAME].meter.total == 5 + 1 + 1 + 7
    assert [each.epoch for each in one.counters[NAME].meter.left] == ["y", "x"]


def test_what_passed_in_an_epoch_that_goes_on_lies_between_its_own_readings():
    meters = metered((0, 0, "old"), (3 * HOUR - 60, 5, "new"), (3 * HOUR, 30, "old"), gap_seconds=DAY)
    assert [each.passed for each in hours(meters)][:2] == [10 + 1, 10 + 2]


@pytest.mark.parametrize("settles", [False, True])
def test_a_counter_that_began_counts_from_0_once_and_only_if_nothing_older_is_known(settles):
    first, last = Reading(HOUR + 60, 8), Reading(HOUR + 120, 10)
    for before, passed in ((None, [5, 5, 0, 0]), (Reading(HOUR + 1, 7), [0, 3, 0, 0])):
        meters = Meters()
        meters.add(NAME, [each for each in (before, first, last) if each is not None])
        if settles:
            meters.settle()
        for _ in range(2):
            meters.began(NAME, HOUR - 100, first)
            meters.add(NAME, [first, last])
        meters.settle()
        assert [each.passed for each in hours(meters)] == passed
        assert sum(passed) == meters.counters[NAME].meter.total
        assert list(problems_of(rows_of(meters))) == []


def test_a_counter_that_is_not_known_or_began_later_than_it_was_read_did_not_begin():
    meters = metered((60, 5))
    meters.began(NAME, 60, Reading(60, 5))
    meters.began(CounterName("b", "x"), 0, Reading(60, 5))
    assert rows_of(meters) == rows_of(metered((60, 5)))


def test_counters_that_had_counted_before_they_were_first_read_are_told_where_others_were_read():
    meters = Meters(late_seconds=100)
    for name, first in (("there", (0, 9)), ("soon", (100, 9)), ("late", (101, 9)), ("new", (500, 0))):
        meters.add(CounterName("a", f"network/{name}"), [Reading(*first), Reading(600, 20)])
    assert meters.unread(0, 600) == {ACCOUNT: 1}
    assert meters.unread(102, 600) == meters.unread(0, 101) == {}
    meters.began(CounterName("a", "network/late"), 90, Reading(101, 9))
    assert meters.unread(0, 600) == Meters().unread(0, 600) == {}


def test_the_time_that_was_read_is_known():
    assert Meters().span_seconds() is None
    meters = metered((100, 1), (900, 5))
    meters.add(CounterName("b", "x"), [Reading(5000, 0)])
    assert meters.span_seconds() == (100, 5000)


def test_a_counter_that_was_not_read_for_long_tells_what_passed_meanwhile_as_an_estimate():
    meters = Meters()
    other = CounterName("b", "network/y")
    for day in range(1, 60):
        meters.add(other, [Reading(day * DAY, day)])
        if day == 1:
            meters.add(NAME, [Reading(DAY, 5, "boot-1")])
        meters.forget()
    meters.add(NAME, [Reading(60 * DAY, 105, "boot-1")])
    meters.settle()
    months = meters.consumed(NAME.account, [0, 31 * DAY, 62 * DAY])
    assert sum(each.passed for each in months) == sum(each.estimated for each in months) == 100
    assert not meters.forgotten


def test_of_counters_that_are_too_many_the_oldest_are_forgotten_which_is_told_and_what_they_counted_stays():
    meters = Meters()
    gone = CounterName("a", "network/gone")
    meters.add(gone, [Reading(0, 0), Reading(60, 7)])
    meters.add(NAME, [Reading(KEPT_SECONDS + 60, 0)])
    meters.forget(unread_max=0)
    assert set(meters.counters) == {gone, NAME}
    meters.add(NAME, [Reading(KEPT_SECONDS + 61, 1)])
    meters.forget(unread_max=1)
    assert set(meters.counters) == {gone, NAME}
    meters.forget(unread_max=0)
    assert set(meters.counters) == {NAME}
    assert hours(meters)[0].passed == 7
    assert meters.forgotten == {gone.account: 1}
    assert meters_of(rows_of(meters)).forgotten == meters.forgotten
    assert meters.add(gone, [Reading(60, 7), Reading(KEPT_SECONDS + 70, 9)]) == 0
    both = Meters()
    both.merge(meters)
    both.merge(meters_of({SETTINGS: rows_of(meters)[SETTINGS]}))
    assert both.forgotten == meters.forgotten
    Meters().forget()
