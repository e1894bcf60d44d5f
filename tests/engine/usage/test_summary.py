"""The seed's summary: mean, extremes, count, percentiles, window, dropped points and confidence."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from ullage.engine.usage.book import Stream
from ullage.engine.usage.summary import status_of, summary_of
from ullage.model.resources import Amount
from ullage.model.usage import PERCENTILES
from usage_builders import DAY, book, every

NODE = Stream("node/n1", "cpu")


def summary(observed):
    return summary_of(book({NODE[:2]: observed}).figures(NODE), "cpu")


def test_a_summary_has_every_part():
    found = summary(every(60, [*range(1, 100), None]))
    assert found.mean == Amount("cpu", 50)
    assert (found.max, found.min) == (Amount("cpu", 99), Amount("cpu", 1))
    assert found.count == 99
    assert found.window_seconds == 98 * 60
    assert found.dropped_points == 1
    assert found.confidence == Fraction(99, 100)
    assert {name: each.value for name, each in found.percentiles.items()} == {
        "10": 10, "50": 50, "90": 90, "95": 95, "99": 99, "99.5": 99, "99.9": 99,
    }  # fmt: skip


def test_a_window_goes_from_the_first_point_to_the_last_over_days():
    assert summary([(DAY - 30, 1), (5 * DAY + 30, 1), (9 * DAY, None)]).window_seconds == 4 * DAY + 60


def test_points_that_were_all_dropped_say_so_and_no_amounts():
    found = summary([(0, None), (60, None)])
    assert (found.count, found.dropped_points, found.confidence) == (0, 2, 0)
    assert found.mean is found.max is found.min is found.window_seconds is None
    assert not found.percentiles


def test_of_nothing_there_is_no_summary():
    assert summary([]) is None


@given(st.lists(st.integers(0, 10**15), min_size=1))
def test_percentiles_are_in_order_between_the_extremes(amounts):
    found = summary(every(60, amounts))
    values = [found.min.value, *(found.percentiles[name].value for name in PERCENTILES), found.max.value]
    assert values == sorted(values)


@given(st.lists(st.integers(0, 10**15), min_size=1))
def test_the_mean_is_the_exact_one_to_the_nearest_step(amounts):
    assert abs(summary(every(60, amounts)).mean.value - Fraction(sum(amounts), len(amounts))) <= Fraction(
        1, 2
    )


def test_a_status_has_use_and_most_used_by_resource_but_no_promises():
    found = status_of(
        book(
            {
                ("node/n1", "cpu"): [(0, 5)],
                ("node/n1", "memory", "maxusage"): [(0, 9)],
                ("node/n1", "cpu", "committed"): [(0, 7)],
                ("node/n2", "cpu"): [(0, 1)],
            }
        ),
        "node/n1",
    )
    assert found.subject == "node/n1"
    assert {name: each.max.value for name, each in found.usage.items()} == {"cpu": 5}
    assert {name: each.max.value for name, each in found.maxusage.items()} == {"memory": 9}
    assert not found.predicted


def test_there_is_no_status_of_what_was_never_observed():
    assert status_of(book({("cluster", "cpu", "committed"): [(0, 7)]}), "cluster") is None
