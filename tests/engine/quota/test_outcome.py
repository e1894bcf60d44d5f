"""Sums over time: within min and beyond it, counted where use changes, carried on to the end."""

from quota_traces import job, setting
from ullage.engine.quota.outcome import JobOutcome, QuotaUse, Record, UseOverTime
from ullage.engine.quota.standing import Standing

SETTING = setting(A={"gpu": 4}, B={"cpu": 1})


def test_use_is_split_at_the_min_and_counted_where_it_changes():
    standing = Standing(SETTING.book, ())
    uses = UseOverTime(standing)
    member = job(SETTING, "x", "A", gpu=6, cpu=1).member
    uses.count(0, 10)
    standing.add(member)
    uses.count(0, 15)
    standing.remove(member)
    assert SETTING.book.resources == ("cpu", "gpu")
    assert uses.until(0, 100) == QuotaUse((5, 20), (0, 10))


def test_use_that_goes_on_counts_until_the_end_and_what_no_min_names_is_within():
    standing = Standing(SETTING.book, [job(SETTING, "x", "B", gpu=2, cpu=3).member])
    assert UseOverTime(standing).all_until(10) == (QuotaUse((0, 0), (0, 0)), QuotaUse((10, 20), (20, 0)))


def test_who_waits_at_the_end_has_waited_until_then_and_who_runs_has_held():
    record = Record()
    record.since_seconds, record.started_seconds, record.waited_seconds, record.lost_seconds = 30, 40, 5, 2
    waits = record.outcome("x", 0, 0, "waits", 50)
    runs = record.outcome("x", 0, 0, "runs", 50)
    assert (waits.waited_seconds, waits.held_seconds) == (25, 0)
    assert (runs.waited_seconds, runs.held_seconds) == (5, 10)


def test_delay_is_what_was_waited_and_what_was_lost():
    outcome = JobOutcome("x", 0, 0, 2, 1, 0, 30, 100, 40, 130, "finished")
    assert outcome.delay_seconds == 70
