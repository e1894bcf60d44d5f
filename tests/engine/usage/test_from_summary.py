"""What a summary says is kept in the figures that are made of it."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from ullage.engine.usage.book import Stream
from ullage.engine.usage.from_summary import figures_of
from ullage.engine.usage.summary import percentile, summary_of
from ullage.model.resources import Amount
from ullage.model.usage import UsageSummary, fraction_of
from usage_builders import book, every

NODE = Stream("node/n1", "cpu")


@given(st.lists(st.integers(0, 10**12), min_size=1, max_size=50))
def test_a_summary_of_ours_comes_back(amounts):
    original = summary_of(book({NODE[:2]: every(60, [*amounts, None])}).figures(NODE), "cpu")
    again = summary_of(figures_of(original, 10**6), "cpu")
    assert (again.mean, again.max, again.min) == (original.mean, original.max, original.min)
    assert (again.count, again.dropped_points) == (original.count, original.dropped_points)
    assert (again.window_seconds, again.confidence) == (original.window_seconds, original.confidence)
    for name, amount in original.percentiles.items():
        assert abs(again.percentiles[name].value - amount.value) * 100 <= amount.value


def test_the_histogram_has_as_many_points_as_the_summary():
    summary = UsageSummary(max=Amount("cpu", 900), count=10, percentiles={"50": Amount("cpu", 100)})
    figures = figures_of(summary, 0)
    assert figures.points == int(figures.counts.sum()) == 10
    assert percentile(figures, fraction_of("50")) == 100
    assert figures.high == 900


def test_a_mean_alone_is_all_that_is_known():
    figures = figures_of(UsageSummary(mean=Amount("cpu", 500)), 0)
    assert percentile(figures, Fraction(1, 2)) == 500
    assert (figures.low, figures.high) == (500, 500)


def test_nothing_but_dropped_points_stays_nothing():
    figures = figures_of(UsageSummary(count=0, dropped_points=7), 0)
    assert (figures.points, figures.dropped) == (0, 7)
    assert figures_of(UsageSummary(), 0).points == 0
