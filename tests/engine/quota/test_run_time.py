"""A minimum run time: how long somebody is spared still, and what is not known."""

import pytest

from builders import pod
from ullage.engine.quota.run_time import RunTime


@pytest.mark.parametrize(
    ("started", "created", "left", "is_open"),
    [
        (400, 0, 0, False),
        (401, 0, 1, False),
        (999, 0, 599, False),
        (2000, 0, 600, False),
        (None, 401, 1, False),
        (None, 400, 0, True),
        (None, None, 0, True),
    ],
)
def test_who_ran_for_less_than_the_minimum_is_spared_for_the_rest_of_it(started, created, left, is_open):
    run_time = RunTime(600, 1000)
    one = pod("a/p", started_seconds=started, created_seconds=created)
    assert (run_time.left_seconds(one), run_time.is_open(one)) == (left, is_open)


def test_without_a_minimum_nobody_is_spared_and_nothing_is_missed():
    one = pod("a/p", started_seconds=1000)
    assert RunTime(0, 1000).left_seconds(one) == 0
    assert not RunTime(0, None).is_open(pod("a/p"))
    assert RunTime(0, None).is_known


def test_a_snapshot_without_a_moment_protects_nobody():
    run_time = RunTime(600, None)
    assert run_time.left_seconds(pod("a/p", started_seconds=999)) == 0
    assert not run_time.is_known
    assert RunTime(600, 0).is_known
