"""Arrivals as quotas count them: gangs as one, in order of time and name, alike ones as one kind."""

from builders import cluster, node, quota, resources, waiting
from ullage.engine.columns import Columns
from ullage.engine.quota.accounts import Accounts
from ullage.engine.quota.book import NO_QUOTA
from ullage.engine.quota.events import POOL, Arrival, jobs_of, setting_of

ACCOUNTS = Accounts(Columns(cluster(node("n", cpu="10", gpu=8), quota("a", {"nvidia.com/gpu": "4"}))))


def jobs(*arrivals: Arrival):
    return jobs_of(ACCOUNTS, arrivals)


def test_a_gang_counts_as_one_of_all_its_replicas():
    (job,) = jobs(Arrival(waiting("a/x", cpu="1", gpu=2), 5, 60, replicas=3))
    assert (job.member.amounts, job.member.takes) == ((6,), resources(cpu="3", gpu=6))
    assert dict(job.takes) == {"cpu": 3000, "nvidia.com/gpu": 6}
    assert (job.member.node, job.member.created_seconds, job.duration_seconds) == (POOL, 5, 60)


def test_jobs_come_in_order_of_time_and_name():
    found = jobs(Arrival(waiting("a/z"), 1), Arrival(waiting("a/y"), 2), Arrival(waiting("a/x"), 2))
    assert [job.member.key for job in found] == ["a/z", "a/x", "a/y"]


def test_jobs_that_no_rule_tells_apart_are_one_kind():
    one, same, larger, higher, elsewhere = jobs(
        Arrival(waiting("a/1", gpu=1), 0),
        Arrival(waiting("a/2", gpu=1), 0),
        Arrival(waiting("a/3", gpu=2), 0),
        Arrival(waiting("a/4", gpu=1, priority=1), 0),
        Arrival(waiting("b/5", gpu=1), 0),
    )
    assert one.kind == same.kind > 0
    assert len({one.kind, larger.kind, higher.kind, elsewhere.kind}) == 4
    assert elsewhere.member.quota == NO_QUOTA


def test_a_setting_has_the_quotas_and_the_room_of_the_cluster():
    setting = setting_of(ACCOUNTS)
    assert setting.book is ACCOUNTS.book
    assert setting.capacity["nvidia.com/gpu"] == 8
    assert tuple(setting.order) == ("created", "requests", "name")
