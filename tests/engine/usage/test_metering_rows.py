"""Meters are kept and read again exactly, and go on as if nothing had happened."""

from hypothesis import given
from hypothesis import strategies as st

from ullage.engine.capacity.metering import Reading
from ullage.engine.usage.metering_counters import CounterName, Meters
from ullage.engine.usage.metering_rows import meters_of, rows_of

START = 1_772_000_000
texts = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=1, max_size=8)
readings = st.lists(
    st.builds(
        Reading, st.integers(START, START + 90 * 86_400), st.integers(0, 1 << 70), st.sampled_from("ab")
    ),
    max_size=12,
)


@given(
    st.dictionaries(st.builds(CounterName, texts, texts), readings, max_size=4),
    st.dictionaries(st.builds(CounterName, texts, texts), readings, max_size=4),
    st.booleans(),
)
def test_rows_and_back_is_the_same_and_counts_on_the_same(first, more, settles):
    meters = Meters(gap_seconds=600, late_seconds=60)
    for name, found in first.items():
        meters.add(name, found)
    if settles:
        meters.settle()
    rows = rows_of(meters)
    again = meters_of(rows)
    assert rows_of(again) == rows
    for name, found in [*more.items(), *first.items()]:
        assert again.add(name, found) == meters.add(name, found)
    again.settle()
    meters.settle()
    assert rows_of(again) == rows_of(meters)


def test_no_rows_are_new_meters():
    assert rows_of(meters_of({})) == rows_of(Meters())


def test_rows_are_by_counter_day_and_month():
    meters = Meters()
    name = CounterName("a", "network/x")
    meters.add(name, [Reading(START, 0), Reading(START + 60, 5), Reading(START + 40 * 86_400, 9)])
    meters.settle()
    kinds = sorted(each.split('"')[1] for each in rows_of(meters))
    assert kinds == ["counter", "hours", "settings", "spans"]
