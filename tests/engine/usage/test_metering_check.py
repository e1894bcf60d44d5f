"""Meters that were kept: nothing is wrong with any that were written, and what was changed is found."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.engine.capacity.metering import Reading
from ullage.engine.usage.metering_check import Wrong, problems_of
from ullage.engine.usage.metering_counters import CounterName, Meters
from ullage.engine.usage.metering_rows import SETTINGS, rows_of

START = 1_772_000_000
NAME = CounterName("a", "network/x")
COUNTER = json.dumps(["counter", *NAME], separators=(",", ":"))
WRAP = 1 << 20
names = st.builds(CounterName, st.sampled_from("ab"), st.sampled_from(["network/x", "network/y", "requests"]))
readings = st.lists(
    st.builds(
        Reading,
        st.integers(START, START + 90 * 86_400) | st.integers(START, START + 7200),
        st.integers(0, WRAP - 1),
        st.sampled_from(["", "b"]),
    ),
    max_size=12,
)
batches = st.lists(st.tuples(names, readings, st.sampled_from(["settle", "forget", ""])), max_size=6)


def metered(batches, wraps_at=None):
    meters = Meters(gap_seconds=600, late_seconds=60)
    for name, found, then in batches:
        meters.add(name, found, wraps_at)
        if then:
            getattr(meters, then)()
    return meters


def kept(*values, wraps_at=None):
    """Rows of a counter that was read every ten minutes, and then after a month."""
    every = [Reading(START + 600 * place, value) for place, value in enumerate(values)]
    month = Reading(START + 40 * 86_400, values[-1] + 7)
    return rows_of(metered([(NAME, [*every, month], "settle")], wraps_at))


@given(batches, st.sampled_from([None, WRAP]))
def test_nothing_is_wrong_with_what_was_written(batches, wraps_at):
    assert list(problems_of(rows_of(metered(batches, wraps_at)))) == []


@given(batches, batches)
def test_meters_that_were_merged_are_right(early, late):
    late = [
        (
            name,
            [Reading(each.seconds + 100 * 86_400, each.value, each.epoch + "2") for each in found],
            then,
        )
        for name, found, then in late
    ]
    meters = metered(early)
    meters.merge(metered(late))
    assert list(problems_of(rows_of(meters))) == []


def row(rows, kind):
    (name,) = (each for each in rows if each.startswith(f'["{kind}"'))
    return name


def changed(rows, kind, change):
    """Return rows of which one was changed: its text as data is given to a function that changes it."""
    name = row(rows, kind)
    data = json.loads(rows[name])
    change(data)
    return {**rows, name: json.dumps(data, separators=(",", ":"))}


@pytest.mark.parametrize(
    ("kind", "change", "what"),
    [
        ("counter", lambda data: data.__setitem__(0, "11"), "what it counted is not what its readings say"),
        ("counter", lambda data: data.__setitem__(0, "-1"), "it counted less than nothing"),
        ("counter", lambda data: data.__setitem__(3, None), "it has no first or no last reading"),
        ("counter", lambda data: data[3].__setitem__(0, "9000000000"), "later than its last"),
        ("counter", lambda data: data[4].__setitem__(1, "-5"), "a reading is below 0"),
        ("counter", lambda data: data[5].append(["1", "9", ""]), "its readings are out of order"),
        ("counter", lambda data: data.append([["1", "-9", "old"]]), "a reading is below 0"),
        ("counter", lambda data: data.append([["9000000000", "9", "old"]]), "its readings are out of order"),
        ("counter", lambda data: data.__setitem__(1, "some"), "is not as we write them"),
        ("counter", lambda data: data.__setitem__(1, "+0"), "it is not as it was written"),
        ("hours", lambda data: data[0].__setitem__(1, "-1"), "less than nothing passed in an hour"),
        ("hours", lambda data: data[0].__setitem__(0, "5"), "it is not as it was written"),
        ("hours", lambda data: data[0].append("5"), "is not as we write them"),
        ("hours", list.clear, "it is not as it was written"),
        ("spans", lambda data: data[0].__setitem__(2, "0"), "nothing passed in it"),
        ("spans", lambda data: data[0].__setitem__(1, data[0][0]), "a span ends before it begins"),
        ("settings", lambda data: data[0].__setitem__(0, "-600"), "it has a time below 0"),
    ],
)
def test_a_row_that_was_changed_is_found(kind, change, what):
    rows = changed(kept(3, 9, 20), kind, change)
    (wrong,) = problems_of(rows)
    assert wrong.subject.startswith(kind)
    assert what in wrong.what


def test_a_counter_that_wraps_around_counts_by_whole_rounds():
    rows = kept(5, WRAP - 1, 4, wraps_at=WRAP)
    assert list(problems_of(rows)) == []
    (wrong,) = problems_of(changed(rows, "counter", lambda data: data.__setitem__(0, "1")))
    assert wrong == Wrong("counter/a/network/x", "what it counted is not what its readings say")


def test_a_counter_that_restarted_counted_at_least_what_it_shows():
    rows = kept(500, 4, 9)
    assert list(problems_of(rows)) == []
    (wrong,) = problems_of(changed(rows, "counter", lambda data: data.__setitem__(0, "15")))
    assert wrong.what == "what it counted is not what its readings say"


def test_hours_have_what_counters_counted():
    rows = changed(kept(3, 9, 20), "hours", lambda data: data[0].__setitem__(1, "2"))
    (wrong,) = problems_of(rows)
    assert wrong == Wrong("a/network", "its counters counted 24, its hours only 9")


def test_hours_have_the_restarts_of_counters():
    rows = kept(500, 4, 9)
    rows = changed(rows, "hours", lambda data: [each.__setitem__(2, "0") for each in data])
    (wrong,) = problems_of(rows)
    assert wrong == Wrong("a/network", "its counters restarted 1 times, its hours have 0")


def test_hours_of_counters_that_are_forgotten_stay():
    rows = kept(3, 9, 20)
    del rows[row(rows, "counter")]
    assert list(problems_of(rows)) == []


@pytest.mark.parametrize(
    ("name", "subject"), [('["planet","a"]', "planet/a"), ("[]", ""), ("x", "x"), ('["counter"]', "counter")]
)
def test_what_is_no_row_of_a_meter_is_found(name, subject):
    (wrong,) = problems_of({**kept(3, 9), name: "[]"})
    assert wrong.subject == subject


def test_settings_are_there():
    rows = kept(3, 9)
    del rows[SETTINGS]
    assert list(problems_of(rows)) == [Wrong("settings", "it is not there")]
    assert list(problems_of({})) == []
