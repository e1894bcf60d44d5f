"""Use to expect: recent days count more, exactly, and old ones not at all."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ullage.engine.usage.book import Stream
from ullage.engine.usage.decaying import (
    FULL_WEIGHT,
    HALF_LIFE_DAYS,
    HALF_LIVES_MAX,
    decayed,
    predicted_of,
    predicted_summary,
    status_with_prediction,
    weight_of,
)
from ullage.engine.usage.summary import summary_of
from ullage.model.resources import Amount
from usage_builders import DAY, book, every

STREAM = Stream("workload/web/Deployment/api", "memory")


def days_of(*amounts, points=10):
    """A book with some points of each amount, a day for each."""
    observed = [
        moment
        for day, amount in enumerate(amounts)
        for moment in every(60, [amount] * points, start=(100 + day) * DAY)
    ]
    return book({STREAM[:2]: observed})


def test_a_half_life_halves():
    assert weight_of(0) == FULL_WEIGHT
    assert weight_of(HALF_LIFE_DAYS) == FULL_WEIGHT // 2
    assert weight_of(3 * HALF_LIFE_DAYS) == FULL_WEIGHT // 8
    assert weight_of(HALF_LIVES_MAX * HALF_LIFE_DAYS + 1) == weight_of(-1) == 0


def test_one_day_is_predicted_to_come_again():
    found = days_of(1000)
    assert predicted_summary(found, STREAM) == summary_of(found.figures(STREAM), "memory")


def test_percentiles_follow_the_last_days():
    """Of two weeks at 100 and one at 200, the last week has half of the weight and more."""
    found = days_of(*[100] * 14, *[200] * 7)
    assert found.figures(STREAM).points == 210
    summary = predicted_summary(found, STREAM)
    assert summary.percentiles["50"].value == pytest.approx(200, rel=1 / 128)
    assert summary.percentiles["10"].value == pytest.approx(100, rel=1 / 128)
    assert 150 < summary.mean.value < 200
    assert (summary.min, summary.max) == (Amount("memory", 100), Amount("memory", 200))


def test_days_that_no_longer_count_leave_their_extremes_behind():
    long_ago = HALF_LIFE_DAYS * HALF_LIVES_MAX + 1
    found = book({STREAM[:2]: [(0, 9_000_000), (long_ago * DAY, 50)]})
    assert predicted_summary(found, STREAM).max == Amount("memory", 50)


def test_nothing_is_expected_of_what_was_not_seen():
    found = book({STREAM[:2]: [(0, None)]})
    assert predicted_summary(found, STREAM) is None
    assert predicted_of(found, STREAM.subject) == {}
    assert status_with_prediction(book({}), "node/n1") is None


def test_dropped_points_lower_the_confidence_by_their_weight():
    found = book({STREAM[:2]: [(0, 5), (10, None), (7 * DAY, 5), (7 * DAY + 1, 5)]})
    summary = predicted_summary(found, STREAM)
    assert summary.confidence == Fraction(5, 6)
    assert (summary.count, summary.dropped_points) == (2, 0)


def test_later_days_are_not_looked_at():
    found = days_of(*range(100, 110))
    assert predicted_summary(found, STREAM, 104) == predicted_summary(days_of(*range(100, 105)), STREAM)


def test_a_status_has_the_prediction_beside_what_was_used():
    status = status_with_prediction(days_of(5, 6), STREAM.subject)
    assert set(status.predicted) == set(status.usage) == {"memory"}


AMOUNTS = st.lists(st.integers(0, 1 << 61), min_size=1, max_size=6)


@settings(max_examples=40)
@given(st.lists(AMOUNTS, min_size=1, max_size=5), st.randoms(use_true_random=False))
def test_a_prediction_does_not_depend_on_the_order(days, chance):
    observed = [
        (day * DAY + place, amount)
        for day, amounts in enumerate(days)
        for place, amount in enumerate(amounts)
    ]
    mixed = observed.copy()
    chance.shuffle(mixed)
    one, other = (decayed(book({STREAM[:2]: each}), STREAM) for each in (observed, mixed))
    assert one[:7] == other[:7]
    assert one.buckets.tolist() == other.buckets.tolist()
    assert one.counts.tolist() == other.counts.tolist()
    assert one.points == one.counts.sum()


@settings(max_examples=40)
@given(st.lists(AMOUNTS, min_size=1, max_size=5))
def test_percentiles_rise_and_stay_between_the_extremes(days):
    observed = [
        (day * DAY + place, amount)
        for day, amounts in enumerate(days)
        for place, amount in enumerate(amounts)
    ]
    summary = predicted_summary(book({STREAM[:2]: observed}), STREAM)
    values = [each.value for each in summary.percentiles.values()]
    assert values == sorted(values)
    assert summary.min.value <= values[0] <= values[-1] <= summary.max.value
    assert summary.min.value <= summary.mean.value <= summary.max.value
