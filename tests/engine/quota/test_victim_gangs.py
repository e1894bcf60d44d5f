"""Gangs among those that run: who is of one, and how many of it can go alone."""

import pytest

from builders import pod, resources
from ullage.engine.quota.book import QUEUE_LABEL, Member
from ullage.engine.quota.victim_gangs import as_one_member, by_gang, gang_of, running_gangs

QUEUED = {QUEUE_LABEL: "q"}


@pytest.mark.parametrize(
    ("workload", "gang"),
    [
        (pod("a/p"), ""),
        (pod("a/p", gang="g"), "a/g"),
        (pod("a/p", owner="Job/j"), ""),
        (pod("a/p", owner="Job/j", labels=QUEUED), "a/Job/j"),
        (pod("a/p", owner="Job/j", labels=QUEUED, gang="g"), "a/g"),
        (pod("a/p", owner="ReplicaSet/r", labels=QUEUED), ""),
        (pod("a/p", labels=QUEUED), ""),
    ],
)
def test_a_gang_is_named_or_is_all_of_a_job_that_a_queue_took_in(workload, gang):
    assert gang_of(workload) == gang


def member(key: str, least: int = 0, **fields: object) -> Member:
    return Member(key, 0, (1, 2), resources(cpu="1"), "n", gang="a/g", gang_min=least)._replace(**fields)


@pytest.mark.parametrize(
    ("least", "gone", "spare"),
    [(0, "", 0), (2, "", 2), (2, "p", 1), (4, "", 0), (9, "", 0), (3, "pq", 0)],
)
def test_those_beyond_the_minimum_can_go_while_the_others_stay(least, gone, spare):
    members = by_gang([member(name, least) for name in "pqrs"])
    (gang,) = running_gangs(members, gone).values()
    assert (len(gang.members), gang.spare) == (4 - len(gone), spare)


def test_what_is_left_of_a_gang_alone_is_none():
    assert running_gangs(by_gang([member("p"), member("q")]), {"p"}) == {}
    assert by_gang([member("p", gang="")]) == {}


def test_a_gang_goes_whole_where_all_of_it_may_go_and_is_of_one_quota():
    (gang,) = running_gangs(by_gang([member("p"), member("q")])).values()
    assert gang.whole({"p", "q", "r"}) == gang.members
    assert gang.whole({"p"}) == ()
    (apart,) = running_gangs(by_gang([member("p"), member("q", quota=1)])).values()
    assert apart.whole({"p", "q"}) == ()


def test_a_gang_as_one_counts_for_all_and_has_the_highest_priority():
    one = as_one_member((member("p", priority=5, budgets=(0,)), member("q", priority=1, budgets=(0, 1))))
    assert (one.amounts, one.takes, one.priority) == ((2, 4), resources(cpu="2"), 5)
    assert (one.budgets, one.node, one.gang) == ((0, 0, 1), "", "a/g")
