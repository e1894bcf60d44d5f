"""Lines of those who wait: priority, then time, then name; equal ones behind each other; the barred apart."""

from quota_traces import job, setting
from ullage.engine.quota.waiting import Waiting

SETTING = setting(A={"gpu": 4}, B={"gpu": 4})


def lines(*jobs, since=0):
    waiting = Waiting(SETTING.book)
    for each in jobs:
        waiting.add(each, since)
    return waiting


def keys(waiting, quota=0):
    return [head[2] for head in sorted(waiting.heads().get(quota, ()))]


def test_the_first_of_every_kind_by_priority_then_time_then_name():
    waiting = Waiting(SETTING.book)
    waiting.add(job(SETTING, "small", "A", gpu=1), 1)
    waiting.add(job(SETTING, "small-earlier", "A", gpu=1), 0)
    waiting.add(job(SETTING, "large", "A", gpu=3), 0)
    waiting.add(job(SETTING, "urgent", "A", gpu=2, priority=9), 7)
    waiting.add(job(SETTING, "other", "B", gpu=2), 0)
    assert keys(waiting) == ["urgent", "large", "small-earlier"]
    assert keys(waiting, 1) == ["other"]


def test_behind_one_who_goes_the_next_of_its_kind_is_first():
    waiting = lines(job(SETTING, "x", "A", gpu=1), job(SETTING, "y", "A", gpu=1))
    line = waiting.job("x").kind
    waiting.remove("x")
    assert waiting.after(0, line)[2] == "y"
    waiting.remove("y")
    assert waiting.after(0, line) is None
    assert (len(waiting), waiting.heads()) == (0, {})


def test_one_that_is_withdrawn_from_the_middle_is_passed_over():
    waiting = lines(*(job(SETTING, name, "A", gpu=1) for name in "xyz"))
    waiting.remove("y")
    waiting.remove("x")
    assert keys(waiting) == ["z"]


def test_the_barred_have_a_line_of_their_own_until_they_are_let_in():
    waiting = lines(job(SETTING, "x", "A", gpu=1), since=5)
    waiting.add(job(SETTING, "evicted", "A", gpu=1), 3, barred=True)
    assert keys(waiting) == ["evicted", "x"]
    waiting.unbar()
    assert keys(waiting) == ["evicted"]
    waiting.remove("evicted")
    assert keys(waiting) == ["x"]


def test_demand_is_the_sum_of_a_quota_and_falls_with_who_goes():
    waiting = lines(*(job(SETTING, name, name[0], gpu=2) for name in ("A1", "A2", "B1")))
    assert {member.quota: member.amounts for member in waiting.demand()} == {0: (4,), 1: (2,)}
    waiting.remove("B1")
    assert [(member.quota, member.amounts) for member in waiting.demand()] == [(0, (4,))]
