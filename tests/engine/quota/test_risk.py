"""Who goes when owners claim back, in which order and after how much; judged by really claiming."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import cluster, node, pod, quota
from ullage.engine.columns import Columns
from ullage.engine.quota.accounts import Accounts
from ullage.engine.quota.book import Book, Member
from ullage.engine.quota.cluster_capacity import node_room
from ullage.engine.quota.rights import Rules
from ullage.engine.quota.risk import Risks, risks
from ullage.engine.quota.standing import Standing
from ullage.model.quantity import INT64_MAX
from ullage.model.resources import NOTHING, Resources

SLICE = "nvidia.com/gpu-10gb"
GPU_MEMORY = "nos.nebuly.com/gpu-memory"


def seed(kind="ElasticQuota", *more):
    """The example: A 40, B 10 and C 30 GB guaranteed; A uses 40, B 40."""
    pods = [
        pod(f"{name}/{number}", {SLICE: "1"}, created_seconds=number) for name in "AB" for number in range(4)
    ]
    quotas = [
        quota(name, {GPU_MEMORY: least}, kind=kind) for name, least in (("A", "40"), ("B", "10"), ("C", "30"))
    ]
    return Accounts(Columns(cluster(node("n", {SLICE: "8"}).holding(*pods), *quotas, *more)))


def ranks(found, *claimants):
    """Return who goes for these claimants, with what is claimed first, in order."""
    places = [
        (going.rank, pod.member.key, going.claimed_first[0])
        for pod in found.pods
        for going in pod.goes
        if going.way == "in-order" and going.claimants == claimants
    ]
    return [(key, first) for _, key, first in sorted(places)]


@pytest.mark.parametrize(("kind", "most"), [("ElasticQuota", 41), ("Quota", 30)])
def test_the_example(kind, most):
    found = risks(seed(kind))
    assert found.complete
    assert [each.member.key for each in found.pods] == ["B/3", "B/2", "B/1"]
    assert {each.outcome for each in found.pods} == {"claimable"}
    by_quota = {each.quota: each for each in found.claimants}
    assert (by_quota[2].free[0], by_quota[2].within_min[0], by_quota[2].at_most[0]) == (0, 30, most)
    assert by_quota[0].within_min[0] == 0
    assert by_quota.keys() == {0, 2}


def test_claimants_that_take_the_same_share_a_place_as_far_as_they_reach():
    found = risks(seed())
    assert ranks(found, 0, 2) == [("B/3", 0), ("B/2", 10)]
    assert ranks(found, 2) == [("B/1", 20)]
    assert [going.of for each in found.pods for going in each.goes] == [3, 3, 3]


def members(**quotas):
    """Members of one unit each, by the quota's name; those named first are older."""
    names = sorted(quotas)
    return [
        Member(
            f"{name}/{number}", names.index(name), (1,), Resources({"cpu": 1}), "n", 0, 10 * place + number
        )
        for place, (name, count) in enumerate(quotas.items())
        for number in range(count)
    ]


def of_all(mins, running, mode="nos", free=0, **maxes):
    quotas = [
        quota(
            name, min=Resources({"cpu": least}), max=Resources({"cpu": maxes[name]} if name in maxes else {})
        )
        for name, least in mins.items()
    ]
    book = Book(quotas, mode)
    standing = Standing(book, running)
    capacity = {"cpu": sum(each.amounts[0] for each in running) + free}
    rules = Rules(standing, standing.entitlements((), capacity))
    return Risks(rules, (), capacity, room={"cpu": free}, evictable=running).of_all()


def test_the_order_is_one_over_all_quotas_that_borrow():
    running = members(b=5, c=3, a=0, d=0)
    found = of_all({"a": 1, "b": 2, "c": 0, "d": 5}, running)
    assert ranks(found, 0, 3) == [("c/2", 0)]
    assert ranks(found, 3) == [("c/1", 1), ("c/0", 2), ("b/4", 3), ("b/3", 4)]


def test_where_orders_differ_each_claimant_has_its_own():
    running = [
        Member("a/x", 0, (1,), Resources({"cpu": 1}), "n", 0, 9),
        Member("b/x", 1, (1,), Resources({"cpu": 1}), "n", 0, 1),
        Member("b/y", 1, (1,), Resources({"cpu": 1}), "n", 0, 2),
    ]
    found = of_all({"a": 0, "b": 1, "c": 2}, running)
    assert ranks(found, 2) == [("a/x", 0), ("b/y", 1)]


def test_what_nobody_reaches_alone_goes_when_all_claim():
    found = of_all({"a": 1, "b": 0, "c": 1}, members(b=2, a=0, c=0), a=1, c=1)
    assert {each.member.key: [(g.way, g.rank, g.claimants) for g in each.goes] for each in found.pods} == {
        "b/1": [("in-order", 1, (0, 2))],
        "b/0": [("together", 2, (0, 2))],
    }


def test_what_no_order_reaches_may_go_for_one_claim_of_its_size():
    running = [
        Member("b/large", 1, (3,), Resources({"cpu": 3}), "n", 0, 1),
        *(Member(f"b/{number}", 1, (1,), Resources({"cpu": 1}), "n", 0, 2) for number in range(3)),
    ]
    found = of_all({"a": 3, "b": 2, "c": 1}, running)
    (large,) = [each for each in found.pods if each.member.key == "b/large"]
    assert [(each.way, each.rank, each.claimants, each.claimed_first) for each in large.goes] == [
        ("one-claim", 0, (0,), (2,)),
    ]
    assert large.outcome == "claimable"


def test_nobody_is_left_to_claim():
    found = of_all({"a": 2, "b": 3}, members(a=2, b=5))
    assert (found.claimants, [each.outcome for each in found.pods]) == ((), ["too-little"] * 2)


def test_others_may_not_claim_so_much():
    found = of_all({"a": 1, "b": 1}, members(a=0, b=4), "fair")
    assert [(each.member.key, each.outcome) for each in found.pods] == [
        ("b/3", "claimable"),
        ("b/2", "claimable"),
        ("b/1", "too-little"),
    ]


def test_one_that_is_within_the_min_once_others_are_gone_is_not_claimed():
    running = [
        Member("a/first", 0, (10,), Resources({"cpu": 10}), created_seconds=1),
        Member("a/large", 0, (20,), Resources({"cpu": 20}), created_seconds=2, priority=5),
        Member("a/last", 0, (20,), Resources({"cpu": 20}), created_seconds=3),
    ]
    found = of_all({"a": 30, "b": 30}, running)
    assert [(each.member.key, each.outcome) for each in found.pods] == [("a/last", "claimable")]


def test_what_holds_nothing_that_is_claimed_frees_nothing():
    running = [Member("a/x", 0, (2,), NOTHING), Member("a/y", 0, (0,), NOTHING, created_seconds=1)]
    found = of_all({"a": 1, "b": 3}, running)
    assert {each.member.key: each.outcome for each in found.pods} == {
        "a/x": "claimable",
        "a/y": "frees-nothing",
    }


def test_room_is_what_nodes_that_take_workloads_have_left():
    columns = Columns(
        cluster(
            node("a", {SLICE: "3", "nvidia.com/gpu": "1"}, cpu="4").holding(pod("x", cpu="1")),
            node("b", cpu="4").cordoned(),
        )
    )
    assert node_room(columns) == {"cpu": 3000, SLICE: 3, "nvidia.com/gpu": 1, GPU_MEMORY: 62}


def test_a_node_that_holds_more_than_it_has_takes_nothing_from_others():
    full = node("a", cpu="1").holding(pod("x", cpu="3"))
    assert node_room(Columns(cluster(full, node("b", cpu="4")))) == {"cpu": 4000}


def test_daemons_and_those_that_leave_are_not_ranked():
    leaving = pod("B/leaving", {SLICE: "1"}, created_seconds=9, terminating=True, node="n")
    daemon = pod("B/daemon", {SLICE: "0"}, created_seconds=8, owner="DaemonSet/agent", node="n")
    found = risks(seed("ElasticQuota", leaving, daemon))
    assert [each.member.key for each in found.pods] == ["B/3", "B/2", "B/1"]


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from(("nos", "fair")),
    st.fixed_dictionaries({name: st.integers(0, 6) for name in "abcd"}),
    st.lists(st.tuples(st.integers(0, 3), st.integers(1, 3), st.integers(0, 1)), min_size=1, max_size=8),
)
def test_ranks_of_a_claimant_are_complete_and_nobody_later_goes_after_less(mode, mins, pods):
    running = [
        Member(f"p{number}", place, (size,), Resources({"cpu": size}), "n", priority, number)
        for number, (place, size, priority) in enumerate(pods)
    ]
    found = of_all(mins, running, mode)
    for claimant in found.claimants:
        places = sorted(
            (going.rank, going.claimed_first[0])
            for each in found.pods
            for going in each.goes
            if going.way == "in-order" and claimant.quota in going.claimants
        )
        assert [rank for rank, _ in places] == list(range(1, len(places) + 1))
        assert [first for _, first in places] == sorted(first for _, first in places)
    assert all((each.outcome == "claimable") == bool(each.goes) for each in found.pods)


def test_what_has_no_bound_is_not_short():
    columns = Columns(cluster(node("a", cpu="4")))
    columns.bounded[:] = False
    assert node_room(columns) == {"cpu": INT64_MAX}
