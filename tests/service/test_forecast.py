"""The answer to `forecast`: dates, verdict, what is unknown, and the backtest that comes with it."""

import pytest

from ullage.model.errors import InputError
from ullage.service.asked import Asked, read_cluster
from ullage.service.forecast import ForecastQuestion, forecast, forecast_of
from usage_builders import book

DEMO = Asked("demo")
HOUR, DAY = 3600, 86_400
START = 20_000 * DAY
GPU = ("cluster", "nvidia.com/gpu", "committed")
LIMIT = 20


@pytest.fixture(scope="module")
def demo():
    return read_cluster(DEMO)


def growing(days, per_day, last=14_000, every_hours=1):
    """A line that ends near `last`, in whole steps."""
    hours = range(0, days * 24, every_hours)
    return [(START + hour * HOUR, int(last - per_day * (days * 24 - hour) / 24)) for hour in hours]


def answer(demo, streams, **asked):
    return forecast_of(demo, book(streams), DEMO, ForecastQuestion(**asked))


def outlook(report, *stream):
    return next(
        each for each in report["outlooks"] if (each["subject"], each["resource"], each["measure"]) == stream
    )


CPU = ("cluster", "cpu", "committed")


class TestDates:
    def test_a_line_runs_out_on_its_day(self, demo):
        """The bound of the demo is 271100 milli: 20000 away, at 2000 a day, are ten days."""
        found = answer(demo, {CPU: growing(14, 2000, 251_100)}, horizon_days=30)
        report = found.data()
        (bound,) = outlook(report, *CPU)["bounds"]
        assert (bound["bound"], bound["amount"], bound["hard"]) == ("limit", "271100m", True)
        days = [bound[name][:10] for name in ("earliest", "likely", "latest")]
        assert report["asOf"] == "2024-10-18T00:00:00Z"
        assert set(days) <= {"2024-10-27", "2024-10-28"}
        growth = outlook(report, *CPU)["growth"]
        assert growth["percent"] == pytest.approx(100 * 14 / 251.1, abs=0.05)
        assert report["runsOut"] == ("cluster cpu committed",)
        assert not found.yes

    def test_what_is_likely_later_than_asked_is_no_no(self, demo):
        assert answer(demo, {CPU: growing(14, 2000, 251_100)}, within_days=5).yes
        assert not answer(demo, {CPU: growing(14, 2000, 251_100)}, within_days=15).yes

    def test_it_looks_as_far_ahead_as_it_is_asked_about(self, demo):
        series = {CPU: growing(14, 200, 251_100)}
        assert answer(demo, series, horizon_days=20, within_days=20).yes
        assert not answer(demo, series, horizon_days=20, within_days=365).yes

    def test_what_is_not_within_the_horizon_has_no_date(self, demo):
        (bound,) = outlook(answer(demo, {CPU: growing(14, 10, 100_000)}).data(), *CPU)["bounds"]
        assert (bound["earliest"], bound["likely"], bound["latest"], bound["reached"]) == (
            None,
            None,
            None,
            False,
        )

    def test_what_is_full_is_reached_already(self, demo):
        found = answer(demo, {CPU: growing(14, 0, 271_100)}, within_days=0)
        (bound,) = outlook(found.data(), *CPU)["bounds"]
        assert bound["reached"]
        assert not found.yes

    def test_a_soft_bound_is_no_reason_to_say_no(self, demo):
        stream = ("quota/batch", "cpu", "committed")
        found = answer(demo, {stream: growing(14, 0, 30_000)})
        by_name = {each["bound"]: each["reached"] for each in outlook(found.data(), *stream)["bounds"]}
        assert by_name == {"max": False, "min": True, "entitlement": True}
        assert found.yes

    def test_a_growth_that_is_given_is_told_and_has_no_interval(self, demo):
        report = answer(demo, {CPU: growing(14, 0, 135_550)}, growth="100%/month", horizon_days=60).data()
        (bound,) = outlook(report, *CPU)["bounds"]
        assert bound["likely"][:10] == "2024-11-17"
        assert outlook(report, *CPU)["growth"]["low"] is None
        assert "doubt about the growth that was given" in report["notSimulated"]


class TestHonesty:
    def test_nothing_recorded_is_unknown_and_no_no(self, demo):
        found = answer(demo, {("node/n1", "cpu"): [(START, 1)]})
        assert found.yes
        assert all(each["why"] for each in found.data()["outlooks"])
        assert found.page().verdict.text.startswith("unknown: nothing was recorded")

    def test_few_days_say_how_many_are_missing(self, demo):
        few = outlook(answer(demo, {CPU: growing(4, 1)}).data(), *CPU)
        assert few["why"] == "recorded on 4 days, and a backtest needs 6"
        assert few["remedy"] == "record it for 2 more days (`ullage usage observe`)"
        assert few["growth"] is few["backtest"] is None

    def test_what_fell_silent_is_not_forecast(self, demo):
        streams = {CPU: growing(14, 1), GPU: [(START + 17 * DAY, 14)]}
        silent = outlook(answer(demo, streams).data(), *CPU)
        assert silent["why"].startswith("nothing was recorded for ")

    def test_every_forecast_has_its_backtest(self, demo):
        report = answer(demo, {CPU: growing(21, 700, 200_000)}).data()
        tested = outlook(report, *CPU)["backtest"]
        assert (tested["origins"], tested["distanceDays"]) == (10, 8)
        assert tested["inside"] == tested["hours"] > 0
        assert (report["hours"], report["inside"]) == (tested["hours"], tested["inside"])

    def test_what_was_not_tried_is_said(self, demo):
        report = answer(demo, {CPU: growing(14, 1)}).data()
        assert "forecasts further than 5 days: widths grow on from there" in report["notSimulated"]


def test_history_and_band_are_told_by_the_day(demo):
    told = outlook(answer(demo, {CPU: growing(14, 700, 200_000)}, horizon_days=60).data(), *CPU)
    assert len(told["history"]) == 14
    assert told["history"][0]["at"] == "2024-10-04T00:00:00Z"
    assert len(told["band"]) == 30
    assert told["band"][0]["at"] == "2024-10-18T00:00:00Z"


def test_a_workload_has_the_use_to_expect(demo):
    subject = "workload/web/ReplicaSet/api"
    found = answer(demo, {(subject, "cpu"): growing(14, 10, 9000)}, by="workload")
    told = outlook(found.data(), subject, "cpu", "usage")
    assert told["predicted"]["max"] == "8999m"
    assert told["predicted"]["count"] > 100


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"horizon_days": 0}, "a horizon of 0 days"),
        ({"level": "2"}, "is no level"),
        ({"growth": "fast"}, "is no growth"),
        ({"by": "node"}, "nothing is forecast by 'node'"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_is_read(wrong, message):
    with pytest.raises(InputError, match=message):
        forecast(Asked("/nowhere"), ForecastQuestion(**wrong))
