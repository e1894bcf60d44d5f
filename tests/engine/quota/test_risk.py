"""Who goes when owners claim back, in which order and after how much; judged by really claiming."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import cluster, node, pod, quota, waiting
from ullage.engine.columns import Columns
from ullage.engine.quota.accounts import Accounts
from ullage.engine.quota.book import Book, Member
from ullage.engine.quota.decision import decide
from ullage.engine.quota.rights import Rules
from ullage.engine.quota.risk import Risks, eviction_order, node_room, risks
from ullage.engine.quota.standing import Standing
from ullage.engine.quota.victims import Nodes
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


@pytest.mark.parametrize(("kind", "most"), [("ElasticQuota", 41), ("Quota", 30)])
def test_the_example(kind, most):
    (found,) = risks(seed(kind))
    assert (found.quota, found.free[0]) == (1, 0)
    assert [each.member.key for each in found.pods] == ["B/3", "B/2", "B/1"]
    assert [each.claimed_first[0] for each in found.pods] == [0, 10, 20]
    assert {each.outcome for each in found.pods} == {"claimable"}
    by_quota = {each.quota: each for each in found.claimants}
    assert (by_quota[2].within_min[0], by_quota[2].at_most[0]) == (30, most)
    assert by_quota[0].within_min[0] == 0


def test_in_mode_fair_others_must_ask_for_more_than_they_do():
    (found,) = risks(seed("Quota"))
    assert [each.asked_first[0] for each in found.pods] == [1, 11, 21]
    assert [each.at_most[0] for each in found.claimants] == [24, 30]


def test_in_mode_fair_what_waits_counts_as_asked_for():
    (found,) = risks(seed("Quota", waiting("C/next", {SLICE: "2"})))
    assert [each.asked_first[0] for each in found.pods] == [0, 0, 1]


def test_nobody_is_left_to_claim():
    book = Book([quota("a", min=Resources({"cpu": 2})), quota("b", min=Resources({"cpu": 3}))], "nos")
    running = [
        Member("a/x", 0, (2,), NOTHING),
        Member("b/x", 1, (3,), NOTHING),
        Member("b/y", 1, (2,), NOTHING),
    ]
    standing = Standing(book, running)
    rules = Rules(standing, standing.entitlements((), {"cpu": 9}))
    (found,) = Risks(rules, (), {"cpu": 9}, {"cpu": 2}).of_all(running)
    assert (found.claimants, [each.outcome for each in found.pods]) == ((), ["too-little"])


def test_one_that_is_within_the_min_once_others_are_gone_is_not_claimed():
    book = Book([quota("a", min=Resources({"cpu": 20})), quota("b", min=Resources({"cpu": 30}))], "nos")
    running = [
        Member("a/first", 0, (10,), NOTHING, created_seconds=1),
        Member("a/large", 0, (20,), NOTHING, created_seconds=2),
        Member("a/last", 0, (10,), NOTHING, created_seconds=3, priority=5),
    ]
    standing = Standing(book, running)
    rules = Rules(standing, standing.entitlements((), {"cpu": 50}))
    (found,) = Risks(rules, (), {"cpu": 50}, {"cpu": 10}).of_all(running)
    assert [(each.member.key, each.outcome) for each in found.pods] == [
        ("a/large", "claimable"),
        ("a/last", "within-bounds"),
    ]


def test_what_holds_nothing_that_is_claimed_frees_nothing():
    book = Book([quota("a", min=Resources({"cpu": 1})), quota("b", min=Resources({"cpu": 3}))], "nos")
    running = [Member("a/x", 0, (2,), NOTHING), Member("a/y", 0, (0,), NOTHING, created_seconds=1)]
    standing = Standing(book, running)
    rules = Rules(standing, standing.entitlements((), {"cpu": 9}))
    (found,) = Risks(rules, (), {"cpu": 9}, {}).of_all(running)
    assert {each.member.key: each.outcome for each in found.pods} == {
        "a/x": "claimable",
        "a/y": "frees-nothing",
    }


def test_who_goes_first():
    def one(key, priority=0, created=0, budgets=()):
        return Member(key, 0, (1,), NOTHING, priority=priority, created_seconds=created, budgets=budgets)

    members = [
        one("old"), one("young", created=9), one("young-too", created=9), one("high", 5, 99),
        one("kept", budgets=(0,)), one("spared", -5, budgets=(0,)),
    ]  # fmt: skip
    assert [each.key for each in eviction_order(members, [1])] == [
        "spared", "young", "young-too", "old", "high", "kept",
    ]  # fmt: skip


def test_room_is_what_nodes_that_take_workloads_have_left():
    columns = Columns(
        cluster(
            node("a", {SLICE: "3", "nvidia.com/gpu": "1"}, cpu="4").holding(pod("x", cpu="1")),
            node("b", cpu="4").cordoned(),
        )
    )
    assert node_room(columns) == {"cpu": 3000, SLICE: 3, "nvidia.com/gpu": 1, GPU_MEMORY: 62}


def test_daemons_and_those_that_leave_are_not_ranked():
    leaving = pod("B/leaving", {SLICE: "1"}, created_seconds=9, terminating=True, node="n")
    daemon = pod("B/daemon", {SLICE: "0"}, created_seconds=8, owner="DaemonSet/agent", node="n")
    (found,) = risks(seed("ElasticQuota", leaving, daemon))
    assert [each.member.key for each in found.pods] == ["B/3", "B/2", "B/1"]


class Claims:
    """Claims made one after the other by the engine's own decisions, and who went after how much."""

    def __init__(self, mode, mins, pods, capacity):
        self.book = Book([quota(name, min=Resources({"cpu": least})) for name, least in mins.items()], mode)
        self.capacity = capacity
        self.running = [
            Member(
                f"{name}-{number}",
                self.book.index[name],
                (size,),
                Resources({"cpu": size}),
                "n",
                priority,
                created,
            )
            for number, (name, size, priority, created) in enumerate(pods)
        ]
        self.gone: dict[str, int] = {}

    def rules(self, waits=()):
        standing = Standing(self.book, self.running)
        return Rules(standing, standing.entitlements(waits, {"cpu": self.capacity}))

    @property
    def left(self):
        return self.capacity - sum(each.amounts[0] for each in self.running)

    def risks(self):
        found = Risks(self.rules(), (), {"cpu": self.capacity}, {"cpu": self.left})
        return found.of_all(self.running)

    def claim(self, quota_name, sizes):
        evicted, claimed = [], 0
        for number, size in enumerate(sizes):
            asking = Member(
                f"new-{number}", self.book.index[quota_name], (size,), Resources({"cpu": size}), "", 0, 10**6
            )
            rules = self.rules((asking, *evicted))
            nodes = Nodes({"n": {"cpu": self.left}}, {"cpu": self.capacity})
            decision = decide(rules, asking, nodes, self.running)
            if decision.verdict == "refuse":
                continue
            claimed += size
            for victim in decision.victims:
                self.running.remove(victim)
                evicted.append(victim)
                self.gone.setdefault(victim.key, claimed)
            self.running.append(asking._replace(node="n"))


@st.composite
def borrowed(draw, sizes):
    """B and D borrow what C leaves; capacity is what the mins sum up to, or more."""
    mins = {"B": draw(st.integers(0, 4)), "C": draw(st.integers(6, 16)), "D": draw(st.integers(0, 4))}
    size = draw(sizes)
    pods = draw(
        st.lists(
            st.tuples(st.sampled_from(("B", "B", "D")), size, st.integers(0, 2), st.integers(0, 3)),
            min_size=1,
            max_size=7,
        )
    )
    used = sum(each[1] for each in pods)
    capacity = max(sum(mins.values()), used) + draw(st.integers(0, 4))
    return mins, pods, capacity


alike = st.integers(1, 3).map(st.just)
mixed = st.just(st.integers(1, 4))


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(("nos", "fair")), borrowed(st.one_of(alike, mixed)))
def test_who_goes_later_goes_after_no_less(mode, world):
    for found in Claims(mode, *world).risks():
        ranks = [each.rank for each in found.pods]
        assert ranks == list(range(1, len(ranks) + 1))
        for one, other in zip(found.pods, found.pods[1:], strict=False):
            assert one.claimed_first[0] <= other.claimed_first[0]
            if mode == "fair" and other.asked_first[0] is not None:
                assert one.asked_first[0] <= other.asked_first[0]


@settings(max_examples=80, deadline=None)
@given(st.sampled_from(("nos", "fair")), borrowed(alike), st.data())
def test_among_workloads_of_one_size_nobody_goes_earlier_than_said(mode, world, data):
    claims = Claims(mode, *world)
    said = {each.member.key: each for found in claims.risks() for each in found.pods}
    largest = max(each[1] for each in world[1])
    claims.claim("C", data.draw(st.lists(st.integers(1, largest), min_size=1, max_size=12)))
    for key, claimed in claims.gone.items():
        if key.startswith("new"):
            continue
        assert said[key].outcome == "claimable"
        assert claimed > said[key].claimed_first[0]
        if mode == "fair":
            assert claimed >= said[key].asked_first[0]


@settings(max_examples=80, deadline=None)
@given(st.sampled_from(("nos", "fair")), borrowed(mixed), st.data())
def test_nobody_goes_while_claims_find_what_is_free(mode, world, data):
    claims = Claims(mode, *world)
    free = min((found.free[0] for found in claims.risks()), default=0)
    claims.claim("C", data.draw(st.lists(st.integers(1, 6), min_size=1, max_size=8)))
    assert all(claimed > free for claimed in claims.gone.values())


def test_what_has_no_bound_is_not_short():
    columns = Columns(cluster(node("a", cpu="4")))
    columns.bounded[:] = False
    assert node_room(columns) == {"cpu": INT64_MAX}
