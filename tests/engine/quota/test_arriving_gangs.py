"""Gangs that come in a replay: who is one arrival, under which name, and for how long."""

from builders import cluster, node, quota, resources, waiting
from ullage.engine.columns import Columns
from ullage.engine.quota.accounts import Accounts
from ullage.engine.quota.arriving_gangs import as_gangs
from ullage.engine.quota.events import Arrival, jobs_of, setting_of
from ullage.engine.quota.replay import Replay


def comes(name, at_seconds=0, duration_seconds=60, *, gang="g", replicas=1, leaves=None, runs=False, **parts):
    workload = waiting(f"a/{name}", gang=gang, **{"cpu": "1", **parts})
    return Arrival(workload, at_seconds, duration_seconds, replicas, leaves, runs)


def test_members_that_come_together_are_one_with_the_name_of_their_gang():
    head, worker, other = comes("head", cpu="2"), comes("worker", replicas=3), comes("x", gang="")
    alone, gang = as_gangs([worker, other, head])
    assert (alone.key, gang.key) == ("a/x", "a/g")
    assert [(each.requests, count) for each, count in gang.parts] == [
        (resources(cpu="2"), 1),
        (resources(cpu="1"), 3),
    ]
    accounts = Accounts(Columns(cluster(node("n", cpu="9"), quota("a", {"cpu": "4"}))))
    (job,) = jobs_of(accounts, [gang])
    assert (job.member.amounts, job.member.takes) == ((5000,), resources(cpu="5"))


def test_who_does_not_come_together_is_not_one():
    apart = [
        comes("x"),
        comes("y", 1),
        comes("z", runs=True),
        comes("v", gang="h"),
        comes("w", labels={"kueue.x-k8s.io/queue-name": "q"}),
    ]
    assert as_gangs(apart) == apart


def test_one_alone_keeps_its_name_and_is_as_it_was():
    assert as_gangs([comes("x", replicas=4)]) == [comes("x", replicas=4)]


def test_a_gang_that_comes_again_has_another_name():
    members = [comes(f"{name}{at}", at) for at in (0, 7) for name in "xy"]
    assert [each.key for each in as_gangs([comes("g", gang=""), *members])] == ["a/g", "a/g-0", "a/g-7"]
    assert [each.key for each in as_gangs(members)] == ["a/g", "a/g-7"]
    taken = [comes(name, gang="") for name in ("g", "g-0")]
    assert [each.key for each in as_gangs([*taken, comes("x"), comes("y")])][2:] == ["a/g-0-gang"]


def test_a_gang_runs_as_long_as_the_longest_and_goes_with_the_last():
    (gang,) = as_gangs([comes("x", 0, 60, leaves=5, priority=3), comes("y", 0, 90, leaves=9, priority=7)])
    assert (gang.duration_seconds, gang.leaves_seconds, gang.workload.priority) == (90, 9, 3)
    (endless,) = as_gangs([comes("x", 0, None, leaves=5), comes("y", 0, 90)])
    assert (endless.duration_seconds, endless.leaves_seconds) == (None, None)


def test_a_gang_starts_when_all_of_it_has_room():
    """One of two has room at once; the gang waits until both have."""
    accounts = Accounts(Columns(cluster(node("n", cpu="2"), quota("a", {"cpu": "2"}))))
    coming = [comes("first", 0, 50, gang=""), comes("x", 10), comes("y", 10)]
    replay = Replay(setting_of(accounts), jobs_of(accounts, as_gangs(coming)))
    replay.run()
    found = {each.key: each for each in replay.outcome().jobs}
    assert set(found) == {"a/first", "a/g"}
    assert (found["a/g"].waited_seconds, found["a/g"].ended_seconds) == (40, 110)
