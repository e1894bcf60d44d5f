"""One decision over quotas and nodes; what follows when it is taken again and again."""

from collections import Counter
from fractions import Fraction
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import quota, resources
from quota_worlds import crowded, member_of
from ullage.engine.quota.book import NO_QUOTA, Book, Member
from ullage.engine.quota.decision import Decision, better_of, decide, first_fit, is_borrowing
from ullage.engine.quota.gang_victims import GangFound
from ullage.engine.quota.rights import Rules
from ullage.engine.quota.standing import Standing
from ullage.engine.quota.victim_tally import Cost
from ullage.engine.quota.victims import Nodes
from ullage.model.cluster import Quota
from ullage.model.resources import Resources

EVICTIONS_MAX = 200


def test_of_nodes_with_room_the_first_that_nothing_stands_against_is_taken():
    member = Member("p", NO_QUOTA, (), resources(cpu="2"))
    free = {"n1": resources(cpu="1"), "n2": resources(cpu="2"), "n3": resources(cpu="9")}
    assert first_fit(member, Nodes(free, {})) == "n2"
    assert first_fit(member, Nodes(free, {}, lambda node, _: node != "n2")) == "n3"
    assert first_fit(member, Nodes({"n1": resources(memory="1")}, {})) == ""


@pytest.mark.parametrize(("used", "borrows"), [(3, False), (4, True)])
def test_who_brings_its_quota_above_min_borrows(used, borrows):
    book = Book([quota("a", {"cpu": "5m"})])
    standing = Standing(book, [Member("a/1", 0, (used,), resources())])
    rules = Rules(standing, [(9,)])
    assert is_borrowing(standing, rules.claim([Member("a/2", 0, (2,), resources())])) is borrows
    assert not is_borrowing(standing, rules.claim([Member("x", NO_QUOTA, (9,), resources())]))


def cost(victims: int) -> Cost:
    return Cost(0, 0, 0, 0, victims, Fraction(1), 0, (), ())


@pytest.mark.parametrize(
    ("known", "offered", "takes", "node"),
    [
        (cost(3), cost(2), True, "n2"),
        (cost(2), cost(2), True, "n1"),
        (None, cost(9), True, "n2"),
        (cost(3), cost(2), False, "n1"),
    ],
    ids=["cheaper", "not cheaper", "where none was found", "not where more than room is against it"],
)
def test_what_a_search_for_gangs_has_found_is_taken_where_it_is_better(known, offered, takes, node):
    book = Book([quota("a", {"cpu": "5m"})])
    claim = Rules(Standing(book, []), [(9,)]).claim([Member("a/new", 0, (2,), resources())])
    before = Decision("preempt" if known else "refuse", claim, "n1", cost=known, barred="", victims_min=1)
    victim = Member("b/1", 0, (1,), resources())
    gang = GangFound((victim,), ("n2",), offered, proven=True, victims_min=2)
    after = better_of(before._replace(proven=False), gang, Nodes({}, {}, lambda _node, _victims: takes))
    assert (after.node, after.proven) == (node, False)
    if node == "n2":
        assert (after.verdict, after.victims, after.victims_min) == ("preempt", (victim,), 2)


class Cluster:
    """A cluster in which everybody who waits asks again and again, and who is evicted waits again.

    Nodes that are cordoned take nobody, and count with what runs on them.
    """

    def __init__(self, seed: int, mode: str, *, cordons: bool = False) -> None:
        self.random = Random(seed)  # noqa: S311 - nothing secret
        world, _ = crowded(seed)
        self.book = Book(
            [
                Quota(
                    name, namespaces=(name,), min=Resources(least), max=Resources(world.maxes.get(name, {}))
                )
                for name, least in world.mins.items()
            ],
            mode,
        )
        self.nodes, self.allowed = world.nodes, world.allowed
        self.running = {pod.key: member_of(self.book, pod) for pod in world.running}
        names = sorted({pod.quota for pod in world.running})
        some = next(iter(world.nodes.values()))
        self.waiting: dict[str, Member] = {}
        for number in range(self.random.randint(1, 5)):
            amounts = {name: self.random.randint(0, 4) for name in some}
            place = self.book.index[self.random.choice(names)]
            self.waiting[f"new{number}"] = Member(
                f"new{number}",
                place,
                self.book.amounts(amounts),
                Resources(amounts),
                priority=self.random.choice((0, 5, 9)),
                created_seconds=9 + number,
            )
        names = sorted(world.nodes)
        self.cordoned = set(self.random.sample(names, self.random.randint(1, len(names))) if cordons else ())

    @property
    def capacity(self) -> Counter[str]:
        total: Counter[str] = Counter()
        for name, node in self.nodes.items():
            if name not in self.cordoned:
                total.update(node)
        for each in self.running.values():
            if each.node in self.cordoned:
                total.update(each.takes)
        return total

    def rules(self) -> Rules:
        standing = Standing(self.book, self.running.values())
        return Rules(standing, standing.entitlements(self.waiting.values(), self.capacity))

    def free(self) -> dict[str, dict[str, int]]:
        free = {name: dict(node) for name, node in sorted(self.nodes.items())}
        for each in self.running.values():
            for name, amount in each.takes.items():
                free[each.node][name] -= amount
        return free

    def ask(self, member: Member) -> Decision:
        nodes = Nodes(self.free(), self.capacity, lambda node, _: node not in self.cordoned)
        return decide(self.rules(), member, nodes, list(self.running.values()), budgets=self.allowed)

    def apply(self, member: Member, decision: Decision) -> None:
        for victim in decision.victims:
            self.waiting[victim.key] = self.running.pop(victim.key)._replace(node="")
        del self.waiting[member.key]
        self.running[member.key] = member._replace(node=decision.node)


@pytest.mark.parametrize("mode", ["fair", "nos"])
@settings(max_examples=250, deadline=None)
@given(st.integers(0, 1 << 40))
def test_preemption_ends_from_any_state_in_any_order_of_arrival(mode, seed):
    cluster = Cluster(seed, mode)
    shares = cluster.rules().entitlements
    evictions = refused_in_a_row = 0
    while cluster.waiting and refused_in_a_row < 3 * len(cluster.waiting):
        member = cluster.waiting[cluster.random.choice(sorted(cluster.waiting))]
        decision = cluster.ask(member)
        if decision.verdict == "refuse":
            refused_in_a_row += 1
            continue
        refused_in_a_row = 0
        evictions += len(decision.victims)
        assert evictions <= EVICTIONS_MAX
        cluster.apply(member, decision)
        assert cluster.rules().entitlements == shares
        assert all(amount >= 0 for free in cluster.free().values() for amount in free.values())


@settings(max_examples=250, deadline=None)
@given(st.integers(0, 1 << 40))
def test_with_cordoned_nodes_preemption_ends_and_shares_move_only_when_somebody_leaves_them(seed):
    cluster = Cluster(seed, "fair", cordons=True)
    evictions = refused_in_a_row = 0
    while cluster.waiting and refused_in_a_row < 3 * len(cluster.waiting):
        shares = cluster.rules().entitlements
        member = cluster.waiting[cluster.random.choice(sorted(cluster.waiting))]
        decision = cluster.ask(member)
        if decision.verdict == "refuse":
            refused_in_a_row += 1
            continue
        refused_in_a_row = 0
        evictions += len(decision.victims)
        assert evictions <= EVICTIONS_MAX
        assert decision.node not in cluster.cordoned
        cluster.apply(member, decision)
        if all(victim.node not in cluster.cordoned for victim in decision.victims):
            assert cluster.rules().entitlements == shares


@settings(max_examples=250, deadline=None)
@given(st.integers(0, 1 << 40))
def test_nobody_takes_the_place_of_its_evictor_at_once(seed):
    cluster = Cluster(seed, "nos")
    for member in list(cluster.waiting.values()):
        decision = cluster.ask(member)
        if decision.verdict == "refuse":
            continue
        cluster.apply(member, decision)
        for victim in decision.victims:
            back = cluster.ask(cluster.waiting[victim.key])
            taken = {each.key for each in back.victims}
            assert member.key not in taken or victim.quota == member.quota


@settings(max_examples=250, deadline=None)
@given(st.integers(0, 1 << 40))
def test_in_mode_fair_every_eviction_lowers_what_quotas_use_beyond_their_share(seed):
    cluster = Cluster(seed, "fair")

    def excess() -> int:
        rules = cluster.rules()
        return sum(
            max(0, used - most)
            for use, terms in zip(rules.standing.used, rules.entitlements, strict=True)
            for used, most in zip(use, terms, strict=True)
            if most is not None
        )

    for member in list(cluster.waiting.values()):
        before = excess()
        decision = cluster.ask(member)
        if decision.verdict == "preempt":
            cluster.apply(member, decision)
            others = any(victim.quota != member.quota for victim in decision.victims)
            assert excess() < before or (not others and excess() <= before)
