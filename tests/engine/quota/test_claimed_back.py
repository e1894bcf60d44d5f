"""Who goes when a quota claims more and more: judged by really claiming, one unit after the other."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import quota
from ullage.engine.quota import claimed_back
from ullage.engine.quota.book import Book, Member
from ullage.engine.quota.claimed_back import ClaimedBack
from ullage.engine.quota.decision import decide
from ullage.engine.quota.rights import Rules
from ullage.engine.quota.standing import Standing
from ullage.engine.quota.victim_gangs import by_gang, running_gangs
from ullage.engine.quota.victims import Nodes
from ullage.model.resources import Resources

NAMES = ("cpu", "gpu")
CLAIMS_MAX = 40


class World:
    """Quotas over one node, who runs under them, and how many each disruption budget lets go."""

    def __init__(self, quotas, mode, capacity, running, allowed=()):
        self.book = Book(quotas, mode)
        self.capacity = capacity
        self.allowed = list(allowed)
        self.running = [each._replace(quota=self.book.index[each.quota]) for each in running]
        self.evicted = []

    def rules(self, *asking):
        standing = Standing(self.book, self.running)
        return Rules(standing, standing.entitlements((*asking, *self.evicted), self.capacity))

    def room(self):
        used = [sum(each.takes.of(name) for each in self.running) for name in self.capacity]
        return {
            name: amount - taken for (name, amount), taken in zip(self.capacity.items(), used, strict=True)
        }

    def back(self, **settings):
        return ClaimedBack(
            self.rules(),
            (),
            self.capacity,
            room=self.room(),
            candidates=self.running,
            budgets=self.allowed,
            gangs=by_gang(self.running),
            **settings,
        )

    def decided(self, name, resource, amount, key="new"):
        amounts = self.book.amounts({resource: amount})
        asking = Member(key, self.book.index[name], amounts, Resources({resource: amount}), "", 0, 10**6)
        candidates = [each for each in self.running if not each.key.startswith("new")]
        nodes = Nodes({"n": self.room()}, self.capacity)
        gangs = running_gangs(by_gang(self.running))
        return asking, decide(
            self.rules(asking), asking, nodes, candidates, budgets=self.allowed, gangs=gangs
        )

    def really_gone(self, name, resource):
        """Return who goes after how much when units are claimed until one is refused."""
        found = []
        for claimed in range(CLAIMS_MAX):
            asking, decision = self.decided(name, resource, 1, f"new{claimed:02}")
            if decision.verdict == "refuse":
                break
            found += [(victim.key, claimed) for victim in decision.victims]
            for victim in decision.victims:
                self.running.remove(victim)
                self.evicted.append(victim)
                for budget in victim.budgets:
                    self.allowed[budget] = max(0, self.allowed[budget] - 1)
            self.running.append(asking._replace(node="n"))
        return found


def one(key, quota_name, amounts, *, priority=0, created=0, budgets=()):
    return Member(
        key, quota_name, tuple(amounts.values()), Resources(amounts), "n", priority, created, budgets
    )


def crowd(seed, mode):
    """Some quotas, of which one or two lend and others borrow; nothing is used beyond all mins."""
    random = Random(seed)  # noqa: S311 - nothing secret
    names = NAMES[: random.choice((1, 1, 2))]
    alike = random.random() < 0.3
    pods = [
        one(
            f"p{number}",
            random.choice("bcd"),
            {name: 2 if alike else random.randint(0 if number else 1, 4) for name in names},
            priority=random.choice((0, 0, 5)),
            created=random.randint(0, 3),
            budgets=random.choice(((), (), (), (0,), (0, 1))),
        )
        for number in range(random.randint(2, 7))
    ]
    use = {name: sum(each.takes.of(name) for each in pods) for name in names}
    mins = {quota_name: {name: random.randint(0, 5) for name in names} for quota_name in "bcd"}
    lacking = {name: use[name] - sum(each[name] for each in mins.values()) for name in names}
    mins["a"] = {name: max(0, lacking[name]) + random.randint(0, 4) for name in names}
    tree = random.random() < 0.4
    quotas = [
        quota(name, min=Resources(least), parent="top" if tree and name in "ab" else "")
        for name, least in sorted(mins.items())
    ]
    if tree:
        both = {name: mins["a"][name] + mins["b"][name] for name in names}
        most = {name: max(use[name], both[name]) for name in names} if random.random() < 0.4 else {}
        quotas.append(quota("top", min=Resources(both), max=Resources(most)))
    capacity = {name: use[name] + random.choice((0, 0, 1, 3)) for name in names}
    return World(quotas, mode, capacity, pods, (random.randint(0, 2), random.randint(0, 1)))


def with_gangs(seed, mode):
    """The same with some of each quota in a gang of it, of which some may be to spare."""
    random = Random(seed)  # noqa: S311 - nothing secret
    world = crowd(seed, mode)
    for quota_place in range(len(world.book.quotas)):
        members = [each for each in world.running if each.quota == quota_place and random.random() < 0.8]
        least = random.randint(0, len(members))
        for each in members:
            world.running[world.running.index(each)] = each._replace(gang=f"g{quota_place}", gang_min=least)
    return world


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(("nos", "fair")), st.sampled_from("abcd"))
def test_claims_take_gangs_as_the_order_says(seed, mode, name):
    for place, resource in enumerate(with_gangs(seed, mode).book.resources):
        world = with_gangs(seed, mode)
        before = [list(each) for each in world.rules().standing.used]
        back = world.back()
        order = back.order([world.book.index[name]], place)
        assert back.rules.standing.used == before
        said = [(each.member.key, each.claimed_first) for each in order.gone]
        assert world.really_gone(name, resource) == said


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(("nos", "fair")), st.sampled_from("abcd"), st.integers(1, 9))
def test_one_claim_takes_gangs_as_it_is_said_to(seed, mode, name, amount):
    world = with_gangs(seed, mode)
    for place, resource in enumerate(world.book.resources):
        found = world.back().by_one(world.book.index[name], place, amount)
        assert found == {each.key for each in world.decided(name, resource, amount)[1].victims}


def gang_of_b(least, **fields):
    """B runs a gang of four, of which A is guaranteed three."""
    world = small(**fields)
    world.running = [each._replace(gang="g", gang_min=least) for each in world.running]
    return world


@pytest.mark.parametrize(
    ("least", "gone"),
    [
        (4, [("b0", 0), ("b1", 0), ("b2", 0), ("b3", 0)]),
        (3, [("b3", 0), ("b0", 1), ("b1", 1), ("b2", 1)]),
        (1, [("b3", 0), ("b2", 1), ("b1", 2)]),
    ],
)
@pytest.mark.parametrize("searched_max", [0, 400])
def test_a_gang_with_none_to_spare_goes_as_one(monkeypatch, searched_max, least, gone):
    monkeypatch.setattr(claimed_back, "SEARCHED_MAX", searched_max)
    back = gang_of_b(least).back()
    order = back.order([0], 0)
    assert sorted((each.claimed_first, each.member.key) for each in order.gone) == sorted(
        (claimed, key) for key, claimed in gone
    )
    assert back.cut_short == (not searched_max)


def test_where_searches_would_cost_too_much_orders_are_found_without(monkeypatch):
    monkeypatch.setattr(claimed_back, "SEARCHES_COST", 1)
    back = gang_of_b(4).back()
    assert {each.claimed_first for each in back.order([0], 0).gone} == {0}
    assert back.cut_short


def test_orders_end_where_searches_have_cost_too_much():
    back = gang_of_b(1).back()
    back._cost_left = 1
    assert [each.member.key for each in back.order([0], 0).gone] == ["b3"]
    assert back.cut_short


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(("nos", "fair")), st.sampled_from("abcd"))
def test_claims_one_after_the_other_take_whom_the_order_says(seed, mode, name):
    world = crowd(seed, mode)
    for place, resource in enumerate(world.book.resources):
        world = crowd(seed, mode)
        before = [list(each) for each in world.rules().standing.used]
        back = world.back()
        order = back.order([world.book.index[name]], place)
        assert back.rules.standing.used == before
        said = [(each.member.key, each.claimed_first) for each in order.gone]
        assert world.really_gone(name, resource) == said


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(("nos", "fair")), st.sampled_from("abcd"), st.integers(1, 9))
def test_one_claim_takes_whom_it_is_said_to_take(seed, mode, name, amount):
    world = crowd(seed, mode)
    for place, resource in enumerate(world.book.resources):
        found = world.back().by_one(world.book.index[name], place, amount)
        others = {each.key for each in world.decided(name, resource, amount)[1].victims}
        assert found == others


def small(used=4, least=1, **fields):
    """B runs pods of one unit each; A is guaranteed three and uses none."""
    quotas = [quota("a", min=Resources({"cpu": 3})), quota("b", min=Resources({"cpu": least}), **fields)]
    running = [one(f"b{number}", "b", {"cpu": 1}, created=number) for number in range(used)]
    return World(quotas, "nos", {"cpu": used}, running)


def test_where_bounds_are_passed_already_a_claim_takes_several():
    order = small(used=6).back().order([0], 0)
    assert [(each.member.key, each.claimed_first) for each in order.gone] == [
        ("b5", 0), ("b4", 0), ("b3", 0), ("b2", 1), ("b1", 2),
    ]  # fmt: skip


def test_who_cannot_make_enough_room_together_does_not_go():
    world = small(used=6)
    back = ClaimedBack(world.rules(), (), world.capacity, room=world.room(), candidates=world.running[-2:])
    order = back.order([0], 0)
    assert (order.gone, order.has_right) == ((), True)


def test_an_order_ends_with_whom_it_is_asked_about():
    assert [each.member.key for each in small().back().order([0], 0, frozenset(("b2",))).gone] == ["b3", "b2"]


def test_several_claim_what_is_their_own_one_after_the_other():
    quotas = [quota(name, min=Resources({"cpu": least})) for name, least in (("a", 1), ("b", 0), ("c", 1))]
    world = World(quotas, "nos", {"cpu": 2}, [one(f"b{n}", "b", {"cpu": 1}, created=n) for n in range(2)])
    order = world.back().order([0, 2], 0, own=True)
    assert [(each.member.key, each.claimed_first, each.claimants) for each in order.gone] == [
        ("b1", 0, (0,)),
        ("b0", 1, (0, 2)),
    ]
    assert order.has_right is False


def test_who_claims_only_its_own_leaves_what_is_free_to_others():
    quotas = [quota(name, min=Resources({"cpu": 1})) for name in "abcd"]
    world = World(quotas, "nos", {"cpu": 4}, [one(f"b{n}", "b", {"cpu": 1}, created=n) for n in range(2)])
    assert world.back().order([0, 2], 0, own=True).gone == ()
    assert len(world.back().order([0, 2], 0).gone) == 1


def test_use_of_quotas_in_mode_fair_gives_nothing_back_to_the_sum_of_mins():
    quotas = [
        *(quota(name, min=Resources({"cpu": 1}), kind="ElasticQuota") for name in "ab"),
        quota("f", min=Resources({"cpu": 0})),
    ]
    running = [one(f"b{n}", "b", {"cpu": 1}, created=n) for n in range(2)]
    young = one("f0", "f", {"cpu": 1}, created=9)
    world = World(quotas, "by-kind", {"cpu": 3}, [*running, young])
    assert [each.member.key for each in world.back().order([0], 0).gone] == ["b1"]


def test_what_is_guaranteed_beyond_a_min_is_not_ones_own():
    quotas = [quota(name, min=Resources({"cpu": least})) for name, least in (("a", 2), ("b", 0), ("c", 2))]
    running = [one("a0", "a", {"cpu": 2}), *(one(f"b{n}", "b", {"cpu": 1}, created=n) for n in range(2))]
    back = World(quotas, "nos", {"cpu": 4}, running).back()
    assert len(back.order([0], 0).gone) == 1
    assert back.order([0], 0, own=True).gone == ()


def test_orders_end_after_a_stated_number_of_looks():
    back = small().back(looks_max=5)
    assert 0 < len(back.order([0], 0).gone) < 3
    assert back.cut_short


@pytest.mark.parametrize(("room", "gone"), [({}, 3), ({"cpu": 1 << 62}, 3)])
def test_without_a_bound_on_nodes_the_bounds_of_quotas_hold(room, gone):
    world = small()
    back = ClaimedBack(world.rules(), (), world.capacity, room=room, candidates=world.running)
    assert len(back.order([0], 0).gone) == gone
