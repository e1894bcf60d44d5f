"""Amounts over time: how long a level counts, and that sums over time are exact."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.engine.usage.book import Stream
from ullage.engine.usage.metering_levels import (
    GRID_SECONDS,
    Integral,
    Span,
    constant,
    exact_product,
    held,
    integrals,
    together,
    unknown,
)
from usage_builders import book, every

HOUR, DAY = 3600, 86_400
SUBJECT = "namespace/a"
STREAM = Stream(SUBJECT, "memory")
AMOUNT_MAX = (1 << 62) - 1


def levels(observed, subject=SUBJECT, **span):
    asked = Span(**{"begin": 10 * DAY, "end": 11 * DAY, "gap_seconds": HOUR, **span})
    return held(book({(subject, "memory"): observed}), Stream(subject, "memory"), asked)


def whole(level, begin=10 * DAY, end=11 * DAY):
    (found,) = integrals(level, begin, [begin, end])
    return found


@pytest.mark.parametrize(
    ("observed", "comes_to"),
    [
        pytest.param([], Integral(0, 0, 0), id="nothing was observed: all is unknown"),
        pytest.param([(0, 5)], Integral(5 * 300, 0, 300), id="the last counts for its own slot"),
        pytest.param([(0, 5), (HOUR, 7)], Integral(5 * HOUR + 7 * 300, 0, HOUR + 300), id="until the next"),
        pytest.param([(0, 5), (60, 9)], Integral(7 * 300, 0, 300), id="of five minutes the mean"),
        pytest.param(
            [(0, 5), (2 * HOUR, 7)],
            Integral(5 * 2 * HOUR + 7 * 300, 5 * 2 * HOUR, 2 * HOUR + 300),
            id="over a gap it is estimated",
        ),
        pytest.param([(0, 5), (600, 0)], Integral(5 * 600, 0, 900), id="nothing used is known too"),
    ],
)
def test_a_level_counts_until_the_next_one(observed, comes_to):
    assert whole(levels([(10 * DAY + at, amount) for at, amount in observed])) == comes_to


def test_over_more_than_a_day_nothing_is_guessed():
    level = levels([(10 * DAY, 5), (11 * DAY + 300, 7)], end=12 * DAY)
    assert whole(level, end=12 * DAY) == Integral(12 * 300, 0, 600)
    level = levels([(10 * DAY, 5), (11 * DAY, 7)], end=12 * DAY)
    assert whole(level, end=12 * DAY) == Integral(5 * DAY + 7 * 300, 5 * DAY, DAY + 300)


def test_what_was_seen_before_and_after_the_time_in_question_counts():
    level = levels([(10 * DAY - HOUR, 5), (10 * DAY + HOUR, 7)], gap_seconds=2 * HOUR)
    assert whole(level) == Integral(5 * HOUR + 7 * 300, 0, HOUR + 300)
    level = levels([(11 * DAY - HOUR, 5), (11 * DAY + HOUR, 7)], gap_seconds=2 * HOUR)
    assert whole(level) == Integral(5 * HOUR, 0, HOUR)


def test_pods_whose_peaks_are_of_hours_count_by_the_mean_of_the_day_from_the_first_point_to_the_last():
    bursts = every(300, [12 if place % 12 == 0 else 0 for place in range(288)], start=10 * DAY)
    assert whole(levels(bursts, subject="pod/a/p")) == Integral(DAY, 0, DAY)
    level = levels([(10 * DAY + 600, 5), (10 * DAY + 3900, 6)], subject="pod/a/p")
    assert whole(level) == Integral((10 * 5 + 2 * 6) * 300, 0, 12 * 300)
    assert len(level.amounts) == DAY // GRID_SECONDS


@given(st.lists(st.integers(0, 99), min_size=1, max_size=288))
def test_pods_that_are_observed_all_the_time_come_to_the_sum_of_what_was_observed(amounts):
    level = levels(every(300, amounts, start=10 * DAY), subject="pod/a/p")
    assert whole(level).amount_seconds == sum(amounts) * 300


@pytest.mark.parametrize(
    ("amounts", "border", "is_estimated"),
    [
        pytest.param([1, 9], 3600, True, id="a period has part of a day of which the mean is known"),
        pytest.param([5, 5], 3600, False, id="all of the day was the same"),
        pytest.param([1, 9], 4 * 3600, False, id="nothing was observed after the border"),
    ],
)
def test_parts_of_a_day_of_which_only_the_mean_is_known_are_estimated(amounts, border, is_estimated):
    observed = every(300, amounts * 12, start=10 * DAY)
    level = levels(observed, subject="pod/a/p", borders=[10 * DAY + border])
    assert whole(level) == Integral(5 * 24 * 300, 5 * 24 * 300 if is_estimated else 0, 24 * 300)


def test_a_sum_counts_what_is_there_and_is_estimated_where_a_part_is():
    one = levels([(10 * DAY, 5), (10 * DAY + HOUR, 5)])
    other = levels([(10 * DAY, 1), (10 * DAY + 2 * HOUR, 1)])
    assert whole(together([one, other])) == Integral(
        5 * (HOUR + 300) + 2 * HOUR + 300, 2 * HOUR + 5 * (HOUR + 300), 2 * HOUR + 300
    )


def test_amounts_of_63_bits_do_not_overflow():
    level = constant(AMOUNT_MAX, 0, 365 * DAY)
    assert whole(level, 0, 365 * DAY).amount_seconds == AMOUNT_MAX * 365 * DAY
    assert whole(together([level] * 5), 0, 365 * DAY).amount_seconds == 5 * AMOUNT_MAX * 365 * DAY
    assert sum(exact_product(level, 1 << 40)[:2]) == AMOUNT_MAX << 41


def test_nothing_is_known_where_nobody_looked():
    assert whole(unknown(0, DAY), 0, DAY) == Integral(0, 0, 0)


@given(
    st.lists(st.tuples(st.integers(9 * DAY, 13 * DAY), st.integers(0, AMOUNT_MAX)), max_size=30),
    st.lists(st.integers(1, 47), max_size=6),
    st.integers(300, 2 * DAY),
)
def test_periods_add_up_whatever_their_borders(observed, cuts, gap_seconds):
    begin, end = 10 * DAY, 12 * DAY
    level = levels(observed, begin=begin, end=end, gap_seconds=gap_seconds)
    borders = sorted({begin, end, *(begin + cut * HOUR for cut in cuts)})
    found = integrals(level, begin, borders)
    assert Integral(*(sum(part) for part in zip(*found, strict=True))) == whole(level, begin, end)
    assert sum(int(each) for each in level.amounts) * GRID_SECONDS == whole(level, begin, end).amount_seconds
    assert all(
        each.known_seconds <= high - low for each, low, high in zip(found, borders, borders[1:], strict=False)
    )


@given(st.lists(st.integers(0, 10**12), min_size=25, max_size=25))
def test_levels_that_are_observed_all_the_time_come_to_their_sum(amounts):
    level = levels(every(HOUR, amounts, 10 * DAY))
    assert whole(level) == Integral(sum(amounts[:24]) * HOUR, 0, DAY)
