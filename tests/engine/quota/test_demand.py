"""Who asks to run under quotas."""

from collections import Counter

from builders import batch, cluster, node, pod, quota, waiting
from ullage.engine.columns import Columns
from ullage.engine.quota.accounts import Accounts
from ullage.engine.quota.demand import demand_of

SHARE = quota("a", {"cpu": "1"})


def demand(*asked, parts=(), counted=()):
    accounts = Accounts(Columns(cluster(node("n", cpu="9"), SHARE, *parts)))
    found = Counter()
    for member in demand_of(accounts, asked, counted):
        found[member.key] += member.amounts[0]
    return {key: (amount,) for key, amount in found.items()}


def test_what_waits_and_what_is_asked_for():
    found = demand(batch(3, waiting("a/new", cpu="2")), parts=[waiting("a/old", cpu="1")])
    assert found == {"a/old": (1000,), "a/new": (6000,)}


def test_one_that_waits_already_is_counted_once_as_it_is_asked_for():
    assert demand(batch(1, waiting("a/old", cpu="2")), parts=[waiting("a/old", cpu="1")]) == {
        "a/old": (2000,)
    }


def test_one_that_runs_already_asks_for_nothing_more():
    assert demand(batch(1, pod("a/p", cpu="2")), parts=[pod("a/p", cpu="2", node="n")]) == {}


def test_of_a_set_only_what_is_not_there():
    there = [
        pod("a/web-1", cpu="1", node="n", owner="Deployment/web"),
        waiting("a/web-2", cpu="1", owner="Deployment/web"),
        pod("a/web-3", cpu="1", node="n", state="error", owner="Deployment/web"),
    ]
    asked = batch(5, waiting("a/web", kind="Deployment", cpu="1"))
    assert demand(asked, parts=there) == {"a/web-2": (1000,), "a/web": (3000,)}


def test_replicas_count_as_the_parts_that_they_are_divided_into_the_rest_as_the_last():
    large, small = (waiting("a/new", cpu=cpu) for cpu in ("4", "1"))
    asked = batch(5, waiting("a/new", cpu="9"))
    assert demand(asked, counted=[(large, 2), (small, 1)]) == {"a/new": (11000,)}
    assert demand(asked, counted=[(large, 2)]) == {"a/new": (20000,)}
    there = [waiting("a/new", cpu="9")]
    assert demand(asked, parts=there, counted=[(large, 2), (small, 3)]) == {"a/new": (11000,)}
