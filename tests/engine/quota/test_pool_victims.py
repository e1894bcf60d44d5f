"""Victims in a pool: all sets where few could go, a legal and trimmed set where many could."""

import pytest

from quota_traces import job, setting
from ullage.engine.quota.events import POOL
from ullage.engine.quota.pool_victims import EXACT_MAX, may_go, preempting, stay_in_the_way
from ullage.engine.quota.rights import Rules
from ullage.engine.quota.standing import Standing
from ullage.engine.quota.victims import Nodes


class Pool:
    """A cluster of 40 GPUs; A is guaranteed 20 and asks, B has borrowed."""

    def __init__(self, sizes, *, asked=20, mode="fair", free=0, priorities=None, run="B"):
        self.setting = setting(mode, {"gpu": 40}, A={"gpu": 20}, B={"gpu": 20})
        self.running = [
            job(
                self.setting,
                f"r{place:02}",
                run,
                place,
                priority=priorities[place] if priorities else 0,
                gpu=size,
            ).member
            for place, size in enumerate(sizes)
        ]
        self.member = job(self.setting, "new", "A", 99, gpu=asked, priority=5).member
        standing = Standing(self.setting.book, self.running)
        self.rules = Rules(standing, standing.entitlements([self.member], {"gpu": 40}))
        self.claim = self.rules.claim([self.member])
        self.nodes = Nodes({POOL: {"gpu": free}}, {"gpu": 40})

    def candidates(self):
        return list(may_go(self.rules, self.claim, ()))

    def refusals(self):
        return self.rules.refusals(self.claim.quota, self.claim.amounts)

    def found(self):
        return preempting(self.rules, self.claim, self.nodes, self.refusals(), self.candidates())

    def victims(self):
        found = self.found()
        return None if found is None else [each.key for each in found.victims]


@pytest.mark.parametrize("mode", ["nos", "fair"])
def test_where_many_could_go_the_youngest_that_are_needed_go(mode):
    pool = Pool([1] * 40, asked=3, mode=mode)
    assert len(pool.candidates()) > EXACT_MAX
    assert pool.victims() == ["r37", "r38", "r39"]
    assert pool.found().proven is False


def test_where_few_could_go_the_best_set_is_proven():
    pool = Pool([10, 10, 20], asked=20)
    assert pool.victims() == ["r02"]
    assert pool.found().proven


def test_one_that_is_enough_goes_rather_than_several():
    pool = Pool([1] * 10 + [20] + [1] * 10, asked=12)
    assert pool.victims() == ["r10"]


def test_who_turns_out_not_to_be_needed_stays():
    pool = Pool([1] * 34 + [3, 2, 1], asked=5)
    assert pool.victims() == ["r34", "r35"]


def test_nobody_goes_where_all_together_would_not_be_enough():
    assert Pool([1] * 25, asked=18, free=0).victims() is None


def test_the_standing_is_as_it_was():
    pool = Pool([1] * 40, asked=3)
    before = [dict(members) for members in pool.rules.standing.members]
    pool.found()
    assert pool.rules.standing.members == before


def test_without_a_right_only_its_own_of_lower_priority_may_go():
    pool = Pool([10, 10, 10], asked=20, run="A", priorities=[0, 5, 9])
    assert pool.claim.right is None
    assert [each.key for each in pool.candidates()] == ["r00"]


def test_in_mode_nos_only_those_over_quota_may_go():
    pool = Pool([10, 10, 10], mode="nos")
    assert [each.key for each in pool.candidates()] == ["r02"]


def test_without_a_quota_only_others_without_one_may_go():
    made = setting("fair", {"gpu": 4}, A={"gpu": 4})
    low, high = (job(made, key, "", priority=p, gpu=1).member for key, p in (("low", 0), ("high", 9)))
    rules = Rules(Standing(made.book, ()), [(4,)])
    claim = rules.claim([job(made, "new", "", priority=5, gpu=1).member])
    assert list(may_go(rules, claim, [low, high])) == [low]


def test_a_bound_stays_in_the_way_where_those_below_it_hold_too_little():
    pool = Pool([10, 10], asked=20)
    refusal = pool.rules.refusals
    assert not refusal(0, (20,))
    (bound,) = Pool([10, 10], asked=25, mode="nos").rules.refusals(0, (25,))
    assert bound.barrier == "sum-of-min"
    limit = bound._replace(barrier="max", quota=1, short=15)
    assert stay_in_the_way(pool.rules, [limit], pool.running[:1])
    assert not stay_in_the_way(pool.rules, [limit], pool.running)
    assert stay_in_the_way(pool.rules, [limit._replace(quota=0)], pool.running)
