"""Figures by group: sums over workloads, what quotas of the group's name had within min, and the total."""

from builders import quota
from quota_traces import setting
from ullage.engine.quota.book import Book
from ullage.engine.quota.outcome import JobOutcome, Outcome, QuotaUse
from ullage.engine.quota.replay_figures import figures_of, renamed, total_of

SETTING = setting(A={"gpu": 4}, B={"gpu": 2})
JOBS = (
    JobOutcome("x", 0, 0, 2, 1, 0, 30, 100, 40, 130, "finished"),
    JobOutcome("y", 0, 0, 0, 0, 0, 90, 0, 0, None, "waits"),
    JobOutcome("z", -1, 0, 1, 0, 1, 0, 50, 0, 50, "finished"),
)
OUTCOME = Outcome(130, JOBS, (QuotaUse((150,), (50,)), QuotaUse((0,), (0,))), 9, 0, 0, cut_short=False)
FOUND = figures_of(
    OUTCOME, SETTING.book, {"x": "A", "y": "A", "z": "none"}, {"x": {"gpu": 2}, "y": {}, "z": {"cpu": 3}}
)


def test_a_group_sums_its_workloads():
    found = FOUND["A"]
    assert (found.workloads, found.finished, found.waiting, found.starts) == (2, 1, 1, 2)
    assert (found.evicted, found.took) == (1, 0)
    assert (found.waited_seconds, found.waited_longest_seconds, found.delay_seconds) == (120, 90, 160)
    assert (found.used, found.lost) == ({"gpu": 200}, {"gpu": 80})


def test_within_min_and_borrowed_are_those_of_the_quota_of_that_name():
    assert (FOUND["A"].within, FOUND["A"].borrowed) == ({"gpu": 150}, {"gpu": 50})
    assert (FOUND["none"].within, FOUND["none"].borrowed) == ({}, {})


def test_a_quota_without_workloads_is_there_too():
    assert FOUND["B"].workloads == 0


def test_the_total_adds_up_all_but_the_longest():
    total = total_of(FOUND.values())
    assert (total.workloads, total.took, total.waited_longest_seconds) == (3, 1, 90)
    assert (total.used, total.within) == ({"gpu": 200, "cpu": 150}, {"gpu": 150})
    assert total_of([]).workloads == 0


def test_a_quota_of_another_name_is_found_by_what_it_covers():
    own = Book(
        [quota("a"), quota("b"), quota("c"), quota("q", namespaces=(), queues=("x/lq",)), quota("top")]
    )
    other = Book(
        [
            quota("a/a", namespaces=("a",)),
            quota("b", namespaces=("c",)),
            quota("d", namespaces=("c", "e")),
            quota("queue", namespaces=(), queues=("x/lq",)),
            quota("none", namespaces=()),
        ]
    )
    assert renamed(own, other) == {"a": "a/a", "q": "queue"}
    assert renamed(own, own) == {}


def test_figures_of_a_quota_with_another_name_go_to_its_group():
    book = setting(A2={"gpu": 4}, B={"gpu": 2}).book
    groups = {"x": "A", "y": "A", "z": "none"}
    counts = {"x": {"gpu": 2}, "y": {}, "z": {"cpu": 3}}
    found = figures_of(OUTCOME, book, groups, counts, {"A": "A2"})
    assert (found["A"].within, found["A"].borrowed) == ({"gpu": 150}, {"gpu": 50})
    assert sorted(found) == ["A", "B", "none"]
