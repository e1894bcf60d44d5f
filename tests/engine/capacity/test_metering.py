"""Metering: what passed, from counters that start again, and readings that come twice or late."""

import pytest

from ullage.engine.capacity.metering import LEFT_MAX, Meter, Reading
from ullage.model.errors import InputError


def metered(*readings: Reading, from_start: bool = False) -> Meter:
    meter = Meter(from_start=from_start)
    for reading in readings:
        meter = meter.read(reading)
    return meter


def test_the_first_reading_counts_nothing():
    assert metered(Reading(10, 700)) == Meter(0, Reading(10, 700))


def test_the_first_reading_counts_in_full_for_a_counter_made_with_its_workload():
    assert metered(Reading(10, 700), from_start=True) == Meter(700, Reading(10, 700), from_start=True)


def test_what_a_counter_shows_more_has_passed():
    meter = metered(Reading(10, 700), Reading(20, 750), Reading(30, 750), Reading(40, 751))
    assert meter == Meter(51, Reading(40, 751), resets=0)


def test_a_counter_made_with_its_workload_goes_on_like_any_other():
    meter = metered(Reading(10, 700), Reading(20, 750), Reading(30, 40), Reading(40, 41), from_start=True)
    assert meter == Meter(791, Reading(40, 41), from_start=True, resets=1)


def test_a_value_below_the_last_one_means_that_the_counter_started_again():
    meter = metered(Reading(10, 700), Reading(20, 699))
    assert meter == Meter(699, Reading(20, 699), resets=1)


def test_a_new_epoch_means_that_the_counter_started_again_even_where_it_shows_more():
    meter = metered(Reading(10, 700, "boot1"), Reading(20, 900, "boot2"), Reading(30, 905, "boot2"))
    assert meter == Meter(905, Reading(30, 905, "boot2"), resets=1, left=(Reading(10, 700, "boot1"),))


def test_an_epoch_that_was_left_goes_on_where_it_was_and_does_not_start_again():
    old, new = Reading(10, 700, "old"), Reading(20, 5, "new")
    meter = metered(old, new, Reading(30, 701, "old"), Reading(40, 8, "new"), Reading(50, 701, "old"))
    assert meter == Meter(9, Reading(50, 701, "old"), resets=1, left=(Reading(40, 8, "new"),))


def test_of_epochs_that_were_left_those_that_were_read_last_are_kept():
    meter = metered(*(Reading(each, each, f"boot-{each}") for each in range(LEFT_MAX + 3)))
    assert [each.seconds for each in meter.left] == list(range(2, LEFT_MAX + 2))


def test_what_several_epochs_show_at_one_moment_counts_by_each():
    meter = metered(Reading(10, 100, "a")).read(Reading(20, 1000, "a"), Reading(20, 5000, "b"))
    assert meter == Meter(5900, Reading(20, 5000, "b"), resets=1, left=(Reading(20, 1000, "a"),))
    assert meter.read(Reading(30, 1001, "a"), Reading(30, 5002, "b")).total == 5903
    first = Meter().read(Reading(10, 100, "a"), Reading(10, 7, "b"))
    assert first == Meter(0, Reading(10, 7, "b"), left=(Reading(10, 100, "a"),)), "nothing is known before"


def test_every_reset_is_counted():
    meter = metered(Reading(1, 5), Reading(2, 3), Reading(3, 1), Reading(4, 0, "x"))
    assert (meter.total, meter.resets) == (4, 3)


@pytest.mark.parametrize("late", [Reading(20, 900), Reading(20, 0, "boot2"), Reading(19, 5), Reading(-1, 1)])
def test_a_reading_that_is_not_newer_changes_nothing(late):
    before = metered(Reading(10, 700), Reading(20, 750))
    assert before.read(late) is before


def test_a_reading_one_second_later_is_newer():
    assert metered(Reading(10, 700), Reading(11, 701)).total == 1


def test_a_negative_value_is_refused():
    with pytest.raises(InputError) as caught:
        Meter().read(Reading(1, -1))
    assert str(caught.value) == "counter value -1 is negative; read the counter again"
    assert metered(Reading(1, 1), Reading(2, 0)).total == 0


def test_a_meter_is_never_changed_in_place():
    before = metered(Reading(10, 700))
    before.read(Reading(20, 800))
    assert before == Meter(0, Reading(10, 700))
