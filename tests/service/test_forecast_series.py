"""From bounds and a book to outlooks: one for each series, in the order of the bounds."""

from ullage.service.forecast import ForecastQuestion
from ullage.service.forecast_bounds import Bound
from ullage.service.forecast_series import BANDS_MAX, outlooks_of
from usage_builders import book, every

HOUR = 3600


def bound(subject, amount, **more):
    return Bound(subject, "cpu", "usage", "capacity", amount, **more)


def test_bounds_of_one_series_are_told_together():
    found = outlooks_of(
        book({("cluster", "cpu"): every(HOUR, [5] * 24 * 7)}),
        [bound("cluster", 9), bound("group/a", 3), bound("cluster", 5)._replace(name="limit")],
        ForecastQuestion(),
    )
    assert [(each.subject, len(each.bounds)) for each in found.outlooks] == [("cluster", 2), ("group/a", 1)]
    assert [each.reached for each in found.outlooks[0].bounds] == [False, True]
    assert found.end_seconds == 7 * 86_400


def test_only_those_that_run_out_first_are_told_day_by_day():
    subjects = [f"group/{number:03}" for number in range(BANDS_MAX + 5)]
    streams = {(name, "cpu"): every(6 * HOUR, [5] * 4 * 7) for name in subjects}
    bounds = [bound(name, 5 if name == subjects[-1] else 100) for name in subjects]
    found = outlooks_of(book(streams), bounds, ForecastQuestion())
    told = [each.subject for each in found.outlooks if each.band]
    assert len(told) == BANDS_MAX
    assert subjects[-1] in told
    assert subjects[-2] not in told


def test_amounts_are_never_below_nothing():
    falling = every(HOUR, [max(0, 1000 - 6 * hour) for hour in range(24 * 7)])
    (only,) = outlooks_of(
        book({("cluster", "cpu"): falling}), [bound("cluster", 2000)], ForecastQuestion()
    ).outlooks
    assert all(0 <= each.low.value <= each.likely.value <= each.high.value for each in only.band)
    assert only.growth.likely.value < 0


def test_a_series_with_large_gaps_cannot_be_tried():
    days = (0, 1, 2, 3, 4, 19)
    observed = [(day * 86_400 + hour * HOUR, 5) for day in days for hour in range(24)]
    (only,) = outlooks_of(
        book({("cluster", "cpu"): observed}), [bound("cluster", 9)], ForecastQuestion()
    ).outlooks
    assert only.why == "too few of its days can be compared with earlier ones"
